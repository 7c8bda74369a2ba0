#include "elk/emulate/machine/scatter.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/emulate/machine/pieces.hpp"

namespace elk::emulate {
namespace {

std::size_t room_for(std::int64_t elements, ir::DType dtype) {
  return subscript(partition::element_bytes(elements, ir::bits(dtype)).value + 8);
}

/// A reduce-scatter of the partial tiles of one op.
class Scattering {
 public:
  explicit Scattering(const Operands& operands)
      : operands_(operands), site_(operands.site()), result_(result_operands(site_.op()).front()) {}

  void run();

 private:
  void receive(std::size_t worker, const std::vector<std::size_t>& group, const DensePiece& mine);
  [[nodiscard]] std::vector<std::byte> summed(std::size_t worker, std::size_t parts,
                                              std::size_t own, const DensePiece& mine) const;
  void settle(std::size_t worker, const std::vector<std::byte>& sums, const DensePiece& mine);
  [[nodiscard]] std::vector<std::byte> rounded(const std::vector<std::byte>& sums,
                                               std::int64_t count, ir::DType stored) const;
  [[nodiscard]] std::vector<std::byte> finished(std::size_t worker,
                                                const std::vector<std::byte>& sums,
                                                const DensePiece& mine) const;

  [[nodiscard]] ir::DType partial_type() const {
    return partial_dtype(site_.op(), site_.tensor(result_).dtype);
  }

  [[nodiscard]] Arena& arena(std::size_t worker) const {
    return operands_.machine().arenas[subscript(site_.workers()[worker].core)];
  }

  /// The room in which parts from others arrive, behind the partial tile.
  [[nodiscard]] Storage room(std::size_t worker) const {
    const std::size_t k = result_;
    const DensePiece& most = operands_.first_held(k, 0);  // The first core's tile is the largest.
    const std::int64_t skipped =
        partition::aligned(partition::element_bytes(most.elements(), ir::bits(partial_type())))
            .value;
    Storage out;
    std::int64_t passed = 0;
    for (const Segment& segment : operands_.storage(k, worker).segments) {
      const std::int64_t low = std::clamp<std::int64_t>(skipped - passed, 0, segment.bytes);
      if (low < segment.bytes) {
        out.segments.push_back({.begin = segment.begin + low, .bytes = segment.bytes - low});
      }
      passed += segment.bytes;
    }
    return out;
  }

  const Operands& operands_;
  const Site& site_;
  std::size_t result_;
};

/// Every core receives its part of the tile from all others that share it, adds, and finishes.
void Scattering::run() {
  const std::size_t k = result_;
  const partition::Layout layout = partition::layout(
      site_.placed().graph, site_.op(), k, site_.placed().plan.execute, site_.placed().chip);
  const partition::Pieces pieces(layout);
  std::vector<DensePiece> mine;
  std::vector<std::pair<std::size_t, std::size_t>> place(site_.workers().size());
  for (const Worker& worker : site_.workers()) {
    mine.push_back(held_at(pieces, static_cast<std::size_t>(pieces.place(worker.core))));
  }
  const std::vector<std::vector<std::size_t>> partners = site_.partners();
  for (std::size_t group = 0; group < partners.size(); ++group) {
    for (std::size_t number = 0; number < partners[group].size(); ++number) {
      place[partners[group][number]] = {group, number};
    }
  }
  const std::int64_t step = site_.tiling().steps;
  operands_.for_each_worker(step, [&](std::size_t worker) {
    receive(worker, partners[place[worker].first], mine[worker]);
  });
  std::vector<std::vector<std::byte>> sums(mine.size());
  operands_.for_each_worker(step, [&](std::size_t worker) {
    sums[worker] =
        summed(worker, partners[place[worker].first].size(), place[worker].second, mine[worker]);
  });
  operands_.for_each_worker(
      step, [&](std::size_t worker) { settle(worker, sums[worker], mine[worker]); });
}

void Scattering::receive(std::size_t worker, const std::vector<std::size_t>& group,
                         const DensePiece& mine) {
  const std::size_t k = result_;
  const std::int64_t bits = ir::bits(partial_type());
  const Storage into = room(worker);
  const View view(arena(worker), into, bits);
  OverlapFinder shared;
  std::int64_t slot = 0;
  for (const std::size_t other : group) {
    if (other == worker) {
      continue;
    }
    const Storage& there = operands_.storage(k, other);
    const View from(arena(other), there, bits);
    const std::int64_t behind = slot * mine.elements();
    std::vector<OverlapRange>& runs = shared.between(operands_.first_held(k, other), mine);
    for (OverlapRange& run : runs) {
      run.to += behind;
    }
    copy_runs(from, view, runs);
    operands_.note(worker, {.action = Action::Reduce,
                            .op = -1,
                            .step = 0,
                            .operand = static_cast<std::int32_t>(k),
                            .from = site_.workers()[other].core,
                            .bytes = partition::element_bytes(mine.elements(), bits).value});
    slot += 1;
  }
}

std::vector<std::byte> Scattering::summed(std::size_t worker, std::size_t parts, std::size_t own,
                                          const DensePiece& mine) const {
  const std::size_t k = result_;
  const ir::DType dtype = partial_type();
  const std::int64_t bits = ir::bits(dtype);
  const std::int64_t count = mine.elements();
  const Storage received = room(worker);
  const Storage& tile = operands_.storage(k, worker);
  std::vector<std::byte> bytes(subscript(partition::element_bytes(count, bits).value) + 8);
  std::optional<Numbers> sum;
  std::int64_t slot = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    if (part == own) {
      const View view(arena(worker), tile, bits);
      for (const OverlapRange& run : shared_runs(operands_.first_held(k, worker), mine)) {
        view.read(run.from, run.count, bytes.data() + partition::element_bytes(run.to, bits).value);
      }
    } else {
      View(arena(worker), received, bits).read(slot++ * count, count, bytes.data());
    }
    const ElementSequence all{.first = 0, .step = 1, .count = count};
    Numbers numbers = with_numbers(dtype, subscript(count), [&](auto& values) {
      emulate::load(Elements{.data = bytes.data(), .dtype = dtype}, all, values.data());
    });
    if (sum) {
      combine(site_.op(), numbers, *sum);
    } else {
      sum = std::move(numbers);
    }
  }
  save_part(*sum, 0, count, {.data = bytes.data(), .dtype = dtype});
  return bytes;
}

/// Finishes a core's part of the tile and writes it where it rests.
void Scattering::settle(std::size_t worker, const std::vector<std::byte>& sums,
                        const DensePiece& mine) {
  const std::size_t k = result_;
  const ir::DType stored = site_.tensor(k).dtype;
  const std::vector<std::byte> piece =
      finishes(site_.op()) ? finished(worker, sums, mine) : rounded(sums, mine.elements(), stored);
  View(arena(worker), operands_.rest(k), ir::bits(stored)).write(0, mine.elements(), piece.data());
}

/// Sums that are complete, in the type of the result.
std::vector<std::byte> Scattering::rounded(const std::vector<std::byte>& sums, std::int64_t count,
                                           ir::DType stored) const {
  const ir::DType wide = partial_type();
  if (wide == stored) {
    return sums;
  }
  const Numbers numbers = with_numbers(wide, subscript(count), [&](auto& values) {
    emulate::load(Elements{.data = sums.data(), .dtype = wide},
                  {.first = 0, .step = 1, .count = count}, values.data());
  });
  std::vector<std::byte> out(room_for(count, stored));
  save_part(numbers, 0, count, {.data = out.data(), .dtype = stored});
  return out;
}

/// What comes of the sums of an op that does more with them, as a part of the tile.
std::vector<std::byte> Scattering::finished(std::size_t worker, const std::vector<std::byte>& sums,
                                            const DensePiece& mine) const {
  const std::size_t k = result_;
  const ir::DType wide = partial_type();
  const ir::DType stored = site_.tensor(k).dtype;
  const DensePiece& whole_tile = operands_.first_held(k, worker);
  const std::vector<OverlapRange> runs = shared_runs(whole_tile, mine);
  std::vector<std::byte> partials(room_for(whole_tile.elements(), wide));
  for (const OverlapRange& run : runs) {
    copy_elements(sums.data(), partials.data(),
                  {.from = run.to, .to = run.from, .count = run.count, .bits = ir::bits(wide)});
  }
  const std::vector<PieceBytes> none;  // What is summed up needs its operands no more.
  const KernelCall all{site_.placed().graph, site_.op(), none, site_.workers()[worker].tile};
  Numbers numbers = read(all, k, {.held = whole_tile, .bytes = partials.data(), .dtype = wide});
  finish(all, numbers);
  std::vector<std::byte> tile_bytes(room_for(whole_tile.elements(), stored));
  write(all, k, numbers, {.held = whole_tile, .bytes = tile_bytes.data(), .dtype = stored});
  std::vector<std::byte> piece(room_for(mine.elements(), stored));
  for (const OverlapRange& run : runs) {
    copy_elements(tile_bytes.data(), piece.data(),
                  {.from = run.from, .to = run.to, .count = run.count, .bits = ir::bits(stored)});
  }
  return piece;
}

}  // namespace

void reduce_scatter(const Operands& operands) { Scattering(operands).run(); }

}  // namespace elk::emulate
