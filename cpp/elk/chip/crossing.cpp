#include "elk/chip/crossing.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "elk/chip/delivery.hpp"

namespace elk::chip {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Directed links along a line of `length` cores that may be a circle.
std::int64_t links_along(std::int64_t length, bool circle) {
  return circle && length > 2 ? 2 * length : 2 * (length - 1);
}

/// Places along one dimension between the first and the last node of a module.
struct Reach {
  std::int64_t first;
  std::int64_t last;
};

/// One dimension of a grid, across which it can be cut.
struct Dimension {
  std::int64_t length;
  std::int64_t across;  // lines that a cut goes through
  bool circle;
  std::vector<Reach> modules;
};

/// Bytes a second that the cuts across one dimension let through.
BytesPerSecond through(const Dimension& dim, BytesPerSecond link) {
  BytesPerSecond least = kInfinite;
  const std::int64_t boundaries = dim.circle && dim.length > 2 ? 2 : 1;
  const double rate = static_cast<double>(boundaries * dim.across) * link;
  const auto modules = static_cast<double>(dim.modules.size());
  for (std::int64_t at = 1; at < dim.length; ++at) {
    const auto before = std::count_if(dim.modules.begin(), dim.modules.end(),
                                      [at](const Reach& reach) { return reach.last < at; });
    const auto after = std::count_if(dim.modules.begin(), dim.modules.end(),
                                     [at](const Reach& reach) { return reach.first >= at; });
    const double a = static_cast<double>(before) / modules;
    const double c = static_cast<double>(after) / modules;
    if (a > 0.0 && c > 0.0) {
      least = std::min(least, rate * (a + c) / (a * c));
    }
  }
  return least;
}

}  // namespace

Crossing crossing(const Chip& chip) {
  Crossing result{.receive = kInfinite, .anywhere = kInfinite};
  if (!is_mesh(chip)) {
    return result;
  }
  const bool ring = chip.interconnect.topology == Topology::Ring;
  const bool circle = ring || chip.interconnect.topology == Topology::Torus2d;
  const std::int64_t rows = ring ? 1 : chip.core.rows;
  const std::int64_t cols = ring ? chip.core.count : chip.core.cols;
  Dimension down{.length = rows, .across = cols, .circle = circle, .modules = {}};
  Dimension along{.length = cols, .across = rows, .circle = circle, .modules = {}};
  std::int64_t nodes = 0;
  for (const std::vector<CoreId>& module : attached_cores(chip)) {
    Reach row{.first = rows, .last = -1};
    Reach col{.first = cols, .last = -1};
    for (const CoreId core : module) {
      const std::int64_t r = core.value / cols;
      const std::int64_t c = core.value % cols;
      row = {.first = std::min(row.first, r), .last = std::max(row.last, r)};
      col = {.first = std::min(col.first, c), .last = std::max(col.last, c)};
    }
    nodes += static_cast<std::int64_t>(module.size());
    down.modules.push_back(row);
    along.modules.push_back(col);
  }
  const std::int64_t links =
      (rows * links_along(cols, circle)) + (cols * links_along(rows, circle)) + nodes;
  result.receive = static_cast<double>(links) * chip.interconnect.link_rate;
  if (nodes > 0) {
    result.anywhere = std::min(through(down, chip.interconnect.link_rate),
                               through(along, chip.interconnect.link_rate));
  }
  return result;
}

}  // namespace elk::chip
