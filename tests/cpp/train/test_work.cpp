#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"
#include "elk/train/work/tensor_parallel.hpp"
#include "elk/train/work/work.hpp"
#include "train/models.hpp"
#include "train/steps.hpp"

namespace elk::train {
namespace {

using test::along;

constexpr int kProducts = 200;
constexpr std::int64_t kF16 = 2;  // bytes

std::vector<WorkStep> exchanges(const std::vector<WorkStep>& steps) {
  std::vector<WorkStep> result;
  for (const WorkStep& step : steps) {
    if (step.exchange) {
      result.push_back(step);
    }
  }
  return result;
}

/// An axis of an op as Table III cuts it.
struct CutAxis {
  std::string name;
  std::int64_t size;
  std::int64_t parts;

  [[nodiscard]] std::int64_t local() const { return size / parts; }
};

/// An axis of a size that its degree divides.
CutAxis random_axis(Random& random, std::string name) {
  const std::int64_t parts = 1 + random.below(4);
  return {.name = std::move(name), .size = parts * (1 + random.below(6)), .parts = parts};
}

/// Degrees of the axes of an op, and the cuts that are made of them.
struct Degrees {
  std::vector<CutAxis> axes;

  [[nodiscard]] std::int64_t devices() const {
    return std::accumulate(
        axes.begin(), axes.end(), std::int64_t{1},
        [](std::int64_t product, const CutAxis& axis) { return product * axis.parts; });
  }
  [[nodiscard]] GroupCut cut(std::size_t axis) const {
    const Degrees behind{
        .axes = {axes.begin() + static_cast<std::ptrdiff_t>(axis) + 1, axes.end()}};
    return {.parts = axes[axis].parts, .stride = behind.devices()};
  }
  [[nodiscard]] OpDegrees of(const std::string& op) const {
    OpDegrees result{.op = op, .axes = {}};
    for (const CutAxis& axis : axes) {
      result.axes.push_back({.axis = axis.name, .parts = axis.parts});
    }
    return result;
  }
};

/// Adds an exchange if it is one among several devices.
void add(Steps& steps, const WorkStep& exchange) {
  if (!exchange.exchange->cut.whole()) {
    steps.push_back(exchange);
  }
}

/// The cuts that are some.
std::vector<GroupCut> some(const std::vector<GroupCut>& cuts) {
  std::vector<GroupCut> result;
  for (const GroupCut& cut : cuts) {
    if (!cut.whole()) {
      result.push_back(cut);
    }
  }
  return result;
}

/// What Table III says of an op Y = X W: sizes on one device, and over what sums go.
struct TableRow {
  ProductSize size;
  std::int64_t x;  // bytes
  std::int64_t w;
  std::int64_t y;
  GroupCut reduced;            // cuts the axes that Y does not have
  GroupCut columns;            // cuts axes that X does not have
  std::vector<GroupCut> rows;  // cut axes that W does not have
};

/// `op` reads `x` and one weight.
void expect_row(const Work& work, TensorId x, const TableRow& row) {
  const auto& [groups, m, n, k] = row.size;
  Steps forward{product(row.size, {.input = row.x, .weight = row.w, .output = row.y})};
  add(forward, all_reduce(row.reduced, row.y));
  EXPECT_EQ(work.forward, forward);
  Steps backward{product({.groups = groups, .m = m, .n = k, .k = n},
                         {.input = row.y, .weight = row.w, .output = row.x}),
                 product({.groups = groups, .m = k, .n = n, .k = m},
                         {.input = row.x, .weight = row.y, .output = row.w}, true)};
  add(backward, all_reduce(row.columns, row.x));
  EXPECT_EQ(work.backward, backward);
  ASSERT_EQ(work.weights.size(), 1U);
  const HeldWeight& weight = work.weights.begin()->second;
  EXPECT_EQ(weight.elements * kF16, row.w);
  EXPECT_EQ(weight.bytes, Bytes{row.w});
  EXPECT_EQ(weight.sums, some(row.rows));
  EXPECT_EQ(work.saved, (std::map<TensorId, Bytes>{{x, {row.x}}}));
}

TEST(Work, ALinearLayerExchangesWhatTableThreeSays) {
  Random random{1};
  for (int i = 0; i < kProducts; ++i) {
    const CutAxis b = random_axis(random, "b");
    const CutAxis m = random_axis(random, "m");
    const CutAxis n = random_axis(random, "n");
    const CutAxis k = random_axis(random, "k");
    test::OneOp linear(
        ir::OpKind::MatMul, "matmul",
        {test::parallel("b", b.size, ir::TileDim::M), test::parallel("m", m.size, ir::TileDim::M),
         test::parallel("n", n.size, ir::TileDim::N),
         test::reduction("k", k.size, ir::TileDim::K)});
    linear
        .reads(ir::Home::Activation, {b.size, m.size, k.size},
               {along(AxisId{0}), along(AxisId{1}), along(AxisId{3})})
        .reads(ir::Home::Weight, {k.size, n.size}, {along(AxisId{3}), along(AxisId{2})})
        .writes({b.size, m.size, n.size}, {along(AxisId{0}), along(AxisId{1}), along(AxisId{2})});
    test::Net net;
    const TensorId x = test::trained(net, {b.size, m.size, k.size});
    net.add(linear, {x});
    const Degrees degrees{.axes = {b, m, n, k}};
    const std::int64_t rows = b.local() * m.local();
    expect_row(work_of_last(net, degrees.devices(), {degrees.of("op1")}), x,
               {.size = {.groups = 1, .m = rows, .n = n.local(), .k = k.local()},
                .x = kF16 * rows * k.local(),
                .w = kF16 * n.local() * k.local(),
                .y = kF16 * rows * n.local(),
                .reduced = degrees.cut(3),
                .columns = degrees.cut(2),
                .rows = {degrees.cut(0), degrees.cut(1)}});
  }
}

TEST(Work, AConvolutionExchangesWhatTableThreeSays) {
  Random random{2};
  for (int i = 0; i < kProducts; ++i) {
    const CutAxis b = random_axis(random, "b");
    const CutAxis h = random_axis(random, "oh");
    const CutAxis out = random_axis(random, "co");
    const CutAxis in = random_axis(random, "ci");
    const std::int64_t width = 1 + random.below(6);
    const std::int64_t side = h.parts == 1 ? 3 : 1;  // Parts of a larger kernel's input overlap.
    test::OneOp conv(ir::OpKind::Conv, "conv2d",
                     {test::parallel("b", b.size, ir::TileDim::Batch),
                      test::parallel("oh", h.size, ir::TileDim::OutH),
                      test::parallel("ow", width, ir::TileDim::OutW),
                      test::parallel("co", out.size, ir::TileDim::OutCh),
                      test::reduction("ci", in.size, ir::TileDim::InCh),
                      test::reduction("kh", side, ir::TileDim::KernelH),
                      test::reduction("kw", side, ir::TileDim::KernelW)});
    conv.op().params = {1, 1};
    conv.reads(ir::Home::Activation, {b.size, in.size, h.size, width},
               {along(AxisId{0}), along(AxisId{4}),
                test::mapped({AxisId{1}, AxisId{5}}, {1, 1}, -(side / 2)),
                test::mapped({AxisId{2}, AxisId{6}}, {1, 1}, -(side / 2))})
        .reads(ir::Home::Weight, {out.size, in.size, side, side},
               {along(AxisId{3}), along(AxisId{4}), along(AxisId{5}), along(AxisId{6})})
        .writes({b.size, out.size, h.size, width},
                {along(AxisId{0}), along(AxisId{3}), along(AxisId{1}), along(AxisId{2})});
    test::Net net;
    const TensorId x = test::trained(net, {b.size, in.size, h.size, width});
    net.add(conv, {x});
    const Degrees degrees{.axes = {b, h, out, in}};
    const std::int64_t places = b.local() * h.local() * width;
    const std::int64_t depth = in.local() * side * side;
    expect_row(work_of_last(net, degrees.devices(), {degrees.of("op1")}), x,
               {.size = {.groups = 1, .m = places, .n = out.local(), .k = depth},
                .x = kF16 * places * in.local(),
                .w = kF16 * out.local() * depth,
                .y = kF16 * places * out.local(),
                .reduced = degrees.cut(3),
                .columns = degrees.cut(2),
                .rows = {degrees.cut(0), degrees.cut(1)}});
  }
}

TEST(Work, AnMlpSumsOnceForwardAndOnceBackwardAsMegatronDoes) {
  test::Net net;
  test::mlp(net, test::trained(net, {6, 32}), 6, 32);
  const Work work = work_of(net.graph, all_ops(net.graph), kTp);
  EXPECT_EQ(exchanges(work.forward), Steps{all_reduce(kAll, 6 * 32 * kF16)});
  EXPECT_EQ(exchanges(work.backward), Steps{all_reduce(kAll, 6 * 32 * kF16)});
  EXPECT_EQ(work.backward.size(), 7U) << "a gradient for each operand, two passes, and the sum";
}

TEST(Work, AGradientIsReducedOnceAfterAllHaveAddedToIt) {
  test::Net net;
  const TensorId x = test::trained(net, {6, 32});
  const TensorId y = test::mlp(net, x, 6, 32);
  net.add(test::add_of(6, 32), {x, y});
  const Work work = work_of(net.graph, all_ops(net.graph), kTp);
  const std::int64_t bytes = 6 * 32 * kF16;
  ASSERT_GE(work.backward.size(), 3U);
  const Steps end(work.backward.end() - 3, work.backward.end());
  EXPECT_EQ(
      end, (Steps{pass({.input = 2 * bytes, .weight = 0, .output = bytes}), all_reduce(kAll, bytes),
                  pass({.input = bytes, .weight = 0, .output = 32 * kF16}, true)}))
      << "what the residual adds, the sum over devices, the gradient of the bias";
  EXPECT_EQ(exchanges(work.backward).size(), 1U);
}

TEST(Work, ACutTableIsHeldByRowsAndItsResultsAreSums) {
  test::Net net;
  net.add(test::embedding(6, 40, 32), {test::indices(net, 6)});
  const Work work = work_of_last(net, kTp);
  EXPECT_EQ(exchanges(work.forward), Steps{all_reduce(kAll, 6 * 32 * kF16)});
  EXPECT_EQ(exchanges(work.backward), Steps{});
  ASSERT_EQ(work.weights.size(), 1U);
  EXPECT_EQ(work.weights.begin()->second.bytes, Bytes{40 * 32 / kTp * kF16});
  EXPECT_EQ(work.weights.begin()->second.sums, std::vector<GroupCut>{});
}

TEST(Work, ASoftmaxWhoseRowsAreCutSharesTwoNumbersOfEach) {
  test::Net net;
  const TensorId x = net.add(test::matmul(6, 32, 16), {test::trained(net, {6, 16})});
  net.add(test::softmax(6, 32), {x});
  const Work work = work_of_last(net, kTp);
  EXPECT_EQ(exchanges(work.forward), Steps{all_reduce(kAll, 2 * 6 * kF16)});
  EXPECT_EQ(exchanges(work.backward), Steps{all_reduce(kAll, 2 * 6 * kF16)});
}

TEST(Work, WhatIsHeldOtherwiseIsGatheredFirst) {
  test::Net net;
  const TensorId x = net.add(test::matmul(6, 32, 16), {test::trained(net, {6, 16})});
  net.add(test::softmax(6, 32), {x});
  const std::int64_t bytes = 6 * 32 * kF16;
  const Work work = work_of_last(net, kTp, {{.op = "op2", .axes = {{"r", 1}}}});
  EXPECT_EQ(work.forward,
            (Steps{all_gather(kAll, bytes), pass({.input = bytes, .weight = 0, .output = bytes})}));
}

TEST(Work, WhatDoesNotTrainHasNoGradientsAndSavesNothing) {
  test::Net net;
  test::mlp(net, test::trained(net, {6, 32}), 6, 32);
  const TensorParallel cuts = cut_over(net.graph, kTp, {});
  const Work work = WorkOfOps(net.graph, cuts, nullptr).of(all_ops(net.graph), false);
  EXPECT_EQ(work.forward, work_of(net.graph, all_ops(net.graph), kTp).forward);
  EXPECT_EQ(work.backward, Steps{});
  EXPECT_TRUE(work.saved.empty());
}

TEST(Work, AnInputHasNoGradientAndIsNotSaved) {
  test::Net net;
  net.add(test::matmul(6, 32, 16), {net.tensor(ir::Home::Input, {6, 16})});
  const Work work = work_of_last(net, 1);
  EXPECT_EQ(
      work.backward,
      Steps{product({.groups = 1, .m = 16, .n = 32, .k = 6},
                    {.input = 6 * 16 * kF16, .weight = 6 * 32 * kF16, .output = 16 * 32 * kF16},
                    true)});
  EXPECT_TRUE(work.saved.empty());
}

}  // namespace
}  // namespace elk::train
