#include <cstdint>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "elk/analyze/cell_set.hpp"
#include "elk/base/random.hpp"

namespace elk::analyze {
namespace {

TEST(CellSet, FindsTheLastMemberUpToACellInSetsOfAnySize) {
  Random random{4};
  for (const std::int32_t cells : {0, 1, 63, 64, 65, 4095, 4096, 4097, 300'000}) {
    CellSet set(CellId{cells});
    std::set<CellId> obvious{CellId{0}};
    set.insert(CellId{0});
    for (int change = 0; change < 2000; ++change) {
      const auto cell = id_at<CellId>(random.below(cells + 1));
      if (random.below(2) == 0) {
        set.insert(cell);
        obvious.insert(cell);
      } else if (const CellId last = set.last(cell); last > CellId{0}) {
        set.erase(last);
        obvious.erase(last);
      }
      const auto asked = id_at<CellId>(random.below(cells + 1));
      ASSERT_EQ(set.last(asked), *std::prev(obvious.upper_bound(asked))) << "of " << cells;
      ASSERT_EQ(set.last(CellId{cells}), *obvious.rbegin()) << "of " << cells;
    }
  }
}

}  // namespace
}  // namespace elk::analyze
