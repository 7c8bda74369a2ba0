#include <gtest/gtest.h>

#include "elk/base/mechanisms.hpp"

namespace elk {
namespace {

TEST(Mechanisms, AllWorkUnlessTheyAreSwitchedOff) {
#define ELK_MECHANISM(name, title, files) EXPECT_TRUE(mechanisms().name) << (title) << (files);
#include "elk/base/mechanisms.def"
#undef ELK_MECHANISM
  EXPECT_EQ(mechanisms().seed, 0U);
}

}  // namespace
}  // namespace elk
