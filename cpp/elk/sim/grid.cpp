#include "elk/sim/grid.hpp"

#include <algorithm>

namespace elk::sim {
namespace {

/// Steps from `from` to `to` on a line of `size` nodes; negative: backwards.
std::int64_t steps(std::int64_t from, std::int64_t to, std::int64_t size, bool wraps) {
  const std::int64_t ahead = to - from;
  if (!wraps) {
    return ahead;
  }
  const std::int64_t forwards = (ahead + size) % size;
  return 2 * forwards <= size ? forwards : forwards - size;
}

}  // namespace

std::int64_t neighbour(const Grid& grid, std::int64_t node, Direction direction) {
  std::int64_t row = node / grid.cols;
  std::int64_t col = node % grid.cols;
  switch (direction) {
    case Direction::East:
      ++col;
      break;
    case Direction::West:
      --col;
      break;
    case Direction::South:
      ++row;
      break;
    case Direction::North:
      --row;
      break;
  }
  if (grid.wraps) {
    row = (row + grid.rows) % grid.rows;
    col = (col + grid.cols) % grid.cols;
  }
  const bool inside = row >= 0 && row < grid.rows && col >= 0 && col < grid.cols;
  return inside ? (row * grid.cols) + col : -1;
}

std::array<Leg, 2> legs(const Grid& grid, std::int64_t from, std::int64_t to, Turn turn) {
  const std::int64_t row = from / grid.cols;
  const std::int64_t col = from % grid.cols;
  const std::int64_t across = steps(col, to % grid.cols, grid.cols, grid.wraps);
  const std::int64_t down = steps(row, to / grid.cols, grid.rows, grid.wraps);
  const bool row_first = turn == Turn::RowFirst;
  const Leg along{.base = (row_first ? row : to / grid.cols) * grid.cols,
                  .unit = 1,
                  .size = grid.cols,
                  .start = col,
                  .count = across,
                  .direction = across > 0 ? Direction::East : Direction::West};
  const Leg aside{.base = row_first ? to % grid.cols : col,
                  .unit = grid.cols,
                  .size = grid.rows,
                  .start = row,
                  .count = down,
                  .direction = down > 0 ? Direction::South : Direction::North};
  return row_first ? std::array{along, aside} : std::array{aside, along};
}

void route(const Grid& grid, std::int64_t from, std::int64_t to, Turn turn,
           std::vector<Hop>& hops) {
  const auto before = static_cast<std::ptrdiff_t>(hops.size());
  walk_back(grid, from, to, turn, [&](const Hop& hop) {
    hops.push_back(hop);
    return true;
  });
  std::reverse(hops.begin() + before, hops.end());
}

Grid squarest(std::int64_t count) {
  std::int64_t rows = 1;
  for (std::int64_t r = 1; r * r <= count; ++r) {
    rows = count % r == 0 ? r : rows;
  }
  return {.rows = rows, .cols = count / rows, .wraps = false};
}

}  // namespace elk::sim
