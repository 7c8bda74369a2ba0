#include <gtest/gtest.h>

#include "elk/base/errors.hpp"

namespace elk {
namespace {

TEST(Errors, CarryAMessageAndACode) {
  const InvalidInput error("core.sram must be positive");
  EXPECT_STREQ(error.what(), "core.sram must be positive");
  EXPECT_EQ(error.code(), "invalid_input");
  EXPECT_EQ(Infeasible("too big").code(), "infeasible");
  EXPECT_EQ(InternalError("a bug").code(), "internal");
}

TEST(Errors, TakeANarrowerCode) { EXPECT_EQ(Infeasible("too big", "sram").code(), "sram"); }

TEST(Errors, AreCaughtAsOneFamily) { EXPECT_THROW(throw Infeasible("too big"), Error); }

}  // namespace
}  // namespace elk
