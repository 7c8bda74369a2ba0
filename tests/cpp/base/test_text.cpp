#include <gtest/gtest.h>

#include "elk/base/text.hpp"

namespace elk {
namespace {

TEST(Text, WritesItsPartsOneAfterAnother) {
  EXPECT_EQ(text("got ", 3, " of ", 0.5), "got 3 of 0.5");
}

}  // namespace
}  // namespace elk
