#include <cstdint>
#include <cstdlib>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/front/vicinity.hpp"

namespace elk::cost {
namespace {

using Cut = Table<AxisId, std::int64_t>;

const Factors kAll{{1, 2, 3, 4, 6, 12}, {1, 2, 5, 10}};
const Factors kFirst{{1, 12}, {1, 10}};

TEST(Vicinity, HasTheCutsOneStepAwayThatTheCoresAllow) {
  Vicinity vicinity(kAll, kFirst, 10);
  const std::vector<Cut> found = vicinity.around(Cut{3, 2});
  EXPECT_EQ(std::set<Cut>(found.begin(), found.end()),
            (std::set<Cut>{{2, 2}, {3, 1}, {4, 2}, {4, 1}, {2, 5}}));
  EXPECT_EQ(vicinity.met(), 5U);
}

TEST(Vicinity, MeetsEachCutOnceAndLeavesOutThoseVisited) {
  Vicinity vicinity(kAll, kFirst, 40);
  std::set<Cut> met;
  std::vector<Cut> from{{3, 2}};
  while (!from.empty()) {
    const Cut cut = from.back();
    from.pop_back();
    for (const Cut& next : vicinity.around(cut)) {
      EXPECT_TRUE(met.insert(next).second);
      from.push_back(next);
    }
    EXPECT_TRUE(vicinity.around(cut).empty());
  }
  std::set<Cut> expected;
  for (const std::int64_t a : kAll[AxisId{0}]) {
    for (const std::int64_t b : kAll[AxisId{1}]) {
      const bool visited = (a == 1 || a == 12) && (b == 1 || b == 10);
      if (a * b <= 40 && !visited) {
        expected.insert({a, b});
      }
    }
  }
  EXPECT_EQ(met, expected);
}

}  // namespace
}  // namespace elk::cost
