#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/schedule/bound/neighbour_bound.hpp"
#include "elk/schedule/bound/neighbour_pieces.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

/// A made-up cut.
cost::LayoutCut layout_cut(std::vector<std::int64_t> read, std::vector<std::int64_t> written,
                           double time) {
  return {.read = std::move(read),
          .written = std::move(written),
          .moves = false,
          .execute = {time},
          .whole = {time},
          .turned = cost::kNotTurned,
          .ports = {time}};
}

const cost::LayoutCut kAnyOther{.read = {},
                                .written = {},
                                .moves = true,
                                .execute = {1e-3},
                                .whole = {1e-3},
                                .turned = cost::kNotTurned,
                                .ports = {1e-3}};

/// What a MatMul and what reads its 8 x 64 results take at least on 16 cores, with what is known of
/// the maker and of the reader changed. `free` seconds of what the reader's cuts take longer than
/// 20 ns do not count.
template <class Maker, class Reader>
double made_up(const Maker& change_maker, const Reader& change_reader, double free = 0.0) {
  const ir::Graph graph = test::chain(1, 8, 64, false);
  const chip::Chip chip = test::tight_chip(16, 65536);
  const tile::TileModel tiles = test::analytic();
  const Problem before = test::problem(graph, chip, tiles);
  std::vector<cost::Front> fronts = before.fronts();
  const auto change = [&](OpId op, const auto& how) {
    std::shared_ptr<const cost::LayoutFloor>& known =
        fronts[subscript(before.front_of()[op])].floor.layout_floor;
    cost::LayoutFloor layout_floor = *known;
    how(layout_floor);
    known = std::make_shared<const cost::LayoutFloor>(std::move(layout_floor));
  };
  change(OpId{0}, change_maker);
  change(OpId{1}, change_reader);
  const Problem problem(graph, chip, tiles, fronts, before.front_of());
  const std::vector<ExtraTime> extra{{.least = 0.0}, {.least = 20e-9, .free = free}};
  const NeighbourBound found = neighbour_bound(problem, NeighbourSum::Executes, extra);
  EXPECT_EQ(found.ops.size(), 2);
  return found.time.value;
}

/// The fastest cut of one leaves pieces of 4 x 8, that of the other needs 8 x 4, of which 4 x 4 lie
/// in place on any core.
double at_odds(double exchange, double element_time) {
  return made_up(
      [](cost::LayoutFloor& maker) {
        maker.cuts = {layout_cut({8, 64}, {4, 8}, 10e-9), layout_cut({8, 64}, {8, 4}, 13e-9),
                      kAnyOther};
      },
      [&](cost::LayoutFloor& reader) {
        reader.exchange = {exchange};
        reader.element_time = element_time;
        reader.cuts = {layout_cut({8, 4}, {}, 20e-9), layout_cut({4, 8}, {}, 24e-9), kAnyOther};
      });
}

TEST(NeighbourPieces, TakesTheCheapestOfAgreeingAndMoving) {
  EXPECT_NEAR(at_odds(5e-9, 0.0), 33e-9, 1e-15);           // 13 + 20: they agree.
  EXPECT_NEAR(at_odds(1e-9, 0.0), 31e-9, 1e-15);           // 10 + 1 + 20: a sync is cheaper.
  EXPECT_NEAR(at_odds(1e-9, 1e-9 / 256.0), 32e-9, 1e-15);  // 256 of 512 elements move.
  EXPECT_NEAR(at_odds(1e-9, 4e-9 / 256.0), 33e-9, 1e-15);  // Too many.
}

/// Leaves its results in pieces of 4 x 8.
void of_4_by_8(cost::LayoutFloor& maker) { maker.cuts = {layout_cut({8, 64}, {4, 8}, 10e-9)}; }

/// What reads 8 x 64 elements in pieces of `read` behind results that lie in pieces of 4 x 8 takes
/// beside both executes, if a fragment takes 1 ns and is all there is to a sync.
double fragments(const std::vector<std::int64_t>& read) {
  const double found = made_up(of_4_by_8, [&](cost::LayoutFloor& reader) {
    reader.exchange = {1e-9};
    reader.fragment = {1e-9};
    reader.element_time = 0.0;
    reader.cuts = {layout_cut(read, {}, 20e-9)};
  });
  return found - 30e-9;
}

TEST(NeighbourPieces, CountsAFragmentForEveryRunAtLeast) {
  EXPECT_NEAR(fragments({4, 8}), 0.0, 1e-15);     // Reader and maker agree.
  EXPECT_NEAR(fragments({2, 8}), 1e-9, 1e-15);    // Half of a sender's piece.
  EXPECT_NEAR(fragments({8, 4}), 1e-9, 1e-15);    // One half may be in place.
  EXPECT_NEAR(fragments({8, 8}), 1e-9, 1e-15);    // One half may be in place, of a part in one run.
  EXPECT_NEAR(fragments({1, 32}), 3e-9, 1e-15);   // One of four parts.
  EXPECT_NEAR(fragments({6, 16}), 2e-9, 1e-15);   // 1.5 x 2 parts: less one, rounded up.
  EXPECT_NEAR(fragments({6, 20}), 11e-9, 1e-15);  // Each row in runs of 8 at most: 120 - 32 in 11.
  EXPECT_NEAR(fragments({8, 64}), 60e-9, 1e-15);  // 512 - 32.
  EXPECT_NEAR(fragments({0, 32}), 3e-9, 1e-15);   // How many of the first are needed is not told.
}

/// What a reader of all 8 x 64 elements takes more behind results in pieces of 4 x 8 if it shares
/// them with other cores, so that an exchange is part of its 20 ns. A fragment takes 1 ns.
double shared(double whole, const cost::TimeOfSteps& turned, double free = 0.0) {
  const auto change = [&](cost::LayoutFloor& reader) {
    reader.fragment = {1e-9};
    reader.element_time = 0.0;
    reader.cuts = {layout_cut({8, 64}, {}, 20e-9)};
    reader.cuts[0].moves = true;
    reader.cuts[0].whole.value = whole;
    reader.cuts[0].turned = turned;
  };
  const double found = made_up(of_4_by_8, change, free);
  return found - 30e-9;
}

TEST(NeighbourPieces, CountsFragmentsOfWhatIsSharedUnlessItRotates) {
  // 60 runs at once, one of them counted; of half of it, without the 32 that may be there, 28. In
  // four steps or more a part may be no wider than twice what a core holds, so that only senders
  // count: three for a quarter.
  EXPECT_NEAR(shared(20e-9, cost::kNotTurned), 59e-9, 1e-15);
  EXPECT_NEAR(shared(22e-9, {25e-9, 90e-9, 90e-9, 90e-9, 90e-9}), 32e-9, 1e-15);
  EXPECT_NEAR(shared(22e-9, {25e-9, 40e-9, 60e-9, 80e-9, 99e-9}), 22e-9, 1e-15);
  EXPECT_NEAR(shared(20e-9, {25e-9, 81e-9, 82e-9, 83e-9, 84e-9}), 32e-9, 1e-15);
  EXPECT_NEAR(shared(20e-9, {99e-9, 99e-9, 99e-9, 99e-9, 99e-9}), 59e-9, 1e-15);
}

// What an execute takes longer in one step, or in several, may be free; its fragments are not.
TEST(NeighbourPieces, LeavesOutNoMoreThanWhatIsFree) {
  EXPECT_NEAR(shared(50e-9, cost::kNotTurned), 89e-9, 1e-15);
  EXPECT_NEAR(shared(50e-9, cost::kNotTurned, 10e-9), 79e-9, 1e-15);
  EXPECT_NEAR(shared(50e-9, cost::kNotTurned, 40e-9), 59e-9, 1e-15);
  EXPECT_NEAR(shared(50e-9, {25e-9, 90e-9, 90e-9, 90e-9, 90e-9}, 4e-9), 28e-9, 1e-15);
}

TEST(CutShortlist, LeavesOutWhatTakesLongerThanToFetchAllTheMore) {
  cost::LayoutFloor layout_floor{.cuts = {layout_cut({1}, {1}, 1.0), layout_cut({2}, {2}, 1.5),
                                          layout_cut({4}, {4}, 3.5), layout_cut({8}, {8}, 2.5),
                                          kAnyOther}};
  layout_floor.fetch = {1.0};
  const std::vector<double> times = {1.0, 1.5, 3.5, 2.5, 5.0};
  const CutShortlist few = listed(layout_floor, times, 0.0);
  EXPECT_EQ(few.cuts.size(), 4U);
  EXPECT_EQ(few.cuts[CutId{2}], &layout_floor.cuts[3]);
  EXPECT_EQ(few.most, 3.0);
  const CutShortlist all = listed(layout_floor, times, 1.0);
  EXPECT_EQ(all.cuts.size(), 5U);
  EXPECT_EQ(all.most, 4.0);
}

TEST(ReadingIndex, FindsAllThatMayAgree) {
  Random random{7};
  const auto shape = [&] {
    return std::vector<std::int64_t>{random.below(4), random.below(4), random.below(3)};
  };
  int found = 0;
  for (int round = 0; round < 100; ++round) {
    std::vector<Reading> readings;
    for (int number = 0; number < 20; ++number) {
      readings.push_back({.read = shape(), .moves = random.below(4) == 0});
    }
    readings.push_back({.read = {}, .moves = false});
    const std::vector<std::int64_t> lies = shape();
    std::vector<std::size_t> expected;
    for (std::size_t number = 0; number < readings.size(); ++number) {
      if (!readings[number].moves && may_agree(lies, readings[number].read)) {
        expected.push_back(number);
      }
    }
    std::vector<std::size_t> visited;
    ReadingIndex(readings).each(lies, [&](std::size_t number) { visited.push_back(number); });
    std::sort(visited.begin(), visited.end());
    EXPECT_EQ(visited, expected);
    found += static_cast<int>(visited.size());
  }
  EXPECT_GT(found, 200);
}

}  // namespace
}  // namespace elk::schedule
