#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/timing/evaluate.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

/// A chain of matmuls, each with a weight, on made-up fronts.
class IssueInTime : public ::testing::Test {
 protected:
  IssueInTime()
      : problem_(graph_, chip_, tiles_, {test::made_front({test::made_option(100, 1.0, states())})},
                 Table<OpId, std::int32_t>(graph_.ops.size(), 0)) {}

  static std::vector<cost::PreloadState> states() { return {test::made_state(100, 0.0, 1.0)}; }

  /// What ops need: `base` at their execute, `piece` from issue to execute.
  static Situation of(const std::vector<std::int64_t>& base,
                      const std::vector<std::int64_t>& piece) {
    Situation result{.works = {}, .loads = {}, .base = {}, .piece = {}, .rest = {}};
    for (std::size_t i = 0; i < base.size(); ++i) {
      result.base.push_back({base[i]});
      result.piece.push_back({piece[i]});
    }
    return result;
  }

  static PreloadLimits space(std::int64_t room) {
    return {.room = {room}, .preload_room = {room}, .not_before = {}};
  }

  ir::Graph graph_ = test::chain(7, 4, 8, false);  // beside one elementwise op
  chip::Chip chip_ = test::prompt_chip(1000);
  tile::TileModel tiles_ = test::analytic();
  Problem problem_;
};

/// The execute before which the preload at `place` is issued.
OpId slot(const Issue& issue, std::size_t place) {
  const auto at =
      std::find_if(issue.issued_before.begin(), issue.issued_before.end(),
                   [&](std::int32_t n) { return n > static_cast<std::int32_t>(place); });
  return id_at<OpId>(at - issue.issued_before.begin());
}

/// Bytes in use at each execute, and of those the ones that wait for a later op.
struct Use {
  Table<OpId, Bytes> all;
  Table<OpId, Bytes> waiting;
};

Use use(const Situation& situation, const std::vector<OpId>& order, const Issue& issue) {
  Use result{.all = situation.base, .waiting = Table<OpId, Bytes>(situation.base.size(), Bytes{0})};
  for (std::size_t place = 0; place < order.size(); ++place) {
    for (OpId k = slot(issue, place); k <= order[place]; ++k) {
      const Bytes piece = situation.piece[order[place]];
      result.all[k] += piece;
      result.waiting[k] += k < order[place] ? piece : Bytes{0};
    }
  }
  return result;
}

TEST_F(IssueInTime, IssuesEverythingFirstWhereThereIsRoom) {
  const Situation now = of({10, 10, 10, 10, 10, 10, 10, 10}, {5, 5, 5, 5, 5, 5, 5, 0});
  const Issue issue = schedule::issue(problem_, now, problem_.loaded(), space(1000));
  EXPECT_EQ(issue.issued_before, (std::vector<std::int32_t>(8, 7)));
}

TEST_F(IssueInTime, WaitsForTheExecuteThatLeavesNoRoom) {
  // Op 2 takes all but its own piece: nothing behind it can be issued before it has run.
  const Situation now = of({10, 10, 95, 10, 10, 10, 10, 10}, {5, 5, 5, 5, 5, 5, 5, 0});
  const Issue issue = schedule::issue(problem_, now, problem_.loaded(), space(100));
  EXPECT_EQ(issue.issued_before, (std::vector<std::int32_t>{3, 3, 3, 7, 7, 7, 7, 7}));
}

TEST_F(IssueInTime, SaysWhichOpDoesNotFitAndByHowMuch) {
  const Situation now = of({10, 10, 10, 97, 10, 10, 10, 10}, {5, 5, 5, 5, 5, 5, 5, 0});
  const Issue issue = schedule::issue(problem_, now, problem_.loaded(), space(100));
  ASSERT_TRUE(issue.shortage);
  EXPECT_EQ(issue.shortage->op, OpId{3});
  EXPECT_EQ(issue.shortage->excess, Bytes{2});
}

TEST_F(IssueInTime, SaysSoOfAnOpThatPreloadsNothing) {
  const Situation now = of({10, 10, 10, 10, 10, 10, 10, 103}, {5, 5, 5, 5, 5, 5, 5, 0});
  const Issue issue = schedule::issue(problem_, now, problem_.loaded(), space(100));
  ASSERT_TRUE(issue.shortage);
  EXPECT_EQ(issue.shortage->op, OpId{7});
  EXPECT_EQ(issue.shortage->excess, Bytes{3});
}

TEST_F(IssueInTime, CountsAgainstThePreloadRoomOnlyWhatWaits) {
  const Situation now = of({10, 10, 10, 10, 10, 10, 10, 10}, {5, 5, 5, 5, 5, 5, 5, 0});
  PreloadLimits limits = space(1000);
  limits.preload_room = {5};
  const Issue issue = schedule::issue(problem_, now, problem_.loaded(), limits);
  EXPECT_EQ(issue.issued_before, (std::vector<std::int32_t>{2, 3, 4, 5, 6, 7, 7, 7}));
}

TEST_F(IssueInTime, ObeysTheFirstSlotOfAnOp) {
  const Situation now = of({10, 10, 10, 10, 10, 10, 10, 10}, {5, 5, 5, 5, 5, 5, 5, 0});
  PreloadLimits limits = space(1000);
  limits.not_before = {OpId{0}, OpId{0}, OpId{2}, OpId{0}, OpId{3}, OpId{0}, OpId{0}, OpId{0}};
  const Issue issue = schedule::issue(problem_, now, problem_.loaded(), limits);
  EXPECT_EQ(issue.issued_before, (std::vector<std::int32_t>{2, 2, 4, 7, 7, 7, 7, 7}));
}

TEST_F(IssueInTime, IsNeverOverCapacityAndNeverLaterThanItMustBe) {
  Random random{11};
  int early = 0;
  int late = 0;
  for (int round = 0; round < 300; ++round) {
    Situation now = of(std::vector<std::int64_t>(8, 0), std::vector<std::int64_t>(8, 0));
    for (const OpId i : first_ids<OpId>(8)) {
      now.base[i] = {random.below(60)};
      now.piece[i] = {i < OpId{7} ? 1 + random.below(40) : 0};
    }
    PreloadLimits limits = space(100);
    limits.preload_room = {20 + random.below(80)};
    const std::vector<OpId>& order = problem_.loaded();
    const Issue issue = schedule::issue(problem_, now, order, limits);
    ASSERT_FALSE(issue.shortage);  // every op fits by itself
    const Use used = use(now, order, issue);
    for (const OpId i : first_ids<OpId>(8)) {
      EXPECT_LE(used.all[i], limits.room);
      EXPECT_LE(used.waiting[i], limits.preload_room);
    }
    for (std::size_t place = 0; place < order.size(); ++place) {
      const OpId at = slot(issue, place);
      const OpId least = place == 0 ? OpId{0} : slot(issue, place - 1);
      ASSERT_LE(least, at);
      ASSERT_LE(at, order[place]);
      if (at == least) {
        ++early;
        continue;
      }
      // One slot earlier would overflow: the room, or the part of it that preloads may take.
      ++late;
      const auto before = id_at<OpId>(at.index() - 1);
      const Bytes piece = now.piece[order[place]];
      EXPECT_TRUE(used.all[before] + piece > limits.room ||
                  used.waiting[before] + piece > limits.preload_room);
    }
  }
  EXPECT_GT(early, 100);
  EXPECT_GT(late, 100);
}

TEST(IssueOfManyOps, LetsNoMoreThan128PreloadsWait) {
  const ir::Graph graph = test::chain(200, 4, 8, false);
  const chip::Chip chip = test::prompt_chip(100000);
  const tile::TileModel tiles = test::analytic();
  Problem problem(
      graph, chip, tiles,
      {test::made_front({test::made_option(100, 1.0, {test::made_state(100, 0.0, 1.0)})})},
      Table<OpId, std::int32_t>(graph.ops.size(), 0));
  Situation now{.works = {}, .loads = {}, .base = {}, .piece = {}, .rest = {}};
  now.base.assign(graph.ops.size(), Bytes{1});
  now.piece.assign(graph.ops.size(), Bytes{1});
  const Issue issue =
      schedule::issue(problem, now, problem.loaded(),
                      {.room = {100000}, .preload_room = {100000}, .not_before = {}});
  ASSERT_GT(problem.loaded().size(), 190U);
  for (const OpId op : graph.ops.ids()) {
    const auto executed = std::lower_bound(problem.loaded().begin(), problem.loaded().end(), op);
    EXPECT_LE(issue.issued_before[id_at<OpId>(op.index())] - (executed - problem.loaded().begin()),
              128);
  }
  EXPECT_EQ(issue.issued_before.front(), 128);
}

TEST(IssueOfIndirectOperands, WaitsForTheOpThatMakesTheIndex) {
  test::Net net;
  const TensorId first = net.tensor(ir::Home::Input, {8});
  TensorId picked = net.add(test::embedding(8, 64, 16), {first});
  picked = net.add(test::exp_of(8, 16), {picked});
  const TensorId index = net.add(test::row_sum(8, 16), {picked});
  net.add(test::exp_of(8, 16), {picked}, ir::Home::Output);
  net.add(test::embedding(8, 64, 16), {index}, ir::Home::Output);
  const ir::Graph graph = net.done();
  const chip::Chip chip = test::tight_chip(16, 65536);
  const tile::TileModel tiles = test::analytic();
  Problem problem = test::problem(graph, chip, tiles);
  const Table<OpId, Choice> choices(graph.ops.size(), {.option = 0, .state = 0});
  const Issue issue = schedule::issue(
      problem, situation(problem, choices), problem.loaded(),
      {.room = chip::room(chip), .preload_room = chip::room(chip), .not_before = {}});
  EXPECT_FALSE(issue.shortage);
  // The table of op 0 is picked by an input; that of op 4 by what op 2 makes.
  EXPECT_EQ(problem.loaded(), (std::vector<OpId>{OpId{0}, OpId{4}}));
  EXPECT_EQ(issue.issued_before, (std::vector<std::int32_t>{1, 1, 1, 2, 2}));
}

}  // namespace
}  // namespace elk::schedule
