#include "elk/sim/network/multicast_trees.hpp"

#include <algorithm>
#include <cstdlib>

namespace elk::sim {
namespace {

/// A place on a line that a way comes to: it lies where the way began along the dimensions to come.
chip::PerDim along(const chip::PerDim& from, const chip::PerDim& to,
                   std::span<const std::uint8_t> before) {
  chip::PerDim result = from;
  for (const std::uint8_t dim : before) {
    result[dim] = to[dim];
  }
  return result;
}

}  // namespace

void MulticastTrees::LinkReach::extend(std::int64_t steps) {
  ahead = std::max(ahead, steps);
  back = std::max(back, -steps);
}

MulticastTrees::MulticastTrees(const MachineNetwork& network)
    : network_(network),
      cores_(network.lines()),
      used_(static_cast<std::size_t>(network.chips()), 0) {
  for (std::int64_t core = 0; core < cores_.nodes(); ++core) {
    places_.push_back(cores_.place(core));
  }
  for (std::size_t dim = 0; dim < cores_.dims(); ++dim) {
    straight_ = straight_ && cores_.joint(dim) == chip::Joint::Open;
    lay_lines(dim);
  }
  for (const chip::DimOrder turn : {chip::DimOrder::RowFirst, chip::DimOrder::ColumnFirst}) {
    std::int64_t places = 1;
    ReceiverLevel* level = aims_[static_cast<std::size_t>(turn)].level.data();
    level++->known.assign(1, -1);
    for (const std::uint8_t dim : cores_.order(turn)) {
      places *= cores_.length(dim);
      level++->known.assign(subscript(places), -1);
    }
  }
}

void MulticastTrees::lay_lines(std::size_t dim) {
  LineLoads& lines = lines_.emplace_back(LineLoads{.length = cores_.length(dim),
                                                   .stride = {},
                                                   .size = 1,
                                                   .change = {},
                                                   .carried = {},
                                                   .across = {}});
  std::int64_t count = 1;
  for (std::size_t other = cores_.dims(); other-- > 0;) {
    lines.stride[other] = lines.size;
    lines.size *= cores_.length(other) + (other == dim ? 1 : 0);
    lines.across[other] = other == dim ? 0 : count;
    count *= other == dim ? 1 : cores_.length(other);
  }
  for (std::size_t way = 0; way < lines.change.size(); ++way) {
    lines.change[way].assign(subscript(network_.chips() * lines.size), 0);
    lines.carried[way].assign(subscript(count), 0);
  }
}

void MulticastTrees::aim(std::span<const std::int32_t> to) {
  to_ = to;
  chip_ = to.empty() ? 0 : to.front() / network_.cores_of_chip();
  first_ = static_cast<std::int32_t>(chip_ * network_.cores_of_chip());
  for (ReceiverTree& aim : aims_) {
    aim.known = false;
  }
}

/// The lines that lead to the receivers, looked for when anybody asks.
MulticastTrees::ReceiverTree& MulticastTrees::aim_of(chip::DimOrder turn) {
  ReceiverTree& aim = aims_[static_cast<std::size_t>(turn)];
  if (!aim.known) {
    look(cores_.order(turn), aim);
    aim.known = true;
  }
  return aim;
}

void MulticastTrees::look(chip::DimSequence order, ReceiverTree& aim) const {
  const std::size_t levels = order.size() + (cores_.full(order.back()) ? 1 : 0);
  for (std::size_t k = 1; k < levels; ++k) {
    ReceiverLevel& level = aim.level[k];
    for (const ReceiverLine& one : level.aimed) {
      level.known[number_of(one.at, order.first(k))] = -1;
    }
    level.aimed.clear();
  }
  for (const std::int32_t core : to_) {
    const chip::PerDim& at = place(core);
    std::int64_t number = 0;
    for (std::size_t k = 1; k < levels; ++k) {
      number = (number * cores_.length(order[k - 1])) + at[order[k - 1]];
      aim.level[k].look(subscript(number), at, k < order.size() ? at[order[k]] : 0);
    }
  }
}

/// The number of a place along these dimensions.
std::size_t MulticastTrees::number_of(const chip::PerDim& at, chip::DimSequence dims) const {
  std::int64_t number = 0;
  for (const std::uint8_t dim : dims) {
    number = (number * cores_.length(dim)) + at[dim];
  }
  return subscript(number);
}

/// Has the line with this number lead to a receiver at `at`, which is the place `here` along it.
void MulticastTrees::ReceiverLevel::look(std::size_t number, const chip::PerDim& at,
                                         std::int64_t here) {
  if (known[number] < 0) {
    known[number] = static_cast<std::int32_t>(aimed.size());
    aimed.push_back({.at = at, .begin = here, .last = here});
    return;
  }
  ReceiverLine& line = aimed[subscript(known[number])];
  line.begin = std::min(line.begin, here);
  line.last = std::max(line.last, here);
}

std::int64_t MulticastTrees::add(CoreId from, chip::DimOrder turn, std::int64_t bytes) {
  used_[subscript(chip_)] = 1;
  const chip::DimSequence order = cores_.order(turn);
  ReceiverTree& aim = aim_of(turn);
  const chip::PerDim& origin = place(from.value);
  return straight_ ? add_straight(origin, order, aim, bytes)
                   : add_around(origin, order, aim, bytes);
}

std::int64_t MulticastTrees::add_straight(const chip::PerDim& from, chip::DimSequence order,
                                          ReceiverTree& aim, std::int64_t bytes) {
  LinkReach first;
  std::int64_t count = 0;
  for (std::size_t k = 1; k < order.size(); ++k) {
    const std::size_t dim = order[k];
    for (const ReceiverLine& line : aim.level[k].aimed) {
      const LinkReach there{.ahead = std::max<std::int64_t>(0, line.last - from[dim]),
                            .back = std::max<std::int64_t>(0, from[dim] - line.begin)};
      chip::PerDim at = from;
      std::int64_t passed = there.most();
      for (std::size_t j = 0; j < k; ++j) {
        at[order[j]] = line.at[order[j]];
        passed += std::abs(at[order[j]] - from[order[j]]);
      }
      first.extend(at[order[0]] - from[order[0]]);
      longest_ = std::max(longest_, passed);
      count += add_runs(dim, at, there, bytes);
    }
  }
  return count + add_runs(order[0], from, first, bytes);
}

/// Where the shorter way round depends on where it starts from, or there are ports.
std::int64_t MulticastTrees::add_around(const chip::PerDim& from, chip::DimSequence order,
                                        ReceiverTree& aim, std::int64_t bytes) {
  reach(from, order, aim);
  std::int64_t count = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::size_t dim = order[k];
    ReceiverLevel& level = aim.level[k];
    std::int64_t links = 0;
    for (std::size_t i = 0; i < level.runs.size(); ++i) {
      const chip::PerDim at = k == 0 ? from : along(from, level.aimed[i].at, order.first(k));
      links += add_runs(dim, at, level.runs[i], bytes);
    }
    count += cores_.full(dim) ? add_ports(from, order, k, aim, bytes) : links;
  }
  return count;
}

/// How far the tree from a core reaches along all of its lines.
void MulticastTrees::reach(const chip::PerDim& from, chip::DimSequence order, ReceiverTree& aim) {
  aim.level[0].runs.assign(1, LinkReach{});
  for (std::size_t k = 1; k < order.size(); ++k) {
    aim.level[k].runs.assign(aim.level[k].aimed.size(), LinkReach{});
  }
  for (const std::int32_t core : to_) {
    const chip::PerDim& to = place(core);
    std::int64_t passed = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::size_t dim = order[k];
      ReceiverLevel& level = aim.level[k];
      const std::size_t line = k == 0 ? 0 : subscript(level.known[number_of(to, order.first(k))]);
      const bool leaves = cores_.full(dim) && to[dim] != from[dim];  // Through one port.
      const std::int64_t steps = cores_.steps(dim, from[dim], to[dim]);
      level.runs[line].extend(leaves ? 1 : steps);
      passed += std::abs(steps);
    }
    longest_ = std::max(longest_, passed);
  }
}

/// The ports through which the tree comes in to the places of full lines; returns how many.
std::int64_t MulticastTrees::add_ports(const chip::PerDim& from, chip::DimSequence order,
                                       std::size_t level, ReceiverTree& aim, std::int64_t bytes) {
  const std::size_t dim = order[level];
  std::int64_t count = 0;
  for (const ReceiverLine& to : aim.level[level + 1].aimed) {
    if (to.at[dim] != from[dim]) {
      const chip::PerDim at = along(from, to.at, order.first(level + 1));
      count += add_runs(dim, at, {.ahead = 0, .back = 1}, bytes);
    }
  }
  return count;
}

/// Adds the runs from a place of the chip that is aimed at along its line; returns how many links.
std::int64_t MulticastTrees::add_runs(std::size_t dim, const chip::PerDim& from,
                                      const LinkReach& runs, std::int64_t bytes) {
  LineLoads& lines = lines_[dim];
  const std::int64_t step = lines.stride[dim];
  std::int64_t base = chip_ * lines.size;
  for (std::size_t other = 0; other < chip::kMostDims; ++other) {
    base += other == dim ? 0 : from[other] * lines.stride[other];
  }
  const auto add_run = [&](std::vector<std::int64_t>& change, std::int64_t begin,
                           std::int64_t count) {
    begin += begin < 0 ? lines.length : 0;
    const std::int64_t end = begin + count;
    change[subscript(base + (begin * step))] += bytes;
    change[subscript(base + (std::min(end, lines.length) * step))] -= bytes;
    if (end > lines.length) {  // Around a circle.
      change[subscript(base)] += bytes;
      change[subscript(base + ((end - lines.length) * step))] -= bytes;
    }
  };
  if (runs.ahead > 0) {
    add_run(lines.change[0], from[dim], runs.ahead);
  }
  if (runs.back > 0) {
    add_run(lines.change[1], from[dim] - runs.back + 1, runs.back);
  }
  return runs.ahead + runs.back;
}

void MulticastTrees::settle(std::vector<std::int64_t>& amount) {
  for (std::size_t chip = 0; chip < used_.size(); ++chip) {
    for (std::size_t dim = 0; used_[chip] != 0 && dim < lines_.size(); ++dim) {
      settle_links(static_cast<std::int64_t>(chip), dim, 0, amount);
      settle_links(static_cast<std::int64_t>(chip), dim, 1, amount);
    }
    used_[chip] = 0;
  }
  longest_ = 0;
}

/// One way of one dimension of a chip.
void MulticastTrees::settle_links(std::int64_t chip, std::size_t dim, std::size_t way,
                                  std::vector<std::int64_t>& amount) {
  LineLoads& lines = lines_[dim];
  std::int64_t* const change = &lines.change[way][subscript(chip * lines.size)];
  std::vector<std::int64_t>& carried = lines.carried[way];
  std::fill(carried.begin(), carried.end(), 0);
  const auto first = id_at<CoreId>(subscript(chip * network_.cores_of_chip()));
  const std::int32_t number = chip::Network::first_link(dim) + static_cast<std::int32_t>(way);
  std::size_t link = network_.link(first, number).index();
  for (const chip::PerDim& at : places_) {
    std::int64_t line = 0;
    std::int64_t place = 0;
    for (std::size_t other = 0; other < chip::kMostDims; ++other) {
      line += at[other] * lines.across[other];
      place += at[other] * lines.stride[other];
    }
    carried[subscript(line)] += change[place];
    amount[link] += carried[subscript(line)];
    link += subscript(cores_.links());
  }
  std::fill(change, change + lines.size, 0);
}

}  // namespace elk::sim
