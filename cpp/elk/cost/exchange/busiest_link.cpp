#include "elk/cost/exchange/busiest_link.hpp"

#include <algorithm>

#include "elk/base/rounding.hpp"
#include "elk/cost/exchange/link_loads.hpp"

namespace elk::cost {

BusiestLink::BusiestLink(const chip::Chip& chip) {
  if (chip.interconnect.topology == chip::Topology::Torus2d) {
    row_wraps_ = chip.core.cols;
    column_wraps_ = chip.core.rows;
  } else if (chip.interconnect.topology == chip::Topology::Ring) {
    row_wraps_ = chip.core.count;
  }
}

/// On a line with two ends the link after k cores carries, backwards, a message from each core
/// behind it to each receiver before it; forwards it carries no more than another does backwards.
std::int64_t BusiestLink::to_each(const Line& line, std::int64_t receivers) {
  const std::int64_t n = line.cores;
  if (2 * (n - 1) < line.wraps || line.wraps == 0) {  // No way round the back is as short.
    const std::int64_t before = std::min(receivers, n / 2);
    return before * (n - before);
  }
  const std::uint64_t key = (static_cast<std::uint64_t>(line.wraps) << 42U) ^
                            (static_cast<std::uint64_t>(n) << 21U) ^
                            static_cast<std::uint64_t>(receivers);
  if (const std::int64_t* known = wrapped_.find(key)) {
    return *known;
  }
  chip::Chip ring{};
  ring.chips = 1;
  ring.core.count = line.wraps;
  ring.interconnect.topology = chip::Topology::Ring;
  LinkLoads links(ring);
  for (std::int32_t to = 0; to < receivers; ++to) {
    for (std::int32_t from = 0; from < n; ++from) {
      links.add(from, {&to, 1}, true, 1);
    }
  }
  const std::int64_t most = links.busiest();
  wrapped_.put(key, most);
  return most;
}

std::int64_t BusiestLink::to_each(const Rectangle& cores, std::int64_t receivers) {
  const std::int64_t full = receivers / cores.cols;  // rows of receivers
  const std::int64_t more = receivers % cores.cols;
  // Along a row each message passes to the column of its receiver, then down that column.
  return std::max({full * to_each(row(cores), cores.cols), (full + 1) * to_each(row(cores), more),
                   cores.cols * to_each(column(cores), full + (more > 0 ? 1 : 0))});
}

/// The last link of a line carries what all others send. On a circle every message reaches half of
/// it each way; of some of its cores, over the link after the first half, from all before.
std::int64_t BusiestLink::to_all(const Line& line) {
  const std::int64_t n = line.cores;
  return line.wraps == 0 ? n - 1 : std::min(n - 1, line.wraps / 2);
}

std::int64_t BusiestLink::to_all(const Rectangle& cores) const {
  return std::max(to_all(row(cores)), cores.cols * to_all(column(cores)));
}

/// Of the first 2 `level` cores the first half all exchange with the second.
std::int64_t BusiestLink::in_pairs(const Rectangle& cores, std::int64_t level) const {
  if (level < cores.cols) {
    return std::min(level, cores.cols - level);
  }
  const std::int64_t above = ceil_div(level, cores.cols);  // rows that hold the first half
  const std::int64_t below = std::min(2 * level, cores.rows * cores.cols) - (above * cores.cols);
  const std::int64_t most = ceil_div(std::max<std::int64_t>(0, below), cores.cols);
  const bool alike = level % cores.cols == 0;  // All go the same way round.
  return std::max<std::int64_t>(1, alike ? most : either_way(most, column(cores)));
}

/// Messages go along their own row first, so that all from other rows come over the column's link.
std::int64_t BusiestLink::to_first(const Rectangle& cores, std::int64_t others) const {
  const std::int64_t beside = std::min(others, cores.cols - 1);
  return std::max(either_way(beside, row(cores)), either_way(others - beside, column(cores)));
}

std::int64_t BusiestLink::from_first(const Rectangle& cores, std::int64_t others) const {
  const std::int64_t straight = others / cores.cols;  // down the column of the first core
  return std::max(either_way(others - straight, row(cores)), either_way(straight, column(cores)));
}

/// Over the busier of two links where messages may go round either way.
std::int64_t BusiestLink::either_way(std::int64_t messages, const Line& line) {
  return ceil_div(messages, line.wraps == 0 ? 1 : 2);
}

std::int64_t BusiestLink::steps(std::int64_t distance, const Line& line) {
  return line.wraps == 0 ? distance : std::min(distance, line.wraps - distance);
}

std::int64_t BusiestLink::longest(const Line& line) {
  return line.wraps == 0 ? line.cores - 1 : std::min(line.cores - 1, line.wraps / 2);
}

std::int64_t BusiestLink::hops(const Rectangle& cores) const {
  return longest(row(cores)) + longest(column(cores));
}

std::int64_t BusiestLink::hops_in_pairs(const Rectangle& cores, std::int64_t level) const {
  return steps(level % cores.cols, row(cores)) + steps(level / cores.cols, column(cores));
}

std::int64_t BusiestLink::hops_of_first(const Rectangle& cores, std::int64_t others) const {
  const std::int64_t down = others / cores.cols;
  const std::int64_t last = steps(others % cores.cols, row(cores)) + steps(down, column(cores));
  return down == 0 ? last : std::max(last, longest(row(cores)) + steps(down - 1, column(cores)));
}

}  // namespace elk::cost
