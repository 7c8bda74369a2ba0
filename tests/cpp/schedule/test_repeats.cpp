#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/base/random.hpp"
#include "elk/schedule/policies/induction.hpp"
#include "elk/schedule/policies/search.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

bool every_op_fits(const Problem& problem) {
  return std::all_of(problem.fronts().begin(), problem.fronts().end(),
                     [](const cost::Front& front) { return !front.options.empty(); });
}

/// A model with equal layers on a chip, and the same without the mark that says so.
struct Twins {
  ir::Graph marked;
  ir::Graph flat;
  chip::Chip chip;
};

/// Empty where the model has no repeat or the chip no HBM.
std::optional<Twins> twins(Random& random) {
  Twins result{.marked = test::random_graph(random), .flat = {}, .chip = test::random_chip(random)};
  result.flat = result.marked;
  result.flat.repeat.reset();
  return result.marked.repeat ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<Found> found_for(const ir::Graph& graph, const chip::Chip& chip, Policy policy) {
  const tile::TileModel tiles = test::analytic();
  Problem problem = test::problem(graph, chip, tiles);
  try {
    return every_op_fits(problem) ? std::optional(search(problem, {.policy = policy, .threads = 1}))
                                  : std::nullopt;
  } catch (const Infeasible&) {
    return std::nullopt;
  }
}

TEST(Repeats, GiveTheInductionWhatSolvingEachLayerWould) {
  const tile::TileModel tiles = test::analytic();
  Random random{71};
  int models = 0;
  int copied = 0;
  for (int round = 0; round < 200; ++round) {
    const std::optional<Twins> pair = twins(random);
    if (!pair) {
      continue;
    }
    const Problem marked = test::problem(pair->marked, pair->chip, tiles);
    const Problem flat = test::problem(pair->flat, pair->chip, tiles);
    if (!every_op_fits(marked)) {
      continue;
    }
    for (const double late : {0.0, 1.0}) {
      Contention prices = contention(marked);
      prices.late = late;
      const Bytes room = chip::room(pair->chip);
      const InductionResult once = induce(marked, prices, room);
      EXPECT_EQ(once.choices, induce(flat, prices, room).choices) << "round " << round;
      copied += once.solved_layers < pair->marked.repeat->count ? 1 : 0;
    }
    ++models;
  }
  EXPECT_GT(models, 60);
  EXPECT_GT(copied, 20);
}

/// Basic and Static look at every layer by itself, whether the model says that they are equal or
/// not. What ELK-Full polishes it changes in all equal layers at once: with the mark it looks at
/// other schedules than without.
TEST(Repeats, DoNotChangeWhatBasicAndStaticFind) {
  Random random{73};
  int models = 0;
  for (int round = 0; round < 40; ++round) {
    const std::optional<Twins> pair = twins(random);
    if (!pair) {
      continue;
    }
    for (const Policy policy : {Policy::Basic, Policy::Static}) {
      const std::optional<Found> marked = found_for(pair->marked, pair->chip, policy);
      const std::optional<Found> flat = found_for(pair->flat, pair->chip, policy);
      ASSERT_EQ(marked.has_value(), flat.has_value()) << "round " << round;
      if (marked) {
        EXPECT_EQ(marked->schedule, flat->schedule) << "round " << round;
        EXPECT_EQ(marked->times.total, flat->times.total) << "round " << round;
        ++models;
      }
    }
  }
  EXPECT_GT(models, 25);
}

}  // namespace
}  // namespace elk::schedule
