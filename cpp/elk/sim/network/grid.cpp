#include "elk/sim/network/grid.hpp"

namespace elk::sim {
namespace {

/// The part of a way along one dimension.
struct Leg {
  std::int64_t base;   // node of the line's first place
  std::int64_t unit;   // from one place of the line to the next
  std::int64_t size;   // places of the line
  std::int64_t start;  // place it starts from
  std::int64_t count;  // steps; negative: backwards
  Direction direction;
};

/// The legs of a way, one after the other.
std::array<Leg, 2> legs(const Grid& grid, std::int64_t from, std::int64_t to, Turn turn) {
  const std::int64_t row = from / grid.cols;
  const std::int64_t col = from % grid.cols;
  const std::int64_t across = line_steps(col, to % grid.cols, grid.cols, grid.wraps);
  const std::int64_t down = line_steps(row, to / grid.cols, grid.rows, grid.wraps);
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

}  // namespace

std::int64_t line_steps(std::int64_t from, std::int64_t to, std::int64_t size, bool wraps) {
  const std::int64_t ahead = to - from;
  if (!wraps) {
    return ahead;
  }
  const std::int64_t forwards = (ahead + size) % size;
  return 2 * forwards <= size ? forwards : forwards - size;
}

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
  for (const Leg& leg : legs(grid, from, to, turn)) {
    const std::int64_t step = leg.count > 0 ? 1 : -1;
    for (std::int64_t k = 0; k != leg.count; k += step) {
      std::int64_t place = leg.start + k;
      if (place < 0 || place >= leg.size) {
        place += place < 0 ? leg.size : -leg.size;  // Around a torus.
      }
      hops.push_back({.node = leg.base + (place * leg.unit), .direction = leg.direction});
    }
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
