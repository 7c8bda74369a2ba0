#include "elk/partition/layout/inter_chip_traffic.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/partition_tuning.hpp"

namespace elk::partition {
namespace {

/// Places of cores [begin, end).
std::pair<std::size_t, std::size_t> places(const Pieces& pieces, std::int64_t begin,
                                           std::int64_t end) {
  const auto place = [&](std::int64_t id) {
    return static_cast<std::size_t>(std::lower_bound(pieces.ids.begin(), pieces.ids.end(), id) -
                                    pieces.ids.begin());
  };
  return {place(begin), place(end)};
}

/// A part of a tensor, one set of indices a dimension.
using IndexBlock = Table<DimId, Indices>;

/// Per dimension the union of the sets of the cores at places [first, last).
IndexBlock around(const Pieces& pieces, std::size_t first, std::size_t last) {
  IndexBlock block;
  for (const DimPieces& dim : pieces.dims) {
    std::vector<char> present(dim.sets.size(), 0);
    for (std::size_t at = first; at < last; ++at) {
      present[dim.at(at)] = 1;
    }
    block.push_back(united(dim.sets, present));
  }
  return block;
}

/// The end of the longest run of places from `first` on, up to `last`, that counts through one cut
/// axis, with all places of the axes further in: the pieces there fill a block.
std::size_t end_of_run(const Layout& layout, std::size_t first, std::size_t last) {
  std::size_t inner = 1;
  for (std::size_t i = layout.order.size(); i-- > 0;) {
    const auto axis = layout.order[i];
    const std::size_t outer = inner * static_cast<std::size_t>(layout.factors[axis]);
    if (first % outer != 0 || first + outer > last) {
      const std::size_t end = std::min(last, ((first / outer) + 1) * outer);
      return first + ((end - first) / inner * inner);
    }
    inner = outer;
  }
  return first + inner;
}

/// What the cores of every chip have, in a few blocks.
std::vector<std::vector<IndexBlock>> blocks_of(const Pieces& pieces, const chip::Chip& chip) {
  std::vector<std::vector<IndexBlock>> result(static_cast<std::size_t>(chip.chips));
  for (std::int64_t c = 0; c < chip.chips; ++c) {
    auto [first, last] = places(pieces, c * chip.core.count, (c + 1) * chip.core.count);
    while (first < last) {
      const std::size_t end = end_of_run(pieces.layout, first, last);
      result[static_cast<std::size_t>(c)].push_back(around(pieces, first, end));
      first = end;
    }
  }
  return result;
}

std::int64_t volume(const IndexBlock& block) {
  std::int64_t product = 1;
  for (const Indices& dim : block) {
    product *= count(dim);
  }
  return product;
}

std::int64_t shared_volume(const IndexBlock& a, const IndexBlock& b) {
  std::int64_t product = 1;
  for (const DimId dim : a.ids()) {
    product *= common(a[dim], b[dim]);
  }
  return product;
}

/// Of each chip, the block around its cores' needs without the block around what they hold, sent
/// evenly by the chips that hold anything.
InterChipTraffic around_chips(const Pieces& held, const Pieces& needed, const chip::Chip& chip) {
  InterChipTraffic result;
  std::int64_t sum = 0;
  std::int64_t holders = 0;
  for (std::int64_t c = 0; c < chip.chips; ++c) {
    const std::int64_t begin = c * chip.core.count;
    const auto [first, last] = places(needed, begin, begin + chip.core.count);
    const IndexBlock need = around(needed, first, last);
    const auto [from, to] = places(held, begin, begin + chip.core.count);
    const IndexBlock have = around(held, from, to);
    const std::int64_t lacking = volume(need) - shared_volume(need, have);
    holders += volume(have) > 0 ? 1 : 0;
    result.most_in = std::max(result.most_in, lacking);
    sum += lacking;
  }
  result.most_out = ceil_div(sum, std::max<std::int64_t>(1, holders));
  return result;
}

/// A tensor cut wherever one of some blocks ends.
class BlockGrid {
 public:
  BlockGrid(std::size_t dims, std::span<const std::vector<std::vector<IndexBlock>>> all)
      : ends_(dims) {
    for (const DimId dim : ends_.ids()) {
      for (const std::vector<std::vector<IndexBlock>>& chips : all) {
        for (const std::vector<IndexBlock>& blocks : chips) {
          for (const IndexBlock& block : blocks) {
            add_ends(block[dim], ends_[dim]);
          }
        }
      }
      std::sort(ends_[dim].begin(), ends_[dim].end());
      ends_[dim].erase(std::unique(ends_[dim].begin(), ends_[dim].end()), ends_[dim].end());
      count_ = count_ > tuning::kMostParts ? count_ : count_ * width(dim);
    }
  }

  /// More than `tuning::kMostParts` of more than that.
  [[nodiscard]] std::size_t count() const { return count_; }

  /// The chips that have each part, by bits.
  [[nodiscard]] std::vector<std::uint64_t> chips(
      const std::vector<std::vector<IndexBlock>>& blocks) const {
    std::vector<std::uint64_t> result(count_, 0);
    for (std::size_t c = 0; c < blocks.size(); ++c) {
      for (const IndexBlock& block : blocks[c]) {
        mark(block, std::uint64_t{1} << c, result);
      }
    }
    return result;
  }

  /// Elements of every part.
  [[nodiscard]] std::vector<std::int64_t> sizes() const {
    std::vector<std::int64_t> result{1};
    for (const DimId dim : ends_.ids()) {
      const std::vector<std::int64_t>& ends = ends_[dim];
      std::vector<std::int64_t> next;
      next.reserve(result.size() * width(dim));
      for (const std::int64_t size : result) {
        for (std::size_t i = 0; i < width(dim); ++i) {
          next.push_back(i + 1 < ends.size() ? size * (ends[i + 1] - ends[i]) : 0);
        }
      }
      result = std::move(next);
    }
    return result;
  }

 private:
  static void add_ends(const Indices& indices, std::vector<std::int64_t>& ends) {
    for (const IndexRange& run : indices) {
      ends.push_back(run.begin);
      ends.push_back(run.end);
    }
  }

  [[nodiscard]] std::size_t width(DimId dim) const {
    return std::max<std::size_t>(1, ends_[dim].size());
  }

  void mark(const IndexBlock& block, std::uint64_t chip, std::vector<std::uint64_t>& result) const {
    std::vector<std::size_t> parts{0};
    for (const DimId dim : ends_.ids()) {
      const auto at = [&](std::int64_t end) {
        return static_cast<std::size_t>(
            std::lower_bound(ends_[dim].begin(), ends_[dim].end(), end) - ends_[dim].begin());
      };
      std::vector<std::size_t> next;
      for (const std::size_t part : parts) {
        for (const IndexRange& run : block[dim]) {
          for (std::size_t i = at(run.begin); i < at(run.end); ++i) {
            next.push_back((part * width(dim)) + i);
          }
        }
      }
      parts = std::move(next);
    }
    for (const std::size_t part : parts) {
      result[part] |= chip;
    }
  }

  Table<DimId, std::vector<std::int64_t>> ends_;  // by dimension, ascending
  std::size_t count_ = 1;
};

/// Counts what every chip lacks of a tensor that lies on certain cores, part by part.
InterChipTraffic lacking(std::span<const std::int64_t> sizes, std::span<const std::uint64_t> have,
                         std::span<const std::uint64_t> need, std::int64_t chips) {
  std::vector<std::int64_t> in(static_cast<std::size_t>(chips), 0);
  std::vector<double> out(static_cast<std::size_t>(chips), 0.0);
  for (std::size_t part = 0; part < sizes.size(); ++part) {
    const std::uint64_t wanting = need[part] & ~have[part];
    if (wanting == 0) {
      continue;
    }
    const double sent = static_cast<double>(sizes[part] * std::popcount(wanting)) /
                        static_cast<double>(std::max(1, std::popcount(have[part])));
    for (std::size_t c = 0; c < in.size(); ++c) {
      in[c] += ((wanting >> c) & 1U) != 0 ? sizes[part] : 0;
      out[c] += ((have[part] >> c) & 1U) != 0 ? sent : 0.0;
    }
  }
  return {
      .most_in = *std::max_element(in.begin(), in.end()),
      .most_out = static_cast<std::int64_t>(std::ceil(*std::max_element(out.begin(), out.end())))};
}

}  // namespace

InterChipTraffic crossing(const Pieces& held, const Pieces& needed, const chip::Chip& chip) {
  if (chip.chips > tuning::kMostChips) {
    return around_chips(held, needed, chip);
  }
  const std::vector<std::vector<std::vector<IndexBlock>>> all{blocks_of(needed, chip),
                                                              blocks_of(held, chip)};
  const BlockGrid parts(needed.dims.size(), all);
  if (parts.count() > tuning::kMostParts) {
    return around_chips(held, needed, chip);
  }
  return lacking(parts.sizes(), parts.chips(all[1]), parts.chips(all[0]), chip.chips);
}

}  // namespace elk::partition
