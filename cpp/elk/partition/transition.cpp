#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "elk/base/rounding.hpp"
#include "elk/partition/crossing.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/layout.hpp"
#include "elk/partition/piece.hpp"

namespace elk::partition {
namespace {

/// Sizes of the common parts of the sets of one dimension, worked out once for each pair.
class Overlaps {
 public:
  Overlaps(const DimPieces& held, const DimPieces& needed)
      : held_(held), needed_(needed), solid_(held.sets.solid() && needed.sets.solid()) {}

  [[nodiscard]] std::int64_t operator()(std::size_t have, std::size_t need) {
    if (solid_) {
      const Run shared = intersection(held_.sets.run(have), needed_.sets.run(need));
      return std::max<std::int64_t>(0, shared.length());
    }
    const auto [found, added] = known_.try_emplace((have * needed_.sets.size()) + need, 0);
    if (added) {
      found->second = common(held_.sets[have], needed_.sets[need]);
    }
    return found->second;
  }

 private:
  const DimPieces& held_;
  const DimPieces& needed_;
  bool solid_;
  std::unordered_map<std::size_t, std::int64_t> known_;  // of pairs not both one interval
};

struct Received {
  std::int64_t most = 0;
  std::size_t busiest = 0;  // its place
  std::int64_t total = 0;
};

std::int64_t piece(const Pieces& pieces, std::size_t place) {
  std::int64_t product = 1;
  for (const DimPieces& dim : pieces.dims) {
    product *= dim.counts[dim.at(place)];
  }
  return product;
}

Received received(const Pieces& held, const Pieces& needed) {
  std::vector<Overlaps> overlaps;
  for (std::size_t dim = 0; dim < needed.dims.size(); ++dim) {
    overlaps.emplace_back(held.dims[dim], needed.dims[dim]);
  }
  Received result;
  for (std::size_t core = 0; core < needed.ids.size(); ++core) {
    const std::int32_t place = held.place(needed.ids[core]);
    std::int64_t there = place < 0 ? 0 : 1;
    for (std::size_t dim = 0; dim < needed.dims.size() && there > 0; ++dim) {
      there *= overlaps[dim](held.dims[dim].at(static_cast<std::size_t>(place)),
                             needed.dims[dim].at(core));
    }
    const std::int64_t elements = piece(needed, core) - there;
    result.total += elements;
    if (elements > result.most) {
      result.most = elements;
      result.busiest = core;
    }
  }
  return result;
}

/// Runs in which a core's piece arrives: cut where the senders' pieces end, in the innermost
/// dimension in which they differ from the piece, once for every index of the dimensions around it.
std::int64_t fragments(const Pieces& held, const Pieces& needed, std::size_t core) {
  for (std::size_t dim = needed.dims.size(); dim-- > 0;) {
    const DimPieces& need = needed.dims[dim];
    const IndexView wanted = need.sets[need.at(core)];
    std::int64_t runs = 0;
    bool whole = true;
    for (std::size_t set = 0; set < held.dims[dim].sets.size(); ++set) {
      const IndexView there = held.dims[dim].sets[set];
      const Indices both = shared(there, wanted);
      const std::int64_t common = count(both);
      if (common > 0) {
        runs += static_cast<std::int64_t>(both.size());
        whole =
            whole && common == held.dims[dim].counts[set] && common == need.counts[need.at(core)];
      }
    }
    if (!whole) {
      for (std::size_t outer = 0; outer < dim; ++outer) {
        runs *= needed.dims[outer].counts[needed.dims[outer].at(core)];
      }
      return std::max<std::int64_t>(1, runs);
    }
  }
  return 1;
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
  const Crossing between = chip.chips > 1 ? crossing(nullptr, needed, chip) : Crossing{};
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
  const Received all = received(held, needed);
  if (all.most == 0) {
    return {};
  }
  const std::int64_t unique = std::min(all.total, needed_elements(needed));
  const std::int64_t sent = chip.interconnect.multicast ? unique : all.total;
  const std::int64_t whole = piece(needed, all.busiest);
  const Crossing crossed = chip.chips > 1 ? crossing(&held, needed, chip) : Crossing{};
  return {.received = element_bytes(all.most, bits),
          .sent = element_bytes(ceil_div(sent, held.layout.cores), bits),
          .fragments = ceil_div(fragments(held, needed, all.busiest) * all.most, whole),
          .chip_in = element_bytes(crossed.most_in, bits),
          .chip_out = element_bytes(crossed.most_out, bits),
          .total = element_bytes(all.total, bits),
          .unique = element_bytes(unique, bits)};
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
