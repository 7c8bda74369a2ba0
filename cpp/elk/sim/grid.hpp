#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
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

/// The part of a way along one dimension.
struct Leg {
  std::int64_t base;   // node of the line's first place
  std::int64_t unit;   // from one place of the line to the next
  std::int64_t size;   // places of the line
  std::int64_t start;  // place it starts from
  std::int64_t count;  // steps; negative: backwards
  Direction direction;
};

/// What route() walks, leg after leg.
[[nodiscard]] std::array<Leg, 2> legs(const Grid& grid, std::int64_t from, std::int64_t to,
                                      Turn turn);

/// Calls `visit` with the hops of route(), the last first, for as long as it returns true. Returns
/// how many the whole way has.
template <typename Visit>
std::int64_t walk_back(const Grid& grid, std::int64_t from, std::int64_t to, Turn turn,
                       const Visit& visit) {
  const std::array<Leg, 2> way = legs(grid, from, to, turn);
  bool on = true;
  for (std::size_t i = way.size(); i-- > 0;) {
    const Leg& leg = way[i];
    const std::int64_t step = leg.count > 0 ? 1 : -1;
    for (std::int64_t k = leg.count - step; on && k * step >= 0; k -= step) {
      std::int64_t place = leg.start + k;
      if (place < 0 || place >= leg.size) {
        place += place < 0 ? leg.size : -leg.size;  // Around a torus.
      }
      on = visit(Hop{.node = leg.base + (place * leg.unit), .direction = leg.direction});
    }
  }
  return std::abs(way[0].count) + std::abs(way[1].count);
}

/// The most even grid of `count` nodes, no taller than wide.
[[nodiscard]] Grid squarest(std::int64_t count);

}  // namespace elk::sim
