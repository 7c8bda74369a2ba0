#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/emulate/kernels/element.hpp"

namespace elk::emulate {
namespace {

/// `values` stored as `dtype` and read again.
std::vector<double> stored(const std::vector<double>& values, ir::DType dtype) {
  std::vector<std::byte> bytes((values.size() * 8) + 8);
  const ElementSequence run{
      .first = 0, .step = 1, .count = static_cast<std::int64_t>(values.size())};
  save(values.data(), run, {.data = bytes.data(), .dtype = dtype});
  std::vector<double> result(values.size());
  load(Elements{.data = bytes.data(), .dtype = dtype}, run, result.data());
  return result;
}

TEST(Elements, RoundToNearestEvenInSixteenBits) {
  // 2048 + 1 lies halfway between two neighbours; 2048 + 3 as well, and the even one is above.
  EXPECT_EQ(stored({2049, 2051, 65504, 1e9}, ir::DType::F16),
            (std::vector<double>{2048, 2052, 65504, std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(stored({257, 259, -257}, ir::DType::BF16), (std::vector<double>{256, 260, -256}));
}

TEST(Elements, AreNotRoundedTwice) {
  // The nearest float lies halfway between two halves; the number itself lies above it.
  EXPECT_EQ(stored({2049.0000001}, ir::DType::F16), (std::vector<double>{2050}));
}

TEST(Elements, KeepTheLowBitsOfIntegers) {
  EXPECT_EQ(stored({300, -1, 127}, ir::DType::U8), (std::vector<double>{44, 255, 127}));
  EXPECT_EQ(stored({300, -129}, ir::DType::I8), (std::vector<double>{44, 127}));
  EXPECT_EQ(stored({0, 2, 0.5}, ir::DType::Bool), (std::vector<double>{0, 1, 1}));
}

TEST(Elements, OfFourBitsShareBytes) {
  EXPECT_EQ(stored({-8, 7, -1}, ir::DType::I4), (std::vector<double>{-8, 7, -1}));
  std::array<std::byte, 2> bytes{};
  const std::vector<std::int64_t> values{3, 12};
  save(values.data(), {.first = 1, .step = 1, .count = 2},
       {.data = bytes.data(), .dtype = ir::DType::U4});
  EXPECT_EQ(static_cast<int>(bytes[0]), 0x30);
  EXPECT_EQ(static_cast<int>(bytes[1]), 0x0C);
}

TEST(Elements, OfEightBitFloatsAreRefused) {
  EXPECT_THROW((void)stored({1}, ir::DType::F8), InvalidInput);
}

}  // namespace
}  // namespace elk::emulate
