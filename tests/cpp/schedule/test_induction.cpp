#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/random.hpp"
#include "elk/schedule/policies/induction.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

InductionResult induce_on(const ir::Graph& graph, const chip::Chip& chip) {
  const tile::TileModel tiles = test::analytic();
  const Problem problem = test::problem(graph, chip, tiles);
  return induce(problem, contention(problem), chip::room(chip));
}

/// Copied layers are what solving each of them would have given; tells how many were solved.
std::int32_t expect_copies_equal_solutions(ir::Graph graph, const chip::Chip& chip) {
  EXPECT_TRUE(graph.repeat);
  const InductionResult copied = induce_on(graph, chip);
  graph.repeat.reset();
  const InductionResult solved = induce_on(graph, chip);
  EXPECT_EQ(solved.solved_layers, 0);
  EXPECT_EQ(copied.choices.size(), solved.choices.size());
  for (std::size_t op = 0; op < solved.choices.size(); ++op) {
    EXPECT_EQ(copied.choices[op], solved.choices[op])
        << "op " << op << " of " << solved.choices.size() << ", " << chip::room(chip).value
        << " bytes";
  }
  return copied.solved_layers;
}

constexpr std::array<std::int64_t, 6> kRooms{12288, 16384, 24576, 40960, 81920, 262144};

TEST(Induction, CopiesTransformerLayersAsItWouldSolveThem) {
  const ir::Graph graph =
      test::transformer({.layers = 10, .rows = 8, .width = 128, .inner = 256, .keys = 128});
  int copied = 0;
  for (const std::int64_t room : kRooms) {
    const std::int32_t solved = expect_copies_equal_solutions(graph, test::tight_chip(16, room));
    copied += solved < graph.repeat->count ? 1 : 0;
  }
  EXPECT_GE(copied, 4);
}

TEST(Induction, CopiesLayersOnAGridAndOnTwoChips) {
  const ir::Graph graph =
      test::transformer({.layers = 8, .rows = 4, .width = 96, .inner = 192, .keys = 0});
  for (const std::int64_t room : kRooms) {
    expect_copies_equal_solutions(graph, test::grid_chip(4, 4, room));
    expect_copies_equal_solutions(graph, test::tight_pair(8, room));
  }
}

/// One matmul a layer: preloads go layers ahead where the HBM is slow and SRAM lets them.
std::int32_t expect_copies_of_short_layers(std::int64_t room, double hbm_rate) {
  chip::Chip chip = test::tight_chip(16, room);
  chip.hbm->rate = hbm_rate;
  chip.hbm->port_rate = hbm_rate;
  return expect_copies_equal_solutions(test::chain(60, 8, 64, false), chip);
}

TEST(Induction, CopiesLayersShorterThanItsLookAhead) {
  int copied = 0;
  for (const std::int64_t room : {1536, 2048, 3072, 4096, 6144, 8192}) {
    copied += expect_copies_of_short_layers(room, 4e9) < 60 ? 1 : 0;
  }
  EXPECT_EQ(copied, 6);
}

TEST(Induction, CopiesLayersThatTakeTurns) {
  // Every second layer, or fourth, gets a plan that its neighbours do not have room for.
  for (const double rate : {14e9, 16e9, 18e9}) {
    EXPECT_LT(expect_copies_of_short_layers(4096, rate), 8);
  }
  EXPECT_LT(expect_copies_of_short_layers(8192, 14e9), 40);
}

/// One plan or two, whose states take steps of random cost to a half, a quarter and an eighth.
cost::Front random_front(Random& random) {
  std::vector<cost::PlanOption> options;
  for (std::int64_t k = 0; k <= random.below(2); ++k) {
    const std::int64_t bytes = 80 - (40 * k);
    const double load = 0.5 + (4.0 * random.uniform());
    std::vector<cost::PreloadState> states;
    double fetch = 0.0;
    for (std::int64_t d = 1; d <= 8; d *= 2) {
      states.push_back(test::made_state(bytes / d, fetch, load));
      fetch += 0.3 * random.uniform();
    }
    options.push_back(test::made_option(bytes, 1.0 + static_cast<double>(k) + random.uniform(),
                                        std::move(states)));
  }
  return test::made_front(std::move(options));
}

TEST(Induction, CopiesLayersWhoseStatesAreLoweredFromAfar) {
  const ir::Graph graph = test::chain(60, 4, 8, true);
  ir::Graph flat = graph;
  flat.repeat.reset();
  const chip::Chip chip = test::prompt_chip(1 << 20);
  const tile::TileModel tiles = test::analytic();
  std::vector<std::int32_t> front_of;
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    front_of.push_back(op % 2 == 0 && op + 1 < graph.ops.size() ? 0 : 1);
  }
  const cost::Front bent =
      test::made_front({test::made_option(0, 0.5, {test::made_state(0, 0.0, 0.0)}, 2)});
  Random random{61};
  int copied = 0;
  for (int round = 0; round < 150; ++round) {
    const std::vector<cost::Front> fronts{random_front(random), bent};
    const Bytes room{100 + random.below(200)};
    const Contention none{.share = 0.0, .drag = 0.0};
    const InductionResult found = induce({graph, chip, tiles, fronts, front_of}, none, room);
    const InductionResult solved = induce({flat, chip, tiles, fronts, front_of}, none, room);
    EXPECT_EQ(found.choices, solved.choices) << "round " << round;
    copied += found.solved_layers < 55 ? 1 : 0;
  }
  EXPECT_GT(copied, 100);
}

TEST(Induction, CopiesLayersUnderContentionForThePort) {
  const ir::Graph graph = test::chain(16, 8, 96, true);
  for (const std::int64_t room : {4096, 6144, 10240, 20480}) {
    chip::Chip chip = test::tight_chip(12, room);
    chip.core.remote_access_blocks = true;
    chip.interconnect.link_rate = 8e9;
    chip.interconnect.multicast = false;
    expect_copies_equal_solutions(graph, chip);
  }
}

TEST(Induction, SolvesFewLayersHoweverManyThereAre) {
  const chip::Chip chip = test::tight_chip(16, 24576);
  std::vector<std::int32_t> solved;
  for (const std::int32_t layers : {12, 24, 48}) {
    const ir::Graph graph =
        test::transformer({.layers = layers, .rows = 8, .width = 128, .inner = 256, .keys = 128});
    solved.push_back(induce_on(graph, chip).solved_layers);
  }
  EXPECT_EQ(solved[0], solved[1]);
  EXPECT_EQ(solved[1], solved[2]);
  EXPECT_LE(solved[2], 6);
}

/// Two loaded ops and one that is not, on made-up fronts.
class InductionOfTwo : public ::testing::Test {
 protected:
  /// The option of op 0: its plan of 100 bytes, or one of 40 bytes that is `slower`; op 1 has 60
  /// bytes to preload, in `load` seconds, and 20 beside the smaller plan alone.
  std::int32_t option_of_first(double slower, double load) {
    const cost::Front first =
        test::made_front({test::made_option(100, 1.0, {test::made_state(100, 0.0, 1.0)}),
                          test::made_option(40, 1.0 + slower, {test::made_state(40, 0.0, 1.0)})});
    const cost::Front second =
        test::made_front({test::made_option(60, 1.0, {test::made_state(60, 0.0, load)}, 3)});
    const cost::Front last =
        test::made_front({test::made_option(0, 1.0, {test::made_state(0, 0.0, 0.0)}, 2)});
    const Problem problem(graph_, chip_, tiles_, {first, second, last}, {0, 1, 2});
    return induce(problem, {.share = 0.0, .drag = 0.0}, {140}).choices.front().option;
  }

  ir::Graph graph_ = test::chain(2, 4, 8, false);
  chip::Chip chip_ = test::prompt_chip(140);
  tile::TileModel tiles_ = test::analytic();
};

TEST_F(InductionOfTwo, DelaysThePreloadWhereThatIsCheaperThanASlowerExecute) {
  EXPECT_EQ(option_of_first(5.0, 1.0), 0);    // ends after 4 s, not 8 s
  EXPECT_EQ(option_of_first(12.0, 10.0), 0);  // 13 s, not 15 s
}

TEST_F(InductionOfTwo, SlowsTheExecuteWhereThatIsCheaperThanALatePreload) {
  EXPECT_EQ(option_of_first(2.0, 10.0), 1);  // ends after 12 s, not 13 s
  EXPECT_EQ(option_of_first(0.5, 1.0), 1);   // 3.5 s, not 4 s
}

/// Three loaded ops; the last one waits through the executes of the others.
class InductionOfThree : public ::testing::Test {
 protected:
  std::vector<Choice> choices(std::int64_t first, std::int64_t second) {
    const auto alone = [](std::int64_t bytes, std::int32_t weight) {
      return test::made_front(
          {test::made_option(bytes, 10.0, {test::made_state(10, 0.0, 1.0)}, weight)});
    };
    const cost::Front waits = test::made_front({test::made_option(
        80, 10.0, {test::made_state(80, 0.0, 9.5), test::made_state(40, 1.0, 9.5)}, 5)});
    const cost::Front last =
        test::made_front({test::made_option(0, 1.0, {test::made_state(0, 0.0, 0.0)}, 2)});
    const Problem problem(graph_, chip_, tiles_, {alone(first, 1), alone(second, 3), waits, last},
                          {0, 1, 2, 3});
    return induce(problem, {.share = 0.0, .drag = 0.0}, {200}).choices;
  }

  ir::Graph graph_ = test::chain(3, 4, 8, false);
  chip::Chip chip_ = test::prompt_chip(200);
  tile::TileModel tiles_ = test::analytic();
};

TEST_F(InductionOfThree, LowersAStateOnlyWhereItMust) {
  EXPECT_EQ(choices(50, 50)[2].state, 0);
  EXPECT_EQ(choices(50, 150)[2].state, 1);
}

TEST_F(InductionOfThree, KeepsALoweredStateLowered) {
  // The execute of op 1 leaves 50 bytes; that of op 0 would leave room for all 80.
  EXPECT_EQ(choices(10, 150)[2].state, 1);
}

}  // namespace
}  // namespace elk::schedule
