#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

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

  std::int32_t tensor(Home home) {
    const auto number = static_cast<std::int32_t>(graph.tensors.size());
    graph.tensors.push_back({.name = "t" + std::to_string(number),
                             .dtype = DType::F16,
                             .shape = {rows, cols},
                             .home = home});
    return number;
  }

  /// Adds an op that reads and writes row by row, and returns what it makes.
  std::int32_t add(const std::vector<std::int32_t>& inputs, Home home = Home::Activation) {
    const std::int32_t made = tensor(home);
    Op op = testing::op("op" + std::to_string(graph.ops.size()), "add", rows, {});
    op.axes.push_back(
        {.name = "j", .size = cols, .role = AxisRole::Parallel, .tile_dim = TileDim::Elements});
    op.flops = rows * cols;
    for (const std::int32_t input : inputs) {
      op.operands.push_back(testing::operand(input, Access::Read, {along(0), along(1)}));
      op.operands.back().input = static_cast<std::int32_t>(op.operands.size()) - 1;
    }
    op.operands.push_back(testing::operand(made, Access::Write, {along(0), along(1)}));
    op.operands.back().input = 0;
    graph.ops.push_back(std::move(op));
    return made;
  }
};

/// A cache is read, what comes of it goes through an op, meets a second cache, and goes on.
struct Caches : Sheet {
  std::int32_t key = tensor(Home::State);
  std::int32_t value = tensor(Home::State);
  std::int32_t x = tensor(Home::Input);
  std::int32_t scores = add({x, key});
  std::int32_t weights = add({scores});
  std::int32_t mixed = add({weights, value});
  std::int32_t out = add({mixed, x});
  std::vector<char> heavy{1, 0, 1, 0};
};

std::vector<std::int32_t> ops(const Chain& chain) {
  std::vector<std::int32_t> result;
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
  EXPECT_EQ(ops(found[0]), (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(found[0].links[0].axis, 0);
  EXPECT_EQ(found[0].length, 6);
}

TEST(Chains, KeepWholeWhatLeavesTheGraphOrIsStored) {
  Caches caches;
  caches.graph.outputs = {caches.weights};
  const std::vector<Chain> found = chains(caches.graph, caches.heavy);
  ASSERT_EQ(found.size(), 2U);  // What reads the whole weights is no part of the first.
  EXPECT_EQ(ops(found[0]), (std::vector<std::int32_t>{0}));
  EXPECT_EQ(ops(found[1]), (std::vector<std::int32_t>{2}));
  caches.graph.stores = {{.tensor = caches.scores, .op = 0, .run = {8}},
                         {.tensor = caches.mixed, .op = 2, .run = {8}}};
  EXPECT_TRUE(chains(caches.graph, caches.heavy).empty());
}

TEST(Chains, TakeTheAxisThatTheNextHeavyOpGoesOnAlong) {
  Caches caches;
  Op& last = caches.graph.ops[2];  // Sums over rows: only columns go on.
  last.axes[0].role = AxisRole::Reduction;
  last.operands.back().dims[0] = {.axes = {}, .coef = {}, .offset = 0};
  const std::vector<Chain> found = chains(caches.graph, caches.heavy);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].links[0].axis, 1);
  EXPECT_EQ(ops(found[0]), (std::vector<std::int32_t>{0, 1, 2}));
}

TEST(Chains, ReadNothingOfAHeavyOpTwice) {
  Caches caches;
  Tensor& bias = caches.graph.tensors[static_cast<std::size_t>(caches.key)];
  bias.shape = {4};
  caches.graph.ops[0].operands[1].dims = {along(1)};
  const std::vector<Chain> found = chains(caches.graph, caches.heavy);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].links[0].axis, 1);
}

TEST(Chains, LeaveAnAxisAlongWhichAnOperandEnds) {
  Caches caches;
  caches.graph.tensors[static_cast<std::size_t>(caches.key)].shape = {5, 4};  // Of six rows.
  const std::vector<Chain> found = chains(caches.graph, caches.heavy);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].links[0].axis, 1);
}

TEST(Chains, LeaveTheAxisThatIsCutOverChips) {
  const Caches caches;
  const std::vector<Chain> found = chains(caches.graph, caches.heavy, {0, 0, 0, -1});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].links[0].axis, 1);
}

TEST(WaveGraph, EachWaveReadsItsPartOfWhatLiesWholeAndMakesATensor) {
  const Caches caches;
  std::vector<Chain> found = chains(caches.graph, caches.heavy);
  found[0].waves = 2;
  const WaveGraph cut = in_waves(caches.graph, found);
  EXPECT_EQ(names(cut.graph), (std::vector<std::string>{"op0#0", "op1#0", "op2#0", "op0#1", "op1#1",
                                                        "op2#1", "op3"}));
  EXPECT_EQ(cut.op_of, (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2, 3}));
  const Op& second = cut.graph.ops[3];
  EXPECT_EQ(second.axes[0].size, 3);
  EXPECT_EQ(second.flops, 12);
  EXPECT_EQ(second.operands[1].tensor, caches.key);
  EXPECT_EQ(second.operands[1].dims[0].offset, 3);
  const auto part = static_cast<std::size_t>(second.operands.back().tensor);
  EXPECT_EQ(cut.graph.tensors[part].name, "t3#1");
  EXPECT_EQ(cut.graph.tensors[part].shape, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(cut.tensor_of[part], caches.scores);
  EXPECT_EQ(cut.dim_of[part], 0);
  EXPECT_EQ(cut.graph.ops[4].operands[0].dims[0].offset, 0);  // A part is read from its beginning.
}

TEST(WaveGraph, OthersReadThePartsOfOneValue) {
  const Caches caches;
  std::vector<Chain> found = chains(caches.graph, caches.heavy);
  found[0].waves = 4;  // Of two rows each: three waves cover all six.
  const WaveGraph cut = in_waves(caches.graph, found);
  const Op& reader = cut.graph.ops.back();
  ASSERT_EQ(reader.operands.size(), 5U);
  for (std::size_t part = 0; part < 3; ++part) {
    EXPECT_EQ(reader.operands[part].input, 0);
    EXPECT_EQ(reader.operands[part].dims[0].offset, -2 * static_cast<std::int64_t>(part));
  }
  EXPECT_EQ(reader.operands[3].input, 1);
}

TEST(WaveGraph, OpsThatNeedNoneOfTheChainComeBeforeItOthersBehind) {
  Sheet sheet;
  const std::int32_t key = sheet.tensor(Home::State);
  const std::int32_t value = sheet.tensor(Home::State);
  const std::int32_t x = sheet.tensor(Home::Input);
  const std::int32_t scores = sheet.add({x, key});
  const std::int32_t apart = sheet.add({x});
  Op& whole = sheet.graph.ops.emplace_back(sheet.graph.ops.back());  // Adds up all rows.
  whole.name = "sum";
  whole.operands[0].tensor = scores;
  whole.axes[0].role = AxisRole::Reduction;
  whole.operands.back().tensor = sheet.tensor(Home::Activation);
  whole.operands.back().dims = {along(1)};
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
  std::int32_t key = tensor(Home::State);
  std::int32_t value = tensor(Home::State);
  std::int32_t scores = add({tensor(Home::Input), key});
  std::int32_t sum = add({scores, value});
  std::vector<Chain> found;

  Sums() {
    Op& last = graph.ops.back();
    last.axes[0].role = AxisRole::Reduction;
    last.operands.back().dims = {along(1)};
    graph.tensors[static_cast<std::size_t>(sum)].shape = {cols};
    found = chains(graph, {1, 1}, {1, -1});
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
  const Op& second = cut.graph.ops[3];
  EXPECT_EQ(second.axes[1].size, 2);
  ASSERT_EQ(second.operands.size(), 4U);
  for (std::size_t part = 0; part < 2; ++part) {
    EXPECT_EQ(second.operands[part].dims[0].offset, -3 * static_cast<std::int64_t>(part));
    EXPECT_EQ(second.operands[part].dims[1].offset, 2);
  }
}

TEST(WaveGraph, PartsOfWhichNothingIsReadAreNoOperands) {
  Caches caches;
  caches.graph.ops[3].operands[0].dims[0].offset = 3;  // Rows from the fourth on.
  std::vector<Chain> found = chains(caches.graph, caches.heavy);
  found[0].waves = 2;
  const WaveGraph cut = in_waves(caches.graph, found);
  const Op& reader = cut.graph.ops.back();
  ASSERT_EQ(reader.operands.size(), 3U);
  EXPECT_EQ(reader.operands[0].dims[0].offset, 0);
}

TEST(WaveGraph, AGraphWithoutChainsStaysAsItIs) {
  const Caches caches;
  const WaveGraph same = in_waves(caches.graph, {});
  EXPECT_EQ(same.graph.ops, caches.graph.ops);
  EXPECT_EQ(same.graph.tensors, caches.graph.tensors);
}

}  // namespace
}  // namespace elk::ir
