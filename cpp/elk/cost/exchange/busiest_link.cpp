#include "elk/cost/exchange/busiest_link.hpp"

#include <algorithm>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/cost/exchange/link_loads.hpp"

namespace elk::cost {
namespace {

/// The first numbers of the cores of a box.
class FirstCores {
 public:
  FirstCores(const chip::PerDim& sides, std::int64_t count) : sides_(sides) {
    std::int64_t inner = 1;
    for (std::size_t dim = sides.size(); dim-- > 0;) {
      digits_[dim] = dim == 0 ? count / inner : count / inner % sides[dim];
      inner *= sides[dim];
    }
  }

  [[nodiscard]] std::int64_t digit(std::size_t dim) const { return digits_[dim]; }

  /// How many of them lie at the place 0 of all dimensions in `zero`, a bit each.
  [[nodiscard]] std::int64_t at(unsigned zero) const { return at(zero, sides_.size(), 0); }
  /// How many of them lie at `place` of dimension `dim`, too.
  [[nodiscard]] std::int64_t at(unsigned zero, std::size_t dim, std::int64_t place) const {
    std::int64_t sum = 0;
    bool equal = true;  // Whether the digits so far can be those of the first number outside.
    for (std::size_t d = 0; d < sides_.size(); ++d) {
      const bool fixed = d == dim || ((zero >> d) & 1U) != 0;
      const std::int64_t wanted = d == dim ? place : 0;
      const std::int64_t below = fixed ? std::int64_t{wanted < digits_[d]} : digits_[d];
      sum = (sum * (fixed ? 1 : sides_[d])) + (equal ? below : 0);
      equal = equal && (!fixed || wanted == digits_[d]);
    }
    return sum;
  }

 private:
  chip::PerDim sides_;
  chip::PerDim digits_{};
};

constexpr unsigned bit(std::size_t dim) { return 1U << static_cast<unsigned>(dim); }

}  // namespace

BusiestLink::BusiestLink(const chip::Chip& chip) : network_(chip::network_of(chip)) {}

BusiestLink::CoreLine BusiestLink::line(const chip::PerDim& cores, std::size_t dim) const {
  const bool circle = network_.joint(dim) == chip::Joint::Circle;
  return {
      .cores = cores[dim], .wraps = circle ? network_.length(dim) : 0, .full = network_.full(dim)};
}

/// On a line with two ends the link after k cores carries, backwards, a message from each core
/// behind it to each receiver before it; forwards it carries no more than another does backwards.
std::int64_t BusiestLink::to_each(const CoreLine& line, std::int64_t receivers) {
  const std::int64_t n = line.cores;
  if (line.full) {
    return receivers > 0 ? n - 1 : 0;
  }
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
  LinkLoads links(chip::Network::of_lines({{.length = 1, .joint = chip::Joint::None},
                                           {.length = line.wraps, .joint = chip::Joint::Circle}}),
                  1);
  for (std::int32_t to = 0; to < receivers; ++to) {
    for (std::int32_t from = 0; from < n; ++from) {
      links.add(from, {&to, 1}, chip::DimOrder::RowFirst, 1);
    }
  }
  const std::int64_t most = links.busiest();
  wrapped_.put(key, most);
  return most;
}

/// Along each dimension messages pass from everywhere along the dimensions before to the places of
/// their receivers: on the lines that have most of them, at the first places of those dimensions.
std::int64_t BusiestLink::to_each(const chip::PerDim& cores, std::int64_t receivers) {
  const FirstCores first(cores, receivers);
  std::int64_t most = 0;
  std::int64_t merged = 1;  // cores whose messages share a line
  unsigned before = 0;
  for (const std::uint8_t dim : network_.order(chip::DimOrder::RowFirst)) {
    const CoreLine along = line(cores, dim);
    const std::int64_t last = along.cores - 1;
    const std::int64_t turn = std::min(first.digit(dim), last);  // Places from here on have fewer.
    const std::int64_t all = first.at(before, dim, last);
    const std::int64_t some = first.at(before, dim, turn);
    const std::int64_t more = turn > 0 ? first.at(before, dim, 0) : 0;
    if (all > 0) {
      most = std::max(most, merged * all * to_each(along, along.cores));
    }
    if (some > all) {
      most = std::max(most, merged * some * to_each(along, turn + 1));
    }
    if (more > some) {
      most = std::max(most, merged * more * to_each(along, turn));
    }
    merged *= along.cores;
    before |= bit(dim);
  }
  return most;
}

/// The last link of a line carries what all others send. On a circle every message reaches half of
/// it each way; of some of its cores, over the link after the first half, from all before.
std::int64_t BusiestLink::to_all(const CoreLine& line) {
  const std::int64_t n = line.cores;
  return line.wraps == 0 ? n - 1 : std::min(n - 1, line.wraps / 2);
}

std::int64_t BusiestLink::to_all(const chip::PerDim& cores) const {
  std::int64_t most = 0;
  std::int64_t merged = 1;
  for (const std::uint8_t dim : network_.order(chip::DimOrder::RowFirst)) {
    most = std::max(most, merged * to_all(line(cores, dim)));
    merged *= cores[dim];
  }
  return most;
}

/// Of the first 2 `level` cores the first half all exchange with the second.
std::int64_t BusiestLink::in_pairs(const chip::PerDim& cores, std::int64_t level) const {
  std::size_t dim = network_.dims() - 1;
  std::int64_t inner = 1;  // cores of all lines within one of this dimension
  if (level < cores[dim]) {
    return network_.full(dim) ? 1 : std::min(level, cores[dim] - level);
  }
  while (dim > 0 && level >= inner * cores[dim]) {
    inner *= cores[dim--];
  }
  if (network_.full(dim)) {
    return 1;
  }
  const std::int64_t above = ceil_div(level, inner);  // places that hold the first half
  const std::int64_t below = std::min(2 * level, inner * cores[dim]) - (above * inner);
  const std::int64_t most = ceil_div(std::max<std::int64_t>(0, below), inner);
  const bool alike = level % inner == 0;  // All go the same way round.
  return std::max<std::int64_t>(1, alike ? most : either_way(most, line(cores, dim)));
}

/// Messages go along one dimension first, so that those from everywhere along it come over the
/// links of the next.
std::int64_t BusiestLink::to_first(const chip::PerDim& cores, std::int64_t others) const {
  const FirstCores first(cores, others + 1);
  std::int64_t most = 0;
  unsigned later = bit(network_.dims()) - 1;
  for (const std::uint8_t dim : network_.order(chip::DimOrder::RowFirst)) {
    later &= ~bit(dim);
    const std::int64_t passing = first.at(later) - first.at(later | bit(dim));
    most = std::max(most, either_way(passing, line(cores, dim)));
  }
  return most;
}

std::int64_t BusiestLink::from_first(const chip::PerDim& cores, std::int64_t others) const {
  const FirstCores first(cores, others + 1);
  std::int64_t most = 0;
  unsigned before = 0;
  for (const std::uint8_t dim : network_.order(chip::DimOrder::RowFirst)) {
    const std::int64_t passing = first.at(before) - first.at(before | bit(dim));
    most = std::max(most, either_way(passing, line(cores, dim)));
    before |= bit(dim);
  }
  return most;
}

/// Over the busier of two links where messages may go round either way.
std::int64_t BusiestLink::either_way(std::int64_t messages, const CoreLine& line) {
  return ceil_div(messages, line.wraps == 0 ? 1 : 2);
}

std::int64_t BusiestLink::steps(std::int64_t distance, const CoreLine& line) {
  if (line.full) {
    return 0;
  }
  return line.wraps == 0 ? distance : std::min(distance, line.wraps - distance);
}

std::int64_t BusiestLink::longest(const CoreLine& line) {
  if (line.full) {
    return 0;
  }
  return line.wraps == 0 ? line.cores - 1 : std::min(line.cores - 1, line.wraps / 2);
}

std::int64_t BusiestLink::hops(const chip::PerDim& cores) const {
  std::int64_t sum = 0;
  for (std::size_t dim = 0; dim < network_.dims(); ++dim) {
    sum += longest(line(cores, dim));
  }
  return sum;
}

std::int64_t BusiestLink::hops_in_pairs(const chip::PerDim& cores, std::int64_t level) const {
  const FirstCores first(cores, level);
  std::int64_t sum = 0;
  for (std::size_t dim = 0; dim < network_.dims(); ++dim) {
    sum += steps(first.digit(dim), line(cores, dim));
  }
  return sum;
}

/// To the last of them, or to one of those before it that lie farther inwards.
std::int64_t BusiestLink::hops_of_first(const chip::PerDim& cores, std::int64_t others) const {
  const FirstCores first(cores, others);
  const std::size_t dims = network_.dims();
  std::int64_t most = hops_in_pairs(cores, others);
  std::int64_t outer = 0;
  for (std::size_t dim = 0; dim + 1 < dims; ++dim) {
    const std::int64_t at = first.digit(dim);
    std::int64_t sum = outer + steps(at - 1, line(cores, dim));
    for (std::size_t inner = dim + 1; inner < dims; ++inner) {
      sum += longest(line(cores, inner));
    }
    most = at > 0 ? std::max(most, sum) : most;
    outer += steps(at, line(cores, dim));
  }
  return most;
}

}  // namespace elk::cost
