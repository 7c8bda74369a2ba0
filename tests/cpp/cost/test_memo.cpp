#include <cstdint>

#include <gtest/gtest.h>

#include "elk/cost/memo.hpp"

namespace elk::cost {
namespace {

TEST(Recent, FindsWhatWasPutJustNow) {
  Recent<double> recent;
  EXPECT_EQ(recent.find(7), nullptr);
  recent.put(7, 1.5);
  recent.put(8, 2.5);
  ASSERT_NE(recent.find(7), nullptr);
  EXPECT_EQ(*recent.find(7), 1.5);
  EXPECT_EQ(*recent.find(8), 2.5);
}

TEST(Recent, ForgetsButNeverGivesTheValueOfAnotherKey) {
  constexpr std::uint64_t kKeys = 200'000;
  Recent<std::uint64_t> recent;
  for (std::uint64_t key = 1; key <= kKeys; ++key) {
    recent.put(key, 3 * key);
    ASSERT_NE(recent.find(key), nullptr);
  }
  std::uint64_t known = 0;
  for (std::uint64_t key = 1; key <= kKeys; ++key) {
    if (const std::uint64_t* found = recent.find(key)) {
      EXPECT_EQ(*found, 3 * key);
      ++known;
    }
  }
  EXPECT_GT(known, 10'000U);
  EXPECT_LT(known, kKeys / 2);
}

TEST(Recent, KeepsFewKeysAsItGrows) {
  Recent<std::uint64_t> recent;
  std::uint64_t known = 0;
  for (std::uint64_t key = 1; key <= 1000; ++key) {
    recent.put(key, key);
  }
  for (std::uint64_t key = 1; key <= 1000; ++key) {
    known += recent.find(key) != nullptr ? 1U : 0U;
  }
  EXPECT_GT(known, 500U);
}

}  // namespace
}  // namespace elk::cost
