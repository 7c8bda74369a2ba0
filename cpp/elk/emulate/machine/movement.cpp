#include "elk/emulate/machine/movement.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/program/code/space.hpp"

namespace elk::emulate {
namespace {

std::int64_t bytes_of(std::int64_t elements, std::int64_t bits) {
  return partition::element_bytes(elements, bits).value;
}

Receipt moved(Action action, OperandId k, CoreId from, std::int64_t bytes) {
  return {
      .action = action, .op = OpId::none, .step = 0, .operand = k, .from = from, .bytes = bytes};
}

/// A piece of a tensor in ascending order, cut out of the whole of it.
std::vector<std::byte> cut_out(std::span<const std::byte> image, const ir::Tensor& tensor,
                               const DensePiece& held) {
  const std::int64_t bits = ir::bits(tensor.dtype);
  std::vector<std::byte> out(subscript(bytes_of(held.elements(), bits) + 8));
  for (const OverlapRange& run : shared_runs(whole(tensor), held)) {
    copy_elements(image.data(), out.data(),
                  {.from = run.from, .to = run.to, .count = run.count, .bits = bits});
  }
  return out;
}

/// Writes bytes [part.begin, part.begin + part.bytes) of a piece to where they lie.
void write_part(const Operands& operands, OperandId k, std::size_t worker,
                const std::vector<std::byte>& piece, const Segment& part) {
  const View view = operands.view(k, worker, 8);
  if (subscript(part.begin + part.bytes) <= piece.size()) {
    view.write(part.begin, part.bytes, piece.data() + part.begin);
    return;
  }
  std::vector<std::byte> padded = piece;
  padded.resize(subscript(part.begin + part.bytes));
  view.write(part.begin, part.bytes, padded.data() + part.begin);
}

/// Whether a piece lies in ascending order of its indices, in whole bytes.
bool lies_in_order(const Operands& operands, OperandId k) {
  return !operands.site().rotates(k) && operands.site().bits(k) % 8 == 0;
}

/// Does what write_part does with what is cut out of the whole tensor, run by run; the padding
/// behind a piece is zero.
void write_cut(const Operands& operands, OperandId k, std::size_t worker,
               std::span<const std::byte> image, const Segment& part) {
  const View view = operands.view(k, worker, 8);
  const std::int64_t size = operands.site().bits(k) / 8;
  const std::int64_t end = part.begin + part.bytes;
  std::int64_t written = part.begin;
  OverlapFinder shared;
  std::vector<OverlapRange> runs;  // in bytes
  for (const OverlapRange& run :
       shared.between(whole(operands.site().tensor(k)), operands.first_held(k, worker))) {
    const std::int64_t low = std::max(part.begin, run.to * size);
    const std::int64_t high = std::min(end, (run.to + run.count) * size);
    if (low < high) {
      runs.push_back(
          {.from = (run.from * size) + (low - (run.to * size)), .to = low, .count = high - low});
      written = high;
    }
  }
  write_runs(image.data(), view, runs);
  const std::vector<std::byte> padding(subscript(end - written));
  view.write(written, end - written, padding.data());
}

/// Brings a part of a worker's piece from the whole tensor.
void fill_part(const Operands& operands, OperandId k, std::size_t worker,
               std::span<const std::byte> image, const Segment& part) {
  if (lies_in_order(operands, k)) {
    write_cut(operands, k, worker, image, part);
    return;
  }
  const DensePiece& held = operands.first_held(k, worker);
  write_part(operands, k, worker,
             operands.in_place_order(k, worker, cut_out(image, operands.site().tensor(k), held)),
             part);
}

bool is_own(const Operands& operands, OperandId k) {
  return operands.site().op().operands[k].access == ir::Access::Read &&
         partition::first_like(operands.site().op(), k) == k;
}

/// What a core needs of a tensor that lies in equal shares on all cores, in ascending order.
std::vector<std::byte> from_shares(ChipState& machine, TensorId number, const DensePiece& held) {
  const ir::Tensor& tensor = machine.job.graph.tensors[number];
  const std::int64_t bits = ir::bits(tensor.dtype);
  const std::int64_t share = partition::spread_share(tensor, machine.job.chip).value;
  const program::Buffer* buffer = machine.spread_buffer(number);
  const Storage storage{buffer == nullptr ? std::vector<Segment>{}
                                          : std::vector<Segment>{machine.book.segment(*buffer)}};
  std::vector<std::byte> out(subscript(bytes_of(held.elements(), bits) + 8));
  std::vector<std::byte> part;
  for (const OverlapRange& run : shared_runs(whole(tensor), held)) {
    const std::int64_t begin = run.from * bits / 8;
    const std::int64_t end = bytes_of(run.from + run.count, bits);
    part.assign(subscript(end - begin + 1), std::byte{0});
    for (std::int64_t byte = begin; byte < end;) {
      const std::int64_t core = byte / share;
      const std::int64_t stop = std::min(end, (core + 1) * share);
      View(machine.arenas[id_at<CoreId>(core)], storage, 8)
          .read(byte - (core * share), stop - byte, part.data() + (byte - begin));
      byte = stop;
    }
    copy_elements(
        part.data(), out.data(),
        {.from = run.from * bits % 8 / bits, .to = run.to, .count = run.count, .bits = bits});
  }
  return out;
}

/// The core of a holding that sends to `core`: itself, else one on the same chip; they take turns.
CoreId sender(const PieceHolders& holding, CoreId core, const chip::Chip& chip) {
  if (std::binary_search(holding.cores.begin(), holding.cores.end(), core)) {
    return core;
  }
  const auto of_chip = static_cast<std::int32_t>(chip.core.count);
  const std::int32_t home = core.value / of_chip;
  const auto first =
      std::lower_bound(holding.cores.begin(), holding.cores.end(), CoreId{home * of_chip});
  const auto last = std::lower_bound(first, holding.cores.end(), CoreId{(home + 1) * of_chip});
  const bool here = first != last;
  const auto begin = here ? first : holding.cores.begin();
  const auto count = (here ? last : holding.cores.end()) - begin;
  return *(begin + (core.value % count));
}

/// A tensor at rest.
class RestingTensor {
 public:
  RestingTensor(const Operands& operands, OperandId k, const partition::Layout& layout)
      : operands_(operands), k_(k), holdings_(layout) {
    const program::Buffer* buffer = operands.machine().book.rest(number());
    if (buffer != nullptr) {
      storage_.segments.push_back(operands.machine().book.segment(*buffer));
    }
  }

  /// Calls `take(view, runs)` for what a core needs of every piece at rest.
  template <class Take>
  void bring(std::size_t worker, const Take& take) const {
    ChipState& machine = operands_.machine();
    const CoreId core = operands_.site().workers()[worker].core;
    const DensePiece& held = operands_.first_held(k_, worker);
    const std::int64_t bits = operands_.site().bits(k_);
    std::int64_t received = 0;
    OverlapFinder shared;
    holdings_.for_each_that_meets(held, [&](const PieceHolders& holding) {
      const CoreId from = sender(holding, core, machine.job.chip);
      const View view(machine.arenas[from], storage_, bits);
      const std::vector<OverlapRange>& runs = shared.between(holding.held, held);
      const std::int64_t elements = count(runs);
      take(view, runs);
      if (from != core) {
        operands_.note(worker, moved(Action::Gather, k_, from, bytes_of(elements, bits)));
      }
      received += elements;
    });
    if (received != held.elements()) {
      throw InternalError(text("tensor '", machine.job.graph.tensors[number()].name,
                               "': ", received, " elements arrive of ", held.elements()),
                          "emulate_exchange");
    }
  }

 private:
  [[nodiscard]] TensorId number() const { return operands_.site().op().operands[k_].tensor; }

  const Operands& operands_;
  OperandId k_;
  LayoutPieces holdings_;
  Storage storage_;
};

/// What a core needs of a tensor at rest, in ascending order.
std::vector<std::byte> from_rest(const Operands& operands, OperandId k, std::size_t worker,
                                 const RestingTensor& rest) {
  const std::int64_t bits = operands.site().bits(k);
  const std::int64_t count = operands.first_held(k, worker).elements();
  std::vector<std::byte> out(subscript(bytes_of(count, bits) + 8));
  rest.bring(worker, [&](const View& view, const std::vector<OverlapRange>& runs) {
    for (const OverlapRange& run : runs) {
      view.read_to(run.from, run.count, out.data(), run.to);
    }
  });
  return out;
}

/// Writes a gathered piece, in ascending order, to where it lies.
void write_gathered(const Operands& operands, OperandId k, std::size_t worker,
                    std::vector<std::byte> found) {
  const std::vector<std::byte> piece = operands.in_place_order(k, worker, std::move(found));
  write_part(operands, k, worker, piece,
             {.begin = 0, .bytes = static_cast<std::int64_t>(piece.size()) - 8});
}

void gather_from_rest(const Operands& operands, OperandId k, const partition::Layout& layout) {
  const RestingTensor rest(operands, k, layout);
  const std::int64_t bits = operands.site().bits(k);
  operands.for_each_worker(0, [&](std::size_t worker) {
    if (!lies_in_order(operands, k)) {
      write_gathered(operands, k, worker, from_rest(operands, k, worker, rest));
      return;
    }
    const View to = operands.view(k, worker, bits);
    rest.bring(worker, [&](const View& from, const std::vector<OverlapRange>& runs) {
      copy_runs(from, to, runs);
    });
  });
}

void gather_spread(const Operands& operands, OperandId k, Action action) {
  ChipState& machine = operands.machine();
  const TensorId tensor = operands.site().op().operands[k].tensor;
  operands.for_each_worker(0, [&](std::size_t worker) {
    const DensePiece& need = operands.first_held(k, worker);
    operands.note(worker,
                  moved(action, k, kEveryCore, bytes_of(need.elements(), operands.site().bits(k))));
    write_gathered(operands, k, worker, from_shares(machine, tensor, need));
  });
}

void gather_operand(const Operands& operands, OperandId k) {
  const ChipState& machine = operands.machine();
  if (partition::from_hbm(machine.job.graph, operands.site().op().operands[k])) {
    gather_spread(operands, k, Action::Distribute);
    return;
  }
  const TensorId tensor = operands.site().op().operands[k].tensor;
  const std::optional<partition::Layout> rest = program::rest_layout(
      machine.job.graph, tensor, machine.job.program.ops, machine.spaces.lives(), machine.job.chip);
  if (!rest) {
    throw InternalError(
        text("operand ", k, " of op '", operands.site().op().name, "' rests nowhere"),
        "emulate_exchange");
  }
  if (!rest->spread) {
    gather_from_rest(operands, k, *rest);
    return;
  }
  gather_spread(operands, k, Action::Gather);
}

/// The slices of a preloaded piece that its peers received.
void fetch_slices(const Operands& operands, OperandId k, std::size_t worker) {
  const Operands::Slices cut = operands.slices(k, worker);
  const DensePiece& held = operands.first_held(k, worker);
  const View mine = operands.view(k, worker, 8);
  for (std::size_t slice = 0; slice < cut.parts.size(); ++slice) {
    const Segment& part = cut.parts[slice];
    if (slice == cut.own || part.bytes == 0) {
      continue;
    }
    const std::size_t peer = operands.peer(k, worker, slice);
    const CoreId core = operands.site().workers()[peer].core;
    if (operands.first_held(k, peer) != held) {
      throw InternalError(text("core ", core, " holds another piece of operand ", k),
                          "emulate_exchange");
    }
    copy_run(operands.view(k, peer, 8), mine,
             {.from = part.begin, .to = part.begin, .count = part.bytes});
    operands.note(worker, moved(Action::Distribute, k, core, part.bytes));
  }
}

}  // namespace

void preload(const Operands& operands) {
  ChipState& machine = operands.machine();
  for (const OperandId k : operands.site().op().operands.ids()) {
    if (!operands.is_preloaded(k) || !is_own(operands, k)) {
      continue;
    }
    std::vector<std::byte> collected;
    const std::span<const std::byte> image =
        machine.image(operands.site().op().operands[k].tensor, collected);
    operands.for_each_worker(0, [&](std::size_t worker) {
      const Operands::Slices cut = operands.slices(k, worker);
      fill_part(operands, k, worker, image, cut.parts[cut.own]);
      if (machine.job.chip.hbm) {
        operands.note(worker, moved(Action::Preload, k, kMemory, cut.parts[cut.own].bytes));
      }
    });
  }
}

void spread(ChipState& machine, TensorId tensor) {
  const program::Buffer* buffer = machine.spread_buffer(tensor);
  if (buffer == nullptr) {
    return;
  }
  std::vector<std::byte> collected;
  const std::span<const std::byte> image = machine.image(tensor, collected);
  const auto share = static_cast<std::size_t>(
      partition::spread_share(machine.job.graph.tensors[tensor], machine.job.chip).value);
  const Storage storage{{machine.book.segment(*buffer)}};
  for (CoreId core{0}; core.index() < machine.arenas.size() && core.index() * share < image.size();
       ++core) {
    const std::size_t count = std::min(share, image.size() - (core.index() * share));
    View(machine.arenas[core], storage, 8)
        .write(0, static_cast<std::int64_t>(count), image.data() + (core.index() * share));
  }
}

void gather(const Operands& operands) {
  for (const OperandId k : operands.site().op().operands.ids()) {
    if (is_own(operands, k) && operands.is_gathered(k)) {
      gather_operand(operands, k);
    }
  }
}

void distribute(const Operands& operands) {
  for (const OperandId k : operands.site().op().operands.ids()) {
    if (operands.is_preloaded(k) && is_own(operands, k)) {
      operands.for_each_worker(0, [&](std::size_t worker) { fetch_slices(operands, k, worker); });
    }
  }
}

}  // namespace elk::emulate
