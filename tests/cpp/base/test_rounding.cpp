#include <limits>

#include <gtest/gtest.h>

#include "elk/base/rounding.hpp"

namespace elk {
namespace {

TEST(CeilDiv, RoundsUpOnlyWhatDoesNotDivide) {
  EXPECT_EQ(ceil_div(0, 4), 0);
  EXPECT_EQ(ceil_div(1, 4), 1);
  EXPECT_EQ(ceil_div(4, 4), 1);
  EXPECT_EQ(ceil_div(5, 4), 2);
}

TEST(CeilDiv, DoesNotOverflowAtTheLargestAmount) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(ceil_div(kMost, 1), kMost);
  EXPECT_EQ(ceil_div(kMost, kMost), 1);
}

TEST(RoundUp, GivesTheNextMultiple) {
  EXPECT_EQ(round_up(0, 8), 0);
  EXPECT_EQ(round_up(8, 8), 8);
  EXPECT_EQ(round_up(9, 8), 16);
}

}  // namespace
}  // namespace elk
