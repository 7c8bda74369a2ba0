#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/schedule/timing/allocate.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

constexpr Contention kAlone{.share = 0.0, .drag = 0.0};

/// Four ops on one made-up front.
class Allocate : public ::testing::Test {
 protected:
  Problem problem(std::vector<cost::PlanOption> options) {
    return {graph_, chip_, tiles_, {test::made_front(std::move(options))}, {0, 0, 0, 0}};
  }

  static Bytes space(const Problem& problem, const Allocation& allocation) {
    Bytes sum = problem.option(OpId{0}, allocation.choice).footprint.space;
    for (const WaitingOp& resident : allocation.residents) {
      sum += problem.state(resident.op, resident.choice).space;
    }
    return sum;
  }

  ir::Graph graph_ = test::chain(3, 4, 8, false);
  chip::Chip chip_ = test::prompt_chip(1000);
  tile::TileModel tiles_ = test::analytic();
};

std::vector<cost::PlanOption> two_plans() {
  return {test::made_option(100, 1.0,
                            {test::made_state(100, 0.0, 1.0), test::made_state(50, 5.0, 1.0),
                             test::made_state(25, 6.0, 1.0)}),
          test::made_option(40, 11.0, {test::made_state(40, 0.0, 1.0)})};
}

TEST_F(Allocate, KeepsTheFastestWhereEverythingFits) {
  const Problem problem = this->problem(two_plans());
  const Staircase stairs = staircase(problem.front(OpId{0}), kAlone);
  const Allocation found = allocate(
      problem, stairs, {{.op = OpId{1}, .choice = {.option = 0, .state = 0}}}, {200}, kAlone);
  EXPECT_TRUE(found.fits);
  EXPECT_EQ(found.choice, (Choice{.option = 0, .state = 0}));
  EXPECT_EQ(found.residents.front().choice.state, 0);
  EXPECT_EQ(found.added, 0.0);
}

TEST_F(Allocate, TakesTheStepThatFreesMostBytesForEachSecond) {
  const Problem problem = this->problem(two_plans());
  const Staircase stairs = staircase(problem.front(OpId{0}), kAlone);
  // 50 bytes for 5 s at the preload, 60 bytes for 10 s at the execute.
  const Allocation first = allocate(
      problem, stairs, {{.op = OpId{1}, .choice = {.option = 0, .state = 0}}}, {199}, kAlone);
  EXPECT_TRUE(first.fits);
  EXPECT_EQ(first.choice.option, 0);
  EXPECT_EQ(first.residents.front().choice.state, 1);
  EXPECT_DOUBLE_EQ(first.added, 5.0);
  // Then 25 bytes for 1 s, and the execute last.
  const Allocation second = allocate(
      problem, stairs, {{.op = OpId{1}, .choice = {.option = 0, .state = 0}}}, {149}, kAlone);
  EXPECT_EQ(second.choice.option, 0);
  EXPECT_EQ(second.residents.front().choice.state, 2);
  const Allocation third = allocate(
      problem, stairs, {{.op = OpId{1}, .choice = {.option = 0, .state = 0}}}, {124}, kAlone);
  EXPECT_TRUE(third.fits);
  EXPECT_EQ(third.choice.option, 1);
}

TEST_F(Allocate, TakesTheExecutesStepWhereThatIsCheaper) {
  auto plans = two_plans();
  plans[1].compute = {2.0};  // 60 bytes for 1 s
  const Problem problem = this->problem(std::move(plans));
  const Staircase stairs = staircase(problem.front(OpId{0}), kAlone);
  const Allocation found = allocate(
      problem, stairs, {{.op = OpId{1}, .choice = {.option = 0, .state = 0}}}, {199}, kAlone);
  EXPECT_TRUE(found.fits);
  EXPECT_EQ(found.choice.option, 1);
  EXPECT_EQ(found.residents.front().choice.state, 0);
  EXPECT_EQ(found.added, 0.0);  // of preloads
}

TEST_F(Allocate, TakesTheExecutesStepWhereAPreloadsIsWorthNoMore) {
  auto plans = two_plans();
  plans[1].compute = {7.0};  // 60 bytes for 6 s, and 50 for 5 s at the preload
  const Problem problem = this->problem(std::move(plans));
  const Staircase stairs = staircase(problem.front(OpId{0}), kAlone);
  const Allocation found = allocate(
      problem, stairs, {{.op = OpId{1}, .choice = {.option = 0, .state = 0}}}, {199}, kAlone);
  EXPECT_EQ(found.choice.option, 1);
  EXPECT_EQ(found.residents.front().choice.state, 0);
}

TEST_F(Allocate, SaysThatItDoesNotFit) {
  const Problem problem = this->problem(two_plans());
  const Staircase stairs = staircase(problem.front(OpId{0}), kAlone);
  const Allocation found = allocate(
      problem, stairs, {{.op = OpId{1}, .choice = {.option = 0, .state = 0}}}, {64}, kAlone);
  EXPECT_FALSE(found.fits);  // 40 and 25 are the least
  EXPECT_TRUE(allocate(problem, stairs, {{.op = OpId{1}, .choice = {.option = 0, .state = 0}}},
                       {65}, kAlone)
                  .fits);
}

TEST_F(Allocate, NeverRaisesAStateAndNeverTakesAStepTooMany) {
  Random random{5};
  std::vector<cost::PlanOption> options;
  std::int64_t bytes = 400;
  for (int k = 0; k < 6; ++k) {
    bytes -= 10 + random.below(50);
    std::vector<cost::PreloadState> states;
    double fetch = 0.0;
    for (std::int64_t d = 1; d <= 8; d *= 2) {
      states.push_back(test::made_state(bytes / d, fetch, 1.0));
      fetch += random.uniform();
    }
    options.push_back(test::made_option(bytes, 1.0 + random.uniform(), std::move(states)));
  }
  const Problem problem = this->problem(std::move(options));
  const Staircase stairs = staircase(problem.front(OpId{0}), kAlone);
  int lowered = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<WaitingOp> residents;
    for (OpId op{1}; op < OpId{4}; ++op) {
      residents.push_back({.op = op,
                           .choice = {.option = static_cast<std::int32_t>(random.below(6)),
                                      .state = static_cast<std::int32_t>(random.below(4))}});
    }
    const Bytes room{100 + random.below(900)};
    const Allocation found = allocate(problem, stairs, residents, room, kAlone);
    ASSERT_EQ(found.residents.size(), residents.size());
    EXPECT_EQ(found.fits, space(problem, found) <= room);
    for (std::size_t k = 0; k < residents.size(); ++k) {
      EXPECT_EQ(found.residents[k].op, residents[k].op);
      EXPECT_EQ(found.residents[k].choice.option, residents[k].choice.option);
      EXPECT_GE(found.residents[k].choice.state, residents[k].choice.state);
      lowered += found.residents[k].choice.state > residents[k].choice.state ? 1 : 0;
    }
    const Allocation roomy = allocate(problem, stairs, residents, room + Bytes{50}, kAlone);
    EXPECT_LE(roomy.added, found.added);
  }
  EXPECT_GT(lowered, 50);
}

TEST(Staircase, HasOnlyPlansThatAreWorthTheirSpace) {
  const Staircase stairs =
      staircase(test::made_front({test::made_option(100, 1.0, {test::made_state(100, 0.0, 1.0)}),
                                  test::made_option(110, 2.0, {test::made_state(110, 0.0, 1.0)}),
                                  test::made_option(80, 2.0, {test::made_state(80, 0.0, 1.0)}),
                                  test::made_option(90, 3.0, {test::made_state(90, 0.0, 1.0)}),
                                  test::made_option(10, 9.0, {test::made_state(10, 0.0, 1.0)})}),
                kAlone);
  ASSERT_EQ(stairs.size(), 3U);
  EXPECT_EQ(stairs[0].choice.option, 0);
  EXPECT_EQ(stairs[1].choice.option, 2);
  EXPECT_EQ(stairs[2].choice.option, 4);
}

TEST(Staircase, ChargesAPlanForReadingMoreFromHbmThanItMust) {
  // The first plan computes faster, but its data come twice from HBM.
  const Staircase stairs =
      staircase(test::made_front({test::made_option(100, 1.0, {test::made_state(100, 0.0, 8.0)}),
                                  test::made_option(100, 2.0, {test::made_state(100, 0.0, 4.0)})}),
                kAlone);
  EXPECT_EQ(stairs.front().choice.option, 1);
}

TEST(Staircase, ChargesContentionForWiresAndForThePort) {
  const cost::ExecuteCost work{.in = {.before = {1.0}, .wire = {2.0}, .after = {0.0}},
                               .compute = {3.0},
                               .out = {.before = {0.5}, .wire = {2.0}, .after = {0.5}}};
  EXPECT_DOUBLE_EQ(kAlone.seconds(work), 9.0);
  EXPECT_DOUBLE_EQ((Contention{.share = 0.5, .drag = 0.0}.seconds(work)), 2.0 + 8.0 + 3.0);
  EXPECT_DOUBLE_EQ((Contention{.share = 0.25, .drag = 1.0}.seconds(work)),
                   2.0 + (4.0 / 0.75) + (3.0 / 0.75));
}

TEST(Staircase, StartsFromTheCheapestState) {
  // The largest state pays at the port of its core what a smaller one fetches from a peer.
  cost::PreloadState largest = test::made_state(100, 0.0, 1.0);
  largest.time = {3.0};  // link-bound: its bytes take longer to arrive than HBM takes to read them
  const Staircase stairs = staircase(
      test::made_front({test::made_option(100, 1.0, {largest, test::made_state(50, 0.5, 1.0)})}),
      kAlone);
  EXPECT_EQ(stairs.front().choice.state, 1);
  EXPECT_DOUBLE_EQ(stairs.front().cost, 1.5);
}

}  // namespace
}  // namespace elk::schedule
