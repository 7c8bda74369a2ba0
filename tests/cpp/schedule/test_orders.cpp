#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/improve/orders.hpp"
#include "elk/schedule/timing/evaluate.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

using Order = std::vector<std::int32_t>;  // numbers of what is heavy
using Slots = Table<OpId, OpId>;
using Counts = Table<OpId, std::int32_t>;

/// Whether, at every execute, what was preloaded before it and executes later fits beside it.
bool is_valid(const Order& order, const std::vector<HeavyPreload>& heavy) {
  for (std::size_t at = 0; at < order.size(); ++at) {
    const auto x = static_cast<std::size_t>(order[at]);
    Bytes held = heavy[x].piece;
    for (std::size_t before = 0; before < at; ++before) {
      const auto other = static_cast<std::size_t>(order[before]);
      held += other > x ? heavy[other].piece : Bytes{0};
    }
    if (held > heavy[x].room) {
      return false;
    }
  }
  return true;
}

std::set<Order> by_brute_force(const std::vector<HeavyPreload>& heavy) {
  Order order(heavy.size());
  std::iota(order.begin(), order.end(), 0);
  std::set<Order> result;
  do {
    if (is_valid(order, heavy)) {
      result.insert(order);
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return result;
}

TEST(Orders, AreThoseThatBruteForceFinds) {
  Random random{3};
  std::int64_t pruned = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<HeavyPreload> heavy;
    const std::int64_t count = 1 + random.below(6);
    for (std::int64_t i = 0; i < count; ++i) {
      heavy.push_back({.piece = {1 + random.below(100)}, .room = {100 + random.below(150)}});
    }
    const Orders orders = valid_orders(heavy, 1000);
    EXPECT_TRUE(orders.complete);
    EXPECT_EQ(std::set<Order>(orders.found.begin(), orders.found.end()), by_brute_force(heavy));
    EXPECT_EQ(orders.found.size(), by_brute_force(heavy).size());
    pruned += orders.pruned;
  }
  EXPECT_GT(pruned, 0);
}

/// ELK Figure 14: nine ops of one piece each, two of which fit. The last preload is op 8 or 9 (here
/// 7 or 8), and after 8 the one before it cannot be 6 (here 5): 5, 6 and 8 would lie on chip.
TEST(Orders, FollowTheFigureOfThePaper) {
  const std::vector<HeavyPreload> heavy(9, {.piece = {1}, .room = {2}});
  const Orders orders = valid_orders(heavy, 100'000);
  EXPECT_TRUE(orders.complete);
  EXPECT_EQ(orders.found.size(), std::size_t{256});  // Each step but the last has two branches.
  for (const Order& order : orders.found) {
    EXPECT_GE(order.back(), 7);
    if (order.back() == 7) {
      EXPECT_NE(order[7], 5);
    }
  }
}

TEST(Orders, BeginWithTheOrderOfTheExecutes) {
  const std::vector<HeavyPreload> heavy(5, {.piece = {1}, .room = {10}});
  const Orders some = valid_orders(heavy, 7);
  EXPECT_FALSE(some.complete);
  EXPECT_EQ(some.found.size(), std::size_t{7});
  EXPECT_EQ(some.found.front(), (Order{0, 1, 2, 3, 4}));
}

TEST(Orders, AreAsFarApartAsTheirEntriesMoved) {
  EXPECT_DOUBLE_EQ(edit_distance({OpId{4}, OpId{7}, OpId{9}}, {OpId{4}, OpId{7}, OpId{9}}), 0.0);
  EXPECT_DOUBLE_EQ(
      edit_distance({OpId{4}, OpId{7}, OpId{9}, OpId{12}}, {OpId{7}, OpId{4}, OpId{9}, OpId{12}}),
      0.5);
  EXPECT_DOUBLE_EQ(edit_distance({}, {}), 0.0);
}

Issue issue_usual(const Situation& now, Bytes room) {
  std::vector<OpId> order(now.base.size());
  std::iota(order.begin(), order.end(), OpId{0});
  return issue_in_order(now.base, now.piece, order, Slots(order.size(), OpId{0}), room);
}

/// Op 2's preload comes first: it lies beside op 0 and op 1, each with its own piece.
TEST(IssueInOrder, LeavesRoomForPreloadsThatComeLaterAndExecuteEarlier) {
  const Table<OpId, Bytes> base{{10}, {10}, {10}};
  const Table<OpId, Bytes> piece{{30}, {30}, {40}};
  const std::vector<OpId> order{OpId{2}, OpId{0}, OpId{1}};
  const Issue fits = issue_in_order(base, piece, order, Slots(3, OpId{0}), {110});
  ASSERT_FALSE(fits.shortage);
  EXPECT_EQ(fits.issued_before, (Counts{3, 3, 3}));  // 10 + 30 + 30 + 40 before the first execute.
  const Issue tight = issue_in_order(base, piece, order, Slots(3, OpId{0}), {80});
  ASSERT_FALSE(tight.shortage);
  EXPECT_EQ(tight.issued_before, (Counts{2, 3, 3}));  // Op 1's waits until op 0 has gone.
  EXPECT_TRUE(issue_in_order(base, piece, order, Slots(3, OpId{0}), {79}).shortage);
}

TEST(IssueInOrder, KeepsFirstSlots) {
  Situation now{.works = {}, .loads = {}, .base = {{0}, {0}, {0}, {0}}, .piece = {}, .rest = {}};
  now.piece = {{1}, {1}, {1}, {1}};
  EXPECT_EQ(issue_usual(now, {10}).issued_before, (Counts{4, 4, 4, 4}));
  const Issue late = issue_in_order(now.base, now.piece, {OpId{0}, OpId{1}, OpId{2}, OpId{3}},
                                    {OpId{0}, OpId{0}, OpId{1}, OpId{3}}, {10});
  EXPECT_EQ(late.issued_before, (Counts{2, 3, 3, 4}));
}

}  // namespace
}  // namespace elk::schedule
