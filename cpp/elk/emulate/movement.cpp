#include "elk/emulate/movement.hpp"

#include <algorithm>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/program/space.hpp"

namespace elk::emulate {
namespace {

std::int64_t bytes_of(std::int64_t elements, std::int64_t bits) {
  return partition::element_bytes(elements, bits).value;
}

Moved moved(Action action, std::size_t k, std::int32_t from, std::int64_t bytes) {
  return {.action = action,
          .op = -1,
          .step = 0,
          .operand = static_cast<std::int32_t>(k),
          .from = from,
          .bytes = bytes};
}

/// A piece of a tensor in ascending order, cut out of the whole of it.
std::vector<std::byte> cut_out(const std::vector<std::byte>& image, const ir::Tensor& tensor,
                               const Held& held) {
  const std::int64_t bits = ir::bits(tensor.dtype);
  std::vector<std::byte> out(subscript(bytes_of(held.elements(), bits) + 8));
  for (const SharedRun& run : shared_runs(whole(tensor), held)) {
    copy_elements(image.data(), out.data(),
                  {.from = run.from, .to = run.to, .count = run.count, .bits = bits});
  }
  return out;
}

/// Writes bytes [part.begin, part.begin + part.bytes) of a piece to where they lie.
void write_part(const Operands& operands, std::size_t k, std::size_t worker,
                const std::vector<std::byte>& piece, const Segment& part) {
  const Storage storage = operands.storage(k, worker);
  const std::int32_t core = operands.site().workers()[worker].core;
  const View view(operands.machine().arenas[subscript(core)], storage, 8);
  if (subscript(part.begin + part.bytes) <= piece.size()) {
    view.write(part.begin, part.bytes, piece.data() + part.begin);
    return;
  }
  std::vector<std::byte> padded = piece;
  padded.resize(subscript(part.begin + part.bytes));
  view.write(part.begin, part.bytes, padded.data() + part.begin);
}

bool is_own(const Operands& operands, std::size_t k) {
  return operands.site().op().operands[k].access == ir::Access::Read &&
         partition::first_like(operands.site().op(), k) == k;
}

/// What a core needs of a tensor that lies in equal shares on all cores, in ascending order.
std::vector<std::byte> from_shares(Machine& machine, std::int32_t number, const Held& held) {
  const ir::Tensor& tensor = machine.job.graph.tensors[subscript(number)];
  const std::int64_t bits = ir::bits(tensor.dtype);
  const std::int64_t share = program::input_space(tensor, machine.job.chip).value;
  const program::Buffer* buffer = machine.book.rest(number);
  const Storage storage{buffer == nullptr ? std::vector<Segment>{}
                                          : std::vector<Segment>{machine.book.segment(*buffer)}};
  std::vector<std::byte> out(subscript(bytes_of(held.elements(), bits) + 8));
  std::vector<std::byte> part;
  for (const SharedRun& run : shared_runs(whole(tensor), held)) {
    const std::int64_t begin = run.from * bits / 8;
    const std::int64_t end = bytes_of(run.from + run.count, bits);
    part.assign(subscript(end - begin + 1), std::byte{0});
    for (std::int64_t byte = begin; byte < end;) {
      const std::int64_t core = byte / share;
      const std::int64_t stop = std::min(end, (core + 1) * share);
      View(machine.arenas[subscript(core)], storage, 8)
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
std::int32_t sender(const Holding& holding, std::int32_t core, const chip::Chip& chip) {
  if (std::binary_search(holding.cores.begin(), holding.cores.end(), core)) {
    return core;
  }
  const auto of_chip = static_cast<std::int32_t>(chip.core.count);
  const std::int32_t home = core / of_chip;
  const auto first = std::lower_bound(holding.cores.begin(), holding.cores.end(), home * of_chip);
  const auto last = std::lower_bound(first, holding.cores.end(), (home + 1) * of_chip);
  const bool here = first != last;
  const auto begin = here ? first : holding.cores.begin();
  const auto count = (here ? last : holding.cores.end()) - begin;
  return *(begin + (core % count));
}

/// Whether two sets have an index in common.
bool meet(partition::IndexView a, partition::IndexView b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (!intersection(a[i], b[j]).empty()) {
      return true;
    }
    (a[i].end < b[j].end ? i : j) += 1;
  }
  return false;
}

bool meet(const Held& a, const Held& b) {
  for (std::size_t dim = 0; dim < a.sets.size(); ++dim) {
    if (!meet(partition::IndexView(a.sets[dim]), partition::IndexView(b.sets[dim]))) {
      return false;
    }
  }
  return true;
}

/// What a core needs of a tensor at rest, in ascending order.
std::vector<std::byte> from_rest(const Operands& operands, std::size_t k, std::size_t worker,
                                 const std::vector<Holding>& rest) {
  Machine& machine = operands.machine();
  const std::int32_t number = operands.site().op().operands[k].tensor;
  const std::int32_t core = operands.site().workers()[worker].core;
  const Held held = operands.held(k, worker, 0);
  const std::int64_t bits = ir::bits(machine.job.graph.tensors[subscript(number)].dtype);
  const program::Buffer* buffer = machine.book.rest(number);
  const Storage storage{buffer == nullptr ? std::vector<Segment>{}
                                          : std::vector<Segment>{machine.book.segment(*buffer)}};
  std::vector<std::byte> out(subscript(bytes_of(held.elements(), bits) + 8));
  std::int64_t received = 0;
  for (const Holding& holding : rest) {
    if (!meet(holding.held, held)) {
      continue;
    }
    const std::int32_t from = sender(holding, core, machine.job.chip);
    const View view(machine.arenas[subscript(from)], storage, bits);
    const std::vector<SharedRun> runs = shared_runs(holding.held, held);
    if (from != core) {
      operands.note(worker, moved(Action::Gather, k, from, bytes_of(elements(runs), bits)));
    }
    for (const SharedRun& run : runs) {
      view.read_to(run.from, run.count, out.data(), run.to);
      received += run.count;
    }
  }
  if (received != held.elements()) {
    throw InternalError(text("tensor '", machine.job.graph.tensors[subscript(number)].name,
                             "': ", received, " elements arrive of ", held.elements()),
                        "emulate_exchange");
  }
  return out;
}

void gather_operand(const Operands& operands, std::size_t k) {
  Machine& machine = operands.machine();
  const std::int32_t tensor = operands.site().op().operands[k].tensor;
  const std::optional<partition::Layout> rest = program::rest_layout(
      machine.job.graph, tensor, machine.job.program.ops, machine.spaces.lives(), machine.job.chip);
  if (!rest) {
    throw InternalError(
        text("operand ", k, " of op '", operands.site().op().name, "' rests nowhere"),
        "emulate_exchange");
  }
  const std::vector<Holding> held = rest->spread ? std::vector<Holding>{} : holdings(*rest);
  operands.for_each_worker(0, [&](std::size_t worker) {
    std::vector<std::byte> found;
    if (rest->spread) {
      const Held need = operands.held(k, worker, 0);
      found = from_shares(machine, tensor, need);
      operands.note(worker, moved(Action::Gather, k, kEveryCore,
                                  bytes_of(need.elements(), operands.site().bits(k))));
    } else {
      found = from_rest(operands, k, worker, held);
    }
    const std::vector<std::byte> piece = operands.in_place_order(k, worker, std::move(found));
    write_part(operands, k, worker, piece,
               {.begin = 0, .bytes = static_cast<std::int64_t>(piece.size()) - 8});
  });
}

/// The slices of a preloaded piece that its peers received.
void fetch_slices(const Operands& operands, std::size_t k, std::size_t worker) {
  const Operands::Slices cut = operands.slices(k, worker);
  const Held held = operands.held(k, worker, 0);
  for (std::size_t slice = 0; slice < cut.parts.size(); ++slice) {
    const Segment& part = cut.parts[slice];
    if (slice == cut.own || part.bytes == 0) {
      continue;
    }
    const std::size_t peer = operands.peer(k, worker, slice);
    const std::int32_t core = operands.site().workers()[peer].core;
    if (operands.held(k, peer, 0) != held) {
      throw InternalError(text("core ", core, " holds another piece of operand ", k),
                          "emulate_exchange");
    }
    std::vector<std::byte> bytes(subscript(part.begin + part.bytes));
    const Storage storage = operands.storage(k, peer);
    View(operands.machine().arenas[subscript(core)], storage, 8)
        .read(part.begin, part.bytes, bytes.data() + part.begin);
    write_part(operands, k, worker, bytes, part);
    operands.note(worker, moved(Action::Distribute, k, core, part.bytes));
  }
}

}  // namespace

void preload(const Operands& operands) {
  Machine& machine = operands.machine();
  for (std::size_t k = 0; k < operands.site().op().operands.size(); ++k) {
    if (!operands.is_preloaded(k) || !is_own(operands, k)) {
      continue;
    }
    const ir::Tensor& tensor = operands.site().tensor(k);
    std::vector<std::byte> collected;
    const std::vector<std::byte>& image =
        machine.image(operands.site().op().operands[k].tensor, collected);
    operands.for_each_worker(0, [&](std::size_t worker) {
      const Operands::Slices cut = operands.slices(k, worker);
      write_part(
          operands, k, worker,
          operands.in_place_order(k, worker, cut_out(image, tensor, operands.held(k, worker, 0))),
          cut.parts[cut.own]);
      operands.note(worker, moved(Action::Preload, k, kMemory, cut.parts[cut.own].bytes));
    });
  }
}

void load_residents(const Operands& operands) {
  Machine& machine = operands.machine();
  for (std::size_t k = 0; k < operands.site().op().operands.size(); ++k) {
    const ir::Operand& operand = operands.site().op().operands[k];
    if (machine.job.chip.hbm || !is_own(operands, k) ||
        !partition::from_hbm(machine.job.graph, operand)) {
      continue;
    }
    std::vector<std::byte> collected;
    const std::vector<std::byte>& image = machine.image(operand.tensor, collected);
    operands.for_each_worker(0, [&](std::size_t worker) {
      const std::vector<std::byte> piece = operands.in_place_order(
          k, worker, cut_out(image, operands.site().tensor(k), operands.held(k, worker, 0)));
      write_part(operands, k, worker, piece,
                 {.begin = 0, .bytes = static_cast<std::int64_t>(piece.size()) - 8});
    });
  }
}

void spread_input(Machine& machine, std::int32_t tensor) {
  const program::Buffer* buffer = machine.book.rest(tensor);
  if (buffer == nullptr) {
    return;
  }
  const std::vector<std::byte>& image = machine.images.at(tensor);
  const auto share = static_cast<std::size_t>(
      program::input_space(machine.job.graph.tensors[subscript(tensor)], machine.job.chip).value);
  const Storage storage{{machine.book.segment(*buffer)}};
  for (std::size_t core = 0; core < machine.arenas.size() && core * share < image.size(); ++core) {
    const std::size_t count = std::min(share, image.size() - (core * share));
    View(machine.arenas[core], storage, 8)
        .write(0, static_cast<std::int64_t>(count), image.data() + (core * share));
  }
}

void gather(const Operands& operands) {
  for (std::size_t k = 0; k < operands.site().op().operands.size(); ++k) {
    if (is_own(operands, k) && operands.is_gathered(k)) {
      gather_operand(operands, k);
    }
  }
}

void distribute(const Operands& operands) {
  for (std::size_t k = 0; k < operands.site().op().operands.size(); ++k) {
    if (operands.is_preloaded(k) && is_own(operands, k)) {
      operands.for_each_worker(0, [&](std::size_t worker) { fetch_slices(operands, k, worker); });
    }
  }
}

}  // namespace elk::emulate
