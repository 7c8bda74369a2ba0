#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/emulate/machine/movement.hpp"

namespace elk::emulate {
namespace {

/// What a worker receives in a shift, from whom, and where it goes.
struct Pass {
  std::vector<std::pair<std::size_t, OverlapRange>> runs;  // sender, elements there and here
  bool from_neighbour = true;                              // all of it
  std::int64_t elements = 0;
};

/// One shift of an operand along its spin number `along`, after `shifts` along each of them.
class OperandShift {
 public:
  OperandShift(const Operands& operands, std::size_t k, std::size_t along, Shifts shifts)
      : operands_(operands),
        site_(operands.site()),
        k_(k),
        along_(along),
        spin_(operands.site().spins(k)[along]),
        pace_(operands.site().placed().plan.execute.pace[spin_.axis]),
        moved_(shifts[along] * pace_),
        shifts_(std::move(shifts)) {}

  /// Most cores take all from their neighbour in the circle. Where parts are of different lengths,
  /// another core of it, or one of another ring that stands where this one does in all other
  /// circles, may have what comes next.
  [[nodiscard]] Pass pass(std::size_t worker) const {
    const CircleRange window = site_.window(spin_, worker);
    Pass out;
    if (window.held == window.length) {
      return out;  // The worker holds the whole tile.
    }
    const std::int64_t first = site_.workers()[worker].tile[spin_.axis].begin;
    for (std::int64_t r = moved_ + window.held; r < moved_ + window.held + pace_; ++r) {
      const std::int64_t position = (window.start + r) % window.length;
      if (first + position >= site_.tensor(k_).shape[spin_.dim]) {
        continue;
      }
      const std::size_t from = sender(worker, position);
      out.from_neighbour = out.from_neighbour && from == neighbour(worker);
      add(out, from, {.from = slot(from, position), .to = r % window.held, .count = 1});
    }
    spread(worker, out);
    return out;
  }

 private:
  [[nodiscard]] std::int64_t ahead(std::size_t worker, std::int64_t position) const {
    const CircleRange window = site_.window(spin_, worker);
    const std::int64_t distance = position - window.start - moved_;
    return ((distance % window.length) + window.length) % window.length;
  }

  [[nodiscard]] bool holds(std::size_t worker, std::int64_t position) const {
    return ahead(worker, position) < site_.window(spin_, worker).held;
  }

  [[nodiscard]] std::int64_t slot(std::size_t worker, std::int64_t position) const {
    return (moved_ + ahead(worker, position)) % site_.window(spin_, worker).held;
  }

  [[nodiscard]] std::size_t neighbour(std::size_t worker) const {
    const Member& member = site_.member(k_, worker);
    const std::int64_t place = member.number / spin_.stride % spin_.parts;
    const std::int64_t next = (place + 1) % spin_.parts;
    return site_.group(k_,
                       member.group)[subscript(member.number + ((next - place) * spin_.stride))];
  }

  /// Whether two workers hold the same indices of every other dimension.
  [[nodiscard]] bool alike(std::size_t worker, std::size_t other) const {
    const std::vector<RotationDim>& spins = site_.spins(k_);
    for (std::size_t i = 0; i < spins.size(); ++i) {
      if (i != along_ &&
          site_.window(spins[i], worker).start != site_.window(spins[i], other).start) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::size_t sender(std::size_t worker, std::int64_t position) const {
    if (alike(worker, neighbour(worker)) && holds(neighbour(worker), position)) {
      return neighbour(worker);
    }
    for (const std::size_t other : site_.group(k_, site_.member(k_, worker).group)) {
      if (alike(worker, other) && holds(other, position)) {
        return other;
      }
    }
    throw InternalError(text("no core of its ring holds position ", position, " of operand ", k_),
                        "emulate_exchange");
  }

  static void add(Pass& pass, std::size_t from, const OverlapRange& run) {
    if (!pass.runs.empty()) {
      auto& [last, before] = pass.runs.back();
      if (last == from && before.from + before.count == run.from &&
          before.to + before.count == run.to) {
        before.count += 1;
        return;
      }
    }
    pass.runs.emplace_back(from, run);
  }

  /// From places along the dimension to elements of the piece: the same for each row of those
  /// around it, and for each run of what a row is made of.
  void spread(std::size_t worker, Pass& pass) const {
    const ElementPositions outer =
        operands_.positions(k_, worker, shifts_, {.begin = 0, .end = spin_.dim});
    const ElementPositions inner = operands_.positions(
        k_, worker, shifts_, {.begin = spin_.dim + 1, .end = site_.tensor(k_).shape.size()});
    const std::int64_t held = site_.window(spin_, worker).held;
    const auto line = std::exchange(pass.runs, {});
    for (const OverlapRange& rows : outer.runs) {
      for (std::int64_t row = rows.to; row < rows.to + rows.count; ++row) {
        for (const auto& [from, run] : line) {
          add_places(
              pass, from,
              {.from = (row * held) + run.from, .to = (row * held) + run.to, .count = run.count},
              inner);
        }
      }
    }
  }

  /// Adds what lies at places of the dimension and those around it: each a row of `inner`.
  static void add_places(Pass& pass, std::size_t from, const OverlapRange& places,
                         const ElementPositions& inner) {
    const bool whole = in_order(inner);
    for (std::int64_t i = 0; i < (whole ? 1 : places.count); ++i) {
      for (const OverlapRange& part : inner.runs) {
        const std::int64_t count = whole ? places.count * inner.places : part.count;
        pass.runs.emplace_back(from,
                               OverlapRange{.from = ((places.from + i) * inner.places) + part.to,
                                            .to = ((places.to + i) * inner.places) + part.to,
                                            .count = count});
        pass.elements += count;
      }
    }
  }

  const Operands& operands_;
  const Site& site_;
  std::size_t k_;
  std::size_t along_;
  RotationDim spin_;
  std::int64_t pace_;
  std::int64_t moved_;
  Shifts shifts_;
};

/// Elements [begin, begin + count) of what a worker receives.
std::vector<std::pair<std::size_t, OverlapRange>> part_of(const Pass& pass, std::int64_t begin,
                                                          std::int64_t count) {
  std::vector<std::pair<std::size_t, OverlapRange>> out;
  std::int64_t passed = 0;
  for (const auto& [from, run] : pass.runs) {
    const std::int64_t low = std::max<std::int64_t>(begin - passed, 0);
    const std::int64_t high = std::min(run.count, begin + count - passed);
    if (low < high) {
      out.emplace_back(
          from, OverlapRange{.from = run.from + low, .to = run.to + low, .count = high - low});
    }
    passed += run.count;
  }
  return out;
}

/// Moves one load of the transfer buffers: into them on all cores, then to its place on all cores.
/// The transfer buffer is the reserved bytes in front of all others. Where parts of a ring are of
/// different lengths all cores read before any of them writes.
void move_load(const Operands& operands, std::size_t k, const std::vector<Pass>& passes,
               std::pair<std::int64_t, std::int64_t> load, std::int64_t step) {
  const Site& site = operands.site();
  const std::int64_t bits = site.bits(k);
  const bool in_parts = std::all_of(passes.begin(), passes.end(),
                                    [](const Pass& pass) { return pass.from_neighbour; });
  std::vector<std::vector<std::byte>> waiting(passes.size());
  const std::int64_t reserved = site.placed().chip.core.reserved.value;
  const bool buffered = in_parts && reserved > 0;
  const Storage buffer{{{.begin = 0, .bytes = reserved}}};
  const auto bytes = [&](std::int64_t elements) {
    return subscript(partition::element_bytes(elements, bits).value + 1);
  };
  std::vector<Arena>& arenas = operands.machine().arenas;
  operands.for_each_worker(step, [&](std::size_t worker) {
    std::int64_t done = 0;
    std::vector<std::byte>& mine = waiting[worker];
    mine.resize(bytes(std::min(load.second, passes[worker].elements)));
    std::vector<std::byte> part;
    for (const auto& [from, run] : part_of(passes[worker], load.first, load.second)) {
      const Storage& there = operands.storage(k, from);
      part.resize(bytes(run.count));
      View(arenas[subscript(site.workers()[from].core)], there, bits)
          .read(run.from, run.count, part.data());
      copy_elements(part.data(), mine.data(),
                    {.from = 0, .to = done, .count = run.count, .bits = bits});
      done += run.count;
    }
    if (buffered && done > 0) {
      View(arenas[subscript(site.workers()[worker].core)], buffer, bits)
          .write(0, done, mine.data());
    }
  });
  operands.for_each_worker(step, [&](std::size_t worker) {
    Arena& arena = arenas[subscript(site.workers()[worker].core)];
    const Storage& here = operands.storage(k, worker);
    std::int64_t done = 0;
    std::vector<std::byte> part;
    for (const auto& [from, run] : part_of(passes[worker], load.first, load.second)) {
      part.resize(bytes(run.count));
      if (buffered) {
        View(arena, buffer, bits).read(done, run.count, part.data());
      } else {
        copy_elements(waiting[worker].data(), part.data(),
                      {.from = done, .to = 0, .count = run.count, .bits = bits});
      }
      View(arena, here, bits).write(run.to, run.count, part.data());
      done += run.count;
    }
  });
}

/// Notes what a worker receives from each core.
void note_pass(const Operands& operands, std::size_t k, std::size_t worker, const Pass& pass,
               std::int64_t step) {
  std::map<std::size_t, std::int64_t> elements;
  for (const auto& [from, run] : pass.runs) {
    elements[from] += run.count;
  }
  for (const auto& [from, count] : elements) {
    operands.note(worker,
                  {.action = Action::Shift,
                   .op = -1,
                   .step = step,
                   .operand = static_cast<std::int32_t>(k),
                   .from = operands.site().workers()[from].core,
                   .bytes = partition::element_bytes(count, operands.site().bits(k)).value});
  }
}

void shift_operand(const Operands& operands, std::size_t k, std::size_t along, const Shifts& shifts,
                   std::int64_t step) {
  const OperandShift turn(operands, k, along, shifts);
  std::vector<Pass> passes(operands.site().workers().size());
  operands.for_each_worker(step, [&](std::size_t worker) {
    passes[worker] = turn.pass(worker);
    note_pass(operands, k, worker, passes[worker], step);
  });
  std::int64_t most = 0;
  bool in_parts = true;
  for (const Pass& pass : passes) {
    most = std::max(most, pass.elements);
    in_parts = in_parts && pass.from_neighbour;
  }
  const std::int64_t reserved = operands.site().placed().chip.core.reserved.value;
  const std::int64_t load = in_parts && reserved > 0
                                ? std::max<std::int64_t>(reserved * 8 / operands.site().bits(k), 1)
                                : std::max<std::int64_t>(most, 1);
  for (std::int64_t begin = 0; begin < most; begin += load) {
    move_load(operands, k, passes, {begin, load}, step);
  }
}

}  // namespace

void shift(const Operands& operands, std::int64_t step) {
  const Site& site = operands.site();
  if (step + 1 >= site.tiling().steps) {
    return;
  }
  for (std::size_t k = 0; k < site.op().operands.size(); ++k) {
    if (partition::first_like(site.op(), k) != k) {
      continue;
    }
    Shifts shifts = site.shifts(k, step);
    const Shifts after = site.shifts(k, step + 1);
    for (std::size_t along = 0; along < shifts.size(); ++along) {
      if (shifts[along] != after[along]) {
        shift_operand(operands, k, along, shifts, step);
        shifts[along] = after[along];
      }
    }
  }
}

}  // namespace elk::emulate
