#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/partition/collective.hpp"
#include "elk/partition/enumerate.hpp"
#include "partition/collectives.hpp"
#include "partition/ops.hpp"

namespace elk::partition {
namespace {

using test::collective;

ExecutePlan cut_by(const test::OneOp& one, std::vector<std::int64_t> factors) {
  return complete_plan(one.graph, one.op(), std::move(factors), {{}, {}}, test::small_chip(64))
      .value();
}

TEST(Rounds, OfAnAllGatherPassEveryPartToEveryChip) {
  const CollectiveBytes held{.before = 100, .after = 400};
  const std::vector<CollectiveRound> ring =
      rounds(ir::OpKind::AllGather, held, 4, CollectiveAlgorithm::Ring);
  EXPECT_EQ(ring, (std::vector<CollectiveRound>{{.steps = 3, .sent = 100}}));
  const std::vector<CollectiveRound> direct =
      rounds(ir::OpKind::AllGather, held, 4, CollectiveAlgorithm::Direct);
  EXPECT_EQ(direct, (std::vector<CollectiveRound>{{.steps = 1, .sent = 300}}));
}

TEST(Rounds, OfAnAllReduceAreThoseOfAScatterAndOfAGather) {
  // Addends of four bytes, results of two.
  const CollectiveBytes held{.before = 800, .after = 400};
  const std::vector<CollectiveRound> ring =
      rounds(ir::OpKind::AllReduce, held, 4, CollectiveAlgorithm::Ring);
  EXPECT_EQ(ring,
            (std::vector<CollectiveRound>{{.steps = 3, .sent = 200}, {.steps = 3, .sent = 100}}));
  EXPECT_EQ(sent_bytes(ring), 900);
  EXPECT_EQ(sent_bytes(rounds(ir::OpKind::ReduceScatter, held, 4, CollectiveAlgorithm::Direct)),
            600);
}

TEST(Rounds, OfAnAllToAllInARingCarryWhatPassesBy) {
  const CollectiveBytes held{.before = 400, .after = 400};
  const std::vector<CollectiveRound> ring =
      rounds(ir::OpKind::AllToAll, held, 4, CollectiveAlgorithm::Ring);
  EXPECT_EQ(ring,
            (std::vector<CollectiveRound>{
                {.steps = 1, .sent = 300}, {.steps = 1, .sent = 200}, {.steps = 1, .sent = 100}}));
  EXPECT_EQ(sent_bytes(rounds(ir::OpKind::AllToAll, held, 4, CollectiveAlgorithm::Direct)), 300);
}

TEST(Rounds, RoundPartsUp) {
  const CollectiveBytes held{.before = 401, .after = 101};
  EXPECT_EQ(sent_bytes(rounds(ir::OpKind::ReduceScatter, held, 4, CollectiveAlgorithm::Ring)),
            3 * 101);
}

TEST(Collective, IsCutAlongAllAxesButThatOfTheChips) {
  const test::OneOp one = collective(ir::OpKind::AllGather, 8, 32, 4);
  for (std::size_t axis = 0; axis < one.op().axes.size(); ++axis) {
    EXPECT_EQ(divisible(one.op(), static_cast<std::int32_t>(axis)),
              one.op().axes[axis].name != "chip1");
  }
  const ExecutePlan cut = cut_by(one, {1, 1, 4});
  EXPECT_THROW(validate(one.graph, one.op(), cut, test::small_chip(64)), InvalidInput);
  EXPECT_FALSE(rotates(one.op(), 0, 0));
}

TEST(Collective, HoldsOfAGatheredTensorTheSamePartOfEveryChips) {
  const test::OneOp one = collective(ir::OpKind::AllGather, 8, 32, 4);
  EXPECT_EQ(held_by_chip(one.graph, one.op()).before, 8 * 8 * 2);
  EXPECT_EQ(held_by_chip(one.graph, one.op()).after, 8 * 32 * 2);
  const CollectiveBytes core = held_by_core(one.graph, one.op(), cut_by(one, {2, 4, 1}));
  EXPECT_EQ(core.before, 4 * 2 * 2);
  EXPECT_EQ(core.after, 4 * 8 * 2);
}

TEST(Collective, HasRoomForTheAddendsOfAllOtherChips) {
  const test::OneOp sum = collective(ir::OpKind::AllReduce, 8, 32, 4);
  const ExecutePlan plan = cut_by(sum, {2, 4});
  const Addition added = sum_of_core(sum.graph, sum.op(), plan);
  EXPECT_EQ(added.addends, 3);
  EXPECT_EQ(added.elements, 4 * 8 / 4);
  const Footprint held = footprint(sum.graph, sum.op(), plan, test::small_chip(8));
  const std::int64_t tile = 4 * 8 * 2;
  EXPECT_EQ(held.space, Bytes{tile + tile + (3 * tile / 4)});
  EXPECT_EQ(held.rest, Bytes{tile});
  const test::OneOp gather = collective(ir::OpKind::AllGather, 8, 32, 4);
  EXPECT_EQ(addend_space(gather.graph, gather.op(), cut_by(gather, {2, 4, 1})), Bytes{0});
}

TEST(PortsOfAChip, AreSharedByNeighboursWhereFewerThanCores) {
  chip::Chip chip = test::two_chips(64, 65536);
  chip.inter_chip->port_cores = 64;
  EXPECT_EQ(cores_of_port(chip, 64), 1);
  chip.inter_chip->port_cores = 16;
  EXPECT_EQ(cores_of_port(chip, 64), 4);
  EXPECT_EQ(cores_of_port(chip, 50), 4);
  EXPECT_EQ(cores_of_port(chip, 10), 1);
}

}  // namespace
}  // namespace elk::partition
