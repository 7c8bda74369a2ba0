#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "base/rounds.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/cost/exchange/busiest_link.hpp"
#include "elk/cost/exchange/link_loads.hpp"

/// Messages on the busiest link, told by what is known of lines, and counted message by message.
namespace elk::cost {
namespace {

using Receivers = std::vector<std::int32_t>;

chip::Chip grid_with(chip::Topology topology, const chip::PerDim& sides) {
  chip::Chip chip{};
  chip.chips = 1;
  chip.core.count = sides[0] * sides[1] * sides[2];
  chip.core.rows = sides[0];
  chip.core.cols = sides[1];
  chip.core.depth = sides[2];
  chip.interconnect.topology = topology;
  return chip;
}

/// Some cores of a grid, as `BusiestLink` numbers them.
struct GridCase {
  chip::Chip chip;
  chip::PerDim cores;

  [[nodiscard]] std::int64_t count() const { return cores[0] * cores[1] * cores[2]; }
  [[nodiscard]] std::int32_t core(std::int64_t number) const {
    const chip::PerDim place{number / cores[2] / cores[1], number / cores[2] % cores[1],
                             number % cores[2]};
    return static_cast<std::int32_t>(chip::network_of(chip).node(place));
  }
  [[nodiscard]] bool wraps() const {
    return chip.interconnect.topology == chip::Topology::Torus2d ||
           chip.interconnect.topology == chip::Topology::Ring;
  }
};

GridCase random_grid_case(Random& random) {
  constexpr std::array kKinds{chip::Topology::Mesh2d, chip::Topology::Torus2d, chip::Topology::Ring,
                              chip::Topology::Mesh3d, chip::Topology::Groups};
  const chip::Topology topology = kKinds[subscript(random.below(5))];
  const bool deep = topology == chip::Topology::Mesh3d || topology == chip::Topology::Groups;
  const chip::PerDim sides{topology == chip::Topology::Ring ? 1 : 1 + random.below(deep ? 4 : 7),
                           deep ? 2 + random.below(4) : 1 + random.below(9),
                           deep ? 1 + random.below(4) : 1};
  return {.chip = grid_with(topology, sides),
          .cores = {1 + random.below(sides[0]), 1 + random.below(sides[1]),
                    1 + random.below(sides[2])}};
}

/// What the busiest link carries, and the links of the longest way.
struct LinkCount {
  std::int64_t most;
  std::int64_t hops;
};

/// Where `receivers(number)` are the numbers of the cores to which a core sends one message each.
LinkCount counted_on_links(const GridCase& one,
                           const std::function<Receivers(std::int64_t)>& receivers, bool tree) {
  LinkLoads links(one.chip);
  for (std::int64_t from = 0; from < one.count(); ++from) {
    Receivers to;
    for (const std::int32_t number : receivers(from)) {
      if (number != from) {
        to.push_back(one.core(number));
      }
    }
    if (tree) {
      links.add(one.core(from), to, chip::DimOrder::RowFirst, 1);
    } else {
      for (const std::int32_t core : to) {
        links.add(one.core(from), {&core, 1}, chip::DimOrder::RowFirst, 1);
      }
    }
  }
  return {.most = links.busiest(), .hops = links.hops()};
}

Receivers first_cores(std::int64_t count) {
  Receivers result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), 0);
  return result;
}

/// What was told of cases, beside what was counted.
struct LinkTally {
  int cases = 0;
  int exact = 0;

  /// `exactly`: where the count is proved, not only a lower bound.
  void compare(std::int64_t told, std::int64_t counted, bool exactly) {
    EXPECT_LE(told, counted);
    EXPECT_TRUE(told == counted || !exactly) << told << " of " << counted;
    ++cases;
    exact += told == counted ? 1 : 0;
  }
  [[nodiscard]] double share() const { return static_cast<double>(exact) / cases; }
};

constexpr int kLinkRounds = 2000;

TEST(BusiestLink, CountsMessagesToEachOfSomeCores) {
  Random random{3};
  LinkTally tally;
  for (int round = 0; round < test::rounds(kLinkRounds); ++round) {
    const GridCase one = random_grid_case(random);
    const std::int64_t receivers = 1 + random.below(one.count());
    const LinkCount all =
        counted_on_links(one, [&](std::int64_t) { return first_cores(receivers); }, false);
    BusiestLink busiest(one.chip);
    tally.compare(busiest.to_each(one.cores, receivers), all.most,
                  receivers % (one.cores[1] * one.cores[2]) == 0);
    tally.compare(busiest.hops(one.cores), all.hops, !one.wraps());
  }
  EXPECT_GT(tally.share(), 0.9);
}

TEST(BusiestLink, CountsTreesToAllCores) {
  Random random{4};
  LinkTally tally;
  for (int round = 0; round < test::rounds(kLinkRounds); ++round) {
    const GridCase one = random_grid_case(random);
    const LinkCount all =
        counted_on_links(one, [&](std::int64_t) { return first_cores(one.count()); }, true);
    const BusiestLink busiest(one.chip);
    tally.compare(busiest.to_all(one.cores), all.most, !one.wraps());
    tally.compare(busiest.hops(one.cores), all.hops, !one.wraps());
  }
  EXPECT_GT(tally.share(), 0.9);
}

void compare_pairs(const GridCase& one, std::int64_t level, LinkTally& tally) {
  const auto partner = [&](std::int64_t number) {
    const std::int64_t other = number ^ level;
    return other < one.count() ? Receivers{static_cast<std::int32_t>(other)} : Receivers{};
  };
  const LinkCount all = counted_on_links(one, partner, false);
  const BusiestLink busiest(one.chip);
  const bool lines = one.cores[2] == 1 && (one.cores[0] == 1 || level % one.cores[1] == 0);
  tally.compare(busiest.in_pairs(one.cores, level), all.most, lines);
  tally.compare(busiest.hops_in_pairs(one.cores, level), all.hops, lines);
}

TEST(BusiestLink, CountsPairs) {
  Random random{5};
  LinkTally tally;
  for (int round = 0; round < test::rounds(kLinkRounds); ++round) {
    const GridCase one = random_grid_case(random);
    for (std::int64_t level = 1; level < one.count(); level *= 2) {
      compare_pairs(one, level, tally);
    }
  }
  EXPECT_GT(tally.share(), 0.7);
}

TEST(BusiestLink, CountsWhatTheFirstCoreExchanges) {
  Random random{6};
  LinkTally tally;
  for (int round = 0; round < test::rounds(kLinkRounds); ++round) {
    const GridCase one = random_grid_case(random);
    const std::int64_t others = random.below(one.count());
    const auto to_first = [&](std::int64_t from) {
      return from <= others ? first_cores(1) : Receivers{};
    };
    const auto from_first = [&](std::int64_t from) {
      return from == 0 ? first_cores(others + 1) : Receivers{};
    };
    const LinkCount in = counted_on_links(one, to_first, false);
    const LinkCount out = counted_on_links(one, from_first, false);
    const BusiestLink busiest(one.chip);
    tally.compare(busiest.to_first(one.cores, others), in.most, !one.wraps());
    tally.compare(busiest.from_first(one.cores, others), out.most, !one.wraps());
    tally.compare(busiest.hops_of_first(one.cores, others), out.hops, !one.wraps());
  }
  EXPECT_GT(tally.share(), 0.8);
}

}  // namespace
}  // namespace elk::cost
