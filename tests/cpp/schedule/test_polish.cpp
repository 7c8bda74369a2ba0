#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/improve/polish.hpp"
#include "elk/schedule/policies/induction.hpp"
#include "elk/schedule/timing/evaluate.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

constexpr std::int64_t kEnough = 10'000'000;

std::optional<Seconds> forecast(Problem& problem, const Proposal& proposal) {
  const Situation now = situation(problem, proposal.choices);
  const Issue issue = schedule::issue(problem, now, problem.loaded(), proposal.space);
  if (issue.shortage) {
    return std::nullopt;
  }
  return timing(problem, now, problem.loaded(), issue.issued_before).total;
}

/// The plan of each op that is fastest alone.
Proposal fastest(const Problem& problem) {
  const Bytes room = chip::room(problem.chip());
  Proposal result{.choices = {}, .space = {.room = room, .preload_room = room, .not_before = {}}};
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    result.choices.push_back({.option = problem.front(op).fastest, .state = 0});
  }
  return result;
}

chip::Chip roomy(Random& random) {
  chip::Chip chip = test::random_chip(random);
  chip.core.sram = {1 << 20};
  return chip;
}

TEST(Polish, ShortensTheForecast) {
  const tile::TileModel tiles = test::analytic();
  Random random{5};
  int shorter = 0;
  for (int round = 0; round < 20; ++round) {
    const ir::Graph graph = test::random_graph(random);
    const chip::Chip chip = roomy(random);
    Problem problem = test::problem(graph, chip, tiles);
    Proposal proposal = fastest(problem);
    const std::optional<Seconds> before = forecast(problem, proposal);
    polish(problem, proposal, contention(problem), {.most = kEnough, .threads = 1});
    const std::optional<Seconds> after = forecast(problem, proposal);
    if (before) {
      ASSERT_TRUE(after);
      EXPECT_LE(*after, *before);
      shorter += *after < *before ? 1 : 0;
    }
  }
  EXPECT_GE(shorter, 10);
}

TEST(Polish, LeavesNoPreloadStateThatIsBetter) {
  const tile::TileModel tiles = test::analytic();
  Random random{6};
  for (int round = 0; round < 10; ++round) {
    const ir::Graph graph = test::random_graph(random);
    if (graph.repeat) {
      continue;  // Layers change together.
    }
    const chip::Chip chip = roomy(random);
    Problem problem = test::problem(graph, chip, tiles);
    Proposal proposal = fastest(problem);
    polish(problem, proposal, contention(problem), {.most = kEnough, .threads = 1});
    const std::optional<Seconds> least = forecast(problem, proposal);
    if (!least) {
      continue;
    }
    for (const OpId op : proposal.choices.ids()) {
      const Choice now = proposal.choices[op];
      const auto states = static_cast<std::int32_t>(problem.option(op, now).states.size());
      for (std::int32_t state = 0; state < states; ++state) {
        proposal.choices[op].state = state;
        const std::optional<Seconds> other = forecast(problem, proposal);
        EXPECT_TRUE(!other || other->value >= least->value * (1.0 - 2e-9)) << "op " << op;
      }
      proposal.choices[op] = now;
    }
  }
}

TEST(Polish, DependsNeitherOnThreadsNorOnWorkUnspent) {
  const ir::Graph graph = test::transformer({.layers = 4});
  const chip::Chip chip = test::tight_chip(16, 1 << 18);
  const tile::TileModel tiles = test::analytic();
  std::vector<Table<OpId, Choice>> found;
  for (const int threads : {1, 2, 4}) {
    Problem problem = test::problem(graph, chip, tiles);
    Proposal proposal = fastest(problem);
    const std::int64_t work =
        polish(problem, proposal, contention(problem), {.most = kEnough, .threads = threads});
    EXPECT_LT(work, kEnough);
    found.push_back(proposal.choices);
  }
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
}

TEST(Polish, StopsWhenItsWorkIsDone) {
  const ir::Graph graph = test::transformer({.layers = 4});
  const chip::Chip chip = test::tight_chip(16, 1 << 18);
  const tile::TileModel tiles = test::analytic();
  Problem problem = test::problem(graph, chip, tiles);
  Proposal proposal = fastest(problem);
  const Table<OpId, Choice> before = proposal.choices;
  polish(problem, proposal, contention(problem), {.most = 0, .threads = 1});
  EXPECT_EQ(proposal.choices, before);
}

}  // namespace
}  // namespace elk::schedule
