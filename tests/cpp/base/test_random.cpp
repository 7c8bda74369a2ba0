#include <gtest/gtest.h>

#include "elk/base/random.hpp"

namespace elk {
namespace {

TEST(Random, GivesTheNumbersOfThePublishedGenerator) {
  Random random{1234567};
  EXPECT_EQ(random.next(), 6457827717110365317U);
  EXPECT_EQ(random.next(), 3203168211198807973U);
}

TEST(Random, StaysInItsRange) {
  Random random{7};
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t integer = random.below(3);
    EXPECT_TRUE(integer >= 0 && integer < 3);
    const double real = random.uniform();
    EXPECT_TRUE(real >= 0.0 && real < 1.0);
  }
}

}  // namespace
}  // namespace elk
