#include <algorithm>
#include <cstddef>
#include <vector>

#include "elk/base/rounding.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/layout/inter_chip_traffic.hpp"
#include "elk/partition/layout/layout.hpp"
#include "elk/partition/layout/overlaps.hpp"
#include "elk/partition/layout/piece.hpp"
#include "elk/partition/layout/sending.hpp"

namespace elk::partition {
namespace {

struct Received {
  std::int64_t most = 0;
  std::size_t busiest = 0;  // the place of the busiest core
  std::int64_t total = 0;
  std::int64_t fragments = 0;  // of the core that receives most of them
};

std::int64_t piece(const Pieces& pieces, std::size_t place) {
  std::int64_t product = 1;
  for (const DimPieces& dim : pieces.dims) {
    product *= dim.counts[dim.at(place)];
  }
  return product;
}

/// Runs of a core's piece, in boxes that one piece holds: of those whose dimensions further in are
/// whole in both pieces, and of the others.
struct FragmentCounts {
  std::int64_t whole = 1;
  std::int64_t other = 0;

  /// Goes on to the dimension around those counted so far.
  void enter(const NeededOverlap& dim) {
    other = (whole * dim.other_runs) + (other * dim.count);
    whole *= dim.whole_runs;
  }
};

NeededOverlap of_one(const Overlap& overlap) {
  return {.whole_runs = overlap.whole ? overlap.runs : 0,
          .other_runs = overlap.whole ? 0 : overlap.runs,
          .count = overlap.count};
}

Received received(const Pieces& held, const Pieces& needed, std::vector<Overlaps>& overlaps) {
  Received result;
  for (std::size_t core = 0; core < needed.ids.size(); ++core) {
    const std::int32_t place = held.place(needed.ids[core]);
    std::int64_t elements = 1;
    std::int64_t there = place < 0 ? 0 : 1;
    FragmentCounts all;
    FragmentCounts own;
    for (std::size_t dim = needed.dims.size(); dim-- > 0;) {
      const std::size_t need = needed.dims[dim].at(core);
      elements *= needed.dims[dim].counts[need];
      all.enter(overlaps[dim].arriving(need));
      if (there > 0) {
        const Overlap one = overlaps[dim](held.dims[dim].at(static_cast<std::size_t>(place)), need);
        there *= one.count;
        own.enter(of_one(one));
      }
    }
    elements -= there;
    result.total += elements;
    const std::int64_t runs = all.whole + all.other - (there > 0 ? own.whole + own.other : 0);
    result.fragments = std::max(result.fragments, elements > 0 ? runs : 0);
    if (elements > result.most) {
      result.most = elements;
      result.busiest = core;
    }
  }
  return result;
}

/// Elements of the tensor that any core needs.
std::int64_t needed_elements(const Pieces& needed) {
  std::int64_t product = 1;
  for (const DimPieces& dim : needed.dims) {
    product *= dim.sets.size() == 1 ? dim.counts[0] : count(united(dim.sets, {}));
  }
  return product;
}

/// The piece of a core in runs of the stored tensor.
Box box(const Pieces& pieces, std::size_t place) {
  Box result{.elements = 1, .runs = 1};
  bool whole = true;
  for (std::size_t dim = pieces.dims.size(); dim-- > 0;) {
    const std::size_t set = pieces.dims[dim].at(place);
    const std::int64_t indices = pieces.dims[dim].counts[set];
    result.elements *= indices;
    result.runs *= whole ? static_cast<std::int64_t>(pieces.dims[dim].sets[set].size()) : indices;
    whole = whole && indices == pieces.layout.shape[dim];
  }
  return result;
}

Transition from_anywhere(const Pieces& needed, std::int64_t bits, const chip::Chip& chip) {
  Received all;
  for (std::size_t core = 0; core < needed.ids.size(); ++core) {
    const std::int64_t elements = piece(needed, core);
    all.total += elements;
    if (elements > all.most) {
      all.most = elements;
      all.busiest = core;
    }
  }
  const std::int64_t unique = std::min(all.total, needed_elements(needed));
  const std::int64_t cores = chip::total_cores(chip);
  const std::int64_t sent = chip.interconnect.multicast ? unique : all.total;
  const InterChipTraffic between =
      chip.chips > 1 ? crossing(nullptr, needed, chip) : InterChipTraffic{};
  return {.received = element_bytes(all.most, bits),
          .sent = element_bytes(ceil_div(sent, cores), bits),
          .fragments = spread_fragments(box(needed, all.busiest), unique, cores),
          .chip_in = element_bytes(between.most_in, bits),
          .chip_out = element_bytes(between.most_out, bits),
          .total = element_bytes(all.total, bits),
          .unique = element_bytes(unique, bits)};
}

Transition between(const Pieces& held, const Pieces& needed, std::int64_t bits,
                   const chip::Chip& chip) {
  std::vector<Overlaps> overlaps;
  overlaps.reserve(needed.dims.size());
  for (std::size_t dim = 0; dim < needed.dims.size(); ++dim) {
    overlaps.emplace_back(held.dims[dim], needed.dims[dim]);
  }
  const Received all = received(held, needed, overlaps);
  if (all.most == 0) {
    return {};
  }
  const InterChipTraffic crossed =
      chip.chips > 1 ? crossing(&held, needed, chip) : InterChipTraffic{};
  return {.received = element_bytes(all.most, bits),
          .sent = element_bytes(most_sent(held, needed, overlaps, all.most, chip), bits),
          .fragments = all.fragments,
          .chip_in = element_bytes(crossed.most_in, bits),
          .chip_out = element_bytes(crossed.most_out, bits),
          .total = element_bytes(all.total, bits),
          .unique = element_bytes(std::min(all.total, needed_elements(needed)), bits)};
}

}  // namespace

Transition transition(const Layout* have, const Layout& need, std::int64_t element_bits,
                      const chip::Chip& chip) {
  const Pieces needed(need);
  if (have == nullptr || have->spread) {
    return from_anywhere(needed, element_bits, chip);
  }
  return between(Pieces(*have), needed, element_bits, chip);
}

Handover handover(const Pieces& have, const Pieces& need, std::int64_t element_bits,
                  const chip::Chip& chip) {
  Handover result{.moved = between(have, need, element_bits, chip), .in_place = false};
  // A piece that is received was not there.
  result.in_place =
      result.moved.total == Bytes{0} && comparable(have.layout, need.layout) && same(have, need);
  return result;
}

}  // namespace elk::partition
