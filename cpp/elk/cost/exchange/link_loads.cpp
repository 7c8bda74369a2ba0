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

void LinkLoads::LineReach::extend(std::int64_t steps) {
  ahead = std::max(ahead, steps);
  back = std::max(back, -steps);
}

LinkLoads::LinkLoads(const chip::Chip& chip) : LinkLoads(chip::network_of(chip), chip.chips) {}

LinkLoads::LinkLoads(const chip::Network& network, std::int64_t chips)
    : network_(network),
      has_ports_(network.full(0) || network.full(1) || network.full(2)),
      chips_(chips) {
  lay_cores();
  for (std::size_t dim = 0; dim < network.dims(); ++dim) {
    lay_lines(dim);
  }
  // Places along the dimensions before, whichever of the outer two comes first.
  const std::int64_t rows = network.length(0);
  const std::int64_t cols = network.length(1);
  const chip::PerDim places = {1, std::max(rows, cols), rows * cols};
  for (std::size_t level = 0; level < network.dims(); ++level) {
    level_[level].make_room(subscript(places[level]));
  }
  level_[network.dims()].make_room(has_ports_ ? cores_.size() : 0);
}

void LinkLoads::lay_lines(std::size_t dim) {
  LineDeltas& lines = lines_.emplace_back(LineDeltas{.count = network_.lines_along(dim),
                                                     .length = network_.length(dim),
                                                     .across = {},
                                                     .change = {}});
  std::int64_t stride = 1;
  for (std::size_t other = network_.dims(); other-- > 0;) {
    lines.across[other] = other == dim ? 0 : stride;
    stride *= other == dim ? 1 : network_.length(other);
  }
  for (std::vector<std::int64_t>& change : lines.change) {
    change.assign(subscript(chips_ * lines.count * (lines.length + 1)), 0);
  }
}

void LinkLoads::TreeLevel::make_room(std::size_t places) {
  reach.resize(places);
  reached.resize(places, 0);
  taken.resize(places);
}

/// The cores of one chip, in the order of their numbers.
void LinkLoads::lay_cores() {
  const auto [rows, cols, layers] = network_.sides();
  cores_.resize(subscript(network_.nodes()));
  CorePlace* core = cores_.data();
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) {
      for (std::int64_t layer = 0; layer < layers; ++layer) {
        *core++ = {.place = {row, col, layer},
                   .line = {(col * layers) + layer, (row * layers) + layer, (row * cols) + col}};
      }
    }
  }
}

void LinkLoads::add_runs(LineDeltas& lines, std::int64_t line, std::int64_t place,
                         const LineReach& reach, std::int64_t bytes) {
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

/// Has the tree at hand lead to a core, and returns how many links from its first.
template <std::size_t Dims, bool Ports>
std::int64_t LinkLoads::reach_core(const TreeEnds& ends, const chip::Network& network,
                                   chip::DimSequence order, LineReach& along) {
  const auto& [from, to] = ends;
  std::size_t place = 0;
  std::int64_t passed = 0;
  for (std::size_t k = 0; k < Dims; ++k) {
    const std::size_t dim = order[k];
    if (k > 0 && level_[k].take(place, *to)) {
      level_[k].reach[place] = {};
    }
    LineReach& reach = k == 0 ? along : level_[k].reach[place];
    if (Ports && network.full(dim)) {
      reach_port(k, place, ends, order, reach);
    } else {
      const std::int64_t ahead = network.steps(dim, from->place[dim], to->place[dim]);
      reach.extend(ahead);
      passed += std::abs(ahead);
    }
    place = (place * subscript(network.length(dim))) + subscript(to->place[dim]);
  }
  return passed;
}

template <std::size_t Dims, bool Ports>
void LinkLoads::add_tree(std::int32_t from, std::span<const std::int32_t> to,
                         chip::DimSequence order, std::int64_t bytes) {
  const auto cores = static_cast<std::int32_t>(cores_.size());
  const std::int32_t chip = chips_ == 1 ? 0 : from / cores;
  const CorePlace* const first = cores_.data();
  const std::int32_t before = chip * cores;  // cores of the chips before
  const CorePlace& origin = first[from - before];
  const chip::Network network = network_;  // A copy, which no store can change.
  LineReach along;
  std::int64_t longest = hops_;
  for (const std::int32_t core : to) {
    const TreeEnds ends{.from = &origin, .to = first + (core - before)};
    longest = std::max(longest, reach_core<Dims, Ports>(ends, network, order, along));
  }
  hops_ = longest;
  LineDeltas& row = lines_[order[0]];
  add_runs(row, (chip * row.count) + origin.line[order[0]], origin.place[order[0]], along, bytes);
  for (std::size_t k = 1; k < (Ports ? Dims + 1 : Dims); ++k) {
    add_level<Dims, Ports>(k, origin, chip, order, bytes);
  }
}

/// Notes that the tree goes from a place of a full line to another, out of the line's one port.
void LinkLoads::reach_port(std::size_t level, std::size_t place, const TreeEnds& ends,
                           chip::DimSequence order, LineReach& reach) {
  const std::size_t dim = order[level];
  if (ends.to->place[dim] == ends.from->place[dim]) {
    return;
  }
  reach.ahead = 1;
  if (level + 1 == order.size()) {
    const std::size_t at = (place * subscript(lines_[dim].length)) + subscript(ends.to->place[dim]);
    level_[level + 1].take(at, *ends.to);
  }
}

/// Adds the lines that the tree at hand takes as number `level`, and forgets them.
template <std::size_t Dims, bool Ports>
void LinkLoads::add_level(std::size_t level, const CorePlace& from, std::int64_t chip,
                          chip::DimSequence order, std::int64_t bytes) {
  TreeLevel& here = level_[level];
  if (Ports && network_.full(order[level - 1])) {
    add_ports(from, chip, level, order, bytes);
  }
  for (const TreeLine& taken : std::span(here.taken).first(here.count)) {
    here.reached[taken.place] = 0;
    if (level < Dims) {
      const std::size_t dim = order[level];
      const std::int64_t line =
          level + 1 == Dims ? taken.beyond->line[dim] : line_at(from, *taken.beyond, level, order);
      add_runs(lines_[dim], (chip * lines_[dim].count) + line, from.place[dim],
               here.reach[taken.place], bytes);
    }
  }
  here.count = 0;
}

/// The line along the dimension number `level` where the tree comes on its way to `beyond`.
std::int64_t LinkLoads::line_at(const CorePlace& from, const CorePlace& beyond, std::size_t level,
                                chip::DimSequence order) const {
  const LineDeltas& lines = lines_[order[level]];
  std::int64_t line = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    line += (k < level ? beyond : from).place[order[k]] * lines.across[order[k]];
  }
  return line;
}

/// Into the places of full lines from which the tree goes on as number `level`.
void LinkLoads::add_ports(const CorePlace& from, std::int64_t chip, std::size_t level,
                          chip::DimSequence order, std::int64_t bytes) {
  const std::size_t dim = order[level - 1];
  LineDeltas& lines = lines_[dim];
  for (const TreeLine& taken : std::span(level_[level].taken).first(level_[level].count)) {
    const std::int64_t to = taken.beyond->place[dim];
    if (to != from.place[dim]) {
      const std::int64_t line = line_at(from, *taken.beyond, level - 1, order);
      add_runs(lines, (chip * lines.count) + line, to, {.ahead = 0, .back = 1}, bytes);
    }
  }
}

void LinkLoads::add(std::int32_t from, std::span<const std::int32_t> to, chip::DimOrder turn,
                    std::int64_t bytes) {
  const chip::DimSequence order = network_.order(turn);
  if (order.size() == 2 && !has_ports_) {
    add_tree<2, false>(from, to, order, bytes);
  } else if (order.size() == 2) {
    add_tree<2, true>(from, to, order, bytes);
  } else if (!has_ports_) {
    add_tree<3, false>(from, to, order, bytes);
  } else {
    add_tree<3, true>(from, to, order, bytes);
  }
}

std::vector<std::int64_t> LinkLoads::loads() const {
  std::vector<std::int64_t> result;
  for (const std::uint8_t dim : network_.order(chip::DimOrder::RowFirst)) {
    const LineDeltas& lines = lines_[dim];
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
