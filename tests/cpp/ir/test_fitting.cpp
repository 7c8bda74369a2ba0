#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/cuts.hpp"
#include "elk/ir/spills.hpp"
#include "elk/ir/touched.hpp"
#include "elk/ir/waves.hpp"
#include "ir/sheets.hpp"

namespace elk::ir {
namespace {

using testing::along;
using testing::Sheet;

/// A tensor of 48 bytes: 6 rows of 4 elements.
constexpr double kSheet = 48.0;

std::int64_t count_of(const Graph& graph, Home home) {
  return std::ranges::count(graph.tensors, home, &Tensor::home);
}

double most_touched(const Graph& graph) {
  double most = 0.0;
  for (const Op& op : graph.ops) {
    most = std::max(most, touched(graph, op).all());
  }
  return most;
}

TEST(Touched, CountsBoxesWithinTensorsOnceEach) {
  Sheet sheet;
  const TensorId x = sheet.tensor(Home::Input);
  sheet.add({x, x});
  Op& op = sheet.graph.ops.front();
  EXPECT_EQ(touched(sheet.graph, op).all(), 2 * kSheet);  // What is read twice counts once.
  op.operands[OperandId{1}].dims[DimId{0}].offset = 2;    // Ends after four rows.
  const TouchedBytes rows = touched(sheet.graph, op, AxisId{0});
  EXPECT_EQ(rows.all(), 2 * kSheet + 32);
  op.operands[OperandId{1}].dims[DimId{0}] = {.axes = {}, .coef = {}, .offset = 3};
  const TouchedBytes bytes = touched(sheet.graph, op, AxisId{0});
  EXPECT_EQ(bytes.fixed, 8);
  EXPECT_EQ(bytes.along, 2 * kSheet);
  EXPECT_EQ(bytes.in_waves(3), 8 + 32);
}

TEST(Touched, NoWavesTouchLessThanOneIndexOfParallelAxes) {
  Sheet sheet;
  sheet.add({sheet.tensor(Home::Input)});
  EXPECT_EQ(least_touched(sheet.graph), 4.0);
  sheet.graph.ops[OpId{0}].axes[AxisId{1}].role = AxisRole::Reduction;
  sheet.graph.ops[OpId{0}].operands.back().dims[DimId{1}] = {.axes = {}, .coef = {}, .offset = 0};
  EXPECT_EQ(least_touched(sheet.graph), 8.0 + 2.0);
}

TEST(CutToFit, CutsWhatTouchesTooMuchAndNothingElse) {
  Sheet sheet;
  const TensorId x = sheet.tensor(Home::Input);
  const TensorId one = sheet.add({x});
  sheet.add({one, sheet.tensor(Home::Weight)});
  const CutLimits limits{.room = 1000, .most = 120, .ops = 100};
  const std::optional<WaveGraph> cut = cut_to_fit(in_no_waves(sheet.graph), limits);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->graph.ops.size(), 3U);
  EXPECT_LE(most_touched(cut->graph), limits.most);
  EXPECT_FALSE(cut_to_fit(in_no_waves(sheet.graph), {.room = 1000, .most = 120, .ops = 2}));
  EXPECT_EQ(cut_to_fit(in_no_waves(sheet.graph), {.room = 1000, .most = 144, .ops = 100})
                ->graph.ops.size(),
            2U);
}

TEST(CutToFit, TakesTheAxisThatReadsLeastAgain) {
  Sheet sheet;
  const TensorId weight = sheet.tensor(Home::Weight);
  sheet.add({sheet.tensor(Home::Input), weight});
  sheet.graph.tensors[weight].shape = {4};  // Rows of waves would each read all of it.
  sheet.graph.ops[OpId{0}].operands[OperandId{1}].dims = {along(AxisId{1})};
  const std::optional<WaveGraph> cut =
      cut_to_fit(in_no_waves(sheet.graph), {.room = 1000, .most = 60, .ops = 100});
  ASSERT_TRUE(cut);
  ASSERT_EQ(cut->graph.ops.size(), 2U);
  EXPECT_EQ(cut->graph.ops[OpId{0}].axes[AxisId{1}].size, 2);
}

TEST(CutToFit, GoesOnAlongAnotherAxis) {
  Sheet sheet;
  sheet.add({sheet.tensor(Home::Weight)});
  const std::optional<WaveGraph> cut =
      cut_to_fit(in_no_waves(sheet.graph), {.room = 1000, .most = 4, .ops = 100});
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->graph.ops.size(), 24U);
  EXPECT_EQ(most_touched(cut->graph), 4.0);
}

TEST(SpilledToFit, WhatIsReadLastGoesFirst) {
  Sheet sheet;
  const TensorId x = sheet.tensor(Home::Input);
  const TensorId early = sheet.add({x});
  const TensorId late = sheet.add({x});
  const TensorId one = sheet.add({early});
  const TensorId two = sheet.add({one});
  sheet.add({two, late});
  const WaveGraph same = spilled_to_fit(in_no_waves(sheet.graph), 5 * kSheet);
  EXPECT_EQ(same.graph.tensors, sheet.graph.tensors);
  const WaveGraph fits = spilled_to_fit(in_no_waves(sheet.graph), 4 * kSheet);
  ASSERT_EQ(count_of(fits.graph, Home::Spilled), 1);
  ASSERT_EQ(fits.graph.stores.size(), 1U);
  const Store& store = fits.graph.stores.front();
  EXPECT_EQ(store.tensor, late);
  EXPECT_EQ(store.op, OpId{1});
  EXPECT_EQ(store.run, Bytes{48});
  EXPECT_EQ(fits.graph.ops[OpId{4}].operands[OperandId{1}].tensor, store.into);
}

TEST(SpilledToFit, AnInputStartsInHbm) {
  Sheet sheet;
  const TensorId x = sheet.tensor(Home::Input);
  const TensorId one = sheet.add({x});
  const TensorId two = sheet.add({one});
  sheet.add({two, x});
  const WaveGraph fits = spilled_to_fit(in_no_waves(sheet.graph), 4 * kSheet);
  EXPECT_EQ(fits.graph.tensors[x].home, Home::Spilled);
  EXPECT_TRUE(fits.graph.stores.empty());
}

TEST(Spilled, AStoreThatThereIsSaysWhere) {
  Sheet sheet;
  const TensorId one = sheet.add({sheet.tensor(Home::Input)});
  sheet.add({one});
  sheet.graph.stores = {{.tensor = one, .op = OpId{0}, .run = {16}}};
  Table<TensorId, OpId> from(sheet.graph.tensors.size(), OpId::none);
  from[one] = OpId{1};
  const WaveGraph there = spilled(in_no_waves(sheet.graph), from);
  ASSERT_EQ(there.graph.stores.size(), 1U);
  EXPECT_EQ(there.graph.stores[0].run, Bytes{16});
  EXPECT_EQ(there.graph.tensors[there.graph.stores[0].into].home, Home::Spilled);
}

/// Two ops make halves of a spilled tensor, which a third one reads.
Graph halves() {
  Sheet sheet;
  sheet.rows = 3;
  const TensorId x = sheet.tensor(Home::Input);
  const TensorId upper = sheet.add({x});
  const TensorId lower = sheet.add({x});
  sheet.rows = 6;
  const TensorId whole = sheet.tensor(Home::Spilled);
  sheet.add({whole});
  sheet.graph.stores = {
      {.tensor = upper, .op = OpId{0}, .run = {24}, .into = whole, .begin = {0, 0}},
      {.tensor = lower, .op = OpId{1}, .run = {24}, .into = whole, .begin = {3, 0}}};
  return sheet.graph;
}

TEST(SpilledTensors, AreFilledOnceBeforeTheyAreReadAndWrittenByNoOp) {
  EXPECT_NO_THROW(validate(halves()));
  Graph apart = halves();
  apart.stores[1].begin = {4, 0};  // Ends behind the tensor.
  EXPECT_THROW(validate(apart), InvalidInput);
  Graph twice = halves();
  twice.stores[1].begin = {2, 0};
  EXPECT_THROW(validate(twice), InvalidInput);
  Graph half = halves();
  half.stores.pop_back();
  EXPECT_THROW(validate(half), InvalidInput);
  Graph early = halves();
  std::swap(early.ops[OpId{1}], early.ops[OpId{2}]);
  early.stores[1].op = OpId{2};
  EXPECT_THROW(validate(early), InvalidInput);
  Graph elsewhere = halves();
  elsewhere.tensors[elsewhere.stores[0].into].home = Home::State;
  EXPECT_THROW(validate(elsewhere), InvalidInput);
  Graph written = halves();
  written.ops[OpId{1}].operands.back().tensor = written.stores[0].into;
  EXPECT_THROW(validate(written), InvalidInput);
}

TEST(Fitting, RandomGraphsKeepWhatTheyComputeAndFit) {
  std::mt19937 random(61);
  for (int round = 0; round < 200; ++round) {
    Sheet sheet;
    sheet.rows = 1 + static_cast<std::int64_t>(random() % 12);
    sheet.cols = 1 + static_cast<std::int64_t>(random() % 12);
    std::vector<TensorId> there{sheet.tensor(Home::Input), sheet.tensor(Home::Weight)};
    for (int op = 0; op < 8; ++op) {
      there.push_back(sheet.add({there[random() % there.size()], there[random() % there.size()]}));
    }
    sheet.graph.outputs = {there.back()};
    const double size = 2.0 * static_cast<double>(sheet.rows * sheet.cols);
    const double most = size * (0.5 + static_cast<double>(random() % 5));
    std::optional<WaveGraph> parts =
        cut_to_fit(in_no_waves(sheet.graph), {.room = 2 * most, .most = most, .ops = 5000});
    ASSERT_TRUE(parts);
    EXPECT_LE(most_touched(parts->graph), std::max(most, 6.0)) << round;
    *parts = spilled_to_fit(std::move(*parts), 2 * most);
    std::int64_t flops = 0;
    std::int64_t whole = 0;
    Table<TensorId, std::int64_t> made(sheet.graph.tensors.size(), 0);
    for (const Op& op : parts->graph.ops) {
      flops += op.flops;
      const TensorId result = op.operands.back().tensor;
      made[parts->part_of[result].tensor] += elements(parts->graph.tensors[result]);
    }
    for (const Op& op : sheet.graph.ops) {
      whole += op.flops;
      const TensorId result = op.operands.back().tensor;
      EXPECT_EQ(made[result], elements(sheet.graph.tensors[result]));
    }
    EXPECT_EQ(flops, whole);
  }
}

}  // namespace
}  // namespace elk::ir
