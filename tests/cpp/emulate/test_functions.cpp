#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "elk/emulate/kernels/functions.hpp"

namespace elk::emulate {
namespace {

/// What a function makes of a row of values each, with the numbers of its attributes.
template <class Wide>
std::vector<Wide> applied(const Function<Wide>* function,
                          const std::vector<std::vector<Wide>>& rows,
                          std::vector<double> extra = {}) {
  Arguments<Wide> arguments{.values = {}, .extra = std::move(extra), .count = rows.front().size()};
  for (const std::vector<Wide>& row : rows) {
    arguments.values.push_back({.data = row.data(), .step = row.size() == 1 ? 0 : 1});
  }
  std::vector<Wide> result(arguments.count);
  (*function)(arguments, result.data());
  return result;
}

using Reals = std::vector<double>;
using Wholes = std::vector<std::int64_t>;

TEST(Functions, OfRealNumbersAreThoseOfTheLibrary) {
  EXPECT_EQ(applied(find_real("exp"), {{0.0, 1.0}}), (Reals{1.0, std::exp(1.0)}));
  EXPECT_EQ(applied(find_real("add"), {{1.0, 2.0}, {0.5}}), (Reals{1.5, 2.5}));
  EXPECT_EQ(applied(find_real("mod"), {{-7.0, 7.0}, {3.0, -3.0}}, {0.0}), (Reals{2.0, -2.0}));
  EXPECT_DOUBLE_EQ(applied(find_real("sigmoid"), {{0.0}})[0], 0.5);
}

TEST(Functions, OfWholeNumbersWrapAroundAndNeverDivideByZero) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(applied(find_whole<std::int64_t>("add"), {{kMost, 2}, {1}}), (Wholes{kLeast, 3}));
  EXPECT_EQ(applied(find_whole<std::int64_t>("div"), {{kLeast, 7, 7}, {-1, 0, -2}}),
            (Wholes{kLeast, 0, -3}));
  EXPECT_EQ(applied(find_whole<std::uint64_t>("sub"), {{0}, {1}}),
            (std::vector<std::uint64_t>{std::numeric_limits<std::uint64_t>::max()}));
}

TEST(Functions, ThatDecideAreTheSameForAllNumbers) {
  EXPECT_EQ(applied(find_real("less"), {{1.0, 2.0}, {2.0}}), (Reals{1.0, 0.0}));
  EXPECT_EQ(applied(find_whole<std::int64_t>("less"), {{1, 2}, {2}}), (Wholes{1, 0}));
  EXPECT_EQ(applied(find_whole<std::int64_t>("max"), {{1, 5}, {2}, {3}}), (Wholes{3, 5}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(applied(find_real("max"), {{nan}, {1.0}})[0]));
  EXPECT_TRUE(std::isnan(applied(find_real("min"), {{nan}, {1.0}})[0]));
}

TEST(Functions, AreNoneForOtherNames) {
  EXPECT_EQ(find_real("matmul"), nullptr);
  EXPECT_EQ(find_whole<std::int64_t>("exp"), nullptr);
}

}  // namespace
}  // namespace elk::emulate
