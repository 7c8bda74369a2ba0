#include <gtest/gtest.h>

#include "elk/cost/exchange/store.hpp"

namespace elk::cost {
namespace {

TEST(PieceEfficiency, IsThatOfScatteredReadsOverSequentialOnes) {
  EXPECT_NEAR(piece_efficiency({256}), 0.239, 0.001);
  EXPECT_NEAR(piece_efficiency({1024}), 0.728, 0.001);
  EXPECT_EQ(piece_efficiency({32768}), 1.0);
  EXPECT_EQ(piece_efficiency({1 << 30}), 1.0);
}

TEST(PieceEfficiency, NeverFallsAsPiecesGrow) {
  double last = 0.0;
  for (std::int64_t run = 1; run < 100000; run += 37) {
    EXPECT_GE(piece_efficiency({run}), last);
    last = piece_efficiency({run});
  }
}

}  // namespace
}  // namespace elk::cost
