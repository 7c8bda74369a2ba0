#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/base/random.hpp"
#include "elk/sim/flows/fair.hpp"
#include "sim/obvious.hpp"

namespace elk::sim {
namespace {

FlowSet random_sharing(Random& random) {
  FlowSet sharing;
  const std::int64_t resources = 1 + random.below(5);
  const std::int64_t flows = 1 + random.below(7);
  for (std::int64_t r = 0; r < resources; ++r) {
    sharing.capacity.push_back(grains(Rate{1 + random.below(60)}));
  }
  sharing.begin.push_back(0);
  for (std::int64_t f = 0; f < flows; ++f) {
    sharing.cap.push_back(random.below(3) == 0 ? grains(Rate{1 + random.below(20)}) : Wide{0});
    const std::int32_t first = static_cast<std::int32_t>(random.below(resources));
    for (std::int32_t r = first; r < resources;
         r += 1 + static_cast<std::int32_t>(random.below(3))) {
      sharing.uses.push_back({{r}, 1 + static_cast<std::int32_t>(random.below(3))});
    }
    sharing.begin.push_back(static_cast<std::int32_t>(sharing.uses.size()));
  }
  return sharing;
}

std::vector<FairShare> shares_of(const FlowSet& sharing) {
  FairScratch scratch;
  std::vector<FairShare> shares;
  fair_shares(sharing, scratch, shares);
  return shares;
}

double value(Fraction f) { return static_cast<double>(f.num) / static_cast<double>(f.den); }

TEST(FairShares, AreThoseOfTheObviousWay) {
  Random random{7};
  int exact = 0;
  for (int k = 0; k < 5000; ++k) {
    const FlowSet sharing = random_sharing(random);
    const std::vector<FairShare> shares = shares_of(sharing);
    const std::vector<Fraction> expected = obvious_shares(sharing);
    for (std::size_t f = 0; f < shares.size(); ++f) {
      const Fraction got{shares[f].num, shares[f].den};
      // Off by the grains that earlier rounds rounded: 1e-10 bytes per second each.
      ASSERT_LE(std::abs(value(got - expected[f])), 20.0);
      exact += got == expected[f] ? 1 : 0;
    }
  }
  EXPECT_GT(exact, 18000);
}

TEST(FairShares, NoResourceIsOverloadedAndEveryFlowIsHeldUpSomewhere) {
  Random random{11};
  for (int k = 0; k < 5000; ++k) {
    const FlowSet sharing = random_sharing(random);
    const std::vector<FairShare> shares = shares_of(sharing);
    std::vector<Wide> load(sharing.capacity.size(), 0);
    std::vector<std::int64_t> crossings(sharing.capacity.size(), 0);
    for (std::size_t f = 0; f < shares.size(); ++f) {
      for (std::int32_t u = sharing.begin[f]; u < sharing.begin[f + 1]; ++u) {
        const ResourceUse& use = sharing.uses[static_cast<std::size_t>(u)];
        load[use.resource.index()] += shares[f].num * use.weight / shares[f].den;
        ++crossings[use.resource.index()];
      }
    }
    for (std::size_t r = 0; r < load.size(); ++r) {
      EXPECT_LE(load[r], sharing.capacity[r]);
    }
    for (std::size_t f = 0; f < shares.size(); ++f) {
      bool held = sharing.cap[f] > 0 && shares[f] == FairShare{sharing.cap[f], 1};
      for (std::int32_t u = sharing.begin[f]; u < sharing.begin[f + 1]; ++u) {
        const std::size_t r = sharing.uses[static_cast<std::size_t>(u)].resource.index();
        held = held || sharing.capacity[r] - load[r] <= crossings[r];
      }
      EXPECT_TRUE(held);
    }
  }
}

TEST(FairShares, DoNotDependOnTheOrderOfFlowsAndResources) {
  Random random{13};
  for (int k = 0; k < 2000; ++k) {
    const FlowSet sharing = random_sharing(random);
    const std::vector<FairShare> shares = shares_of(sharing);
    const std::size_t flows = shares.size();
    const auto resources = static_cast<std::int32_t>(sharing.capacity.size());
    FlowSet turned;  // both backwards
    turned.capacity.assign(sharing.capacity.rbegin(), sharing.capacity.rend());
    turned.cap.assign(sharing.cap.rbegin(), sharing.cap.rend());
    turned.begin.push_back(0);
    for (std::size_t f = flows; f-- > 0;) {
      for (std::int32_t u = sharing.begin[f]; u < sharing.begin[f + 1]; ++u) {
        const ResourceUse& use = sharing.uses[static_cast<std::size_t>(u)];
        turned.uses.push_back({{resources - 1 - use.resource.value}, use.weight});
      }
      turned.begin.push_back(static_cast<std::int32_t>(turned.uses.size()));
    }
    std::vector<FairShare> back = shares_of(turned);
    std::reverse(back.begin(), back.end());
    EXPECT_EQ(back, shares);
  }
}

TEST(FairShares, RefuseAFlowThatNothingHolds) {
  FlowSet sharing;
  sharing.cap = {0};
  sharing.begin = {0, 0};
  EXPECT_THROW((void)shares_of(sharing), InternalError);
}

TEST(FairShare, SplitsAreExactFractions) {
  EXPECT_EQ(split(Wide{12}, 4), (FairShare{3, 1}));
  EXPECT_EQ(split(Wide{10}, 4), (FairShare{5, 2}));
  EXPECT_EQ(split(Wide{1}, 37), (FairShare{1, 37}));
  EXPECT_EQ(time_to_move(Wide{10}, FairShare{10, 37}), Picoseconds{37});
  EXPECT_EQ(time_to_move(Wide{11}, FairShare{10, 37}), Picoseconds{41});  // 40.7
  EXPECT_EQ(moved(FairShare{10, 37}, {37}), 10);
}

}  // namespace
}  // namespace elk::sim
