#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/chip/delivery.hpp"

namespace elk::chip {
namespace {

/// One chip of 1,472 cores on a grid, four modules of 1 TB/s at its edges.
Chip pod_mesh(double link_rate) {
  Chip chip = small_mesh(46, 32);
  chip.interconnect.link_rate = link_rate;
  chip.hbm->modules = 4;
  chip.hbm->channels = 16;
  chip.hbm->rate = 4e12;
  chip.hbm->port_rate = 1e12;
  chip.hbm->outstanding = {16384};
  return chip;
}

Chip with_refresh(Chip chip) {
  chip.hbm->refresh_interval = {3.9e-6};
  chip.hbm->refresh_stall = {390e-9};
  return chip;
}

TEST(Delivery, OfAMeshIsBoundByTheLinksOfItsEdgeNodes) {
  const Delivery found = delivery(pod_mesh(5.5e9));
  EXPECT_DOUBLE_EQ(found.injection, 152 * 5.5e9);
  EXPECT_DOUBLE_EQ(found.edge_cut, 148 * 5.5e9 / (1320.0 / 1472.0));
  EXPECT_DOUBLE_EQ(found.bisection, 32 * 5.5e9);
  EXPECT_DOUBLE_EQ(found.rate, 836e9);
  EXPECT_EQ(found.bound_by, "injection");
}

TEST(Delivery, IsBoundByTheHbmWhereLinksAreWide) {
  const Delivery found = delivery(pod_mesh(8e12 / 152));
  EXPECT_DOUBLE_EQ(found.injection, 8e12);
  EXPECT_DOUBLE_EQ(found.rate, 4e12);
  EXPECT_EQ(found.bound_by, "hbm");
}

TEST(Delivery, OfAllToAllIsBoundByReceivePortsAtMost) {
  Chip chip = small_chip();
  EXPECT_EQ(delivery(chip).bound_by, "hbm");
  EXPECT_DOUBLE_EQ(delivery(chip).receive, 256e9);
  EXPECT_TRUE(std::isinf(delivery(chip).injection));
  chip.interconnect.link_rate = 0.5e9;
  EXPECT_EQ(delivery(chip).bound_by, "receive");
  EXPECT_DOUBLE_EQ(delivery(chip).rate, 32e9);
}

TEST(Delivery, IsBoundByTheCutBehindFewNodes) {
  Chip chip = small_mesh(1, 8);
  chip.hbm->position = HbmPosition::Nodes;
  chip.hbm->modules = 4;
  chip.hbm->port_rate = 16e9;
  chip.interconnect.link_rate = 1e9;
  const Delivery found = delivery(chip);
  EXPECT_DOUBLE_EQ(found.injection, 4e9);
  EXPECT_DOUBLE_EQ(found.edge_cut, 7e9 / 0.5);  // Cores 1, 3, 5 and 7: the last has one neighbour.
}

TEST(Delivery, KnowsAMeshThatIsAllEdge) {
  const Delivery found = delivery(small_mesh(2, 2));
  EXPECT_TRUE(std::isinf(found.edge_cut));
  EXPECT_DOUBLE_EQ(found.injection, 16e9);
}

TEST(Delivery, OfATorusAndARingCountsTheLinksThatWrap) {
  Chip torus = small_mesh(8, 4);
  torus.interconnect.topology = Topology::Torus2d;
  EXPECT_DOUBLE_EQ(delivery(torus).bisection, 8 * 4e9);
  Chip ring = small_chip();
  ring.interconnect.topology = Topology::Ring;
  EXPECT_DOUBLE_EQ(delivery(ring).bisection, 2 * 4e9);
  EXPECT_DOUBLE_EQ(delivery(ring).edge_cut, 2 * 4e9 / (63.0 / 64.0));
}

TEST(Delivery, WantsAnHbm) {
  Chip chip = small_chip();
  chip.hbm.reset();
  EXPECT_THROW(static_cast<void>(delivery(chip)), InvalidInput);
}

TEST(AttachedCores, ShareTheEdgesEvenly) {
  const auto modules = attached_cores(pod_mesh(5.5e9));
  ASSERT_EQ(modules.size(), 4U);
  for (const std::vector<CoreId>& cores : modules) {
    EXPECT_EQ(cores.size(), 38U);
  }
  EXPECT_EQ(modules[0].front(), CoreId{0});
  EXPECT_EQ(modules[1].front(), CoreId{(7 * 32) + 31});
}

TEST(AttachedCores, GoAroundEachCoreOfTheEdgeOnce) {
  const auto around = [](std::int64_t rows, std::int64_t cols) {
    return attached_cores(small_mesh(rows, cols)).at(0).size();
  };
  EXPECT_EQ(around(3, 3), 8U);
  EXPECT_EQ(around(2, 3), 6U);
  EXPECT_EQ(around(1, 5), 5U);
  EXPECT_EQ(around(5, 1), 5U);
  EXPECT_EQ(around(1, 1), 1U);
}

TEST(AttachedCores, TakeTheOuterColumns) {
  Chip chip = small_mesh(3, 4);
  chip.hbm->position = HbmPosition::EdgesLeftRight;
  chip.hbm->modules = 2;
  chip.hbm->port_rate = 32e9;
  const std::vector<std::vector<CoreId>> expected = {{CoreId{0}, CoreId{4}, CoreId{8}},
                                                     {CoreId{3}, CoreId{7}, CoreId{11}}};
  EXPECT_EQ(attached_cores(chip), expected);
}

TEST(AttachedCores, LieInTheMiddleOfEqualParts) {
  Chip chip = pod_mesh(5.5e9);
  chip.hbm->position = HbmPosition::Nodes;
  const std::vector<std::vector<CoreId>> expected = {{CoreId{(11 * 32) + 8}},
                                                     {CoreId{(11 * 32) + 24}},
                                                     {CoreId{(34 * 32) + 8}},
                                                     {CoreId{(34 * 32) + 24}}};
  EXPECT_EQ(attached_cores(chip), expected);
}

TEST(AttachedCores, AreDistinctForAnyNumberOfModules) {
  for (std::int64_t modules = 1; modules <= 16; ++modules) {
    Chip chip = small_mesh(4, 4);
    chip.hbm->position = HbmPosition::Nodes;
    chip.hbm->modules = modules;
    std::vector<CoreId> cores;
    for (const std::vector<CoreId>& module : attached_cores(chip)) {
      cores.push_back(module.at(0));
    }
    std::sort(cores.begin(), cores.end());
    EXPECT_EQ(std::unique(cores.begin(), cores.end()), cores.end()) << modules << " modules";
  }
}

TEST(AttachedCores, AreNoneWhereModulesHaveNodesOfTheirOwn) {
  EXPECT_TRUE(attached_cores(small_chip()).empty());
}

TEST(HbmTime, PaysLatencyAfterIdlingOnly) {
  EXPECT_DOUBLE_EQ(hbm_time(small_chip(), 64e3, true).value, 1.1e-6);
  EXPECT_DOUBLE_EQ(hbm_time(small_chip(), 64e3, false).value, 1e-6);
}

TEST(HbmTime, OfNothingIsZero) { EXPECT_EQ(hbm_time(small_chip(), 0, true), Seconds{0}); }

TEST(HbmTime, IsCappedByOutstandingBytes) {
  Chip chip = small_chip();
  chip.hbm->outstanding = {400};  // 8 channels x 400 bytes in 100 ns: 32 GB/s.
  EXPECT_DOUBLE_EQ(hbm_time(chip, 64e3, false).value, 2e-6);
  chip.hbm->latency = {0};
  EXPECT_DOUBLE_EQ(hbm_time(chip, 64e3, false).value, 1e-6);
}

TEST(HbmTime, RisesByAStallAtEachRefreshBoundary) {
  const Chip chip = with_refresh(small_chip());
  const auto after = [&](double seconds) {  // of service, latency included
    return hbm_time(chip, (seconds - 100e-9) * 64e9, true).value;
  };
  EXPECT_NEAR(after(3.89e-6), 3.89e-6, 1e-15);
  EXPECT_NEAR(after(3.91e-6), 4.30e-6, 1e-15);
  EXPECT_NEAR(after(7.40e-6), 7.79e-6, 1e-15);  // Ends before the boundary at 7.8 us.
  EXPECT_NEAR(after(7.42e-6), 8.20e-6, 1e-15);  // Ends after it: two stalls.
}

TEST(HbmTime, TakesTheMeanStallInsideARunOfReads) {
  const Chip chip = with_refresh(small_chip());
  EXPECT_DOUBLE_EQ(hbm_time(chip, 64e9 * 3.51e-6, false).value, 3.9e-6);
}

TEST(HbmTime, NeverFallsAsBytesGrow) {
  const Chip chip = with_refresh(small_chip());
  double before = 0;
  for (int i = 1; i < 2000; ++i) {
    const double now = hbm_time(chip, 997.0 * i, true).value;
    EXPECT_GT(now, before);
    before = now;
  }
}

}  // namespace
}  // namespace elk::chip
