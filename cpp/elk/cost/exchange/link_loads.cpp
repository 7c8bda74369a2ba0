#include "elk/cost/exchange/link_loads.hpp"

#include <algorithm>
#include <cstdlib>

#include "elk/base/ids.hpp"

namespace elk::cost {
namespace {

/// Adds to the `count` links out of `first` and the places after it, round the end if need be.
void add_run(std::span<std::int64_t> change, std::int64_t first, std::int64_t count,
             std::int64_t bytes) {
  const auto length = static_cast<std::int64_t>(change.size()) - 1;
  const std::int64_t begin = first < 0 ? first + length : first;
  const std::int64_t end = begin + count;
  change[subscript(begin)] += bytes;
  change[subscript(std::min(end, length))] -= bytes;
  if (end > length) {
    change[0] += bytes;
    change[subscript(end - length)] -= bytes;
  }
}

}  // namespace

void LinkLoads::Reach::extend(std::int64_t steps) {
  ahead = std::max(ahead, steps);
  back = std::max(back, -steps);
}

LinkLoads::LinkLoads(const chip::Chip& chip)
    : wraps_(chip.interconnect.topology == chip::Topology::Torus2d ||
             chip.interconnect.topology == chip::Topology::Ring),
      chips_(chip.chips) {
  const bool ring = chip.interconnect.topology == chip::Topology::Ring;
  const std::int64_t rows = ring ? 1 : chip.core.rows;
  const std::int64_t cols = ring ? chip.core.count : chip.core.cols;
  lines_ = {Lines{.count = rows, .length = cols, .change = {}},
            Lines{.count = cols, .length = rows, .change = {}}};
  for (Lines& lines : lines_) {
    for (std::vector<std::int64_t>& change : lines.change) {
      change.assign(subscript(chips_ * lines.count * (lines.length + 1)), 0);
    }
  }
  for (std::int64_t core = 0; core < rows * cols; ++core) {
    place_.push_back({core / cols, core % cols});
  }
  reach_.resize(subscript(std::max(rows, cols)));
  reached_.resize(reach_.size(), 0);
}

/// Steps along a line; negative: backwards.
std::int64_t LinkLoads::steps(std::int64_t from, std::int64_t to, std::int64_t length) const {
  const std::int64_t ahead = to - from;
  if (!wraps_) {
    return ahead;
  }
  const std::int64_t forwards = ahead < 0 ? ahead + length : ahead;
  return 2 * forwards <= length ? forwards : forwards - length;
}

void LinkLoads::add_runs(Lines& lines, std::int64_t line, std::int64_t place, const Reach& reach,
                         std::int64_t bytes) {
  const std::size_t begin = subscript(line * (lines.length + 1));
  const std::size_t size = subscript(lines.length + 1);
  if (reach.ahead > 0) {
    add_run(std::span(lines.change[0]).subspan(begin, size), place, reach.ahead, bytes);
  }
  if (reach.back > 0) {
    add_run(std::span(lines.change[1]).subspan(begin, size), place - reach.back + 1, reach.back,
            bytes);
  }
}

void LinkLoads::add(std::int32_t from, std::span<const std::int32_t> to, bool row_first,
                    std::int64_t bytes) {
  const std::size_t first = row_first ? 0 : 1;  // the dimension that ways take first
  const std::size_t second = 1 - first;
  const auto cores = static_cast<std::int32_t>(place_.size());
  const std::int64_t chip = chips_ == 1 ? 0 : from / cores;
  const auto place_of = [&](std::int32_t core) -> const std::array<std::int64_t, 2>& {
    return place_[subscript(core - (static_cast<std::int32_t>(chip) * cores))];
  };
  const std::array<std::int64_t, 2>& origin = place_of(from);
  Reach along;
  std::size_t least = reach_.size();
  std::size_t most = 0;
  for (const std::int32_t core : to) {
    const std::array<std::int64_t, 2>& place = place_of(core);
    const std::size_t line = subscript(place[second]);
    const std::int64_t ahead = steps(origin[second], place[second], lines_[first].length);
    const std::int64_t after = steps(origin[first], place[first], lines_[second].length);
    along.extend(ahead);
    if (reached_[line] == 0) {
      reached_[line] = 1;
      reach_[line] = {};
    }
    reach_[line].extend(after);
    least = std::min(least, line);
    most = std::max(most, line);
    hops_ = std::max(hops_, std::abs(ahead) + std::abs(after));
  }
  const std::int64_t before = chip * lines_[second].count;  // lines of the chips before
  add_runs(lines_[first], (chip * lines_[first].count) + origin[first], origin[second], along,
           bytes);
  for (std::size_t line = least; line <= most && line < reached_.size(); ++line) {
    if (reached_[line] != 0) {
      reached_[line] = 0;
      add_runs(lines_[second], before + static_cast<std::int64_t>(line), origin[first],
               reach_[line], bytes);
    }
  }
}

std::vector<std::int64_t> LinkLoads::loads() const {
  std::vector<std::int64_t> result;
  for (const Lines& lines : lines_) {
    for (const std::vector<std::int64_t>& change : lines.change) {
      for (std::int64_t line = 0; line < chips_ * lines.count; ++line) {
        std::int64_t sum = 0;
        for (std::int64_t at = 0; at < lines.length; ++at) {
          sum += change[subscript((line * (lines.length + 1)) + at)];
          result.push_back(sum);
        }
      }
    }
  }
  return result;
}

std::int64_t LinkLoads::busiest() const {
  const std::vector<std::int64_t> all = loads();
  return all.empty() ? 0 : *std::max_element(all.begin(), all.end());
}

}  // namespace elk::cost
