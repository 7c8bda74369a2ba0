#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/emulate/access.hpp"

namespace elk::emulate {
namespace {

bool operator==(const Touched& a, const Touched& b) {
  return a.point == b.point && a.count == b.count && a.element == b.element &&
         (a.count == 1 || a.step == b.step);
}

ir::Operand read(std::vector<ir::Dim> dims) {
  return {.tensor = 0,
          .access = ir::Access::Read,
          .dims = std::move(dims),
          .indirect = {},
          .spilled = false,
          .input = 0};
}

Points points(std::vector<partition::Run> ranges) { return all_points(Ranges(std::move(ranges))); }

TEST(Touched, IsOneRunWhereThePieceIsDense) {
  const ir::Operand operand = read({{{0}, {1}, 0}, {{1}, {1}, 0}});
  const Held held{.sets = {{{2, 4}}, {{0, 8}}}};
  const std::vector<Touched> runs =
      touched(operand, held, std::vector<std::int64_t>{4, 8}, points({{2, 4}, {0, 8}}));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_TRUE((runs[0] == Touched{.point = 0, .count = 16, .element = 0, .step = 1}));
}

TEST(Touched, LeavesOutWhatLiesOutsideTheTensor) {
  // A window of three around four elements: index o + k - 1.
  const ir::Operand operand = read({{{0, 1}, {1, 1}, -1}});
  const Held held{.sets = {{{0, 4}}}};
  const std::vector<Touched> runs =
      touched(operand, held, std::vector<std::int64_t>{4}, points({{0, 1}, {0, 3}}));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_TRUE((runs[0] == Touched{.point = 1, .count = 2, .element = 0, .step = 1}));
}

TEST(Touched, CountsElementsOfSetsWithGaps) {
  const ir::Operand operand = read({{{0}, {3}, 0}});
  const Held held{.sets = {{{0, 1}, {3, 4}, {6, 7}}}};
  const std::vector<Touched> runs =
      touched(operand, held, std::vector<std::int64_t>{9}, points({{0, 3}}));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_TRUE((runs[0] == Touched{.point = 0, .count = 3, .element = 0, .step = 1}));
}

TEST(Touched, RefusesWhatTheCoreDoesNotHold) {
  const ir::Operand operand = read({{{0}, {1}, 0}});
  const Held held{.sets = {{{0, 2}}}};
  EXPECT_THROW((void)touched(operand, held, std::vector<std::int64_t>{4}, points({{0, 3}})),
               InternalError);
}

TEST(Touched, FollowsPicksFromBehind) {
  ir::Operand operand = read({{{}, {}, 0}, {{1}, {1}, 0}});
  operand.indirect = ir::Indirect{.index = 1, .dim = 0, .axes = {0}, .expected_picks = 2};
  const Held held{.sets = {{{0, 5}}, {{0, 2}}}};
  const std::vector<std::int64_t> picks{3, 3, -1, -1};
  const std::vector<Touched> runs =
      touched(operand, held, std::vector<std::int64_t>{5, 2}, points({{0, 2}, {0, 2}}), picks);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_TRUE((runs[0] == Touched{.point = 0, .count = 4, .element = 6, .step = 1}));
}

}  // namespace
}  // namespace elk::emulate
