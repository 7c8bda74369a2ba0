#include "elk/sim/tasks/machine_tasks.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/text.hpp"
#include "elk/base/watch.hpp"
#include "elk/sim/flows/engine.hpp"
#include "elk/sim/tasks/task_graph.hpp"
#include "elk/sim/tasks/task_player.hpp"

namespace elk::sim {
namespace {

constexpr Picoseconds kMostLatency{1'000'000'000'000};
constexpr std::int64_t kMostBytes = std::int64_t{1} << 61;  // of all issues: each counts twice
constexpr Picoseconds kNobodyWaits{-1};

/// Refuses instructions by their position.
class InstructionCheck {
 public:
  explicit InstructionCheck(const MachineProgram& program) : program_(program) {}

  void check(InstructionId position) {
    const MachineInstruction& instruction = program_.instructions[position];
    position_ = position;
    switch (instruction.action) {
      case MachineAction::Compute:
        refuse_unless(instruction.time >= Picoseconds{0}, "time must not be below 0 ps, got ",
                      instruction.time.value);
        longest_ += instruction.time.value;
        break;
      case MachineAction::Issue:
        check_issue(instruction);
        break;
      case MachineAction::Wait:
        check_wait(instruction.awaits);
        break;
    }
    refuse_unless(longest_ < kBeyondTime.value, "until here the program might take more than ",
                  kBeyondTime.value, " ps, the range of simulated time");
  }

 private:
  template <class... Parts>
  void refuse_unless(bool holds, const Parts&... rule) const {
    if (!holds) {
      throw InvalidInput(text("instruction ", position_, ": ", rule...));
    }
  }

  void check_issue(const MachineInstruction& issue) {
    refuse_unless(issue.bytes >= Bytes{0} && issue.bytes.value <= kMostFlowBytes,
                  "bytes must be from 0 to ", kMostFlowBytes, ", got ", issue.bytes.value);
    bytes_ += issue.bytes;
    refuse_unless(bytes_.value <= kMostBytes, "the bytes of all issues until here must be at most ",
                  kMostBytes, ", got ", bytes_.value);
    longest_ += program_.latency.value;
    add_memory("from", issue.from, issue.bytes);
    add_memory("to", issue.to, issue.bytes);
  }

  /// Whenever bytes move, some memory moves as many as it can.
  void add_memory(const char* name, MemoryId memory, Bytes bytes) {
    refuse_unless(program_.memories.has(memory), name, " must be a memory from 0 to ",
                  program_.memories.end_id() - 1, ", got ", memory);
    const Rate rate = program_.memories[memory];
    longest_ += time_to_move(grains(bytes), {grains(rate), 1}).value;
  }

  void check_wait(InstructionId awaits) const {
    const bool before = program_.instructions.has(awaits) && awaits < position_;
    refuse_unless(before && program_.instructions[awaits].action == MachineAction::Issue,
                  "awaits must be the position of an issue before it, got ", awaits);
  }

  const MachineProgram& program_;
  InstructionId position_;
  Wide longest_ = 0;  // the program takes at most, in ps
  Bytes bytes_{0};
};

/// A program as tasks: its instructions on one stream, the latency of each issue on its own, and
/// transfers on a stream for each pair of memories.
class MachineLowering {
 public:
  explicit MachineLowering(const MachineProgram& program)
      : program_(program), issues_(program.instructions.size()), main_(graph_.add_stream()) {
    for (const InstructionId i : program.instructions.ids()) {
      Watch::check();
      const MachineInstruction& instruction = program.instructions[i];
      switch (instruction.action) {
        case MachineAction::Compute:
          time_ += instruction.time;
          break;
        case MachineAction::Issue:
          issues_[i] = transfers_.size();
          issue(instruction, i);
          break;
        case MachineAction::Wait:
          wait(instruction);
          break;
      }
    }
    add_segment();
  }

  [[nodiscard]] MachineRun play() const {
    std::vector<Resource> memories;
    memories.reserve(program_.memories.size());
    for (const Rate rate : program_.memories) {
      memories.push_back(steady(rate));
    }
    TasksRun run = play_tasks({.resources = std::move(memories), .refresh = {}}, graph_);
    MachineRun out{.instructions = {},
                   .transfers = {},
                   .total = {0},
                   .carried = std::move(run.carried),
                   .busy = std::move(run.busy)};
    read_transfers(run, out);
    read_instructions(run, out);
    return out;
  }

 private:
  struct TransferTasks {
    InstructionId instruction;
    TaskId latency;
    TaskId transfer;
    BodyId body;
  };

  void issue(const MachineInstruction& issue, InstructionId position) {
    add_segment();
    const TaskId latency = graph_.wait(graph_.add_stream(), program_.latency,
                                       last_ ? std::vector{*last_} : std::vector<TaskId>{});
    const BodyId body = body_of(issue);
    const TaskId transfer = graph_.play(stream_of(issue), body, {latency});
    transfers_.push_back(
        {.instruction = position, .latency = latency, .transfer = transfer, .body = body});
  }

  void wait(const MachineInstruction& wait) {
    if (time_ > Picoseconds{0}) {
      add_segment();
    }
    awaited_.push_back(transfers_[issues_[wait.awaits]].transfer);
  }

  /// Waits and what is computed after them are one task: `read_instructions` tells them apart.
  void add_segment() {
    if (time_ > Picoseconds{0} || !awaited_.empty()) {
      last_ = graph_.wait(main_, std::exchange(time_, {0}), std::exchange(awaited_, {}));
    }
  }

  StreamId stream_of(const MachineInstruction& issue) {
    const auto [found, added] = streams_.try_emplace({issue.from, issue.to});
    if (added) {
      found->second = graph_.add_stream();
    }
    return found->second;
  }

  static ResourceId at(MemoryId memory) { return ResourceId{memory.value}; }

  BodyId body_of(const MachineInstruction& issue) {
    const auto [found, added] = bodies_.try_emplace({issue.from, issue.to, issue.bytes});
    if (added) {
      std::vector<ResourceUse> uses{{at(issue.from), 1}, {at(issue.to), 1}};
      if (issue.from == issue.to) {
        uses = {{at(issue.from), 2}};
      }
      Body body;
      body.send(issue.bytes, {0}, uses);
      found->second = graph_.add(std::move(body));
    }
    return found->second;
  }

  /// Most bodies never have the machine to themselves while it is played.
  [[nodiscard]] Picoseconds alone(const MachineInstruction& issue) const {
    const Rate from = program_.memories[issue.from];
    const Rate to = program_.memories[issue.to];
    const FairShare share =
        issue.from == issue.to ? split(grains(from), 2) : FairShare{grains(std::min(from, to)), 1};
    return time_to_move(grains(issue.bytes), share);
  }

  void read_transfers(const TasksRun& run, MachineRun& out) const {
    out.transfers.reserve(transfers_.size());
    for (const TransferTasks& tasks : transfers_) {
      const Interval<Picoseconds>& latency = run.tasks[tasks.latency.index()];
      const Interval<Picoseconds>& transfer = run.tasks[tasks.transfer.index()];
      const Picoseconds lone = alone(program_.instructions[tasks.instruction]);
      const Picoseconds played = run.alone[tasks.body.index()];
      if (played >= Picoseconds{0} && played != lone) {
        throw InternalError(
            text("sim: a lone transfer took ", played.value, " ps, not ", lone.value));
      }
      out.transfers.push_back({.instruction = tasks.instruction,
                               .issued = latency.begin,
                               .ready = latency.end,
                               .begin = transfer.begin,
                               .end = transfer.end,
                               .alone = lone,
                               .reached = kNobodyWaits});
      out.total = std::max(out.total, transfer.end);
    }
  }

  void read_instructions(const TasksRun& run, MachineRun& out) const {
    Picoseconds now{0};
    out.instructions.reserve(program_.instructions.size());
    for (const InstructionId i : program_.instructions.ids()) {
      const MachineInstruction& instruction = program_.instructions[i];
      const Picoseconds begin = now;
      switch (instruction.action) {
        case MachineAction::Compute:
          now += instruction.time;
          break;
        case MachineAction::Issue:
          if (out.transfers[issues_[i]].issued != now) {
            throw InternalError(text("sim: instruction ", i, " was not issued in its turn"));
          }
          break;
        case MachineAction::Wait: {
          MachineTransfer& awaited = out.transfers[issues_[instruction.awaits]];
          if (awaited.reached == kNobodyWaits) {
            awaited.reached = now;
          }
          now = std::max(now, awaited.end);
          break;
        }
      }
      out.instructions.push_back({begin, now});
    }
    if (last_ && run.tasks[last_->index()].end != now) {
      throw InternalError("sim: the last instruction did not end in its turn");
    }
    out.total = std::max(out.total, now);
  }

  const MachineProgram& program_;
  TaskGraph graph_;
  Table<InstructionId, std::size_t> issues_;  // of each issue: its number among them
  std::vector<TransferTasks> transfers_;
  std::map<std::pair<MemoryId, MemoryId>, StreamId> streams_;
  std::map<std::tuple<MemoryId, MemoryId, Bytes>, BodyId> bodies_;
  StreamId main_;
  std::optional<TaskId> last_;   // on the main stream
  std::vector<TaskId> awaited_;  // since the last task
  Picoseconds time_{0};          // computed after what was awaited
};

}  // namespace

void validate(const MachineProgram& program) {
  if (program.memories.empty()) {
    throw InvalidInput("a machine must have a memory, got none");
  }
  for (const MemoryId m : program.memories.ids()) {
    if (program.memories[m] <= Rate{0}) {
      throw InvalidInput(text("memory ", m, ": the rate must be at least 1 byte/s, got ",
                              program.memories[m].value));
    }
  }
  if (program.latency < Picoseconds{0} || program.latency > kMostLatency) {
    throw InvalidInput(text("the latency must be from 0 to ", kMostLatency.value, " ps, got ",
                            program.latency.value));
  }
  InstructionCheck check(program);
  for (const InstructionId i : program.instructions.ids()) {
    Watch::check();
    check.check(i);
  }
}

MachineRun play_machine(const MachineProgram& program) {
  validate(program);
  return MachineLowering(program).play();
}

}  // namespace elk::sim
