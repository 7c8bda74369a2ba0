#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/chains.hpp"
#include "elk/ir/waves.hpp"
#include "ir/graphs.hpp"

namespace elk::ir {
namespace {

using testing::along;

/// Ops over rows and columns, whose operands are those of a node.
struct Sheet {
  Graph graph{.name = "sheet", .tensors = {}, .ops = {}, .stores = {}, .repeat = {}, .outputs = {}};
  std::int64_t rows = 6;
  std::int64_t cols = 4;

  TensorId tensor(Home home) {
    const auto number = static_cast<std::int32_t>(graph.tensors.size());
    graph.tensors.push_back({.name = "t" + std::to_string(number),
                             .dtype = DType::F16,
                             .shape = {rows, cols},
                             .home = home});
    return TensorId{number};
  }

  /// Adds an op that reads and writes row by row, and returns what it makes.
  TensorId add(const std::vector<TensorId>& inputs, Home home = Home::Activation) {
    const TensorId made = tensor(home);
    Op op = testing::op("op" + std::to_string(graph.ops.size()), "add", rows, {});
    op.axes.push_back(
        {.name = "j", .size = cols, .role = AxisRole::Parallel, .tile_dim = TileDim::Elements});
    op.flops = rows * cols;
    for (const TensorId input : inputs) {
      op.operands.push_back(
          testing::operand(input, Access::Read, {along(AxisId{0}), along(AxisId{1})}));
      op.operands.back().input = static_cast<std::int32_t>(op.operands.size()) - 1;
    }
    op.operands.push_back(
        testing::operand(made, Access::Write, {along(AxisId{0}), along(AxisId{1})}));
    op.operands.back().input = 0;
    graph.ops.push_back(std::move(op));
    return made;
  }
};

/// A cache is read, what comes of it goes through an op, meets a second cache, and goes on.
struct Caches : Sheet {
  TensorId key = tensor(Home::State);
  TensorId value = tensor(Home::State);
  TensorId x = tensor(Home::Input);
  TensorId scores{add({x, key})};
  TensorId weights{add({scores})};
  TensorId mixed{add({weights, value})};
  TensorId out = add({mixed, x});
  Table<OpId, char> heavy{1, 0, 1, 0};
};

std::vector<OpId> ops(const Chain& chain) {
  std::vector<OpId> result;
  for (const Chain::ChainOp& link : chain.links) {
    result.push_back(link.op);
  }
  return result;
}

std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> result;
  for (const Op& op : graph.ops) {
    result.push_back(op.name);
  }
  return result;
}

TEST(Chains, GoFromOneHeavyOpThroughWhatLiesBetweenToTheLast) {
  const Caches caches;
  const std::vector<Chain> found = chains(caches.graph, caches.heavy);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(ops(found[0]), (std::vector<OpId>{OpId{0}, OpId{1}, OpId{2}}));
  EXPECT_EQ(found[0].links[0].axis, AxisId{0});
  EXPECT_EQ(found[0].length, 6);
}

TEST(Chains, KeepWholeWhatLeavesTheGraphOrIsStored) {
  Caches caches;
  caches.graph.outputs = {caches.weights};
  const std::vector<Chain> found = chains(caches.graph, caches.heavy);
  ASSERT_EQ(found.size(), 2U);  // What reads the whole weights is no part of the first.
  EXPECT_EQ(ops(found[0]), (std::vector<OpId>{OpId{0}}));
  EXPECT_EQ(ops(found[1]), (std::vector<OpId>{OpId{2}}));
  caches.graph.stores = {{.tensor = caches.scores, .op = OpId{0}, .run = {8}},
                         {.tensor = caches.mixed, .op = OpId{2}, .run = {8}}};
  EXPECT_TRUE(chains(caches.graph, caches.heavy).empty());
}

TEST(Chains, TakeTheAxisThatTheNextHeavyOpGoesOnAlong) {
  Caches caches;
  Op& last = caches.graph.ops[OpId{2}];  // Sums over rows: only columns go on.
  last.axes[AxisId{0}].role = AxisRole::Reduction;
  last.operands.back().dims[DimId{0}] = {.axes = {}, .coef = {}, .offset = 0};
  const std::vector<Chain> found = chains(caches.graph, caches.heavy);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].links[0].axis, AxisId{1});
  EXPECT_EQ(ops(found[0]), (std::vector<OpId>{OpId{0}, OpId{1}, OpId{2}}));
}

TEST(Chains, ReadNothingOfAHeavyOpTwice) {
  Caches caches;
  Tensor& bias = caches.graph.tensors[caches.key];
  bias.shape = {4};
  caches.graph.ops[OpId{0}].operands[OperandId{1}].dims = {along(AxisId{1})};
  const std::vector<Chain> found = chains(caches.graph, caches.heavy);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].links[0].axis, AxisId{1});
}

TEST(Chains, LeaveAnAxisAlongWhichAnOperandEnds) {
  Caches caches;
  caches.graph.tensors[caches.key].shape = {5, 4};  // Of six rows.
  const std::vector<Chain> found = chains(caches.graph, caches.heavy);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].links[0].axis, AxisId{1});
}

TEST(Chains, LeaveTheAxisThatIsCutOverChips) {
  const Caches caches;
  const std::vector<Chain> found =
      chains(caches.graph, caches.heavy, {AxisId{0}, AxisId{0}, AxisId{0}, AxisId::none});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].links[0].axis, AxisId{1});
}

TEST(WaveGraph, EachWaveReadsItsPartOfWhatLiesWholeAndMakesATensor) {
  const Caches caches;
  std::vector<Chain> found = chains(caches.graph, caches.heavy);
  found[0].waves = 2;
  const WaveGraph cut = in_waves(caches.graph, found);
  EXPECT_EQ(names(cut.graph), (std::vector<std::string>{"op0#0", "op1#0", "op2#0", "op0#1", "op1#1",
                                                        "op2#1", "op3"}));
  EXPECT_EQ(cut.op_of,
            (std::vector<OpId>{OpId{0}, OpId{1}, OpId{2}, OpId{0}, OpId{1}, OpId{2}, OpId{3}}));
  const Op& second = cut.graph.ops[OpId{3}];
  EXPECT_EQ(second.axes[AxisId{0}].size, 3);
  EXPECT_EQ(second.flops, 12);
  EXPECT_EQ(second.operands[OperandId{1}].tensor, caches.key);
  EXPECT_EQ(second.operands[OperandId{1}].dims[DimId{0}].offset, 3);
  const auto part = second.operands.back().tensor;
  EXPECT_EQ(cut.graph.tensors[part].name, "t3#1");
  EXPECT_EQ(cut.graph.tensors[part].shape, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(cut.tensor_of[part], caches.scores);
  EXPECT_EQ(cut.dim_of[part], DimId{0});
  EXPECT_EQ(cut.graph.ops[OpId{4}].operands[OperandId{0}].dims[DimId{0}].offset,
            0);  // A part is read from its beginning.
}

TEST(WaveGraph, OthersReadThePartsOfOneValue) {
  const Caches caches;
  std::vector<Chain> found = chains(caches.graph, caches.heavy);
  found[0].waves = 4;  // Of two rows each: three waves cover all six.
  const WaveGraph cut = in_waves(caches.graph, found);
  const Op& reader = cut.graph.ops.back();
  ASSERT_EQ(reader.operands.size(), 5U);
  for (const OperandId part : first_ids<OperandId>(3)) {
    EXPECT_EQ(reader.operands[part].input, 0);
    EXPECT_EQ(reader.operands[part].dims[DimId{0}].offset,
              -2 * static_cast<std::int64_t>(part.value));
  }
  EXPECT_EQ(reader.operands[OperandId{3}].input, 1);
}

TEST(WaveGraph, OpsThatNeedNoneOfTheChainComeBeforeItOthersBehind) {
  Sheet sheet;
  const TensorId key = sheet.tensor(Home::State);
  const TensorId value = sheet.tensor(Home::State);
  const TensorId x = sheet.tensor(Home::Input);
  const TensorId scores{sheet.add({x, key})};
  const TensorId apart{sheet.add({x})};
  Op& whole = sheet.graph.ops.emplace_back(sheet.graph.ops.back());  // Adds up all rows.
  whole.name = "sum";
  whole.operands[OperandId{0}].tensor = scores;
  whole.axes[AxisId{0}].role = AxisRole::Reduction;
  whole.operands.back().tensor = sheet.tensor(Home::Activation);
  whole.operands.back().dims = {along(AxisId{1})};
  sheet.graph.tensors.back().shape = {4};
  sheet.add({scores, apart, value});
  std::vector<Chain> found = chains(sheet.graph, {1, 0, 0, 1});
  ASSERT_EQ(found.size(), 1U);
  found[0].waves = 2;
  EXPECT_EQ(names(in_waves(sheet.graph, found).graph),
            (std::vector<std::string>{"op1", "op0#0", "op3#0", "op0#1", "op3#1", "sum"}));
}

/// A cache is read, and what comes of it is added up over rows, weighed by another.
struct Sums : Sheet {
  TensorId key = tensor(Home::State);
  TensorId value = tensor(Home::State);
  TensorId scores{add({tensor(Home::Input), key})};
  TensorId sum{add({scores, value})};
  std::vector<Chain> found;

  Sums() {
    Op& last = graph.ops.back();
    last.axes[AxisId{0}].role = AxisRole::Reduction;
    last.operands.back().dims = {along(AxisId{1})};
    graph.tensors[sum].shape = {cols};
    found = chains(graph, {1, 1}, {AxisId{1}, AxisId::none});
    for (Chain& chain : found) {
      chain.waves = 2;
    }
  }
};

TEST(WaveGraph, AWaveReadsAllPartsThatGoAlongAnotherAxis) {
  const Sums sums;
  ASSERT_EQ(sums.found.size(), 2U);
  const WaveGraph cut = in_waves(sums.graph, sums.found);
  ASSERT_EQ(cut.graph.ops.size(), 4U);
  const Op& second = cut.graph.ops[OpId{3}];
  EXPECT_EQ(second.axes[AxisId{1}].size, 2);
  ASSERT_EQ(second.operands.size(), 4U);
  for (const OperandId part : first_ids<OperandId>(2)) {
    EXPECT_EQ(second.operands[part].dims[DimId{0}].offset,
              -3 * static_cast<std::int64_t>(part.value));
    EXPECT_EQ(second.operands[part].dims[DimId{1}].offset, 2);
  }
}

TEST(WaveGraph, PartsOfWhichNothingIsReadAreNoOperands) {
  Caches caches;
  caches.graph.ops[OpId{3}].operands[OperandId{0}].dims[DimId{0}].offset =
      3;  // Rows from the fourth on.
  std::vector<Chain> found = chains(caches.graph, caches.heavy);
  found[0].waves = 2;
  const WaveGraph cut = in_waves(caches.graph, found);
  const Op& reader = cut.graph.ops.back();
  ASSERT_EQ(reader.operands.size(), 3U);
  EXPECT_EQ(reader.operands[OperandId{0}].dims[DimId{0}].offset, 0);
}

TEST(WaveGraph, AGraphWithoutChainsStaysAsItIs) {
  const Caches caches;
  const WaveGraph same = in_waves(caches.graph, {});
  EXPECT_EQ(same.graph.ops, caches.graph.ops);
  EXPECT_EQ(same.graph.tensors, caches.graph.tensors);
}

/// The links of a chain: op and axis.
std::vector<std::pair<OpId, AxisId>> links(const Chain& chain) {
  std::vector<std::pair<OpId, AxisId>> result;
  for (const Chain::ChainOp& link : chain.links) {
    result.emplace_back(link.op, link.axis);
  }
  return result;
}

TEST(BatchChains, GoAlongTheLeadingDimensionOfTheLargestInput) {
  Sheet sheet;
  const TensorId x = sheet.tensor(Home::Input);
  const TensorId weight = sheet.tensor(Home::Weight);
  const TensorId bare = sheet.add({weight});  // Depends on no batch.
  const TensorId one = sheet.add({x, bare});
  const TensorId two = sheet.add({one});
  sheet.add({two}, Home::Output);
  sheet.graph.outputs.push_back(TensorId{5});
  const std::vector<Chain> chains = batch_chains(sheet.graph);
  ASSERT_EQ(chains.size(), 1U);
  EXPECT_EQ(chains[0].length, 6);
  using Links = std::vector<std::pair<OpId, AxisId>>;
  EXPECT_EQ(links(chains[0]), (Links{{OpId{1}, AxisId{0}}, {OpId{2}, AxisId{0}}}));
  EXPECT_TRUE(batch_chains(sheet.graph, Table<OpId, AxisId>(4, AxisId{0})).empty());
}

TEST(BatchChains, EndWhereAnOpDoesNotGoAlongIt) {
  Sheet sheet;
  const TensorId x = sheet.tensor(Home::Input);
  const TensorId one = sheet.add({x});
  const TensorId two = sheet.add({one});
  const TensorId three = sheet.add({two});
  sheet.add({three});
  sheet.graph.ops[OpId{1}].axes[AxisId{0}].role = AxisRole::Row;
  const std::vector<Chain> chains = batch_chains(sheet.graph);
  ASSERT_EQ(chains.size(), 2U);
  EXPECT_EQ(chains[0].links.front().op, OpId{0});
  EXPECT_EQ(chains[1].links.front().op, OpId{2});
  EXPECT_EQ(chains[1].links.back().op, OpId{3});
}

}  // namespace
}  // namespace elk::ir
