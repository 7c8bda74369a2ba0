#include "elk/sim/network/trees.hpp"

#include <algorithm>

namespace elk::sim {
namespace {

constexpr std::array<std::array<Direction, 2>, 2> kAhead = {{
    {Direction::East, Direction::West},
    {Direction::South, Direction::North},
}};

}  // namespace

void Trees::Runs::extend(std::int64_t steps) {
  ahead = std::max(ahead, steps);
  back = std::max(back, -steps);
}

Trees::Trees(const Network& network)
    : network_(network),
      grid_(network.grid()),
      lines_({Lines{.count = grid_.rows,
                    .length = grid_.cols,
                    .step = 1,
                    .across = grid_.cols + 1,
                    .change = {},
                    .carried = {},
                    .aimed = {},
                    .crossing = {}},
              Lines{.count = grid_.cols,
                    .length = grid_.rows,
                    .step = grid_.cols,
                    .across = 1,
                    .change = {},
                    .carried = {},
                    .aimed = {},
                    .crossing = {}}}),
      used_(static_cast<std::size_t>(network.chips()), 0) {
  for (Lines& lines : lines_) {
    for (std::size_t way = 0; way < lines.change.size(); ++way) {
      lines.change[way].assign(subscript(network.chips() * lines.size()), 0);
      lines.carried[way].assign(subscript(lines.count), 0);
    }
    lines.aimed.assign(subscript(lines.count), {.begin = -1, .last = -1});
  }
  runs_.resize(subscript(std::max(grid_.rows, grid_.cols)));
}

Trees::Place Trees::place(std::int32_t core) const {
  const auto local = core - static_cast<std::int32_t>(chip_ * network_.cores_of_chip());
  const auto cols = static_cast<std::int32_t>(grid_.cols);  // divided by in half the time
  return {local / cols, local % cols};
}

void Trees::aim(std::span<const std::int32_t> to) {
  to_ = to;
  chip_ = to.empty() ? 0 : to.front() / network_.cores_of_chip();
  for (Lines& lines : lines_) {
    for (const std::int32_t line : lines.crossing) {
      lines.aimed[subscript(line)].begin = -1;
    }
    lines.crossing.clear();
  }
}

/// The lines along a dimension that are aimed at.
const std::vector<std::int32_t>& Trees::crossing(std::size_t dim) {
  Lines& lines = lines_[dim];
  if (!lines.crossing.empty()) {
    return lines.crossing;
  }
  for (const std::int32_t core : to_) {
    const Place at = place(core);
    Aimed& range = lines.aimed[subscript(at[dim])];
    const auto here = static_cast<std::int32_t>(at[1 - dim]);
    if (range.begin < 0) {
      range = {.begin = here, .last = here};
      lines.crossing.push_back(static_cast<std::int32_t>(at[dim]));
    } else {
      range.begin = std::min(range.begin, here);
      range.last = std::max(range.last, here);
    }
  }
  return lines.crossing;
}

std::int64_t Trees::add(CoreId from, Turn turn, std::int64_t bytes) {
  const std::size_t first = turn == Turn::RowFirst ? 0 : 1;  // the dimension that ways take first
  const std::size_t second = 1 - first;
  const Place origin = place(from.value);
  if (grid_.wraps) {
    return add_around(origin, first, bytes);
  }
  Lines& across = lines_[second];
  Runs along;
  std::int64_t count = 0;
  for (const std::int32_t line : crossing(second)) {
    const std::int64_t steps = line - origin[second];
    const Aimed& range = across.aimed[subscript(line)];
    const Runs there{.ahead = std::max<std::int64_t>(0, range.last - origin[first]),
                     .back = std::max<std::int64_t>(0, origin[first] - range.begin)};
    along.extend(steps);
    longest_ = std::max(longest_, std::abs(steps) + there.most());
    count += add_runs(across, line, origin[first], there, bytes);
  }
  return count + add_runs(lines_[first], origin[first], origin[second], along, bytes);
}

/// The same on a torus, where the shorter way round depends on where it starts from.
std::int64_t Trees::add_around(const Place& from, std::size_t first, std::int64_t bytes) {
  const std::size_t second = 1 - first;
  Lines& across = lines_[second];
  Runs along;
  for (const std::int32_t core : to_) {
    const Place at = place(core);
    const std::int64_t steps = line_steps(from[second], at[second], across.count, true);
    const std::int64_t after = line_steps(from[first], at[first], across.length, true);
    along.extend(steps);
    runs_[subscript(at[second])].extend(after);
    longest_ = std::max(longest_, std::abs(steps) + std::abs(after));
  }
  std::int64_t count = 0;
  for (const std::int32_t line : crossing(second)) {
    count += add_runs(across, line, from[first], runs_[subscript(line)], bytes);
    runs_[subscript(line)] = {};
  }
  return count + add_runs(lines_[first], from[first], from[second], along, bytes);
}

/// Adds the runs from a place of a line of the chip that is aimed at; returns how many links.
std::int64_t Trees::add_runs(Lines& lines, std::int64_t line, std::int64_t from, const Runs& runs,
                             std::int64_t bytes) {
  used_[subscript(chip_)] = 1;
  const std::int64_t base = (chip_ * lines.size()) + (line * lines.across);
  const auto add_run = [&](std::vector<std::int64_t>& change, std::int64_t begin,
                           std::int64_t count) {
    begin += begin < 0 ? lines.length : 0;
    const std::int64_t end = begin + count;
    change[subscript(base + (begin * lines.step))] += bytes;
    change[subscript(base + (std::min(end, lines.length) * lines.step))] -= bytes;
    if (end > lines.length) {  // Around a torus.
      change[subscript(base)] += bytes;
      change[subscript(base + ((end - lines.length) * lines.step))] -= bytes;
    }
  };
  if (runs.ahead > 0) {
    add_run(lines.change[0], from, runs.ahead);
  }
  if (runs.back > 0) {
    add_run(lines.change[1], from - runs.back + 1, runs.back);
  }
  return runs.ahead + runs.back;
}

void Trees::settle(std::vector<std::int64_t>& amount) {
  for (std::size_t chip = 0; chip < used_.size(); ++chip) {
    for (std::size_t part = 0; used_[chip] != 0 && part < 4; ++part) {
      settle_links(static_cast<std::int64_t>(chip), part / 2, part % 2, amount);
    }
    used_[chip] = 0;
  }
  longest_ = 0;
}

/// One way of one dimension of a chip.
void Trees::settle_links(std::int64_t chip, std::size_t dim, std::size_t way,
                         std::vector<std::int64_t>& amount) {
  Lines& lines = lines_[dim];
  std::int64_t* const change = &lines.change[way][subscript(chip * lines.size())];
  std::vector<std::int64_t>& carried = lines.carried[way];
  std::fill(carried.begin(), carried.end(), 0);
  const auto first = id_at<CoreId>(subscript(chip * network_.cores_of_chip()));
  std::size_t link = network_.link(first, kAhead[dim][way]).index();
  for (std::int64_t row = 0; row < grid_.rows; ++row) {
    for (std::int64_t col = 0; col < grid_.cols; ++col) {
      const std::int64_t line = dim == 0 ? row : col;
      const std::int64_t at = dim == 0 ? col : row;
      carried[subscript(line)] += change[(line * lines.across) + (at * lines.step)];
      amount[link] += carried[subscript(line)];
      link += kDirections.size();
    }
  }
  std::fill(change, change + lines.size(), 0);
}

}  // namespace elk::sim
