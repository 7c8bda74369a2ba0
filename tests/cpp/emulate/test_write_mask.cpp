#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/random.hpp"
#include "elk/emulate/memory/write_mask.hpp"

namespace elk::emulate {
namespace {

std::int64_t first_unset(const std::vector<char>& flags, std::int64_t begin, std::int64_t bytes) {
  std::int64_t at = begin;
  while (at < begin + bytes && flags[static_cast<std::size_t>(at)] != 0) {
    ++at;
  }
  return at;
}

TEST(WriteMask, SaysOfEveryRangeWhatOneFlagAByteSays) {
  constexpr std::int64_t kBytes = 300;
  Random random{7};
  WriteMask written(kBytes);
  std::vector<char> flags(kBytes, 0);
  std::int64_t gaps = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t begin = random.below(kBytes + 1);
    const std::int64_t bytes = random.below(kBytes - begin + 1);
    if (random.below(3) > 0) {
      const bool sets = random.below(5) > 0;
      sets ? written.set(begin, bytes) : written.clear(begin, bytes);
      std::fill_n(flags.begin() + begin, bytes, static_cast<char>(sets));
    }
    const std::int64_t from = random.below(kBytes);
    const std::int64_t count = random.below(kBytes - from + 1);
    const std::int64_t gap = first_unset(flags, from, count);
    ASSERT_EQ(written.first_unset(from, count), gap) << from << ", " << count;
    gaps += gap < from + count ? 1 : 0;
  }
  EXPECT_GT(gaps, 2000);
  EXPECT_LT(gaps, 18000);
}

}  // namespace
}  // namespace elk::emulate
