#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace elk::sim {

/// Where a directed link leads: along the row, or along the column.
enum class Direction : std::uint8_t { East, West, South, North };
inline constexpr std::array<Direction, 4> kDirections = {Direction::East, Direction::West,
                                                         Direction::South, Direction::North};

/// Nodes in rows and columns, numbered by row. A ring is one row that wraps.
struct Grid {
  std::int64_t rows;
  std::int64_t cols;
  bool wraps;

  friend bool operator==(const Grid&, const Grid&) = default;
};

/// The node that a link leads to; -1 at the edge of a mesh.
[[nodiscard]] std::int64_t neighbour(const Grid& grid, std::int64_t node, Direction direction);

/// A link on the way: `direction` out of `node`.
struct Hop {
  std::int64_t node;
  Direction direction;

  friend bool operator==(const Hop&, const Hop&) = default;
};

/// Which dimension a way takes first.
enum class Turn : std::uint8_t { RowFirst, ColumnFirst };

/// The way by dimension order: along the row, then along the column, or the other way about; on a
/// torus the shorter way round, forwards (East, South) if both are equally long.
void route(const Grid& grid, std::int64_t from, std::int64_t to, Turn turn, std::vector<Hop>& hops);

/// Steps of a way from one place to another of a line of `size` nodes; negative: backwards.
[[nodiscard]] std::int64_t line_steps(std::int64_t from, std::int64_t to, std::int64_t size,
                                      bool wraps);

/// The most even grid of `count` nodes, no taller than wide.
[[nodiscard]] Grid squarest(std::int64_t count);

}  // namespace elk::sim
