#include "elk/chip/delivery.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/chip/crossing.hpp"

namespace elk::chip {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

struct Position {
  std::int64_t row;
  std::int64_t col;
};

/// Cores of a chip as rows and columns; a ring is one row.
struct Grid {
  std::int64_t rows;
  std::int64_t cols;
  bool wraps;

  [[nodiscard]] CoreId core(Position at) const {
    return id_at<CoreId>(static_cast<std::size_t>((at.row * cols) + at.col));
  }
};

Grid grid_of(const Chip& chip) {
  if (chip.interconnect.topology == Topology::Ring) {
    return {.rows = 1, .cols = chip.core.count, .wraps = true};
  }
  return {.rows = chip.core.rows,
          .cols = chip.core.cols,
          .wraps = chip.interconnect.topology == Topology::Torus2d};
}

/// The cores that a link leads to from `core`.
std::vector<CoreId> neighbours(const Grid& grid, CoreId core) {
  const std::int64_t row = core.value / grid.cols;
  const std::int64_t col = core.value % grid.cols;
  std::vector<CoreId> found;
  const std::array<Position, 4> around = {
      {{row - 1, col}, {row + 1, col}, {row, col - 1}, {row, col + 1}}};
  for (Position at : around) {
    if (grid.wraps) {
      at = {(at.row + grid.rows) % grid.rows, (at.col + grid.cols) % grid.cols};
    }
    const bool inside = at.row >= 0 && at.row < grid.rows && at.col >= 0 && at.col < grid.cols;
    if (inside && grid.core(at) != core) {
      found.push_back(grid.core(at));
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<CoreId> perimeter(const Grid& grid) {
  std::vector<CoreId> cores;
  for (std::int64_t col = 0; col < grid.cols; ++col) {
    cores.push_back(grid.core({0, col}));
  }
  for (std::int64_t row = 1; row < grid.rows; ++row) {
    cores.push_back(grid.core({row, grid.cols - 1}));
  }
  for (std::int64_t col = grid.cols - 2; grid.rows > 1 && col >= 0; --col) {
    cores.push_back(grid.core({grid.rows - 1, col}));
  }
  for (std::int64_t row = grid.rows - 2; grid.cols > 1 && row >= 1; --row) {
    cores.push_back(grid.core({row, 0}));
  }
  return cores;
}

std::vector<CoreId> outer_columns(const Grid& grid) {
  std::vector<CoreId> cores;
  for (std::int64_t row = 0; row < grid.rows; ++row) {
    cores.push_back(grid.core({row, 0}));
  }
  for (std::int64_t row = 0; grid.cols > 1 && row < grid.rows; ++row) {
    cores.push_back(grid.core({row, grid.cols - 1}));
  }
  return cores;
}

/// `cores` cut into `parts` runs whose lengths differ by one at most.
std::vector<std::vector<CoreId>> shares(const std::vector<CoreId>& cores, std::size_t parts) {
  std::vector<std::vector<CoreId>> cut(parts);
  for (std::size_t i = 0; i < cores.size(); ++i) {
    cut[i * parts / cores.size()].push_back(cores[i]);
  }
  return cut;
}

/// One core for each of `modules`, in the middle of the parts of a `down` x `across` division of
/// the grid: the most even one whose parts are not empty.
std::vector<std::vector<CoreId>> centres(const Grid& grid, std::int64_t modules) {
  std::int64_t down = 1;
  for (std::int64_t d = 1; d <= std::min(modules, grid.rows); ++d) {
    const bool fits = modules % d == 0 && modules / d <= grid.cols;
    const bool first = modules / down > grid.cols;
    if (fits && (first || std::abs(d - (modules / d)) < std::abs(down - (modules / down)))) {
      down = d;
    }
  }
  if (modules / down > grid.cols) {  // No division fits, as for 11 modules on 4 x 4.
    std::vector<std::vector<CoreId>> spread;
    for (std::int64_t k = 0; k < modules; ++k) {
      const std::int64_t at = ((2 * k) + 1) * grid.rows * grid.cols / (2 * modules);
      spread.push_back({id_at<CoreId>(static_cast<std::size_t>(at))});
    }
    return spread;
  }
  const std::int64_t across = modules / down;
  std::vector<std::vector<CoreId>> cores;
  for (std::int64_t k = 0; k < modules; ++k) {
    const std::int64_t row = ((2 * (k / across)) + 1) * grid.rows / (2 * down);
    const std::int64_t col = ((2 * (k % across)) + 1) * grid.cols / (2 * across);
    cores.push_back({grid.core({row, col})});
  }
  return cores;
}

const Hbm& hbm_of(const Chip& chip) {
  if (!chip.hbm) {
    throw InvalidInput("hbm must be present to read from it: chip " + chip.name + " has none",
                       "invalid_chip");
  }
  return *chip.hbm;
}

BytesPerSecond peak(const Hbm& hbm) {
  const auto modules = static_cast<double>(hbm.modules);
  const double channels = modules * static_cast<double>(hbm.channels);
  double rate = std::min(hbm.rate, modules * hbm.port_rate);
  if (hbm.latency > Seconds{0}) {
    rate =
        std::min(rate, channels * static_cast<double>(hbm.outstanding.value) / hbm.latency.value);
  }
  return rate;
}

struct Cut {
  double nodes;  // that modules are attached to
  double links;  // from those to other nodes
};

Cut cut_around(const Chip& chip) {
  std::vector<CoreId> nodes;
  for (const std::vector<CoreId>& module : attached_cores(chip)) {
    nodes.insert(nodes.end(), module.begin(), module.end());
  }
  std::sort(nodes.begin(), nodes.end());
  const Grid grid = grid_of(chip);
  std::int64_t links = 0;
  for (const CoreId node : nodes) {
    for (const CoreId other : neighbours(grid, node)) {
      links += std::binary_search(nodes.begin(), nodes.end(), other) ? 0 : 1;
    }
  }
  return {.nodes = static_cast<double>(nodes.size()), .links = static_cast<double>(links)};
}

/// Links, or ports, that lead from one half of the cores to the other where fewest do.
double halving_links(const Chip& chip) {
  const auto narrow = static_cast<double>(std::min(chip.core.rows, chip.core.cols));
  switch (chip.interconnect.topology) {
    case Topology::AllToAll:
      return static_cast<double>(chip.core.count) / 2;
    case Topology::Mesh2d:
      return narrow;
    case Topology::Torus2d:
      return 2 * narrow;
    case Topology::Ring:
      return 2;
  }
  throw InternalError("unknown topology");
}

}  // namespace

std::vector<std::vector<CoreId>> attached_cores(const Chip& chip) {
  if (!chip.hbm || !is_mesh(chip)) {
    return {};
  }
  const Grid grid = grid_of(chip);
  const auto modules = static_cast<std::size_t>(chip.hbm->modules);
  switch (chip.hbm->position) {
    case HbmPosition::Nodes:
      return centres(grid, chip.hbm->modules);
    case HbmPosition::EdgesLeftRight:
      return shares(outer_columns(grid), modules);
    case HbmPosition::EdgesAll:
      return shares(perimeter(grid), modules);
  }
  throw InternalError("unknown HBM position");
}

Delivery delivery(const Chip& chip) {
  const BytesPerSecond link = chip.interconnect.link_rate;
  Delivery result{.hbm = peak(hbm_of(chip)),
                  .injection = kNoLimit,
                  .edge_cut = kNoLimit,
                  .crossing = kNoLimit,
                  .receive = kNoLimit,
                  .bisection = halving_links(chip) * link,
                  .rate = 0,
                  .bound_by = ""};
  const auto cores = static_cast<double>(chip.core.count);
  if (is_mesh(chip)) {
    const Cut cut = cut_around(chip);
    result.injection = cut.nodes * link;
    result.crossing = crossing(chip).anywhere;
    if (cut.nodes < cores) {
      result.edge_cut = cut.links * link / ((cores - cut.nodes) / cores);
    }
  } else {
    result.receive = cores * link;
  }
  const std::array<std::pair<BytesPerSecond, const char*>, 5> limits = {
      {{result.hbm, "hbm"},
       {result.injection, "injection"},
       {result.edge_cut, "edge_cut"},
       {result.crossing, "crossing"},
       {result.receive, "receive"}}};
  const auto* least =
      std::min_element(limits.begin(), limits.end(), [](const auto& a, const auto& b) {
        return a.first < b.first;  // The first of equals.
      });
  result.rate = least->first;
  result.bound_by = least->second;
  return result;
}

double receiving_links(Topology topology) {
  switch (topology) {
    case Topology::AllToAll:
      return 1.0;
    case Topology::Ring:
      return 2.0;
    case Topology::Mesh2d:
    case Topology::Torus2d:
      return 4.0;
  }
  return 4.0;
}

double receiving_between(const Chip& chip) {
  return is_mesh(chip) && chip.inter_chip ? chip.inter_chip->rate : 0.0;
}

Seconds hbm_time(const Chip& chip, double bytes, bool idle) {
  const Hbm& hbm = hbm_of(chip);
  if (!(bytes > 0)) {
    return Seconds{0};
  }
  const double stall = hbm.refresh_stall.value;
  const double busy = bytes / peak(hbm);
  const double served = hbm.refresh_interval.value - stall;  // seconds of service per interval
  if (stall <= 0) {
    return Seconds{busy + (idle ? hbm.latency.value : 0)};
  }
  if (!idle) {
    return Seconds{busy + (stall * busy / served)};
  }
  // The n-th boundary is passed if the end with the n - 1 stalls before it lies beyond:
  // work + (n - 1) stall > n interval.
  const double work = hbm.latency.value + busy;
  const double passed = std::max(0.0, std::ceil((work - stall) / served) - 1);
  return Seconds{work + (stall * passed)};
}

}  // namespace elk::chip
