#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rounds.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/compile/simulate.hpp"
#include "elk/program/program.hpp"
#include "elk/schedule/bound/bounds.hpp"
#include "elk/schedule/policies/placement.hpp"
#include "elk/schedule/timing/evaluate.hpp"
#include "schedule/problems.hpp"

namespace elk::compile {
namespace {

using schedule::Choice;
using schedule::Problem;

constexpr int kProblems = 150;
constexpr int kTries = 40;  // for each problem, whether they fit or not

Table<OpId, Choice> random_choices(const Problem& problem, Random& random) {
  Table<OpId, Choice> result;
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    const auto& options = problem.front(op).options;
    const std::int64_t option = random.below(static_cast<std::int64_t>(options.size()));
    const auto states =
        static_cast<std::int64_t>(options[static_cast<std::size_t>(option)].states.size());
    result.push_back({.option = static_cast<std::int32_t>(option),
                      .state = static_cast<std::int32_t>(random.below(states))});
  }
  return result;
}

/// The order of executes, with a few neighbours exchanged.
std::vector<OpId> random_order(const Problem& problem, Random& random) {
  std::vector<OpId> order = problem.loaded();
  for (std::int64_t k = random.below(4); k > 0 && order.size() > 1; --k) {
    const auto at =
        static_cast<std::size_t>(random.below(static_cast<std::int64_t>(order.size()) - 1));
    std::swap(order[at], order[at + 1]);
  }
  return order;
}

/// A program of random plans, states, order and look-ahead, placed and checked; empty if it does
/// not fit.
std::optional<program::Program> random_program(Problem& problem, Random& random) {
  const Table<OpId, Choice> choices = random_choices(problem, random);
  const schedule::Situation now = schedule::situation(problem, choices);
  const std::vector<OpId> order = random_order(problem, random);
  const Bytes room = chip::room(problem.chip());
  const Bytes ahead{room.value / (1 + random.below(4))};
  const schedule::Issue issue =
      schedule::issue(problem, now, order, {.room = room, .preload_room = ahead, .not_before = {}});
  if (issue.shortage) {
    return std::nullopt;
  }
  return schedule::placed_program(
      problem, {.ops = choices, .preload_order = order, .issued_before = issue.issued_before},
      room);
}

// Design 6.5: no valid program is faster than the bound that its model and chip are given, however
// its plans, preload states, preload order and preload numbers were chosen.
TEST(LowerBound, HoldsForRandomProgramsOnEveryCore) {
  const tile::TileModel tiles = test::analytic();
  Random random{2026};
  const int all = test::rounds(2000);
  int programs = 0;
  double nearest = 0.0;
  for (int round = 0; round < kProblems && programs < all; ++round) {
    const ir::Graph graph = test::random_graph(random);
    chip::Chip chip = test::random_chip(random);
    chip.core.sram = {131072 + 8192};
    Problem problem = test::problem(graph, chip, tiles);
    const double bound = schedule::bounds(problem, {0.0}).lower_bound.value;
    for (int k = 0; k < kTries && programs < all; ++k) {
      const std::optional<program::Program> program = random_program(problem, random);
      if (!program) {
        continue;
      }
      ASSERT_EQ(program::check(graph, chip, *program), std::vector<std::string>{});
      const sim::Run run = simulate(graph, chip, *program, tiles, sim::Fidelity::Core);
      const double seconds = to_seconds(run.total).value;
      ASSERT_GE(seconds, bound) << "round " << round << ", program " << k;
      nearest = std::max(nearest, bound / seconds);
      ++programs;
    }
  }
  EXPECT_EQ(programs, all);
  EXPECT_GT(nearest, 0.5);  // The bound is not so low that nothing could fall below it.
}

}  // namespace
}  // namespace elk::compile
