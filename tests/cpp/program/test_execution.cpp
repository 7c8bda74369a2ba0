#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/program/expand/execution.hpp"
#include "elk/program/expand/loading.hpp"
#include "program/models.hpp"

namespace elk::program {
namespace {

/// y[8, 64] = x[8, 64] w[64, 64] alone, cut by `factors`.
struct Product {
  Chain chain;
  OpPlan plan;

  [[nodiscard]] PlacedOp placed(const chip::Chip& chip) const {
    return {chain.graph, chain.graph.ops[0], plan, chip};
  }
};

Product product(std::vector<std::int64_t> factors) {
  Product out{.chain = chain(), .plan = {}};
  out.plan = cut(out.chain.graph, 0, std::move(factors));
  return out;
}

std::int64_t sum(const std::vector<std::int64_t>& values) {
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
  for (std::size_t core = 0; core < 4; ++core) {
    EXPECT_EQ(moved.received[core], 3 * 256);
    EXPECT_EQ(moved.sent[core], 3 * 256);
  }
  EXPECT_EQ(sum(moved.received), 4 * 3 * 256);
}

// w is needed by 4 cores that differ in m. At divisor 4 each receives a quarter of its 2,048 bytes
// from the HBM and three quarters from its peers, to whom it sends its own once.
TEST(Execution, SharesPreloadedPiecesAmongPeers) {
  const chip::Chip chip = chip::small_chip();
  Product one = product({4, 4, 1});
  one.plan.divisor[1] = 4;
  Exchange exchange;
  add_distribution(one.placed(chip), 1, exchange);
  const PortTraffic moved = traffic(exchange, chip);
  for (std::size_t core = 0; core < 16; ++core) {
    EXPECT_EQ(moved.received[core], 3 * 512);
    EXPECT_EQ(moved.sent[core], 512);
    EXPECT_EQ(moved.fragments[core], 3);
  }
  const Loading loading = preload(one.placed(chip));
  EXPECT_EQ(loading.hbm_bytes, std::vector<std::int64_t>{64 * 64 * 2});
  std::vector<std::int64_t> received(64, 0);
  for (const LoadingPiece& piece : loading.pieces) {
    for (const std::int32_t core : piece.cores) {
      received[static_cast<std::size_t>(core)] += piece.bytes;
    }
  }
  EXPECT_EQ(sum(received), 16 * 512);
  EXPECT_EQ(received[0], 512);
}

// w rotates along n in 4 parts among 4 cores that differ in m: 4 steps, 3 shifts of 64 x 4 f16.
TEST(Execution, PassesRotatingPartsRoundTheirRing) {
  const chip::Chip chip = chip::small_chip();
  Product one = product({4, 4, 1});
  one.plan.execute.temporal[1] = {1, 4};
  one.plan.execute.pace[1] = 4;
  one.plan.execute.loops = {1};
  const std::vector<partition::Layout> none;
  const std::vector<const partition::Layout*> have(3, nullptr);
  const Execution execution = expand(one.placed(chip), have);
  EXPECT_EQ(execution.steps, 4);
  ASSERT_EQ(execution.rotations.size(), 1U);
  EXPECT_EQ(execution.rotations[0].every, 1);
  const PortTraffic moved = traffic(execution.rotations[0].exchange, chip);
  for (std::size_t core = 0; core < 16; ++core) {
    EXPECT_EQ(moved.received[core], 64 * 4 * 2);
    EXPECT_EQ(moved.sent[core], 64 * 4 * 2);
  }
  for_each_send(execution.rotations[0].exchange, chip, [&](const Send& send) {
    EXPECT_EQ(send.core % 4, send.receivers.front() % 4);  // Both have one part of n.
  });
}

// w rotates along k and n in 2 x 2 parts of 32 x 32 f16 among 4 cores: 4 steps. Halves of k, whose
// loop is within that of n, change hands after each, between neighbours; halves of n after two.
TEST(Execution, PassesPartsRoundTheCirclesOfTwoDimensions) {
  const chip::Chip chip = chip::small_chip();
  Product one = product({4, 1, 1});
  one.plan.execute.temporal[1] = {2, 2};
  one.plan.execute.pace = {0, 32, 32};
  one.plan.execute.loops = {1, 2};
  const std::vector<const partition::Layout*> have(3, nullptr);
  const Execution execution = expand(one.placed(chip), have);
  EXPECT_EQ(execution.steps, 4);
  ASSERT_EQ(execution.rotations.size(), 2U);
  const RotationExchange& along_k = execution.rotations[0];
  const RotationExchange& along_n = execution.rotations[1];
  EXPECT_EQ(along_k.dim, 0);
  EXPECT_EQ(along_k.every, 1);
  EXPECT_EQ(along_k.exchange.groups, (std::vector<Cores>{{0, 1}, {2, 3}}));
  EXPECT_EQ(along_n.dim, 1);
  EXPECT_EQ(along_n.every, 2);
  EXPECT_EQ(along_n.exchange.groups, (std::vector<Cores>{{0, 2}, {1, 3}}));
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
  one.plan.execute.temporal[1] = {2, 2};
  one.plan.execute.pace = {0, 16, 32};
  one.plan.execute.loops = {1, 2};
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
  one.plan.execute.temporal[1] = {1, 4};
  one.plan.execute.pace[1] = 4;
  one.plan.execute.loops = {1};
  one.plan.execute.order = {0, 1};
  one.plan.execute.mesh_dims = {0, 1, -1};
  const std::vector<RotationExchange> turns = rotations(one.placed(chip));
  ASSERT_EQ(turns.size(), 1U);
  ASSERT_EQ(turns[0].exchange.groups.size(), 4U);
  EXPECT_EQ(turns[0].exchange.groups[0], (Cores{0, 16, 24, 8}));
  EXPECT_EQ(turns[0].exchange.groups[3], (Cores{3, 19, 27, 11}));
  const Loading loading = preload(one.placed(chip));
  ASSERT_EQ(loading.pieces.size(), 16U);
  EXPECT_EQ(loading.pieces[0].cores, Cores{0});
  EXPECT_EQ(loading.pieces[1].cores, Cores{16});
  EXPECT_EQ(loading.pieces[2].cores, Cores{24});
}

// 64 in 7 parts: tiles of 10, and one of 4 at the edge.
TEST(Execution, TellsTilesAtTheEdgeApart) {
  const chip::Chip chip = chip::small_chip();
  const Product one = product({1, 7, 1});
  const std::vector<const partition::Layout*> have(3, nullptr);
  const Execution execution = expand(one.placed(chip), have);
  ASSERT_EQ(execution.tiles.size(), 2U);
  EXPECT_EQ(execution.tiles[0].size, (std::vector<std::int64_t>{8, 4, 64}));
  EXPECT_EQ(execution.tiles[0].cores, Cores{6});
  EXPECT_EQ(execution.tiles[1].size, (std::vector<std::int64_t>{8, 10, 64}));
  EXPECT_EQ(execution.tiles[1].cores.size(), 6U);
}

TEST(Transfers, DealOutPartsThatAddUpToTheWhole) {
  const Transfer transfer{.pattern = Pattern::Scatter,
                          .operand = 0,
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
  PortTraffic out{.received = std::vector<std::int64_t>(64, 0),
                  .sent = std::vector<std::int64_t>(64, 0),
                  .fragments = std::vector<std::int64_t>(64, 0),
                  .chip_in = {},
                  .chip_out = {}};
  for_each_send(exchange, chip, [&](const Send& send) {
    out.sent[static_cast<std::size_t>(send.core)] += send.bytes;
    for (const std::int32_t core : send.receivers) {
      out.received[static_cast<std::size_t>(core)] += send.bytes;
      out.fragments[static_cast<std::size_t>(core)] += send.runs;
    }
  });
  return out;
}

TEST(Transfers, CountWhatTheirListOfSendsAddsUpTo) {
  chip::Chip chip = chip::small_chip();
  for (const bool multicast : {true, false}) {
    chip.interconnect.multicast = multicast;
    for (const Pattern pattern : {Pattern::Share, Pattern::Scatter}) {
      const Exchange exchange{.groups = {{1, 4, 9, 16, 25}},
                              .transfers = {{.pattern = pattern,
                                             .operand = 0,
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
  for (const std::int32_t core : wanting) {
    Cores to{core};
    if (with_holder && core != holders.back()) {
      to.push_back(holders.back());
      std::sort(to.begin(), to.end());
    }
    exchange.transfers.push_back({.pattern = Pattern::Fetch,
                                  .operand = 0,
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
    sends.push_back({send.core, send.bytes, send.runs});
    sends.back().insert(sends.back().end(), send.receivers.begin(), send.receivers.end());
  });
  return sends;
}

TEST(Transfers, FetchForOneCoreAsForOneOfSeveral) {
  chip::Chip chip = chip::small_chip();
  chip.chips = 4;
  chip.core.count = 16;
  Cores all(64);
  std::iota(all.begin(), all.end(), 0);
  for (const Cores& holders : {Cores{5}, Cores{5, 7, 9}, Cores{3, 20, 21, 40}, all}) {
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
