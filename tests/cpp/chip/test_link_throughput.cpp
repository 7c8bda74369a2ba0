#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/chip/delivery.hpp"
#include "elk/chip/link_throughput.hpp"
#include "elk/chip/ways.hpp"

namespace elk::chip {
namespace {

Chip grid(std::int64_t rows, std::int64_t cols, std::int64_t modules, HbmPosition position) {
  Chip chip = small_chip();
  chip.interconnect.topology = Topology::Mesh2d;
  chip.core.count = rows * cols;
  chip.core.rows = rows;
  chip.core.cols = cols;
  chip.hbm->modules = modules;
  chip.hbm->position = position;
  return chip;
}

TEST(LinkThroughput, CountsEveryLinkIntoACoreOnce) {
  // 3 x 4: eight links between columns a row, nine down, each both ways; ten nodes at the edges.
  const Chip mesh = grid(3, 4, 2, HbmPosition::EdgesAll);
  const double link = mesh.interconnect.link_rate;
  EXPECT_DOUBLE_EQ(crossing(mesh).receive, ((2 * 3 * 3) + (2 * 4 * 2) + 10) * link);
  Chip torus = mesh;
  torus.interconnect.topology = Topology::Torus2d;
  EXPECT_DOUBLE_EQ(crossing(torus).receive, ((4 * 12) + 10) * link);
  torus.hbm.reset();
  EXPECT_DOUBLE_EQ(crossing(torus).receive, 4 * 12 * link);
}

TEST(LinkThroughput, OfModulesAtTwoSidesIsWhatTheMiddleLetsThrough) {
  // Half of the data comes from either side. If x of h bytes are needed on the right, x / 2 cross
  // to there and (h - x) / 2 back, over four links each way: at least h / 4 one way.
  const Chip chip = grid(4, 6, 2, HbmPosition::EdgesLeftRight);
  const double link = chip.interconnect.link_rate;
  EXPECT_DOUBLE_EQ(crossing(chip).anywhere, 4 * link / (1.0 / 4.0));
}

TEST(LinkThroughput, BindsALongGridOfManyModules) {
  const Chip chip = grid(40, 2, 8, HbmPosition::EdgesAll);
  const Delivery found = delivery(chip);
  EXPECT_EQ(found.bound_by, "crossing");
  EXPECT_LT(found.crossing, found.injection);
  EXPECT_EQ(found.rate, crossing(chip).anywhere);
}

TEST(LinkThroughput, LimitsNothingOnAllToAll) {
  EXPECT_TRUE(std::isinf(crossing(small_chip()).receive));
  EXPECT_TRUE(std::isinf(crossing(small_chip()).anywhere));
}

/// Units of data over each directed link, if module m sends a unit to core c `load[c]` times.
class CrossingWalk {
 public:
  explicit CrossingWalk(const Chip& chip)
      : chip_(chip), attached_(attached_cores(chip)), entry_(entry_nodes(chip)) {}

  /// The most units on one link, of `load` striped over all modules.
  double busiest(const std::vector<std::int64_t>& load) {
    std::map<std::pair<std::int64_t, std::int64_t>, double> links;
    for (std::size_t module = 0; module < attached_.size(); ++module) {
      for (std::size_t core = 0; core < load.size(); ++core) {
        const CoreId node = attached_[module][static_cast<std::size_t>(entry_[module][core])];
        const double units =
            static_cast<double>(load[core]) / static_cast<double>(attached_.size());
        links[{-1, node.value}] += units;
        send(node, static_cast<std::int64_t>(core), units, links);
      }
    }
    double most = 0.0;
    for (const auto& [link, units] : links) {
      most = std::max(most, units);
    }
    return most;
  }

 private:
  void send(CoreId from, std::int64_t to, double units,
            std::map<std::pair<std::int64_t, std::int64_t>, double>& links) const {
    std::int64_t at = from.value;
    const std::int64_t cols = chip_.core.cols;
    const bool row_first = turn_at(chip_, from) == DimOrder::RowFirst;
    while (at != to) {
      const std::int64_t right = (to % cols) - (at % cols);
      const std::int64_t down = (to / cols) - (at / cols);
      const bool sideways = right != 0 && (row_first || down == 0);
      const std::int64_t next = at + (sideways ? (right > 0 ? 1 : -1) : (down > 0 ? cols : -cols));
      links[{at, next}] += units;
      at = next;
    }
  }

  const Chip& chip_;
  std::vector<std::vector<CoreId>> attached_;
  std::vector<std::vector<std::int32_t>> entry_;
};

/// The least of `busiest` over all ways to deal `units` out to the cores from `core` on.
double least(CrossingWalk& walk, std::vector<std::int64_t>& load, std::size_t core,
             std::int64_t units) {
  if (core + 1 == load.size()) {
    load[core] = units;
    return walk.busiest(load);
  }
  double best = std::numeric_limits<double>::infinity();
  for (std::int64_t here = 0; here <= units; ++here) {
    load[core] = here;
    best = std::min(best, least(walk, load, core + 1, units - here));
  }
  return best;
}

TEST(LinkThroughput, IsNoTighterThanTheBestWayToDealDataOut) {
  constexpr std::int64_t kUnits = 6;
  double nearest = 0.0;
  for (const auto& [rows, cols] : {std::pair{1, 6}, {6, 1}, {2, 3}, {3, 2}}) {
    for (const std::int64_t modules : {1, 2, 3}) {
      for (const HbmPosition position :
           {HbmPosition::Nodes, HbmPosition::EdgesLeftRight, HbmPosition::EdgesAll}) {
        const Chip chip = grid(rows, cols, std::min<std::int64_t>(modules, 2 * rows), position);
        CrossingWalk walk(chip);
        std::vector<std::int64_t> load(static_cast<std::size_t>(rows * cols), 0);
        const double seconds = least(walk, load, 0, kUnits) / chip.interconnect.link_rate;
        const LinkThroughput found = crossing(chip);
        const double bound = static_cast<double>(kUnits) / std::min(found.anywhere, found.receive);
        EXPECT_LE(bound, seconds * (1.0 + 1e-12)) << rows << " x " << cols << ", " << modules;
        nearest = std::max(nearest, bound / seconds);
      }
    }
  }
  EXPECT_GT(nearest, 0.7);  // A bound of nothing would hold, too.
}

}  // namespace
}  // namespace elk::chip
