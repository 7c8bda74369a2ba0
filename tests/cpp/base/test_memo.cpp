#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "elk/base/memo.hpp"

namespace elk {
namespace {

TEST(RecentMemo, FindsWhatWasPutJustNow) {
  RecentMemo<double> recent;
  EXPECT_EQ(recent.find(7), nullptr);
  recent.put(7, 1.5);
  recent.put(8, 2.5);
  ASSERT_NE(recent.find(7), nullptr);
  EXPECT_EQ(*recent.find(7), 1.5);
  EXPECT_EQ(*recent.find(8), 2.5);
}

constexpr std::uint64_t kForeign = std::numeric_limits<std::uint64_t>::max();

/// How many of the keys from 1 to `keys` are found after all were put, each with thrice itself;
/// `kForeign` if one has another value.
std::uint64_t found_of(std::uint64_t keys) {
  RecentMemo<std::uint64_t> recent;
  for (std::uint64_t key = 1; key <= keys; ++key) {
    recent.put(key, 3 * key);
  }
  std::uint64_t known = 0;
  for (std::uint64_t key = 1; key <= keys; ++key) {
    const std::uint64_t* found = recent.find(key);
    if (found != nullptr && *found != 3 * key) {
      return kForeign;
    }
    known += found != nullptr ? 1U : 0U;
  }
  return known;
}

TEST(RecentMemo, ForgetsButNeverGivesTheValueOfAnotherKey) {
  constexpr std::uint64_t kKeys = 200'000;
  EXPECT_GT(found_of(kKeys), 10'000U);
  EXPECT_LT(found_of(kKeys), kKeys / 2);
}

TEST(RecentMemo, KeepsFewKeysAsItGrows) {
  EXPECT_GT(found_of(1000), 500U);
  EXPECT_LE(found_of(1000), 1000U);
}

}  // namespace
}  // namespace elk
