#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/schedule/bound/bounds.hpp"
#include "elk/schedule/bound/gather_bound.hpp"
#include "elk/schedule/bound/gather_prices.hpp"
#include "elk/schedule/bound/neighbour_bound.hpp"
#include "elk/schedule/bound/neighbour_pieces.hpp"
#include "schedule/every_cut.hpp"
#include "schedule/exhaustive.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

constexpr GatherPrices kPrices{.passing = 0.1, .meeting = 0.8, .shield = 5.0};
constexpr PortFacts kPorts{.filled = 0.5, .sync = 0.2, .late = 0.1};

/// 12 seconds, in 2 of which its exchanges carry data, half of that before it computes.
cost::GatherFloor twelve_seconds() {
  return {.execute = {12.0},
          .whole = {12.0},
          .turned = cost::kNotTurned,
          .idle = {10.0},
          .carried = {2.0},
          .gathered = {1.0},
          .sharers = 5,
          .loaded = {4.0},
          .held = {4.0},
          .even = 1.0};
}

TEST(GatherFloor, LetsPreloadsPassBesideComputeForWhatTheyMeet) {
  const auto counted = [](const cost::GatherFloor& cut, const GatherPrices& prices) {
    return counted_executes(cut, prices, kPorts).least;
  };
  // A tenth of 10 seconds pass, but meet 0.9 of what is gathered.
  EXPECT_NEAR(counted(twelve_seconds(), kPrices), 12.0 - 1.0 + (0.8 * 0.9), 1e-9);
  // A shield spares all but half a second of that.
  EXPECT_NEAR(counted(twelve_seconds(), {.passing = 0.1, .meeting = 0.8, .shield = 0.5}),
              12.0 - 1.0 + 0.5 - 0.08, 1e-9);
  // Where meeting costs more than passing brings, preloads pass while it synchronises alone.
  EXPECT_NEAR(counted(twelve_seconds(), {.passing = 0.05, .meeting = 0.9, .shield = 5.0}),
              12.0 - (0.05 * 0.2), 1e-9);
  // With nothing to gather, they pass for nothing.
  cost::GatherFloor still = twelve_seconds();
  still.gathered = {0.0};
  EXPECT_NEAR(counted(still, kPrices), 11.0, 1e-9);
}

TEST(GatherFloor, LetsPreloadsPassBesideTheFirstStepsOfARotation) {
  cost::GatherFloor cut = twelve_seconds();
  const double whole = counted_executes(cut, kPrices, kPorts).least;
  // In 5 steps of 5 sharers, the first needs nothing: a fifth of 10.1 seconds, and what comes late.
  cut.turned[2] = 12.1;
  const GatherTimes::CutSeconds times = counted_executes(cut, kPrices, kPorts);
  EXPECT_NEAR(times.turned[2], 12.1 - (0.1 * 10.3) + (0.8 * 0.9), 1e-9);
  EXPECT_NEAR(times.least, std::min(whole, times.turned[2]), 1e-9);
  EXPECT_NEAR(times.whole, whole, 1e-9);
}

TEST(GatherFloor, CountsPreloadsByWhatTheyLeaveOfThePorts) {
  const auto counted = [](double loaded, double held, double hbm) {
    cost::GatherFloor cut = twelve_seconds();
    cut.loaded = {loaded};
    cut.held = {held};
    return counted_load(cut, hbm, kPrices, kPorts);
  };
  // As long as the ports take, or the HBM.
  EXPECT_NEAR(counted(4.0, 4.0, 3.0), 0.4, 1e-9);
  EXPECT_NEAR(counted(4.0, 4.0, 5.0), 0.5, 1e-9);
  // Less where some ports take longer than others: 1.8 * 4 less 0.8 * 9.
  EXPECT_NEAR(counted(4.0, 4.5, 3.0), 0.0, 1e-9);
  // The HBM may take so long that half of each port is enough: 1.8 * 4 less 0.8 * 8.5.
  EXPECT_NEAR(counted(4.0, 4.0, 8.5), 0.4, 1e-9);
  // One that loads few ports, or of which nothing is known, may be a shield.
  EXPECT_NEAR(counted(0.1, 30.0, 0.1), -5.0, 1e-9);
  EXPECT_NEAR(counted(0.0, kInfinite, 0.1), -5.0, 1e-9);
}

TEST(GatherFloor, CountsStoresAsShields) {
  EXPECT_NEAR(counted_store(1.0, 0.2, kPrices), 0.8, 1e-9);
  EXPECT_NEAR(counted_store(1.0, 2.0, kPrices), 3.2, 1e-9);
  EXPECT_NEAR(counted_store(1.0, kInfinite, kPrices), 5.0, 1e-9);
}

chip::Chip few_ports(Random& random) {
  chip::Chip chip = test::tight_chip(4, 300 + (8 * random.below(100)));
  chip.hbm->rate = test::one_of<double, 4>(random, {2e9, 8e9, 3e10, 1e12});
  chip.hbm->port_rate = chip.hbm->rate;
  chip.hbm->latency = {test::one_of<double, 2>(random, {1e-12, 2e-9})};
  chip.interconnect.link_rate = test::one_of<double, 3>(random, {1e9, 4e9, 1e10});
  chip.interconnect.sync_latency = {1e-9};
  return chip;
}

/// Bytes of the weights that each op reads.
std::vector<double> read_by(const Problem& problem) {
  std::vector<double> result;
  for (const ir::Op& op : problem.graph().ops) {
    double bytes = 0.0;
    for (const ir::Operand& operand : op.operands) {
      const ir::Tensor& tensor = problem.graph().tensors[subscript(operand.tensor)];
      bytes += tensor.home == ir::Home::Weight ? static_cast<double>(ir::bytes(tensor).value) : 0.0;
    }
    result.push_back(bytes);
  }
  return result;
}

// Trial of every cut, rotation, state and preload number.
TEST(GatherBound, LiesBelowEveryChoiceOnTinyModels) {
  const tile::TileModel tiles = test::analytic();
  Random random{97};
  int models = 0;
  int higher = 0;
  double nearest = 0.0;
  for (int round = 0; round < 150; ++round) {
    const ir::Graph graph = test::two_products(random);
    const chip::Chip chip = few_ports(random);
    Problem problem = test::problem(graph, chip, tiles);
    const NeighbourBound executes = neighbour_bound(problem, NeighbourSum::Executes);
    if (executes.ops.size() != graph.ops.size()) {
      continue;
    }
    const Bounds known{.ideal = {0.0},
                       .lower_bound = {0.0},
                       .hbm = {0.0},
                       .execute = executes.time,
                       .link = {0.0}};
    const Seconds bound = gather_bound(problem, read_by(problem), chip.hbm->rate, known);
    test::add_cuts(problem, true);
    test::Exhaustive all(problem);
    const double least = all.least();
    if (all.tried() == 0) {
      continue;
    }
    ++models;
    EXPECT_LE(bound.value, least) << "round " << round;
    higher += bound > executes.time * 1.001 ? 1 : 0;
    nearest = std::max(nearest, bound.value / least);
  }
  EXPECT_GT(models, 60);
  EXPECT_GT(higher, 10);
  EXPECT_GT(nearest, 0.8);
}

}  // namespace
}  // namespace elk::schedule
