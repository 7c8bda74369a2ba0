#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/cost/exchange/link_loads.hpp"
#include "elk/cost/exchange/link_use.hpp"

namespace elk::cost {
namespace {

TEST(LinkUse, IsThatOfTheBusiestLinkOfEveryRegion) {
  // Along row 0 of 4 x 8 from its left end to the sixth core, then down; another half as large.
  const chip::Chip mesh = chip::small_mesh(4, 8);
  LinkLoads links(mesh);
  const std::vector<std::int32_t> far{29};
  const std::vector<std::int32_t> near{8};
  links.add(0, far, chip::DimOrder::RowFirst, 10);
  links.add(16, near, chip::DimOrder::RowFirst, 5);
  const LinkUse use = link_use(links.loads(), mesh, 1);
  const std::array<std::uint8_t, kRegions> expected{255, 255, 255, 0, 0, 0, 0,   0,
                                                    255, 255, 255, 0, 0, 0, 128, 0};
  EXPECT_EQ(use.region, expected);
  EXPECT_EQ(link_use(LinkLoads(mesh).loads(), mesh, 1), kEverywhere);  // Nothing is known.
}

TEST(LinkUse, OfTwoPhasesIsTheMeanOverTheirTime) {
  LinkUse first{};
  LinkUse second{};
  first.region[0] = 100;
  second.region[0] = 200;
  EXPECT_EQ(mean_use({first, 3.0}, {second, 1.0}).region[0], 125);
  EXPECT_EQ(mean_use({first, 0.0}, {second, 1.0}), second);
  EXPECT_EQ(mean_use({first, 1.0}, {second, 0.0}), first);
}

}  // namespace
}  // namespace elk::cost
