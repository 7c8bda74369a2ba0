#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/program/expand/execution.hpp"
#include "elk/program/expand/loading.hpp"
#include "partition/ops.hpp"
#include "program/models.hpp"

namespace elk::program {
namespace {

/// y[8, 64] = x[8, 64] w[64, 64] alone, cut by `factors`.
struct Product {
  Chain chain;
  OpPlan plan;

  [[nodiscard]] PlacedOp placed(const chip::Chip& chip) const {
    return {chain.graph, chain.graph.ops[OpId{0}], plan, chip};
  }
};

Product product(Table<AxisId, std::int64_t> factors) {
  Product out{.chain = chain(), .plan = {}};
  out.plan = cut(out.chain.graph, OpId{0}, std::move(factors));
  return out;
}

std::int64_t sum(const Table<CoreId, std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

// k cut in 4: each of 4 cores has a partial tile of 8 x 64 f16, 1,024 bytes, keeps a quarter of it
// and receives that quarter from 3 others.
TEST(Execution, ScattersPartialTilesAmongTheirCores) {
  const chip::Chip chip = chip::small_chip();
  const Product one = product({1, 1, 4});
  const std::vector<ReductionRound> rounds = reductions(one.placed(chip));
  ASSERT_EQ(rounds.size(), 1U);
  EXPECT_EQ(rounds[0].parts, 4);
  const PortTraffic moved = traffic(rounds[0].exchange, chip);
  for (const CoreId core : first_ids<CoreId>(4)) {
    EXPECT_EQ(moved.received[core], 3 * 256);
    EXPECT_EQ(moved.sent[core], 3 * 256);
  }
  EXPECT_EQ(sum(moved.received), 4 * 3 * 256);
}

// Of 5 partial tiles of 8 x 64 f16 every element goes from 4 cores to the one that keeps it.
TEST(Execution, ScattersEveryElementOfTilesThatDoNotDivide) {
  const chip::Chip chip = chip::small_chip();
  const Product one = product({1, 1, 5});
  const PortTraffic moved = traffic(reductions(one.placed(chip)).front().exchange, chip);
  EXPECT_EQ(sum(moved.received), 4 * 8 * 64 * 2);
}

TEST(Execution, AddsUpRowsInATreeOfTheLeastHeight) {
  const chip::Chip chip = chip::small_chip();
  const test::OneOp one = test::softmax(4, 40);
  const std::map<std::int64_t, std::int64_t> height{{2, 1}, {4, 2}, {5, 3}, {8, 3}};
  for (const auto& [cores, levels] : height) {
    const OpPlan plan{
        .execute = *partition::complete_plan(one.graph, one.op(), {1, cores}, {{}, {}}, chip),
        .divisor = {0, 0},
        .tree = true};
    EXPECT_EQ(static_cast<std::int64_t>(reductions({one.graph, one.op(), plan, chip}).size()),
              partition::row_sums(one.op()).rounds * levels)
        << cores << " cores";
  }
}

// w is needed by 4 cores that differ in m. At divisor 4 each receives a quarter of its 2,048 bytes
// from the HBM and three quarters from its peers, to whom it sends its own once.
TEST(Execution, SharesPreloadedPiecesAmongPeers) {
  const chip::Chip chip = chip::small_chip();
  Product one = product({4, 4, 1});
  one.plan.divisor[OperandId{1}] = 4;
  Exchange exchange;
  add_setup(one.placed(chip), OperandId{1}, exchange);
  const PortTraffic moved = traffic(exchange, chip);
  for (const CoreId core : first_ids<CoreId>(16)) {
    EXPECT_EQ(moved.received[core], 3 * 512);
    EXPECT_EQ(moved.sent[core], 512);
    EXPECT_EQ(moved.fragments[core], 3);
  }
  const Loading loading = preload(one.placed(chip));
  EXPECT_EQ(loading.hbm_bytes, std::vector<std::int64_t>{64 * 64 * 2});
  Table<CoreId, std::int64_t> received(64, 0);
  for (const LoadingPiece& piece : loading.pieces) {
    for (const CoreId core : piece.cores) {
      received[core] += piece.bytes;
    }
  }
  EXPECT_EQ(sum(received), 16 * 512);
  EXPECT_EQ(received[CoreId{0}], 512);
}

// w rotates along n in 4 parts among 4 cores that differ in m: 4 steps, 3 shifts of 64 x 4 f16.
TEST(Execution, PassesRotatingPartsRoundTheirRing) {
  const chip::Chip chip = chip::small_chip();
  Product one = product({4, 4, 1});
  one.plan.execute.temporal[OperandId{1}] = {1, 4};
  one.plan.execute.pace[AxisId{1}] = 4;
  one.plan.execute.loops = {AxisId{1}};
  const std::vector<partition::Layout> none;
  const Table<OperandId, const partition::Layout*> have(3, nullptr);
  const Execution execution = expand(one.placed(chip), have);
  EXPECT_EQ(execution.steps, 4);
  ASSERT_EQ(execution.rotations.size(), 1U);
  EXPECT_EQ(execution.rotations[0].every, 1);
  const PortTraffic moved = traffic(execution.rotations[0].exchange, chip);
  for (const CoreId core : first_ids<CoreId>(16)) {
    EXPECT_EQ(moved.received[core], 64 * 4 * 2);
    EXPECT_EQ(moved.sent[core], 64 * 4 * 2);
  }
  for_each_send(execution.rotations[0].exchange, chip, [&](const Send& send) {
    EXPECT_EQ(send.core.value % 4, send.receivers.front().value % 4);  // Both have one part of n.
  });
}

// w rotates along k and n in 2 x 2 parts of 32 x 32 f16 among 4 cores: 4 steps. Halves of k, whose
// loop is within that of n, change hands after each, between neighbours; halves of n after two.
TEST(Execution, PassesPartsRoundTheCirclesOfTwoDimensions) {
  const chip::Chip chip = chip::small_chip();
  Product one = product({4, 1, 1});
  one.plan.execute.temporal[OperandId{1}] = {2, 2};
  one.plan.execute.pace = {0, 32, 32};
  one.plan.execute.loops = {AxisId{1}, AxisId{2}};
  const Table<OperandId, const partition::Layout*> have(3, nullptr);
  const Execution execution = expand(one.placed(chip), have);
  EXPECT_EQ(execution.steps, 4);
  ASSERT_EQ(execution.rotations.size(), 2U);
  const RotationExchange& along_k = execution.rotations[0];
  const RotationExchange& along_n = execution.rotations[1];
  EXPECT_EQ(along_k.dim, DimId{0});
  EXPECT_EQ(along_k.every, 1);
  EXPECT_EQ(along_k.exchange.groups,
            (std::vector<Cores>{{CoreId{0}, CoreId{1}}, {CoreId{2}, CoreId{3}}}));
  EXPECT_EQ(along_n.dim, DimId{1});
  EXPECT_EQ(along_n.every, 2);
  EXPECT_EQ(along_n.exchange.groups,
            (std::vector<Cores>{{CoreId{0}, CoreId{2}}, {CoreId{1}, CoreId{3}}}));
  for (const RotationExchange& rotation : execution.rotations) {
    EXPECT_EQ(rotation.bytes, 32 * 32 * 2);
    const PortTraffic moved = traffic(rotation.exchange, chip);
    EXPECT_EQ(sum(moved.received), 4 * 32 * 32 * 2);
  }
}

// At half the pace along n each of the 32 rows of a partition is a run of its own.
TEST(Execution, CountsTheRunsOfASlabByWhatIsHeldAroundIt) {
  const chip::Chip chip = chip::small_chip();
  Product one = product({4, 1, 1});
  one.plan.execute.temporal[OperandId{1}] = {2, 2};
  one.plan.execute.pace = {0, 16, 32};
  one.plan.execute.loops = {AxisId{1}, AxisId{2}};
  const std::vector<RotationExchange> turns = rotations(one.placed(chip));
  ASSERT_EQ(turns.size(), 2U);
  EXPECT_EQ(turns[1].bytes, 32 * 16 * 2);
  EXPECT_EQ(turns[1].slices, 32);
  EXPECT_EQ(turns[1].run, 16);
}

// Down a column of a mesh, four cores form a folded ring: up over the members 0 and 2 and back over
// 3 and 1. Each hands on to the one before it. The parts of a preload follow the same places.
TEST(Execution, FoldsTheRingsOfAMeshAsThePlannerPricesThem) {
  const chip::Chip chip = chip::small_mesh(8, 8);
  Product one = product({4, 4, 1});
  one.plan.execute.temporal[OperandId{1}] = {1, 4};
  one.plan.execute.pace[AxisId{1}] = 4;
  one.plan.execute.loops = {AxisId{1}};
  one.plan.execute.order = {AxisId{0}, AxisId{1}};
  one.plan.execute.mesh_dims = {0, 1, -1};
  const std::vector<RotationExchange> turns = rotations(one.placed(chip));
  ASSERT_EQ(turns.size(), 1U);
  ASSERT_EQ(turns[0].exchange.groups.size(), 4U);
  EXPECT_EQ(turns[0].exchange.groups[0], (Cores{CoreId{0}, CoreId{16}, CoreId{24}, CoreId{8}}));
  EXPECT_EQ(turns[0].exchange.groups[3], (Cores{CoreId{3}, CoreId{19}, CoreId{27}, CoreId{11}}));
  const Loading loading = preload(one.placed(chip));
  ASSERT_EQ(loading.pieces.size(), 16U);
  EXPECT_EQ(loading.pieces[0].cores, Cores{CoreId{0}});
  EXPECT_EQ(loading.pieces[1].cores, Cores{CoreId{16}});
  EXPECT_EQ(loading.pieces[2].cores, Cores{CoreId{24}});
}

// 64 in 7 parts: tiles of 10, and one of 4 at the edge.
TEST(Execution, TellsTilesAtTheEdgeApart) {
  const chip::Chip chip = chip::small_chip();
  const Product one = product({1, 7, 1});
  const Table<OperandId, const partition::Layout*> have(3, nullptr);
  const Execution execution = expand(one.placed(chip), have);
  ASSERT_EQ(execution.tiles.size(), 2U);
  EXPECT_EQ(execution.tiles[0].size, (std::vector<std::int64_t>{8, 4, 64}));
  EXPECT_EQ(execution.tiles[0].cores, Cores{CoreId{6}});
  EXPECT_EQ(execution.tiles[1].size, (std::vector<std::int64_t>{8, 10, 64}));
  EXPECT_EQ(execution.tiles[1].cores.size(), 6U);
}

TEST(Transfers, DealOutPartsThatAddUpToTheWhole) {
  const Transfer transfer{.pattern = Pattern::Scatter,
                          .operand = OperandId{0},
                          .from = -1,
                          .to = 0,
                          .unit = 3,
                          .extent = 10,
                          .chunk = 4,
                          .runs = 1,
                          .level = 0};
  EXPECT_EQ(part_bytes(transfer, 0), 12);
  EXPECT_EQ(part_bytes(transfer, 2), 6);
  EXPECT_EQ(part_bytes(transfer, 3), 0);
}

/// Traffic as the sends that are listed one by one add up to it.
PortTraffic listed(const Exchange& exchange, const chip::Chip& chip) {
  PortTraffic out{.received = Table<CoreId, std::int64_t>(64, 0),
                  .sent = Table<CoreId, std::int64_t>(64, 0),
                  .fragments = Table<CoreId, std::int64_t>(64, 0),
                  .chip_in = {},
                  .chip_out = {}};
  for_each_send(exchange, chip, [&](const Send& send) {
    out.sent[send.core] += send.bytes;
    for (const CoreId core : send.receivers) {
      out.received[core] += send.bytes;
      out.fragments[core] += send.runs;
    }
  });
  return out;
}

TEST(Transfers, CountWhatTheirListOfSendsAddsUpTo) {
  chip::Chip chip = chip::small_chip();
  for (const bool multicast : {true, false}) {
    chip.interconnect.multicast = multicast;
    for (const Pattern pattern : {Pattern::Share, Pattern::Scatter}) {
      const Exchange exchange{.groups = {{CoreId{1}, CoreId{4}, CoreId{9}, CoreId{16}, CoreId{25}}},
                              .transfers = {{.pattern = pattern,
                                             .operand = OperandId{0},
                                             .from = -1,
                                             .to = 0,
                                             .unit = 8,
                                             .extent = 13,
                                             .chunk = 4,
                                             .runs = 2,
                                             .level = 0}},
                              .even_bytes = 0};
      const PortTraffic counted = traffic(exchange, chip);
      const PortTraffic sends = listed(exchange, chip);
      EXPECT_EQ(counted.received, sends.received);
      EXPECT_EQ(counted.sent, sends.sent);
      EXPECT_EQ(counted.fragments, sends.fragments);
    }
  }
}

/// The sends, as rows of core, receivers and bytes, of a box for each core in turn that the
/// holders have: for the core alone, or for it and a holder, who needs nothing.
std::vector<std::vector<std::int64_t>> fetched(const Cores& holders, const Cores& wanting,
                                               bool with_holder, const chip::Chip& chip) {
  Exchange exchange{.groups = {holders}, .transfers = {}, .even_bytes = 0};
  for (const CoreId core : wanting) {
    Cores to{core};
    if (with_holder && core != holders.back()) {
      to.push_back(holders.back());
      std::sort(to.begin(), to.end());
    }
    exchange.transfers.push_back({.pattern = Pattern::Fetch,
                                  .operand = OperandId{0},
                                  .from = 0,
                                  .to = static_cast<std::int32_t>(exchange.groups.size()),
                                  .unit = 8,
                                  .extent = 3,
                                  .chunk = 3,
                                  .runs = 2,
                                  .level = 0});
    exchange.groups.push_back(std::move(to));
  }
  std::vector<std::vector<std::int64_t>> sends;
  for_each_send(exchange, chip, [&](const Send& send) {
    sends.push_back({send.core.value, send.bytes, send.runs});
    for (const CoreId receiver : send.receivers) {
      sends.back().push_back(receiver.value);
    }
  });
  return sends;
}

TEST(Transfers, FetchForOneCoreAsForOneOfSeveral) {
  chip::Chip chip = chip::small_chip();
  chip.chips = 4;
  chip.core.count = 16;
  Cores all(64);
  std::iota(all.begin(), all.end(), CoreId{0});
  for (const Cores& holders : {Cores{CoreId{5}}, Cores{CoreId{5}, CoreId{7}, CoreId{9}},
                               Cores{CoreId{3}, CoreId{20}, CoreId{21}, CoreId{40}}, all}) {
    for (const bool multicast : {true, false}) {
      chip.interconnect.multicast = multicast;
      const auto alone = fetched(holders, all, false, chip);
      EXPECT_EQ(alone, fetched(holders, all, true, chip));
      EXPECT_EQ(alone.size(), all.size() - holders.size());
    }
  }
}

}  // namespace
}  // namespace elk::program
