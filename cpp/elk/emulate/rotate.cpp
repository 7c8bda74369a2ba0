#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/emulate/movement.hpp"

namespace elk::emulate {
namespace {

/// What a worker receives in a shift, from whom, and where it goes.
struct Pass {
  std::vector<std::pair<std::size_t, SharedRun>> runs;  // sender, elements there and here
  bool from_neighbour = true;                           // all of it
  std::int64_t elements = 0;
};

/// Rotation of one operand after `turns` shifts.
class Turn {
 public:
  Turn(const Operands& operands, std::size_t k, std::int64_t turns)
      : operands_(operands),
        site_(operands.site()),
        k_(k),
        spin_(*operands.site().spin(k)),
        moved_(turns * operands.site().placed().plan.execute.pace[spin_.axis]) {}

  /// Most cores take all from their neighbour in the ring. Where parts are of different lengths,
  /// another core of the ring, or of the group, may have what comes next.
  [[nodiscard]] Pass pass(std::size_t worker) const {
    const Window window = site_.window(k_, worker);
    const std::int64_t pace = site_.placed().plan.execute.pace[spin_.axis];
    Pass out;
    if (window.held == window.length) {
      return out;  // It holds the whole tile.
    }
    const std::int64_t first = site_.workers()[worker].tile[spin_.axis].begin;
    for (std::int64_t r = moved_ + window.held; r < moved_ + window.held + pace; ++r) {
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
    const Window window = site_.window(k_, worker);
    const std::int64_t distance = position - window.start - moved_;
    return ((distance % window.length) + window.length) % window.length;
  }

  [[nodiscard]] bool holds(std::size_t worker, std::int64_t position) const {
    return ahead(worker, position) < site_.window(k_, worker).held;
  }

  [[nodiscard]] std::int64_t slot(std::size_t worker, std::int64_t position) const {
    return (moved_ + ahead(worker, position)) % site_.window(k_, worker).held;
  }

  [[nodiscard]] std::size_t neighbour(std::size_t worker) const {
    const Member& member = site_.member(k_, worker);
    const std::int64_t place = member.number % spin_.parts;
    return site_.group(
        k_, member.group)[subscript(member.number - place + ((place + 1) % spin_.parts))];
  }

  [[nodiscard]] std::size_t sender(std::size_t worker, std::int64_t position) const {
    if (holds(neighbour(worker), position)) {
      return neighbour(worker);
    }
    for (const std::size_t other : site_.group(k_, site_.member(k_, worker).group)) {
      if (holds(other, position)) {
        return other;
      }
    }
    throw InternalError(text("no core of its ring holds position ", position, " of operand ", k_),
                        "emulate_exchange");
  }

  static void add(Pass& pass, std::size_t from, const SharedRun& run) {
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

  /// From places along the dimension to elements of the piece.
  void spread(std::size_t worker, Pass& pass) const {
    const Held piece = site_.held(k_, worker, 0);
    std::int64_t outer = 1;
    std::int64_t inner = 1;
    for (std::size_t dim = 0; dim < piece.sets.size(); ++dim) {
      const std::int64_t count = dim == spin_.dim ? 1 : partition::count(piece.sets[dim]);
      (dim < spin_.dim ? outer : inner) *= count;
    }
    std::vector<std::pair<std::size_t, SharedRun>> runs;
    for (std::int64_t row = 0; row < outer; ++row) {
      for (const auto& [from, run] : pass.runs) {
        const std::int64_t there = row * site_.window(k_, from).held;
        const std::int64_t here = row * site_.window(k_, worker).held;
        runs.emplace_back(from, SharedRun{.from = (there + run.from) * inner,
                                          .to = (here + run.to) * inner,
                                          .count = run.count * inner});
        pass.elements += run.count * inner;
      }
    }
    pass.runs = std::move(runs);
  }

  const Operands& operands_;
  const Site& site_;
  std::size_t k_;
  Spin spin_;
  std::int64_t moved_;
};

/// Elements [begin, begin + count) of what a worker receives.
std::vector<std::pair<std::size_t, SharedRun>> part_of(const Pass& pass, std::int64_t begin,
                                                       std::int64_t count) {
  std::vector<std::pair<std::size_t, SharedRun>> out;
  std::int64_t passed = 0;
  for (const auto& [from, run] : pass.runs) {
    const std::int64_t low = std::max<std::int64_t>(begin - passed, 0);
    const std::int64_t high = std::min(run.count, begin + count - passed);
    if (low < high) {
      out.emplace_back(from,
                       SharedRun{.from = run.from + low, .to = run.to + low, .count = high - low});
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

void shift_operand(const Operands& operands, std::size_t k, std::int64_t turns, std::int64_t step) {
  const Turn turn(operands, k, turns);
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
    if (!site.spin(k) || partition::first_like(site.op(), k) != k) {
      continue;
    }
    const std::int64_t turns = site.turns(site.spin(k)->axis, step);
    if (site.turns(site.spin(k)->axis, step + 1) != turns) {
      shift_operand(operands, k, turns, step);
    }
  }
}

}  // namespace elk::emulate
