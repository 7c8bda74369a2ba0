#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/shard/split.hpp"
#include "schedule/models.hpp"

namespace elk::shard {
namespace {

std::vector<AxisId> axes(const std::vector<Split>& splits) {
  std::vector<AxisId> result;
  for (const Split& split : splits) {
    result.push_back(split.axis);
  }
  return result;
}

TEST(Splits, OfAProductAreItsRowsItsColumnsAndItsDepth) {
  const test::OneOp one = test::matmul(8, 16, 32);
  const std::vector<Split> found = splits(one.graph, one.op(), PartLengths(one.graph, 4));
  EXPECT_EQ(
      found,
      (std::vector<Split>{
          {.axis = AxisId::none, .part = 0, .forms = {whole(), whole(), whole()}},
          {.axis = AxisId{0}, .part = 2, .forms = {cut(DimId{0}), whole(), cut(DimId{0})}},
          {.axis = AxisId{1}, .part = 4, .forms = {whole(), cut(DimId{1}), cut(DimId{1})}},
          {.axis = AxisId{2}, .part = 8, .forms = {cut(DimId{1}), cut(DimId{0}), partial()}}}));
}

TEST(Splits, OfSizesThatAreNoMultipleOfTheChipsLeaveTheLastLess) {
  const test::OneOp one = test::matmul(6, 16, 32);
  const std::vector<Split> found = splits(one.graph, one.op(), PartLengths(one.graph, 4));
  EXPECT_EQ(axes(found), (std::vector<AxisId>{AxisId::none, AxisId{0}, AxisId{1}, AxisId{2}}));
  EXPECT_EQ(found[1].part, 2);  // 2, 2, 2 and none
  EXPECT_EQ(on_one_chip(one.op(), found[1]).axes[AxisId{0}].size, 2);
  EXPECT_EQ(on_one_chip(one.op(), found[1]).flops, one.op().flops / 3);
}

TEST(Splits, LeaveOutAnAxisOfOne) {
  const test::OneOp one = test::matmul(1, 16, 32);
  EXPECT_EQ(axes(splits(one.graph, one.op(), PartLengths(one.graph, 4))),
            (std::vector<AxisId>{AxisId::none, AxisId{1}, AxisId{2}}));
}

/// y[h, d] = x[h * 8 + d]: heads of eight columns.
test::OneOp heads(std::int64_t count) {
  test::OneOp one(ir::OpKind::Elementwise, "exp",
                  {test::parallel("h", count, ir::TileDim::Elements),
                   test::parallel("d", 8, ir::TileDim::Elements)});
  one.reads(ir::Home::Activation, {count * 8}, {test::mapped({AxisId{0}, AxisId{1}}, {8, 1})})
      .writes({count, 8}, {test::along(AxisId{0}), test::along(AxisId{1})});
  return one;
}

TEST(PartLengths, KeepHeadsTogetherWhereThatLeavesFewChipsIdle) {
  const auto part = [](std::int64_t count, std::int64_t chips) {
    return PartLengths(heads(count).graph, chips).of(TensorId{0}, DimId{0});
  };
  EXPECT_EQ(part(8, 4), 16) << "two heads each";
  EXPECT_EQ(part(40, 16), 24) << "three heads each, on 14 of 16 chips";
  EXPECT_EQ(part(20, 16), 10) << "two each would leave six chips idle: columns instead";
}

TEST(Splits, NeverCutARowThatIsNormalised) {
  const test::OneOp one = test::softmax(8, 64);
  EXPECT_EQ(axes(splits(one.graph, one.op(), PartLengths(one.graph, 4))),
            (std::vector<AxisId>{AxisId::none, AxisId{0}}));
}

TEST(Splits, NeverCutTheRowsOfACacheThatGrows) {
  // 60 old rows and 4 new ones of k: no part of them lies on one chip.
  const test::OneOp one = test::scores(4, 64, 32);
  EXPECT_EQ(axes(splits(one.graph, one.op(), PartLengths(one.graph, 4))),
            (std::vector<AxisId>{AxisId::none, AxisId{0}, AxisId{2}}));
}

TEST(Splits, OfMergedHeadsCutTheHeadsAndNotWhatIsInside) {
  // y[r, h, d] = x[r, h * 8 + d], whose last dimension holds four heads of eight.
  test::OneOp one(
      ir::OpKind::Elementwise, "exp",
      {test::parallel("r", 3, ir::TileDim::Elements), test::parallel("h", 4, ir::TileDim::Elements),
       test::parallel("d", 8, ir::TileDim::Elements)});
  one.reads(ir::Home::Activation, {3, 32},
            {test::along(AxisId{0}), test::mapped({AxisId{1}, AxisId{2}}, {8, 1})})
      .writes({3, 4, 8}, {test::along(AxisId{0}), test::along(AxisId{1}), test::along(AxisId{2})});
  const std::vector<Split> found = splits(one.graph, one.op(), PartLengths(one.graph, 4));
  EXPECT_EQ(found, (std::vector<Split>{
                       {.axis = AxisId::none, .part = 0, .forms = {whole(), whole()}},
                       {.axis = AxisId{0}, .part = 1, .forms = {cut(DimId{0}), cut(DimId{0})}},
                       {.axis = AxisId{1}, .part = 1, .forms = {cut(DimId{1}), cut(DimId{1})}}}));
}

TEST(Splits, OfAHaloAreRefused) {
  // y[i] = x[i + k], k < 3: the parts of x overlap.
  test::OneOp one(
      ir::OpKind::Pool, "sumpool2d",
      {test::parallel("i", 8, ir::TileDim::OutW), test::reduction("k", 3, ir::TileDim::KernelW)});
  one.reads(ir::Home::Activation, {10}, {test::mapped({AxisId{0}, AxisId{1}}, {1, 1})})
      .writes({8}, {test::along(AxisId{0})});
  EXPECT_EQ(axes(splits(one.graph, one.op(), PartLengths(one.graph, 2))),
            (std::vector<AxisId>{AxisId::none}));
}

TEST(Splits, OfAMaximumNeverLeaveAddends) {
  test::OneOp one(
      ir::OpKind::Reduce, "max/inner",
      {test::parallel("r", 8, ir::TileDim::Rows), test::reduction("c", 64, ir::TileDim::Cols)});
  one.reads(ir::Home::Activation, {8, 64}, {test::along(AxisId{0}), test::along(AxisId{1})})
      .writes({8}, {test::along(AxisId{0})});
  EXPECT_EQ(axes(splits(one.graph, one.op(), PartLengths(one.graph, 4))),
            (std::vector<AxisId>{AxisId::none, AxisId{0}}));
}

TEST(OnOneChip, HasAPartOfTheAxis) {
  const test::OneOp one = test::matmul(8, 16, 32);
  const Split columns = splits(one.graph, one.op(), PartLengths(one.graph, 4))[2];
  const ir::Op part = on_one_chip(one.op(), columns);
  EXPECT_EQ(part.axes[AxisId{1}].size, 4);
  EXPECT_EQ(part.flops * 4, one.op().flops);
}

}  // namespace
}  // namespace elk::shard
