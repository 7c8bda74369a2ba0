#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/emulate/machine/site.hpp"
#include "elk/partition/enumerate.hpp"
#include "partition/ops.hpp"

namespace elk::emulate {
namespace {

/// First indices of k and n of a core, step by step.
using Begins = std::vector<std::vector<std::int64_t>>;

// y[4, 8] = x[4, 16] w[16, 8] on four cores that share w, each with 8 x 4 of it. Cores 0 and 1, and
// 2 and 3, exchange halves of k after every step; 0 and 2, and 1 and 3, halves of n after two.
class TwoCircles : public ::testing::Test {
 protected:
  void SetUp() override {
    plan_.execute =
        *partition::complete_plan(one_.graph, one_.op(), {4, 1, 1}, {{}, {2, 2}, {}}, chip_);
    plan_.divisor = {0, 1, 0};
    partition::validate(one_.graph, one_.op(), plan_.execute, chip_);
  }

  [[nodiscard]] program::PlacedOp placed() const { return {one_.graph, one_.op(), plan_, chip_}; }

  test::OneOp one_ = test::matmul(4, 8, 16);
  chip::Chip chip_ = test::small_chip(4);
  program::OpPlan plan_;
};

TEST_F(TwoCircles, BringEveryPartitionToEveryCore) {
  const program::PlacedOp op = placed();
  const Site site(op);
  ASSERT_EQ(plan_.execute.loops, (std::vector<std::int32_t>{1, 2}));  // k turns every step.
  ASSERT_EQ(site.tiling().steps, 4);
  const std::vector<Begins> wanted = {{{0, 0}, {8, 0}, {0, 4}, {8, 4}},
                                      {{8, 0}, {0, 0}, {8, 4}, {0, 4}},
                                      {{0, 4}, {8, 4}, {0, 0}, {8, 0}},
                                      {{8, 4}, {0, 4}, {8, 0}, {0, 0}}};
  for (std::size_t worker = 0; worker < 4; ++worker) {
    Begins found;
    for (std::int64_t step = 0; step < 4; ++step) {
      const DensePiece held = site.held(1, worker, site.shifts(1, step));
      const std::int64_t k = held.sets[0].front().begin;
      const std::int64_t n = held.sets[1].front().begin;
      EXPECT_EQ(held.sets[0], (partition::Indices{{.begin = k, .end = k + 8}}));
      EXPECT_EQ(held.sets[1], (partition::Indices{{.begin = n, .end = n + 4}}));
      const std::vector<Ranges> parts = site.sub_task(worker, step);
      ASSERT_EQ(parts.size(), 1U);
      EXPECT_EQ(parts[0][2], held.sets[0].front());
      EXPECT_EQ(parts[0][1], held.sets[1].front());
      found.push_back({k, n});
    }
    EXPECT_EQ(found, wanted[worker]) << "core " << worker;
  }
}

TEST_F(TwoCircles, OfMoreCoresThanShareAreNoRings) {
  plan_.execute.temporal[1] = {2, 4};
  const program::PlacedOp op = placed();
  EXPECT_THROW(Site site(op), InvalidInput);
}

TEST_F(TwoCircles, AreEachTurnedByALoop) {
  plan_.execute.loops.pop_back();
  const program::PlacedOp op = placed();
  EXPECT_THROW(Site site(op), InvalidInput);
}

}  // namespace
}  // namespace elk::emulate
