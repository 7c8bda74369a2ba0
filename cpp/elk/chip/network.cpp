#include "elk/chip/network.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "elk/chip/chip.hpp"

namespace elk::chip {
namespace {

/// Dimensions in the order of a way, by how many there are.
constexpr std::array<std::uint8_t, kMostDims> kRowFirst = {1, 0, 2};
constexpr std::array<std::uint8_t, kMostDims> kColumnFirst = {0, 1, 2};

/// The sides of the most even box of two dimensions, no taller than wide.
Nodes squarest(std::int64_t count) {
  std::int64_t rows = 1;
  for (std::int64_t r = 1; r * r <= count; ++r) {
    rows = count % r == 0 ? r : rows;
  }
  return {.count = count, .rows = rows, .cols = count / rows, .depth = 1};
}

/// Links of the longest way along a line.
std::int64_t longest_along(const Line& line) {
  switch (line.joint) {
    case Joint::Open:
      return line.length - 1;
    case Joint::Circle:
      return line.length / 2;
    case Joint::None:
    case Joint::Full:
      return 0;
  }
  return 0;
}

/// Links, or ports, over which a place of a line can receive at once.
std::int64_t ways_in(Joint joint) {
  switch (joint) {
    case Joint::None:
      return 0;
    case Joint::Full:
      return 1;
    case Joint::Open:
    case Joint::Circle:
      return 2;
  }
  return 2;
}

/// Directed links, or ports in, of one line.
std::int64_t links_of(const Line& line) {
  if (line.length == 1) {
    return 0;
  }
  if (line.joint == Joint::Full) {
    return line.length;
  }
  return line.joint == Joint::Circle && line.length > 2 ? 2 * line.length : 2 * (line.length - 1);
}

}  // namespace

Network Network::of_ports(std::int64_t nodes) { return Network(nodes); }

Network Network::of_lines(std::initializer_list<Line> lines) {
  Network result(1);
  result.dims_ = lines.size();
  std::size_t dim = result.dims_;
  for (const Line* line = lines.end(); line != lines.begin();) {
    result.lines_[--dim] = *--line;
    result.strides_[dim] = result.nodes_;
    result.nodes_ *= line->length;
  }
  return result;
}

PerDim Network::sides() const { return {length(0), length(1), length(2)}; }

PerDim Network::place(std::int64_t node) const {
  PerDim result{};
  for (std::size_t dim = 0; dim + 1 < dims_; ++dim) {
    result[dim] = node / strides_[dim];
    node -= result[dim] * strides_[dim];
  }
  result[dims_ > 0 ? dims_ - 1 : 0] = dims_ > 0 ? node : 0;
  return result;
}

std::int64_t Network::node(const PerDim& place) const {
  std::int64_t result = 0;
  for (std::size_t dim = 0; dim < dims_; ++dim) {
    result += place[dim] * strides_[dim];
  }
  return result;
}

DimSequence Network::order(DimOrder turn) const {
  return std::span(turn == DimOrder::RowFirst ? kRowFirst : kColumnFirst).first(dims_);
}

std::int32_t Network::first_link(std::size_t dim) {
  return 2 * static_cast<std::int32_t>(kRowFirst[dim]);  // An exchange of two: its own inverse.
}

std::int64_t Network::hops(std::int64_t from, std::int64_t to) const {
  const PerDim start = place(from);
  const PerDim end = place(to);
  std::int64_t result = 0;
  for (std::size_t dim = 0; dim < dims_; ++dim) {
    result += std::abs(steps(dim, start[dim], end[dim]));
  }
  return result;
}

void Network::way(std::int64_t from, std::int64_t to, DimOrder turn, std::vector<Hop>& hops) const {
  PerDim at = place(from);
  const PerDim end = place(to);
  for (const std::uint8_t dim : order(turn)) {
    const std::int32_t link = first_link(dim);
    if (full(dim) && at[dim] != end[dim]) {
      hops.push_back({.node = node(at), .link = link});
      at[dim] = end[dim];
      hops.push_back({.node = node(at), .link = link + 1});
      continue;
    }
    const std::int64_t count = steps(dim, at[dim], end[dim]);
    const bool back = count < 0;
    for (std::int64_t k = std::abs(count); k > 0; --k) {
      hops.push_back({.node = node(at), .link = link + (back ? 1 : 0)});
      at[dim] = (at[dim] + (back ? length(dim) - 1 : 1)) % length(dim);
    }
  }
}

std::int64_t Network::receiving_links() const {
  std::int64_t sum = routed() ? 0 : 1;
  for (std::size_t dim = 0; dim < dims_; ++dim) {
    sum += ways_in(joint(dim));
  }
  return sum;
}

std::int64_t Network::all_links() const {
  std::int64_t sum = routed() ? 0 : nodes_;
  for (std::size_t dim = 0; dim < dims_; ++dim) {
    sum += lines_along(dim) * links_of(lines_[dim]);
  }
  return sum;
}

std::int64_t Network::links_across(std::size_t dim, std::int64_t before) const {
  const Line& line = lines_[dim];
  if (line.joint == Joint::Full) {
    return lines_along(dim) * std::min(before, line.length - before);
  }
  return lines_along(dim) * (line.joint == Joint::Circle && line.length > 2 ? 2 : 1);
}

double Network::halving_links() const {
  const double ports = static_cast<double>(nodes_) / 2;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t dim = 0; dim < dims_; ++dim) {
    const auto across = static_cast<double>(lines_along(dim));
    switch (joint(dim)) {
      case Joint::Open:
        least = std::min(least, across);
        break;
      case Joint::Circle:
        least = std::min(least, 2 * across);
        break;
      case Joint::Full:
        least = std::min(least, ports);
        break;
      case Joint::None:
        break;
    }
  }
  return routed() ? least : ports;
}

double Network::mean_hops() const {
  if (!routed()) {
    return 1.0;
  }
  std::int64_t open = 0;
  std::int64_t circles = 0;
  double ports = 0.0;
  for (std::size_t dim = 0; dim < dims_; ++dim) {
    open += joint(dim) == Joint::Open ? length(dim) : 0;
    circles += joint(dim) == Joint::Circle ? length(dim) : 0;
    ports += full(dim) ? 1.0 : 0.0;
  }
  return (static_cast<double>(open) / 3.0) + (static_cast<double>(circles) / 4.0) + ports;
}

bool Network::goes_around(std::size_t dim, std::int64_t factor, std::int64_t cores) const {
  if (!routed() || full(dim)) {
    return true;
  }
  return joint(dim) == Joint::Circle && factor == cores && cores == length(dim);
}

std::int64_t Network::longest() const {
  std::int64_t sum = routed() ? 0 : 1;
  for (std::size_t dim = 0; dim < dims_; ++dim) {
    sum += longest_along(lines_[dim]);
  }
  return sum;
}

/// A line that is open at both ends has to be walked back; a box of an even number of nodes and
/// more lines than one has a tour of neighbours, and an odd one a tour with a step of two.
std::int64_t Network::tour_step() const {
  std::int64_t sides = 0;
  bool ends = false;
  for (std::size_t dim = 0; dim < dims_; ++dim) {
    sides += length(dim) > 1 ? 1 : 0;
    ends = ends || joint(dim) == Joint::Open;
  }
  if (!ends || nodes_ == 2 || (sides > 1 && nodes_ % 2 == 0)) {
    return 1;
  }
  return sides > 1 ? 2 : nodes_ - 1;
}

std::int64_t Network::passed() const {
  std::int64_t sum = routed() ? 0 : nodes_ - 1;
  for (std::size_t dim = 0; dim < dims_; ++dim) {
    const std::int64_t size = length(dim);
    switch (joint(dim)) {
      case Joint::Open:
        sum += lines_along(dim) * (size * size - 1) / 3;
        break;
      case Joint::Circle:
        sum += lines_along(dim) * (size * size / 4);
        break;
      case Joint::None:
      case Joint::Full:
        break;
    }
  }
  return sum;
}

std::size_t Network::stacked() const {
  std::size_t dim = 0;
  while (dim + 1 < dims_ && joint(dim) == Joint::None) {
    ++dim;
  }
  return dim;
}

Network Network::times(std::int64_t count) const {
  Network result = *this;
  result.nodes_ *= count;
  const std::size_t outer = stacked();
  result.lines_[outer].length *= routed() ? count : 1;
  for (std::size_t dim = 0; dim < outer; ++dim) {
    result.strides_[dim] *= count;
  }
  return result;
}

const TopologyEntry& kind_of(Topology topology) {
  return topologies()[static_cast<std::size_t>(topology)];
}

Network network_of(const Chip& chip) {
  const Core& core = chip.core;
  return kind_of(chip.interconnect.topology)
      .network({.count = core.count, .rows = core.rows, .cols = core.cols, .depth = core.depth});
}

Network network_of_machine(const Chip& chip) { return network_of(chip).times(chip.chips); }

Network network_of_chips(Topology topology, std::int64_t chips) {
  return kind_of(topology).network(squarest(chips));
}

bool routed(const Chip& chip) {
  const TopologyEntry& kind = kind_of(chip.interconnect.topology);
  return kind.depth == Depth::Groups ? network_of(chip).routed()  // Of one group there are ports.
                                     : kind.topology != Topology::AllToAll;
}

bool routed_between(const Chip& chip) {
  return chip.chips > 1 && chip.inter_chip &&
         network_of_chips(chip.inter_chip->topology, chip.chips).routed();
}

}  // namespace elk::chip
