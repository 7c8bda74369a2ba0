#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "elk/shard/one_chip.hpp"
#include "elk/shard/propose.hpp"
#include "schedule/models.hpp"

namespace elk::shard {
namespace {

/// Every op on every chip, nothing exchanged.
Sharding replicated(const ir::Graph& graph) {
  Sharding result{.splits = {},
                  .collectives = {},
                  .time = {0},
                  .replicated = {0},
                  .least = {0},
                  .sent = {0},
                  .hbm = {0},
                  .kept = {0}};
  for (const ir::Op& op : graph.ops) {
    result.splits.push_back(splits(graph, op, PartLengths(graph, 4)).front());
  }
  return result;
}

/// The way to split op `op` along `axis` over four chips.
Split along(const ir::Graph& graph, std::size_t op, std::int32_t axis) {
  const std::vector<Split> all = splits(graph, graph.ops[op], PartLengths(graph, 4));
  return *std::find_if(all.begin(), all.end(), [&](const Split& s) { return s.axis == axis; });
}

const ir::Tensor& tensor(const OneChip& one, std::size_t op, std::size_t operand) {
  return one.graph.tensors[static_cast<std::size_t>(one.graph.ops[op].operands[operand].tensor)];
}

/// x [8, 64] times a weight [64, 128], times another [128, 64].
ir::Graph two_products(ir::DType accumulate = ir::DType::F16) {
  test::Net net;
  const std::int32_t x = net.tensor(ir::Home::Input, {8, 64});
  test::OneOp down = test::matmul(8, 64, 128);
  down.op().accumulate = accumulate;
  const std::int32_t y = net.add(down, {net.add(test::matmul(8, 128, 64), {x})});
  net.add(test::exp_of(8, 64), {y}, ir::Home::Output);
  return net.done();
}

/// Columns of the first product, depth of the second, then an all-reduce: Megatron's layer.
Sharding megatron(const ir::Graph& graph) {
  Sharding result = replicated(graph);
  result.splits[0] = along(graph, 0, 1);
  result.splits[1] = along(graph, 1, 2);
  const std::int32_t made = graph.ops[1].operands.back().tensor;
  result.collectives = {{.op = 2, .tensor = made, .from = partial(), .to = whole()}};
  return result;
}

TEST(OneChip, OfAReplicatedModelIsTheModel) {
  const ir::Graph graph = test::transformer({.layers = 3});
  const OneChip one = one_chip(graph, replicated(graph), 4);
  EXPECT_EQ(one.graph.ops.size(), graph.ops.size());
  EXPECT_EQ(one.graph.tensors.size(), graph.tensors.size());
  EXPECT_EQ(one.graph.stores.size(), graph.stores.size());
  EXPECT_EQ(one.graph.repeat, graph.repeat);
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    EXPECT_EQ(one.graph.ops[op].axes, graph.ops[op].axes);
    EXPECT_EQ(one.axes[op], -1);
  }
}

TEST(OneChip, HoldsAQuarterOfWhatIsCut) {
  const ir::Graph graph = two_products();
  const OneChip one = one_chip(graph, megatron(graph), 4);
  ASSERT_EQ(one.graph.ops.size(), 4U);
  EXPECT_EQ(one.graph.ops[0].axes[1].size, 32);
  EXPECT_EQ(one.graph.ops[0].flops, graph.ops[0].flops / 4);
  EXPECT_EQ(tensor(one, 0, 1).shape, (std::vector<std::int64_t>{64, 32}));
  EXPECT_EQ(tensor(one, 1, 1).shape, (std::vector<std::int64_t>{32, 64}));
  const auto weight = static_cast<std::size_t>(one.graph.ops[0].operands[1].tensor);
  EXPECT_EQ(one.whole[weight], (std::vector<std::int64_t>{64, 128}));
  EXPECT_EQ(one.forms[weight], cut(1));
  EXPECT_EQ(one.axes, (std::vector<std::int32_t>{1, 2, -1, -1}));
}

TEST(OneChip, HasAnOpForACollective) {
  const ir::Graph graph = two_products();
  const OneChip one = one_chip(graph, megatron(graph), 4);
  const ir::Op& sum = one.graph.ops[2];
  EXPECT_EQ(sum.kind, ir::OpKind::AllReduce);
  EXPECT_EQ(sum.onnx_type, "");
  EXPECT_EQ(sum.params, std::vector<std::int64_t>{4});
  EXPECT_EQ(sum.operands[0].tensor, one.graph.ops[1].operands.back().tensor);
  EXPECT_EQ(one.graph.ops[3].operands[0].tensor, sum.operands[1].tensor);
  EXPECT_EQ(tensor(one, 2, 1).name, tensor(one, 2, 0).name + "@whole");
  EXPECT_EQ(tensor(one, 2, 1).home, ir::Home::Activation);
}

TEST(OneChip, KeepsAddendsAtTheWidthInWhichTheyAccumulate) {
  const ir::Graph graph = two_products(ir::DType::F32);
  const OneChip one = one_chip(graph, megatron(graph), 4);
  EXPECT_EQ(tensor(one, 2, 0).dtype, ir::DType::F32);
  EXPECT_EQ(tensor(one, 2, 1).dtype, ir::DType::F16);
}

TEST(OneChip, GathersAndScattersAlongTheAxisOfTheChips) {
  const ir::Graph graph = two_products();
  Sharding sharding = replicated(graph);
  sharding.splits[0] = along(graph, 0, 1);
  const std::int32_t made = graph.ops[0].operands.back().tensor;
  sharding.collectives = {{.op = 1, .tensor = made, .from = cut(1), .to = whole()}};
  const OneChip one = one_chip(graph, sharding, 4);
  const ir::Op& gather = one.graph.ops[1];
  EXPECT_EQ(gather.kind, ir::OpKind::AllGather);
  ASSERT_EQ(gather.axes.size(), 3U);
  EXPECT_EQ(gather.axes[2].size, 4);
  EXPECT_EQ(gather.operands[0].dims[1], (ir::Dim{.axes = {1}, .coef = {1}, .offset = 0}));
  EXPECT_EQ(gather.operands[1].dims[1], (ir::Dim{.axes = {2, 1}, .coef = {32, 1}, .offset = 0}));
}

TEST(OneChip, GathersPartsOfWhichTheLastAreShort) {
  const ir::Graph graph = two_products();
  const PartLengths lengths(graph, 5);  // 128 columns are 26, 26, 26, 26 and 24.
  Sharding sharding = replicated(graph);
  sharding.splits[0] = splits(graph, graph.ops[0], lengths)[2];
  const std::int32_t made = graph.ops[0].operands.back().tensor;
  sharding.collectives = {{.op = 1, .tensor = made, .from = cut(1), .to = whole()}};
  const OneChip one = one_chip(graph, sharding, 5);
  EXPECT_EQ(tensor(one, 0, 1).shape, (std::vector<std::int64_t>{64, 26})) << "the weight's part";
  EXPECT_EQ(tensor(one, 1, 0).shape, (std::vector<std::int64_t>{8, 26}));
  EXPECT_EQ(tensor(one, 1, 1).shape, (std::vector<std::int64_t>{8, 128}));
  EXPECT_EQ(one.graph.ops[1].axes.back().size, 5);
}

TEST(OneChip, SlicesWhatIsWholeAndReadInParts) {
  const ir::Graph graph = two_products();
  Sharding sharding = replicated(graph);
  sharding.splits[1] = along(graph, 1, 0);  // Rows of the second product.
  sharding.splits[2] = along(graph, 2, 0);
  const OneChip one = one_chip(graph, sharding, 4);
  ASSERT_EQ(one.graph.ops.size(), 4U);
  EXPECT_EQ(one.graph.ops[1].kind, ir::OpKind::Copy);
  EXPECT_EQ(one.graph.ops[1].onnx_type, "");
  EXPECT_EQ(tensor(one, 1, 0).shape, (std::vector<std::int64_t>{8, 128}));
  EXPECT_EQ(tensor(one, 1, 1).shape, (std::vector<std::int64_t>{2, 128}));
  EXPECT_EQ(tensor(one, 1, 1).name, tensor(one, 1, 0).name + "@0");
}

/// Scores of queries with an old cache and new rows, which the cache takes in `run` bytes at once.
ir::Graph growing_cache(Bytes run) {
  test::Net net;
  const std::int32_t x = net.tensor(ir::Home::Input, {8, 64});
  const std::int32_t rows = net.add(test::matmul(8, 64, 64), {x});
  net.store(rows, run);
  test::OneOp scores = test::scores(8, 128, 64);
  scores.op().operands[1].input = 1;
  scores.op().operands[2].input = 1;
  const std::int32_t out = net.add(scores, {net.add(test::exp_of(8, 64), {x}), rows});
  net.add(test::exp_of(8, 128), {out}, ir::Home::Output);
  return net.done();
}

/// The scores split along their depth, so that chips have parts of the cache's columns.
OneChip with_cut_cache(const ir::Graph& graph) {
  constexpr std::size_t kScores = 2;
  Sharding sharding = replicated(graph);
  sharding.splits[kScores] = along(graph, kScores, 2);
  const std::int32_t made = graph.ops[kScores].operands.back().tensor;
  sharding.collectives = {{.op = 3, .tensor = made, .from = partial(), .to = whole()}};
  return one_chip(graph, sharding, 4);
}

TEST(OneChip, StoresRowsAsTheCacheBesideThemIsHeld) {
  const OneChip one = with_cut_cache(growing_cache({128}));
  ASSERT_EQ(one.graph.stores.size(), 1U);
  const ir::Store& store = one.graph.stores.front();
  EXPECT_EQ(one.forms[static_cast<std::size_t>(store.tensor)], cut(1));
  const ir::Op& maker = one.graph.ops[static_cast<std::size_t>(store.op)];
  EXPECT_EQ(maker.operands.back().tensor, store.tensor);
}

TEST(OneChip, StoresInRunsOfWhatAChipHas) {
  const auto run = [](std::int64_t bytes) {
    return with_cut_cache(growing_cache({bytes})).graph.stores.front().run;
  };
  EXPECT_EQ(run(1024), Bytes{256}) << "all rows at once";
  EXPECT_EQ(run(128), Bytes{32}) << "a row";
  EXPECT_EQ(run(64), Bytes{32}) << "half a row: a chip has a quarter";
  EXPECT_EQ(run(16), Bytes{16}) << "heads that no chip cuts";
}

TEST(OneChip, HasTheLayersOfTheModel) {
  const ir::Graph graph =
      test::transformer({.layers = 6, .rows = 8, .width = 256, .inner = 1024, .keys = 0});
  chip::Chip chip = test::tight_pair(16, 65536);
  chip.chips = 4;
  chip.hbm->rate = 1e9;
  const Sharding sharding = shard(
      graph, chip,
      [](const ir::Op&) {
        return ChipExecute{.about = {.time = {0.0}, .exchange = {0.0}}, .least = {0.0}};
      },
      1);
  const OneChip one = one_chip(graph, sharding, 4);
  ASSERT_TRUE(one.graph.repeat);
  EXPECT_GE(one.graph.repeat->count, 4) << "all but the first and the last";
  EXPECT_GE(one.graph.repeat->period, 5);
}

}  // namespace
}  // namespace elk::shard
