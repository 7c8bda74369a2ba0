#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/cost/front/front.hpp"
#include "elk/cost/option.hpp"
#include "elk/cost/price/collective_price.hpp"
#include "elk/cost/price/price.hpp"
#include "elk/partition/enumerate.hpp"
#include "partition/collectives.hpp"
#include "schedule/models.hpp"

namespace elk::cost {
namespace {

using partition::CollectiveAlgorithm;

/// One of four chips with 1 GB/s between them and 1 us a message.
chip::Chip one_of_four(chip::Topology topology = chip::Topology::AllToAll) {
  chip::Chip chip = chip::one_of(test::tight_pair(16, 65536));
  chip.inter_chip->rate = 1e9;
  chip.inter_chip->latency = {1e-6};
  chip.inter_chip->sync_latency = {0.0};
  chip.inter_chip->port_cores = 16;
  chip.inter_chip->topology = topology;
  return chip;
}

PlanOption priced(const test::OneOp& one, std::vector<std::int64_t> factors,
                  const chip::Chip& chip) {
  const auto plan =
      partition::complete_plan(one.graph, one.op(), std::move(factors), {{}, {}}, chip);
  return price(one.graph, one.op(), *plan, chip, test::analytic());
}

TEST(LinkPhase, IsDirectWhereMessagesCostMore) {
  const partition::CollectiveBytes held{.before = 1000, .after = 4000};
  const LinkPhase direct = link_phase(ir::OpKind::AllGather, held, {0, 0}, 4, one_of_four());
  EXPECT_EQ(direct.way, CollectiveAlgorithm::Direct);
  EXPECT_NEAR(direct.time.value, 1e-6 + 3e-6, 1e-12);
  EXPECT_EQ(direct.sent, Bytes{3000});
}

TEST(LinkPhase, IsARingWhereDirectMessagesPassOtherChips) {
  const chip::Chip ring = one_of_four(chip::Topology::Ring);
  const partition::CollectiveBytes held{.before = 1'000'000, .after = 4'000'000};
  const LinkPhase found = link_phase(ir::OpKind::AllGather, held, {0, 0}, 4, ring);
  EXPECT_EQ(found.way, CollectiveAlgorithm::Ring);
  EXPECT_NEAR(found.time.value, 3e-6 + 3e-3, 1e-12);
  // Of 16 chips in a row and column each, a message passes 2.5 links of a chip on average.
  const LinkPhase grid =
      link_phase(ir::OpKind::AllGather, held, {0, 0}, 16, one_of_four(chip::Topology::Mesh2d));
  EXPECT_EQ(grid.way, CollectiveAlgorithm::Ring);
}

TEST(LinkPhase, IsNoFasterThanThePortsLinks) {
  const chip::Chip chip = one_of_four();
  const partition::CollectiveBytes held{.before = 1000, .after = 4000};
  const std::int64_t piece = 100'000'000;
  const LinkPhase found =
      link_phase(ir::OpKind::AllGather, held, {.before = piece, .after = 4 * piece}, 4, chip);
  EXPECT_GE(found.time.value, 3.0 * static_cast<double>(piece) / chip.interconnect.link_rate);
}

TEST(PriceOfACollective, IsThatOfItsThreePhases) {
  const test::OneOp one = test::collective(ir::OpKind::AllReduce, 8, 32, 4);
  const chip::Chip chip = one_of_four();
  const PlanOption option = priced(one, {2, 8}, chip);
  const LinkPhase link = link_phase(one.op().kind, {.before = 512, .after = 512},
                                    {.before = 32, .after = 32}, 4, chip);
  EXPECT_EQ(option.way, link.way);
  EXPECT_EQ(option.shift.crossing, Bytes{6 * 128});
  EXPECT_EQ(option.gather.bytes, Bytes{32});
  EXPECT_EQ(option.shift.bytes, Bytes{6 * 8});
  EXPECT_GT(option.shift.time, link.time) << "sums are added up";
  EXPECT_EQ(option.reduce.time, Seconds{0.0}) << "every core has a port of its own";
  EXPECT_DOUBLE_EQ(option.time.value, (option.gather.time + option.shift.time).value);
  EXPECT_EQ(option.exchange, Bytes{32 + 48});
  EXPECT_EQ(option.states.size(), 1U);
}

TEST(PriceOfACollective, CountsWhatCoresHandToTheirPort) {
  const test::OneOp one = test::collective(ir::OpKind::AllReduce, 8, 32, 4);
  chip::Chip chip = one_of_four();
  const PlanOption all = priced(one, {2, 8}, chip);
  chip.inter_chip->port_cores = 4;
  const PlanOption few = priced(one, {2, 8}, chip);
  EXPECT_EQ(few.gather.bytes, all.gather.bytes + Bytes{3 * 32});
  EXPECT_EQ(few.reduce.bytes, Bytes{3 * 32});
  EXPECT_EQ(few.shift.bytes, Bytes{4 * 48});
  EXPECT_EQ(few.footprint.space, all.footprint.space);
}

TEST(FrontOfACollective, IsAboveItsFloorAndDominatesEveryCut) {
  for (const ir::OpKind kind : {ir::OpKind::AllReduce, ir::OpKind::AllGather,
                                ir::OpKind::ReduceScatter, ir::OpKind::AllToAll}) {
    const test::OneOp one = test::collective(kind, 8, 32, 4);
    const chip::Chip chip = one_of_four();
    const Front found = front(one.graph, one.op(), chip, test::analytic(), {});
    ASSERT_FALSE(found.options.empty());
    EXPECT_EQ(found.counts.pareto, static_cast<std::int64_t>(found.options.size()));
    std::vector<std::int64_t> factors(one.op().axes.size(), 1);
    for (factors[0] = 1; factors[0] <= 2; ++factors[0]) {
      for (const std::int64_t cut : {1, 2, 4, 8}) {
        factors[1] = cut;
        const PlanOption option = priced(one, factors, chip);
        EXPECT_GE(option.time - option.gather.time, found.floor.execute);
        EXPECT_TRUE(
            std::any_of(found.options.begin(), found.options.end(), [&](const PlanOption& kept) {
              return kept.time <= option.time && kept.exchange <= option.exchange &&
                     kept.footprint.space <= option.footprint.space;
            }));
      }
    }
  }
}

// Of every cut that there is: none adds up what all chips sum in no time.
TEST(FrontOfACollective, HasTheFloorOfItsBestCutWithAllInPlace) {
  const test::OneOp one = test::collective(ir::OpKind::AllReduce, 8, 32, 4);
  const chip::Chip chip = one_of_four();
  const Front found = front(one.graph, one.op(), chip, test::analytic(), {});
  const LinkPhase link = link_phase(one.op().kind, {.before = 512, .after = 512},
                                    {.before = 512 / 16, .after = 512 / 16}, 4, chip);
  EXPECT_GT(found.floor.execute, link.time);
  EXPECT_TRUE(
      std::any_of(found.options.begin(), found.options.end(), [&](const PlanOption& option) {
        return option.shift.time + option.reduce.time == found.floor.execute;
      }));
}

TEST(FrontOfACollective, FitsAGridWithTwoCutAxes) {
  const test::OneOp one = test::collective(ir::OpKind::AllGather, 8, 64, 4);
  chip::Chip chip = one_of_four();
  chip.interconnect.topology = chip::Topology::Mesh2d;
  chip.core.rows = 4;
  chip.core.cols = 4;
  const Front found = front(one.graph, one.op(), chip, test::analytic(), {});
  ASSERT_FALSE(found.options.empty());
  for (const PlanOption& option : found.options) {
    EXPECT_NO_THROW(partition::validate(one.graph, one.op(), option.plan, chip));
  }
}

}  // namespace
}  // namespace elk::cost
