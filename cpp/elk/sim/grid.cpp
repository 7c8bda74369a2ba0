#include "elk/sim/grid.hpp"

#include <cstdlib>

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

void route(const Grid& grid, std::int64_t from, std::int64_t to, Turn turn,
           std::vector<Hop>& hops) {
  std::int64_t row = from / grid.cols;
  std::int64_t col = from % grid.cols;
  const auto walk = [&](std::int64_t count, std::int64_t& place, std::int64_t size,
                        Direction forwards, Direction backwards) {
    const Direction direction = count > 0 ? forwards : backwards;
    const std::int64_t step = count > 0 ? 1 : size - 1;
    for (std::int64_t k = std::abs(count); k > 0; --k) {
      hops.push_back({(row * grid.cols) + col, direction});
      place = (place + step) % size;  // Around a torus.
    }
  };
  const std::int64_t across = steps(col, to % grid.cols, grid.cols, grid.wraps);
  const std::int64_t down = steps(row, to / grid.cols, grid.rows, grid.wraps);
  if (turn == Turn::RowFirst) {
    walk(across, col, grid.cols, Direction::East, Direction::West);
  }
  walk(down, row, grid.rows, Direction::South, Direction::North);
  if (turn == Turn::ColumnFirst) {
    walk(across, col, grid.cols, Direction::East, Direction::West);
  }
}

Grid squarest(std::int64_t count) {
  std::int64_t rows = 1;
  for (std::int64_t r = 1; r * r <= count; ++r) {
    rows = count % r == 0 ? r : rows;
  }
  return {.rows = rows, .cols = count / rows, .wraps = false};
}

}  // namespace elk::sim
