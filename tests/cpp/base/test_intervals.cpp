#include <gtest/gtest.h>

#include "elk/base/intervals.hpp"
#include "elk/base/units.hpp"

namespace elk {
namespace {

using Range = Interval<Bytes>;

TEST(Intervals, HoldTheirBeginAndNotTheirEnd) {
  constexpr Range kRange{{2}, {5}};
  EXPECT_TRUE(kRange.contains({2}));
  EXPECT_TRUE(kRange.contains({4}));
  EXPECT_FALSE(kRange.contains({5}));
  EXPECT_FALSE(kRange.contains({1}));
  EXPECT_EQ(kRange.length(), Bytes{3});
}

TEST(Intervals, DoNotOverlapWhereTheyOnlyTouch) {
  EXPECT_FALSE(overlaps(Range{{0}, {2}}, Range{{2}, {4}}));
  EXPECT_TRUE(overlaps(Range{{0}, {3}}, Range{{2}, {4}}));
}

TEST(Intervals, ShareTheirIntersection) {
  EXPECT_EQ(intersection(Range{{0}, {3}}, Range{{2}, {4}}), (Range{{2}, {3}}));
}

TEST(Intervals, OverlapNothingWhenEmpty) {
  EXPECT_TRUE((Range{{3}, {3}}).empty());
  EXPECT_FALSE(overlaps(Range{{3}, {3}}, Range{{0}, {9}}));
}

}  // namespace
}  // namespace elk
