#include "elk/emulate/machine/machine.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/parallel.hpp"
#include "elk/base/table.hpp"
#include "elk/base/watch.hpp"
#include "elk/emulate/machine/collective.hpp"
#include "elk/emulate/machine/execute.hpp"
#include "elk/emulate/machine/movement.hpp"
#include "elk/partition/collective.hpp"

namespace elk::emulate {
namespace {

/// How far the buffers of a program reach into the memory of a core.
std::int64_t reach(const EmulationJob& job) {
  std::int64_t end = job.chip.core.reserved.value;
  for (const program::Buffer& buffer : job.program.buffers) {
    end = std::max(end, job.chip.core.reserved.value + buffer.offset.value + buffer.bytes.value);
  }
  return std::min(end, job.chip.core.sram.value);
}

/// Whether an op is a collective of as many chips as there are.
bool is_exchange(const ir::Op& op, std::size_t chips) {
  return ir::is_collective(op.kind) && chips > 1 &&
         partition::chips_of(op) == static_cast<std::int64_t>(chips);
}

void check_job(const EmulationJob& job, const Views& given, std::size_t chips) {
  const bool placed =
      job.program.ops.size() == job.graph.ops.size() && !job.program.buffers.empty();
  if (!job.graph.ops.empty() && !placed) {
    throw InvalidInput("the plan is a forecast, which places no buffers", "emulate_plan");
  }
  for (const ir::Op& op : job.graph.ops) {
    const std::string why = is_exchange(op, chips) ? "" : no_kernel(job.graph, op);
    if (!why.empty()) {
      throw InvalidInput(text("op '", op.name, "' (", op.onnx_type, ") cannot be emulated: ", why),
                         "emulate_kernel");
    }
  }
  for (const auto& [tensor, bytes] : given) {
    const std::int64_t wanted = ir::bytes(job.graph.tensors[tensor]).value;
    if (static_cast<std::int64_t>(bytes.size()) != wanted) {
      throw InvalidInput(text("tensor '", job.graph.tensors[tensor].name, "' has ", bytes.size(),
                              " bytes, not ", wanted),
                         "emulate_input");
    }
  }
}

/// One chip on its way through the instructions of a program.
class Runner {
 public:
  Runner(ChipState& machine, std::span<const TensorId> wanted)
      : machine_(machine), wanted_(wanted.begin(), wanted.end()) {}

  void begin(std::int32_t now) {
    begin_lives(now);
    if (now == 0 && !machine_.job.chip.hbm) {
      fill_residents();
    }
  }

  void run(const program::Instruction& instruction) {
    program::follow(
        instruction, [&](OpId op) { preload(operands(op)); },
        [&](TensorId tensor) { machine_.store(tensor); },
        [&](OpId op) {
          execute(operands(op));
          loaded_.erase(op);
        });
  }

  void end(std::int32_t now) {
    const program::Instruction& instruction = machine_.job.program.code[subscript(now)];
    if (instruction.opcode == program::Opcode::Execute) {
      note_results(machine_.job.graph.ops[instruction.op()]);
    }
    end_lives(now);
  }

  [[nodiscard]] Images results() { return std::move(results_); }

 private:
  /// Where the operands of an op lie: found at its preload, kept until its execute.
  const Operands& operands(OpId op) {
    std::unique_ptr<Operands>& known = loaded_[op];
    if (!known) {
      known = std::make_unique<Operands>(machine_, op);
    }
    return *known;
  }

  /// Without HBM weights and states are there from the start.
  void fill_residents() {
    for (const TensorId tensor : machine_.spread_by.ids()) {
      if (machine_.spread_by[tensor] != OpId::none) {
        spread(machine_, tensor);
      }
    }
    for (const OpId op : machine_.job.graph.ops.ids()) {
      if (!machine_.spaces.preload(op).empty()) {
        preload(Operands(machine_, op, Picks::Unknown));
      }
    }
  }

  /// What leaves the chip is read as soon as it is made.
  void note_results(const ir::Op& op) {
    for (const ir::Operand& operand : op.operands) {
      if (operand.access == ir::Access::Write &&
          std::find(wanted_.begin(), wanted_.end(), operand.tensor) != wanted_.end()) {
        results_[operand.tensor] = machine_.collect(operand.tensor);
      }
    }
  }

  void begin_lives(std::int32_t now) {
    Watch::check();
    const std::vector<const program::Buffer*> born = machine_.book.born(now);
    for (const program::Buffer* buffer : born) {
      check_apart(now, *buffer);
      live_.push_back(buffer);
    }
    poison(born);
    for (const program::Buffer* buffer : born) {
      const ir::Tensor& tensor = machine_.job.graph.tensors[buffer->tensor];
      if (tensor.home == ir::Home::Input && buffer->role != program::Role::Execute &&
          buffer->role != program::Role::Preload) {
        spread(machine_, buffer->tensor);
      }
    }
  }

  /// Throws where a new buffer overlaps one that lives.
  void check_apart(std::int32_t now, const program::Buffer& buffer) const {
    const Segment segment = machine_.book.segment(buffer);
    for (const program::Buffer* other : live_) {
      const Segment theirs = machine_.book.segment(*other);
      if (segment.begin < theirs.begin + theirs.bytes &&
          theirs.begin < segment.begin + segment.bytes) {
        throw InternalError(
            text("instruction ", now, ": the buffers of tensors ", buffer.tensor, " and ",
                 other->tensor, " overlap at address ", std::max(segment.begin, theirs.begin)),
            "emulate_overlap");
      }
    }
  }

  void end_lives(std::int32_t now) {
    const std::vector<const program::Buffer*> dead = machine_.book.dead(now);
    for (const program::Buffer* buffer : dead) {
      live_.erase(std::remove(live_.begin(), live_.end(), buffer), live_.end());
    }
    poison(dead);
  }

  void poison(const std::vector<const program::Buffer*>& buffers) {
    if (buffers.empty()) {
      return;
    }
    parallel_for_index(machine_.arenas.size(), machine_.job.threads, [&](std::size_t number) {
      const auto core = id_at<CoreId>(number);
      for (const program::Buffer* buffer : buffers) {
        const Segment segment = machine_.book.segment(*buffer);
        machine_.arenas[core].free(segment.begin, segment.bytes);
      }
    });
  }

  ChipState& machine_;
  std::vector<TensorId> wanted_;
  std::vector<const program::Buffer*> live_;
  std::map<OpId, std::unique_ptr<Operands>> loaded_;
  Images results_;
};

/// Runs an instruction that differs from chip to chip or needs all of them; false: it is no such.
bool run_together(const ChipStates& pod, std::span<const OpId> slices,
                  const program::Instruction& instruction) {
  if (pod.size() == 1 || instruction.opcode != program::Opcode::Execute) {
    return false;
  }
  if (std::find(slices.begin(), slices.end(), instruction.op()) != slices.end()) {
    run_slice(pod, instruction.op());
    return true;
  }
  const ir::Op& op = pod.front()->job.graph.ops[instruction.op()];
  if (!is_exchange(op, pod.size())) {
    return false;
  }
  run_collective(pod, instruction.op());
  return true;
}

}  // namespace

ChipState::ChipState(const EmulationJob& on, const Views& of)
    : job(on),
      book(on.chip, on.program),
      spaces(on.graph, on.chip, on.program.ops),
      spread_by(program::spread_by(on.graph, on.program.ops)),
      given(of),
      tape(subscript(chip::total_cores(on.chip))) {
  const std::vector<std::int64_t> bytes(tape.size(), reach(on));
  std::vector<std::unique_ptr<Arena>> made = parallel_map(
      bytes, [](std::int64_t reached) { return std::make_unique<Arena>(reached); }, on.threads);
  for (std::unique_ptr<Arena>& arena : made) {
    arenas.push_back(std::move(*arena));
  }
}

/// Buffers of an op's own shares of a tensor come before the one that is there for all.
const program::Buffer* ChipState::spread_buffer(TensorId tensor) const {
  const OpId op = spread_by[tensor];
  if (op == OpId::none) {
    return book.rest(tensor);
  }
  const auto found = book.of_op(op, program::Role::Resident, tensor);
  return found.empty() ? nullptr : found.back();
}

std::vector<std::byte> ChipState::collect(TensorId tensor) {
  const ir::Tensor& about = job.graph.tensors[tensor];
  const std::int64_t bits = ir::bits(about.dtype);
  std::vector<std::byte> out(subscript(ir::bytes(about).value));
  const program::Buffer* buffer = book.rest(tensor);
  const std::optional<partition::Layout> rest =
      program::rest_layout(job.graph, tensor, job.program.ops, spaces.lives(), job.chip);
  if (!rest || buffer == nullptr) {
    return out;
  }
  const Storage storage{{book.segment(*buffer)}};
  const LayoutPieces holdings(*rest);
  for (const PieceHolders& holding : holdings.all()) {
    const View view(arenas[holding.cores.front()], storage, bits);
    for (const OverlapRange& run : shared_runs(holding.held, whole(about))) {
      view.read_to(run.from, run.count, out.data(), run.to);
    }
  }
  return out;
}

void ChipState::store(TensorId tensor) {
  const auto found = std::ranges::find(job.graph.stores, tensor, &ir::Store::tensor);
  if (found == job.graph.stores.end() || found->into == TensorId::none) {
    stored[tensor] = collect(tensor);
    return;
  }
  const std::vector<std::byte> part = collect(tensor);
  const ir::Tensor& whole = job.graph.tensors[found->into];
  std::vector<std::byte>& image = stored[found->into];
  image.resize(subscript(ir::bytes(whole).value));
  DensePiece box;
  for (const DimId d : found->begin.ids()) {
    const std::int64_t begin = found->begin[d];
    box.sets.push_back({{.begin = begin, .end = begin + job.graph.tensors[tensor].shape[d]}});
  }
  for (const OverlapRange& run : shared_runs(emulate::whole(whole), box)) {
    copy_elements(
        part.data(), image.data(),
        {.from = run.to, .to = run.from, .count = run.count, .bits = ir::bits(whole.dtype)});
  }
}

std::span<const std::byte> ChipState::image(TensorId tensor, std::vector<std::byte>& room) {
  if (const auto written = stored.find(tensor); written != stored.end()) {
    return written->second;
  }
  if (const auto known = given.find(tensor); known != given.end()) {
    return known->second;
  }
  if (spaces.lives().producer[tensor] == OpId::none) {
    throw InvalidInput(text("tensor '", job.graph.tensors[tensor].name, "' has no value"),
                       "emulate_input");
  }
  room = collect(tensor);
  return room;
}

std::vector<EmulationResult> emulate_pod(const EmulationJob& job, std::span<const OpId> slices,
                                         const std::vector<Views>& given,
                                         std::span<const TensorId> wanted) {
  ChipStates pod;
  std::vector<Runner> runners;
  for (const Views& views : given) {
    check_job(job, views, given.size());
    pod.push_back(std::make_unique<ChipState>(job, views));
    runners.emplace_back(*pod.back(), wanted);
  }
  for (std::size_t i = 0; i < job.program.code.size(); ++i) {
    const auto now = static_cast<std::int32_t>(i);
    for (Runner& runner : runners) {
      runner.begin(now);
    }
    if (!run_together(pod, slices, job.program.code[i])) {
      for (Runner& runner : runners) {
        runner.run(job.program.code[i]);
      }
    }
    for (Runner& runner : runners) {
      runner.end(now);
    }
  }
  std::vector<EmulationResult> results;
  results.reserve(runners.size());
  for (std::size_t chip = 0; chip < runners.size(); ++chip) {
    results.push_back({.images = runners[chip].results(), .tape = std::move(pod[chip]->tape)});
  }
  return results;
}

Images emulate(const EmulationJob& job, const Views& given, std::span<const TensorId> wanted) {
  return std::move(emulate_pod(job, {}, {given}, wanted).front().images);
}

}  // namespace elk::emulate
