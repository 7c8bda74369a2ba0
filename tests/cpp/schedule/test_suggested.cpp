#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/random.hpp"
#include "elk/schedule/improve/suggested.hpp"
#include "schedule/every_cut.hpp"
#include "schedule/few_ops.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

// The cuts that the bound takes are the best there are together, though it lies below them.
TEST(Suggested, ChoicesTakeTheLeastTogether) {
  const tile::TileModel tiles = test::analytic();
  Random random{67};
  int least_of_each = 0;
  for (int round = 0; round < 60; ++round) {
    const ir::Graph graph = test::few_ops(random);
    const chip::Chip chip = test::few_cores(random);
    Problem problem = test::problem(graph, chip, tiles);
    const std::vector<std::vector<Choice>> some = suggested(problem, chip::room(chip));
    ASSERT_EQ(some.size(), problem.fronts().size());
    const double found = test::least_of(problem, some);
    std::vector<std::vector<Choice>> fastest;
    for (const cost::Front& front : problem.fronts()) {
      fastest.push_back({{.option = static_cast<std::int32_t>(front.fastest), .state = 0}});
    }
    const double each = test::least_of(problem, fastest);
    test::add_cuts(problem);
    const double least = test::least_of_all(problem);
    EXPECT_LE(found, 1.01 * least) << "round " << round;
    least_of_each += each <= 1.01 * least ? 1 : 0;
  }
  EXPECT_LT(least_of_each, 40);  // The fastest of each op alone would do, too.
}

TEST(Suggested, NothingThatFitsNoCore) {
  const tile::TileModel tiles = test::analytic();
  Random random{71};
  for (int round = 0; round < 20; ++round) {
    const ir::Graph graph = test::few_ops(random);
    const chip::Chip chip = test::few_cores(random);
    Problem problem = test::problem(graph, chip, tiles);
    for (const std::vector<Choice>& some : suggested(problem, {0})) {
      EXPECT_TRUE(some.empty());
    }
  }
}

}  // namespace
}  // namespace elk::schedule
