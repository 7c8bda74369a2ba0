#include <type_traits>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/text.hpp"

namespace elk {
namespace {

static_assert(!std::is_convertible_v<OpId, CoreId>);
static_assert(!std::is_convertible_v<int, OpId>);

TEST(Ids, OrderAndCompareByPosition) {
  EXPECT_LT(OpId{1}, OpId{2});
  EXPECT_EQ(OpId{3}, id_at<OpId>(3));
  EXPECT_EQ(OpId{3}.index(), 3U);
}

TEST(Ids, PrintTheirPosition) { EXPECT_EQ(text(OpId{7}), "7"); }

}  // namespace
}  // namespace elk
