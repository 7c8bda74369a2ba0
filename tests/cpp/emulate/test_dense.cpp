#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/random.hpp"
#include "elk/emulate/kernels/dense.hpp"

namespace elk::emulate {
namespace {

std::vector<float> random_numbers(Random& random, std::int64_t count) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) {
    number = static_cast<float>(random.below(2001) - 1000) / 777.0F;
  }
  return numbers;
}

TEST(Multiply, AddsUpInAscendingOrderWhateverTheSizes) {
  Random random{3};
  for (int i = 0; i < 200; ++i) {
    const std::int64_t m = random.below(11);
    const std::int64_t n = 1 + random.below(50);
    const std::int64_t k = random.below(40);
    const std::vector<float> left = random_numbers(random, m * k);
    const std::vector<float> right = random_numbers(random, k * n);
    std::vector<float> out(static_cast<std::size_t>(m * n), -1.0F);
    multiply(
        {.left = left.data(), .right = right.data(), .out = out.data(), .m = m, .n = n, .k = k});
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t column = 0; column < n; ++column) {
        float sum = 0;
        for (std::int64_t at = 0; at < k; ++at) {
          sum += left[static_cast<std::size_t>((row * k) + at)] *
                 right[static_cast<std::size_t>((at * n) + column)];
        }
        ASSERT_EQ(out[static_cast<std::size_t>((row * n) + column)], sum)
            << m << " x " << n << " x " << k << ": " << row << ", " << column;
      }
    }
  }
}

}  // namespace
}  // namespace elk::emulate
