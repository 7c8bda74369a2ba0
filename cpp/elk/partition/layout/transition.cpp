#include <algorithm>
#include <cstddef>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
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

Received received(const Pieces& held, const Pieces& needed, Table<DimId, Overlaps>& overlaps) {
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
      all.enter(overlaps[id_at<DimId>(dim)].arriving(need));
      if (there > 0) {
        const Overlap one =
            overlaps[id_at<DimId>(dim)](held.dims[dim].at(static_cast<std::size_t>(place)), need);
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

Transition between(const Pieces& held, const Pieces& needed, std::int64_t bits,
                   const chip::Chip& chip) {
  Table<DimId, Overlaps> overlaps;
  overlaps.reserve(needed.dims.size());
  for (const DimId dim : first_ids<DimId>(needed.dims.size())) {
    overlaps.emplace_back(held.dims[dim.index()], needed.dims[dim.index()]);
  }
  const Received all = received(held, needed, overlaps);
  if (all.most == 0) {
    return {};
  }
  const InterChipTraffic crossed =
      chip.chips > 1 ? crossing(held, needed, chip) : InterChipTraffic{};
  return {.received = element_bytes(all.most, bits),
          .sent = element_bytes(most_sent(held, needed, overlaps, all.most, chip), bits),
          .fragments = all.fragments,
          .chip_in = element_bytes(crossed.most_in, bits),
          .chip_out = element_bytes(crossed.most_out, bits),
          .total = element_bytes(all.total, bits),
          .unique = element_bytes(std::min(all.total, needed_elements(needed)), bits)};
}

}  // namespace

Handover handover(const Pieces& have, const Pieces& need, std::int64_t element_bits,
                  const chip::Chip& chip) {
  Handover result{.moved = between(have, need, element_bits, chip), .in_place = false};
  // A piece that is received was not there.
  result.in_place =
      result.moved.total == Bytes{0} && comparable(have.layout, need.layout) && same(have, need);
  return result;
}

}  // namespace elk::partition
