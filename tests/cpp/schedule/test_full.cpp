#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/improve/anneal.hpp"
#include "elk/schedule/improve/sketch.hpp"
#include "elk/schedule/policies/elk_full.hpp"
#include "elk/schedule/policies/induction.hpp"
#include "elk/schedule/policies/search.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

Proposal fastest_plans(const Problem& problem) {
  const Bytes room = chip::room(problem.chip());
  Proposal result{.choices = {}, .space = {.room = room, .preload_room = room, .not_before = {}}};
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    result.choices.push_back({.option = problem.front(op).fastest, .state = 0});
  }
  return result;
}

/// The forecast of a proposal on the whole model.
std::optional<double> whole(Problem& problem, const Proposal& proposal) {
  const Situation now = situation(problem, proposal.choices);
  Table<OpId, OpId> earliest = proposal.space.not_before;
  for (const OpId op : earliest.ids()) {
    earliest[op] = std::max(earliest[op], problem.not_before(op));
  }
  const Issue issue =
      issue_in_order(now.base, now.piece, proposal.order, earliest, proposal.space.room);
  if (issue.shortage) {
    return std::nullopt;
  }
  return timing(problem, now, proposal.order, issue.issued_before).total.value;
}

chip::Chip roomy_chip(Random& random) {
  chip::Chip chip = test::random_chip(random);
  chip.core.sram = {1 << 20};
  return chip;
}

TEST(Sketch, IsTheForecastOfAModelThatItShowsWhole) {
  const tile::TileModel tiles = test::analytic();
  Random random{11};
  int compared = 0;
  for (int round = 0; round < 30; ++round) {
    const ir::Graph graph = test::random_graph(random);
    if (graph.repeat && graph.repeat->count > 8) {
      continue;
    }
    const chip::Chip chip = roomy_chip(random);
    Problem problem = test::problem(graph, chip, tiles);
    Sketch sketch(problem, fastest_plans(problem));
    const Arrangement usual = in_order(sketch.places());
    const auto exact = whole(problem, sketch.proposal(usual));
    if (exact) {
      EXPECT_NEAR(sketch.seconds(usual) / *exact, 1.0, 1e-12);
      ++compared;
    }
  }
  EXPECT_GE(compared, 15);
}

/// Twenty layers by eight of them.
TEST(Sketch, ForecastsLayersThatItDoesNotShow) {
  const tile::TileModel tiles = test::analytic();
  Random random{12};
  for (const std::int32_t layers : {9, 12, 20, 40}) {
    const ir::Graph graph = test::transformer({.layers = layers});
    ASSERT_TRUE(graph.repeat);
    const chip::Chip chip = roomy_chip(random);
    Problem problem = test::problem(graph, chip, tiles);
    Sketch sketch(problem, fastest_plans(problem));
    const Arrangement usual = in_order(sketch.places());
    const auto exact = whole(problem, sketch.proposal(usual));
    ASSERT_TRUE(exact);
    EXPECT_NEAR(sketch.seconds(usual) / *exact, 1.0, 0.04) << layers << " layers";
  }
}

/// Layers of more than a hundred ops by five of them: several equal layers are one longer one.
TEST(Sketch, ForecastsLongLayersByFewer) {
  const tile::TileModel tiles = test::analytic();
  Random random{12};
  ir::Graph graph = test::transformer({.layers = 120});
  ASSERT_TRUE(graph.repeat);
  const std::int32_t joined = (100 / graph.repeat->period) + 1;
  graph.repeat->period *= joined;
  graph.repeat->count /= joined;
  ASSERT_GT(graph.repeat->count, 5);
  const chip::Chip chip = roomy_chip(random);
  Problem problem = test::problem(graph, chip, tiles);
  Sketch sketch(problem, fastest_plans(problem));
  const std::int64_t left_out = std::int64_t{graph.repeat->period} * (graph.repeat->count - 5);
  EXPECT_EQ(sketch.work(), problem.op_count() - left_out);
  const Arrangement usual = in_order(sketch.places());
  const auto exact = whole(problem, sketch.proposal(usual));
  ASSERT_TRUE(exact);
  EXPECT_NEAR(sketch.seconds(usual) / *exact, 1.0, 0.04);
}

/// Every place is in one group, and a group's ops have one front. Where two equal layers are called
/// one, a place of the second is with its twin of the first.
TEST(PlaceGroups, GroupsPlacesOfEqualSurroundings) {
  const tile::TileModel tiles = test::analytic();
  ir::Graph graph = test::transformer({.layers = 12});
  ASSERT_TRUE(graph.repeat);
  const std::int32_t period = graph.repeat->period;
  graph.repeat->period *= 2;
  graph.repeat->count /= 2;
  const chip::Chip chip = test::tight_chip(16, 1 << 20);
  const Problem problem = test::problem(graph, chip, tiles);
  const LayerPlaces places(problem);
  const PlaceGroups found = alike(problem, places);
  std::size_t grouped = 0;
  for (std::size_t group = 0; group < found.groups.size(); ++group) {
    for (const OpId place : found.groups[group]) {
      EXPECT_EQ(found.of[place], static_cast<std::int32_t>(group));
      EXPECT_EQ(&problem.front(place), &problem.front(found.groups[group].front()));
      ++grouped;
    }
  }
  EXPECT_EQ(grouped, places.all().size());
  for (OpId place = places.begin(); place < places.begin() + period; ++place) {
    EXPECT_EQ(found.of[place], found.of[id_at<OpId>(place.value + period)]);
  }
}

/// A change and its opposite leave what was there; a sketch changed is one made anew.
TEST(Sketch, FollowsChanges) {
  const tile::TileModel tiles = test::analytic();
  Random random{13};
  for (int round = 0; round < 12; ++round) {
    const ir::Graph graph = test::random_graph(random);
    const chip::Chip chip = roomy_chip(random);
    Problem problem = test::problem(graph, chip, tiles);
    Sketch sketch(problem, fastest_plans(problem));
    const Arrangement usual = in_order(sketch.places());
    for (int change = 0; change < 20; ++change) {
      const std::vector<OpId>& all = sketch.places().all();
      const OpId place =
          all[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(all.size())))];
      const auto options = static_cast<std::int64_t>(problem.front(place).options.size());
      sketch.set(place, {.option = static_cast<std::int32_t>(random.below(options)), .state = 0});
    }
    const Sketch anew(problem,
                      {.choices = sketch.choices(), .space = fastest_plans(problem).space});
    EXPECT_EQ(sketch.choices(), anew.choices());
    EXPECT_DOUBLE_EQ(sketch.seconds(usual), anew.seconds(usual));
  }
}

TEST(Anneal, LeavesTheBestThatItMetAndNothingWorse) {
  const tile::TileModel tiles = test::analytic();
  Random random{14};
  int better = 0;
  for (int round = 0; round < 12; ++round) {
    const ir::Graph graph = test::random_graph(random);
    const chip::Chip chip = roomy_chip(random);
    Problem problem = test::problem(graph, chip, tiles);
    Sketch sketch(problem, fastest_plans(problem));
    const Arrangement usual = in_order(sketch.places());
    const double before = sketch.seconds(usual);
    const AnnealingResult found =
        anneal(problem, sketch, usual, contention(problem), {.most = 20'000, .seed = 5});
    EXPECT_LE(found.seconds, before);
    EXPECT_DOUBLE_EQ(sketch.seconds(found.arrangement), found.seconds);
    std::set<std::int32_t> numbers(found.arrangement.sequence.begin(),
                                   found.arrangement.sequence.end());
    EXPECT_EQ(numbers.size(), sketch.places().loaded().size());
    better += found.seconds < before ? 1 : 0;
  }
  EXPECT_GE(better, 6);
}

/// Told to stop, it leaves what it has; and says how far it came.
TEST(Full, EndsWhenItIsToldTo) {
  const tile::TileModel tiles = test::analytic();
  const ir::Graph graph = test::transformer({.layers = 4});
  Random random{17};
  const chip::Chip chip = roomy_chip(random);
  Watch watch;
  Problem problem = test::problem(graph, chip, tiles);
  const Found whole = search(problem, {.policy = Policy::ElkFull, .threads = 1, .watch = &watch});
  EXPECT_GT(watch.all, 0);
  EXPECT_GE(watch.done, watch.all);
  Watch stopped;
  stopped.stopped = true;
  Problem again = test::problem(graph, chip, tiles);
  const Found some = search(again, {.policy = Policy::ElkFull, .threads = 1, .watch = &stopped});
  EXPECT_EQ(stopped.done, 0);
  EXPECT_GE(some.times.total, whole.times.total);
}

/// A judge that turns the forecast round is obeyed; one far behind is not asked about.
TEST(Search, TakesWhatTheJudgeSays) {
  const tile::TileModel tiles = test::analytic();
  const ir::Graph graph = test::transformer({.layers = 4});
  Random random{16};
  const chip::Chip chip = roomy_chip(random);
  Problem problem = test::problem(graph, chip, tiles);
  const Found usual = search(problem, {.policy = Policy::ElkFull, .threads = 1});
  std::set<std::size_t> sizes;
  int asked = 0;
  const Judge backwards = [&](std::span<const program::Program* const> programs) {
    std::vector<Seconds> times;
    for (const program::Program* program : programs) {
      ++asked;
      times.push_back({1.0 / static_cast<double>(1 + program->buffers.size())});
    }
    return times;
  };
  Problem again = test::problem(graph, chip, tiles);
  const Found judged = search(again, {.policy = Policy::ElkFull, .threads = 1, .judge = backwards});
  if (asked > 0) {
    EXPECT_GE(judged.program.buffers.size(), usual.program.buffers.size());
  }
  EXPECT_GE(judged.times.total.value, usual.times.total.value * (1.0 - 1e-9));
  EXPECT_LE(judged.times.total.value, usual.times.total.value * 1.1);
}

}  // namespace
}  // namespace elk::schedule
