#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/chains.hpp"
#include "elk/ir/spills.hpp"
#include "elk/ir/waves.hpp"
#include "ir/sheets.hpp"

namespace elk::ir {
namespace {

using testing::along;
using testing::Sheet;

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

/// The chains from an op on.
std::vector<Chain> from(const Graph& graph, OpId first, const Table<OpId, char>& heavy) {
  const Table<TensorId, char> whole = kept_whole(graph);
  return chains_from(graph, first, {.heavy = heavy, .whole = whole});
}

/// The first chain from the first op on, in so many waves.
std::vector<Chain> first_chain(const Graph& graph, const Table<OpId, char>& heavy,
                               std::int64_t waves) {
  std::vector<Chain> found{from(graph, OpId{0}, heavy).front()};
  found[0].waves = waves;
  return found;
}

TEST(Chains, GoFromAnOpThroughWhatLiesBetweenToTheLastHeavyOneAlongEachAxis) {
  const Caches caches;
  const std::vector<Chain> found = from(caches.graph, OpId{0}, caches.heavy);
  ASSERT_EQ(found.size(), 2U);
  for (const AxisId axis : first_ids<AxisId>(2)) {
    const Chain& chain = found[axis.index()];
    EXPECT_EQ(ops(chain), (std::vector<OpId>{OpId{0}, OpId{1}, OpId{2}}));
    EXPECT_EQ(chain.links[0].axis, axis);
    EXPECT_EQ(chain.length, axis == AxisId{0} ? 6 : 4);
  }
}

TEST(Chains, MakeNothingThatPicks) {
  Caches caches;
  caches.graph.ops[OpId{3}].operands[OperandId{1}].indirect = {
      .index = caches.weights, .dim = DimId{0}, .axes = {AxisId{0}}, .expected_picks = 2.0};
  const std::vector<Chain> found = from(caches.graph, OpId{0}, caches.heavy);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(ops(found[0]), (std::vector<OpId>{OpId{0}}));
  EXPECT_TRUE(from(caches.graph, OpId{1}, caches.heavy).empty());
}

TEST(Chains, LeaveAnAxisThatSumsOrEnds) {
  Caches sums;
  sums.graph.ops[OpId{2}].axes[AxisId{0}].role = AxisRole::Reduction;
  sums.graph.ops[OpId{2}].operands.back().dims[DimId{0}] = {.axes = {}, .coef = {}, .offset = 0};
  const std::vector<Chain> along = from(sums.graph, OpId{0}, sums.heavy);
  ASSERT_EQ(along.size(), 2U);
  EXPECT_EQ(ops(along[0]), (std::vector<OpId>{OpId{0}}));
  EXPECT_EQ(ops(along[1]), (std::vector<OpId>{OpId{0}, OpId{1}, OpId{2}}));
  Caches short_key;
  short_key.graph.tensors[short_key.key].shape = {5, 4};  // Of six rows.
  const std::vector<Chain> ends = from(short_key.graph, OpId{0}, short_key.heavy);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].links[0].axis, AxisId{1});
}

/// Two ops in as many slices of their rows.
WaveGraph sliced_rows(std::int64_t rows, std::int64_t slices, bool sums = false) {
  Sheet sheet{.rows = rows};
  const TensorId weight = sheet.tensor(Home::Weight);
  const TensorId out = sheet.add({sheet.add({sheet.tensor(Home::Input), weight})});
  if (sums) {  // Over all rows.
    sheet.add({out});
    Op& last = sheet.graph.ops[OpId{2}];
    last.axes[AxisId{0}].role = AxisRole::Reduction;
    last.operands.back().dims[DimId{0}] = {.axes = {}, .coef = {}, .offset = 0};
  }
  std::vector<Chain> chains = batch_chains(sheet.graph);
  for (Chain& chain : chains) {
    chain.waves = slices;
  }
  return in_waves(in_no_waves(sheet.graph), chains);
}

TEST(LastSlice, IsTheGraphOfOneThatAllRepeat) {
  const WaveGraph sliced = sliced_rows(6, 3);
  const std::optional<WaveGraph> slice = last_slice(sliced);
  ASSERT_TRUE(slice);
  EXPECT_EQ(names(slice->graph), (std::vector<std::string>{"op0#2", "op1#2"}));
  EXPECT_EQ(slice->graph.tensors.size(), 4U);  // Of seven: two rows of each but the weight.
  EXPECT_EQ(slice->part_of.size(), 4U);
  EXPECT_EQ(repeats_of(*slice, sliced),
            (Table<OpId, OpId>{OpId{0}, OpId{1}, OpId{0}, OpId{1}, OpId{0}, OpId{1}}));
}

TEST(LastSlice, IsNotRepeatedByAShorterOne) {
  const WaveGraph sliced = sliced_rows(5, 2);
  const std::optional<WaveGraph> slice = last_slice(sliced);
  ASSERT_TRUE(slice);
  EXPECT_FALSE(repeats_of(*slice, sliced));
}

// From its begin a tensor may rotate.
TEST(LastSlice, IsNotRepeatedWhereItAloneReadsFromABegin) {
  const WaveGraph sliced = sliced_rows(6, 3);
  std::optional<WaveGraph> slice = last_slice(sliced);
  ASSERT_TRUE(slice);
  std::int64_t& begin = slice->graph.ops[OpId{0}].operands[OperandId{1}].dims[DimId{0}].offset;
  ASSERT_EQ(begin, 4);
  begin = 0;
  EXPECT_FALSE(repeats_of(*slice, sliced));
}

TEST(LastSlice, IsNoneWhereAnOpNeedsAll) { EXPECT_FALSE(last_slice(sliced_rows(6, 2, true))); }

TEST(WaveGraph, EachWaveReadsItsPartOfWhatLiesWholeAndMakesATensor) {
  const Caches caches;
  const std::vector<Chain> found = first_chain(caches.graph, caches.heavy, 2);
  const WaveGraph cut = in_waves(in_no_waves(caches.graph), found);
  EXPECT_EQ(names(cut.graph), (std::vector<std::string>{"op0#0", "op1#0", "op2#0", "op0#1", "op1#1",
                                                        "op2#1", "op3"}));
  EXPECT_EQ(cut.op_of,
            (Table<OpId, OpId>{OpId{0}, OpId{1}, OpId{2}, OpId{0}, OpId{1}, OpId{2}, OpId{3}}));
  const Op& second = cut.graph.ops[OpId{3}];
  EXPECT_EQ(second.axes[AxisId{0}].size, 3);
  EXPECT_EQ(second.flops, 12);
  EXPECT_EQ(second.operands[OperandId{1}].tensor, caches.key);
  EXPECT_EQ(second.operands[OperandId{1}].dims[DimId{0}].offset, 3);
  const auto part = second.operands.back().tensor;
  EXPECT_EQ(cut.graph.tensors[part].name, "t3#1");
  EXPECT_EQ(cut.graph.tensors[part].shape, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(cut.part_of[part], (PartOf{.tensor = caches.scores, .begin = {3, 0}}));
  EXPECT_EQ(cut.graph.ops[OpId{4}].operands[OperandId{0}].dims[DimId{0}].offset,
            0);  // A part is read from its beginning.
}

TEST(WaveGraph, OthersReadThePartsOfOneValue) {
  const Caches caches;
  // Of two rows each: three waves cover all six.
  const std::vector<Chain> found = first_chain(caches.graph, caches.heavy, 4);
  const WaveGraph cut = in_waves(in_no_waves(caches.graph), found);
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
  const std::vector<Chain> found = first_chain(sheet.graph, {1, 0, 0, 1}, 2);
  EXPECT_EQ(names(in_waves(in_no_waves(sheet.graph), found).graph),
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
    found = {from(graph, OpId{0}, {1, 0}).front(), from(graph, OpId{1}, {0, 1}).front()};
    for (Chain& chain : found) {
      chain.waves = 2;
    }
  }
};

TEST(WaveGraph, AWaveReadsAllPartsThatGoAlongAnotherAxis) {
  const Sums sums;
  ASSERT_EQ(sums.found.size(), 2U);
  const WaveGraph cut = in_waves(in_no_waves(sums.graph), sums.found);
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
  const std::vector<Chain> found = first_chain(caches.graph, caches.heavy, 2);
  const WaveGraph cut = in_waves(in_no_waves(caches.graph), found);
  const Op& reader = cut.graph.ops.back();
  ASSERT_EQ(reader.operands.size(), 3U);
  EXPECT_EQ(reader.operands[OperandId{0}].dims[DimId{0}].offset, 0);
}

TEST(WaveGraph, AGraphWithoutChainsStaysAsItIs) {
  const Caches caches;
  const WaveGraph same = in_waves(in_no_waves(caches.graph), {});
  EXPECT_EQ(same.graph.ops, caches.graph.ops);
  EXPECT_EQ(same.graph.tensors, caches.graph.tensors);
}

TEST(WaveGraph, WavesGoInWavesAlongAnotherAxis) {
  const Caches caches;
  WaveGraph cut = in_waves(in_no_waves(caches.graph), first_chain(caches.graph, {1, 0, 0, 0}, 2));
  std::vector<Chain> again = from(cut.graph, OpId{1}, {0, 1, 0, 0, 0});
  ASSERT_EQ(again.size(), 2U);
  again[1].waves = 2;  // Along columns.
  cut = in_waves(cut, std::vector<Chain>{again[1]});
  EXPECT_EQ(names(cut.graph),
            (std::vector<std::string>{"op0#0", "op0#1#0", "op0#1#1", "op1", "op2", "op3"}));
  const TensorId last = cut.graph.ops[OpId{2}].operands.back().tensor;
  EXPECT_EQ(cut.part_of[last], (PartOf{.tensor = caches.scores, .begin = {3, 2}}));
  EXPECT_EQ(cut.op_of[OpId{2}], OpId{0});
  EXPECT_EQ(cut.graph.ops[OpId{3}].operands.size(), 4U);  // Three parts, and what it makes.
}

TEST(WaveGraph, ResultsThatLeaveOrAreStoredDoSoInParts) {
  Caches caches;
  caches.graph.outputs = {caches.scores};
  caches.graph.stores = {{.tensor = caches.scores, .op = OpId{0}, .run = {48}}};
  const WaveGraph cut =
      in_waves(in_no_waves(caches.graph), first_chain(caches.graph, {1, 0, 0, 0}, 2));
  ASSERT_EQ(cut.graph.outputs.size(), 2U);
  ASSERT_EQ(cut.graph.stores.size(), 2U);
  for (const std::size_t wave : {0U, 1U}) {
    const Store& store = cut.graph.stores[wave];
    EXPECT_EQ(store.tensor, cut.graph.outputs[wave]);
    EXPECT_EQ(store.op, id_at<OpId>(wave));
    EXPECT_EQ(store.run, Bytes{24});  // Three rows of four elements.
    EXPECT_EQ(store.into, TensorId::none);
  }
}

TEST(WaveGraph, APickExpectsFewerOfAPart) {
  Caches caches;
  Op& op = caches.graph.ops[OpId{0}];
  op.operands[OperandId{1}].indirect = {
      .index = caches.x, .dim = DimId{0}, .axes = {AxisId{0}}, .expected_picks = 4.5};
  op.operands[OperandId{1}].dims[DimId{0}] = {.axes = {}, .coef = {}, .offset = 0};
  const WaveGraph cut =
      in_waves(in_no_waves(caches.graph), first_chain(caches.graph, {1, 0, 0, 0}, 2));
  // Of six rows each is missed by all with probability 1/4, so by half of the picks with 1/2.
  EXPECT_DOUBLE_EQ(cut.graph.ops[OpId{0}].operands[OperandId{1}].indirect->expected_picks, 3.0);
}

TEST(WaveGraph, WhoNeedsManyPartsReadsThemFromHbm) {
  const Caches caches;  // The last op needs all six parts of what it reads, each of a row.
  const WaveGraph cut =
      in_waves(in_no_waves(caches.graph), first_chain(caches.graph, caches.heavy, 6));
  const Op& reader = cut.graph.ops.back();
  ASSERT_EQ(reader.operands.size(), 3U);
  const TensorId read = reader.operands[OperandId{0}].tensor;
  EXPECT_EQ(cut.graph.tensors[read].home, Home::Spilled);
  EXPECT_EQ(cut.graph.tensors[read].name, "t5~hbm");
  EXPECT_EQ(cut.part_of[read], (PartOf{.tensor = caches.mixed, .begin = {0, 0}}));
  ASSERT_EQ(cut.graph.stores.size(), 6U);
  for (std::size_t wave = 0; wave < 6; ++wave) {
    const Store& store = cut.graph.stores[wave];
    EXPECT_EQ(store.into, read);
    EXPECT_EQ(store.begin, (Table<DimId, std::int64_t>{static_cast<std::int64_t>(wave), 0}));
    EXPECT_EQ(store.op, id_at<OpId>((3 * wave) + 2));
    EXPECT_EQ(store.run, Bytes{8});
  }
  EXPECT_EQ(filled_by(cut.graph)[read], OpId{17});
  EXPECT_EQ(may_be_spilled(cut.graph)[cut.graph.stores[0].tensor], 0);  // The part is it already.
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
  const TensorId last = sheet.add({two}, Home::Output);
  sheet.graph.outputs.push_back(last);
  const std::vector<Chain> chains = batch_chains(sheet.graph);
  ASSERT_EQ(chains.size(), 1U);
  EXPECT_EQ(chains[0].length, 6);
  using Links = std::vector<std::pair<OpId, AxisId>>;
  EXPECT_EQ(links(chains[0]),
            (Links{{OpId{1}, AxisId{0}}, {OpId{2}, AxisId{0}}, {OpId{3}, AxisId{0}}}));
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
