#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "elk/base/random.hpp"
#include "elk/base/units.hpp"
#include "elk/train/plan/device_times.hpp"

namespace elk::train {
namespace {

/// The preset dgx-a100.
constexpr Gpu kA100{.peak_flops = 312e12,
                    .product_share = 0.74,
                    .memory_rate = 2039e9,
                    .memory_share = 0.9,
                    .launch = {5e-6},
                    .units = 108,
                    .tile_rows = 256,
                    .tile_columns = 128};

DeviceKernel kernel(std::int64_t input, std::int64_t weight, std::int64_t output,
                    bool accumulates = false) {
  return {.product = std::nullopt,
          .input = {input},
          .weight = {weight},
          .output = {output},
          .on_core = {0},
          .accumulates = accumulates};
}

double up(std::int64_t amount, std::int64_t step) {
  return std::ceil(static_cast<double>(amount) / static_cast<double>(step));
}

TEST(GpuTime, IsThatOfTheFormula) {
  Random random{1};
  for (int i = 0; i < 1000; ++i) {
    const ProductSize size{.groups = 1 + random.below(64),
                           .m = 1 + random.below(5000),
                           .n = 1 + random.below(5000),
                           .k = 1 + random.below(5000)};
    DeviceKernel one = kernel(random.below(1 << 30), random.below(1 << 30), random.below(1 << 30));
    const double bytes = static_cast<double>((one.input + one.weight + one.output).value);
    const double by_memory = bytes / (0.9 * 2039e9);
    EXPECT_DOUBLE_EQ(gpu_time(kA100, one).value, by_memory + 5e-6);

    one.product = size;
    const double results = static_cast<double>(size.m) * static_cast<double>(size.n) *
                           static_cast<double>(size.groups);
    const double rounds =
        std::ceil(up(size.m, 256) * up(size.n, 128) * static_cast<double>(size.groups) / 108.0);
    const double q = results / (256.0 * 128.0 * 108.0 * rounds);
    const double by_product = 2.0 * results * static_cast<double>(size.k) / (312e12 * 0.74 * q);
    const double expected = std::max(by_product, by_memory) + 5e-6;
    EXPECT_NEAR(gpu_time(kA100, one).value, expected, 1e-14 * expected)
        << size.groups << " x " << size.m << " x " << size.n << " x " << size.k;
  }
}

TEST(GpuTime, FullRoundsOfTilesReachTheShareThatLargeProductsDo) {
  DeviceKernel one = kernel(0, 0, 0);
  one.product = ProductSize{.groups = 1, .m = 256 * 12, .n = 128 * 9, .k = 1000};  // 108 tiles
  const double flops = 2.0 * 256 * 12 * 128 * 9 * 1000;
  EXPECT_DOUBLE_EQ(gpu_time(kA100, one).value, (flops / (312e12 * 0.74)) + 5e-6);
  DeviceKernel more = one;
  more.product->m += 1;  // Nine more tiles take as long as 108.
  EXPECT_DOUBLE_EQ(gpu_time(kA100, more).value, (2.0 * flops / (312e12 * 0.74)) + 5e-6);
}

void expect_traffic(const SramUse& use, const DeviceKernel& one, std::int64_t read,
                    std::int64_t written) {
  const DramTraffic moved = dram_traffic(use, one);
  EXPECT_EQ(moved.read, Bytes{read});
  EXPECT_EQ(moved.written, Bytes{written});
}

// Kernels here read 100 bytes and 250 of a weight, and write 30.
TEST(DramTraffic, IsNothingWhereAllStays) {
  expect_traffic({.room = {1000}, .weights = {600}, .activations = {400}}, kernel(100, 250, 30), 0,
                 0);
}

TEST(DramTraffic, IsThatOfActivationsWhereWeightsStay) {
  expect_traffic({.room = {999}, .weights = {600}, .activations = {400}}, kernel(100, 250, 30), 100,
                 30);
  expect_traffic({.room = {600}, .weights = {600}, .activations = {700}},
                 kernel(100, 250, 30, true), 100, 30);
}

TEST(DramTraffic, IsThatOfWeightsWhereActivationsStay) {
  const SramUse use{.room = {599}, .weights = {600}, .activations = {400}};
  expect_traffic(use, kernel(100, 250, 30), 250, 0);
  expect_traffic(use, kernel(100, 250, 30, true), 280, 30);
}

TEST(DramTraffic, IsTheLesserWhereEitherStaysButNotBoth) {
  const SramUse use{.room = {999}, .weights = {600}, .activations = {400}};
  expect_traffic(use, kernel(100, 131, 30), 100, 30);
  expect_traffic(use, kernel(100, 129, 30), 129, 0);
}

TEST(DramTraffic, IsTheLesserOfTwoOrdersWhereNothingStays) {
  // In rooms of 80 the weight is 4 parts, the result one: 250 + 400 against 100 + 250.
  const SramUse use{.room = {80}, .weights = {600}, .activations = {400}};
  expect_traffic(use, kernel(100, 250, 30), 350, 30);
  expect_traffic(use, kernel(100, 250, 30, true), 380, 30);
  // A result of 7 parts: 250 + 400 against 100 + 1750.
  expect_traffic(use, kernel(100, 250, 500), 650, 500);
  // A core without room of its own has parts of a byte.
  expect_traffic({.room = {0}, .weights = {600}, .activations = {400}}, kernel(3, 2, 5), 2 + 6, 5);
}

TEST(DramTraffic, ReadsWhatIsNoProductOnceWhereNothingStays) {
  expect_traffic({.room = {80}, .weights = {600}, .activations = {400}}, kernel(100, 0, 30), 100,
                 30);
}

TEST(DramTraffic, MoreRoomNeverMovesMore) {
  Random random{2};
  for (int i = 0; i < 1000; ++i) {
    const DeviceKernel one =
        kernel(random.below(100), random.below(100), random.below(100), random.below(2) == 0);
    // A stage has the weight of the kernel, and holds what it reads and writes.
    SramUse use{.room = {0},
                .weights = one.weight + Bytes{random.below(300)},
                .activations = one.input + one.output + Bytes{random.below(300)}};
    std::int64_t before = dram_traffic(use, one).read.value + dram_traffic(use, one).written.value;
    for (std::int64_t room = 1; room < 900; ++room) {
      use.room = {room};
      const DramTraffic moved = dram_traffic(use, one);
      const std::int64_t now = moved.read.value + moved.written.value;
      ASSERT_LE(now, before) << "room " << room << ", input " << one.input.value << ", weight "
                             << one.weight.value << ", output " << one.output.value << ", weights "
                             << use.weights.value << ", activations " << use.activations.value
                             << ", accumulates " << one.accumulates;
      before = now;
    }
  }
}

}  // namespace
}  // namespace elk::train
