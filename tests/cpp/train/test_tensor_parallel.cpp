#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"
#include "elk/train/work/tensor_parallel.hpp"
#include "train/models.hpp"
#include "train/steps.hpp"

namespace elk::train {
namespace {

using Cuts = Table<AxisId, GroupCut>;
using Sums = std::vector<GroupCut>;

/// Over which cuts the result of an op is a sum.
Sums sums_of_result(const ir::Graph& graph, const TensorParallel& cuts, OpId op) {
  return sums_over(graph.ops[op], cuts.ops[op], graph.ops[op].operands.back());
}

TensorCuts cut_along(std::int32_t dim) { return {{.dim = DimId{dim}, .cut = kAll}}; }

TEST(TensorParallel, AnMlpIsCutByColumnsThenByItsReduction) {
  test::Net net;
  const TensorId x = test::trained(net, {6, 32});
  const OpId up = test::last_op(net) + 1;
  const TensorId y = test::mlp(net, x, 6, 32);
  const TensorParallel cuts = cut_over(net.graph, kTp, {});
  EXPECT_EQ(cuts.ops[up].axes, (Cuts{kWhole, kAll, kWhole})) << "columns of the first";
  EXPECT_EQ(cuts.ops[up + 1].axes, (Cuts{kWhole, kAll})) << "what bends the values follows";
  EXPECT_EQ(cuts.ops[up + 2].axes, (Cuts{kWhole, kWhole, kAll})) << "reduction of the second";
  EXPECT_EQ(cuts.held[x], TensorCuts{});
  EXPECT_EQ(cuts.held[net.graph.ops[up].operands.back().tensor], cut_along(1));
  EXPECT_EQ(cuts.held[y], TensorCuts{}) << "after the sum each has all of it";
  std::size_t summed = 0;
  for (const OpId op : net.graph.ops.ids()) {
    EXPECT_TRUE(cuts.ops[op].gathered.empty()) << "operator " << op;
    summed += sums_of_result(net.graph, cuts, op).size();
  }
  EXPECT_EQ(summed, 1U);
  EXPECT_EQ(sums_of_result(net.graph, cuts, up + 2), Sums{kAll});
}

TEST(TensorParallel, OneDeviceCutsNothing) {
  test::Net net;
  const TensorId table = net.add(test::embedding(6, 40, 32), {test::indices(net, 6)});
  net.add(test::softmax(6, 32), {test::mlp(net, table, 6, 32)});
  const TensorParallel cuts = cut_over(net.graph, 1, {});
  for (const OpId op : net.graph.ops.ids()) {
    const OpCut whole{
        .axes = Cuts(net.graph.ops[op].axes.size(), kWhole), .picked = kWhole, .gathered = {}};
    EXPECT_EQ(cuts.ops[op], whole);
  }
}

TEST(TensorParallel, ATableIsCutByTheRowsThatAreGathered) {
  test::Net net;
  const TensorId y = net.add(test::embedding(6, 40, 32), {test::indices(net, 6)});
  const TensorParallel cuts = cut_over(net.graph, kTp, {});
  const OpId gather{0};
  EXPECT_EQ(cuts.ops[gather].picked, kAll);
  EXPECT_EQ(cuts.ops[gather].axes, (Cuts{kWhole, kWhole}));
  EXPECT_EQ(cuts.ops[gather].gathered, std::vector<TensorId>{});
  EXPECT_EQ(cuts.held[y], TensorCuts{});
  EXPECT_EQ(sums_of_result(net.graph, cuts, gather), Sums{kAll})
      << "each device has the rows that lie on it";
  const ir::Operand& table = net.graph.ops[gather].operands.front();
  EXPECT_EQ(sums_over(net.graph.ops[gather], cuts.ops[gather], table), Sums{})
      << "no device has another's rows";
}

TEST(TensorParallel, ATableOfFewerRowsThanDevicesIsNotCut) {
  test::Net net;
  net.add(test::embedding(6, kTp - 1, 32), {test::indices(net, 6)});
  EXPECT_EQ(cut_over(net.graph, kTp, {}).ops[OpId{0}].picked, kWhole);
}

TEST(TensorParallel, AGatherAlongACutDimensionIsCutByWhatItPicksFrom) {
  test::Net net;
  const TensorId x = net.add(test::matmul(40, 32, 16), {test::trained(net, {40, 16})});
  const OpId made = test::last_op(net);
  test::OneOp picks = test::embedding(6, 40, 32);
  picks.graph.tensors[TensorId{0}].home = ir::Home::Activation;
  const TensorId index = test::indices(net, 6);
  net.add(picks, {x, index});
  // The rows of the product lie in parts on the devices.
  const TensorParallel cuts =
      cut_over(net.graph, kTp, {{.op = net.graph.ops[made].name, .axes = {{"m", kTp}}}});
  EXPECT_EQ(cuts.held[x], cut_along(0));
  EXPECT_EQ(cuts.ops[made + 1].picked, kAll);
  EXPECT_EQ(cuts.ops[made + 1].gathered, std::vector<TensorId>{});
  EXPECT_EQ(sums_of_result(net.graph, cuts, made + 1), Sums{kAll});
}

TEST(TensorParallel, ASoftmaxStaysCutAlongItsRows) {
  test::Net net;
  const TensorId x = net.add(test::matmul(6, 32, 16), {test::trained(net, {6, 16})});
  const TensorId y = net.add(test::softmax(6, 32), {x});
  const OpId op = test::last_op(net);
  const TensorParallel cuts = cut_over(net.graph, kTp, {});
  EXPECT_EQ(cuts.ops[op].axes, (Cuts{kWhole, kAll}));
  EXPECT_EQ(cuts.ops[op].gathered, std::vector<TensorId>{});
  EXPECT_EQ(cuts.held[y], cut_along(1));
}

TEST(TensorParallel, WhatIsElementwiseFollowsItsCutInputs) {
  test::Net net;
  const TensorId whole = test::trained(net, {6, 32});
  const TensorId cut = net.add(test::matmul(6, 32, 32), {whole});
  const TensorId sum = net.add(test::add_of(6, 32), {whole, cut});
  const OpId add = test::last_op(net);
  net.add(test::bias_add(6, 32), {sum});
  const TensorParallel cuts = cut_over(net.graph, kTp, {});
  for (const OpId op : {add, add + 1}) {
    EXPECT_EQ(cuts.ops[op].axes, (Cuts{kWhole, kAll}));
    EXPECT_EQ(cuts.ops[op].gathered, std::vector<TensorId>{});
  }
  EXPECT_EQ(cuts.held[sum], cut_along(1));
}

TEST(TensorParallel, SumsOfACutDimensionAreSumsOverDevicesAndOthersGatherIt) {
  test::Net net;
  const TensorId x = net.add(test::matmul(6, 32, 16), {test::trained(net, {6, 16})});
  net.add(test::row_sum(6, 32), {x});
  const OpId sum = test::last_op(net);
  test::OneOp most = test::row_sum(6, 32);
  most.op().function = "max/inner";
  net.add(most, {x});
  const TensorParallel cuts = cut_over(net.graph, kTp, {});
  EXPECT_EQ(cuts.ops[sum].axes, (Cuts{kWhole, kAll}));
  EXPECT_EQ(cuts.ops[sum].gathered, std::vector<TensorId>{});
  EXPECT_EQ(sums_of_result(net.graph, cuts, sum), Sums{kAll});
  EXPECT_EQ(cuts.ops[sum + 1].axes, (Cuts{kWhole, kWhole}));
  EXPECT_EQ(cuts.ops[sum + 1].gathered, std::vector<TensorId>{x});
  EXPECT_EQ(sums_of_result(net.graph, cuts, sum + 1), Sums{});
}

TEST(TensorParallel, WhereTwoInputsAreCutOtherwiseTheSecondIsGathered) {
  test::Net net;
  const TensorId x = test::trained(net, {8, 16});
  const TensorId a = net.add(test::matmul(8, 32, 16), {x});
  const TensorId b = net.add(test::matmul(32, 24, 16), {test::trained(net, {32, 16})});
  net.add(test::product(8, 24, 32), {a, b});
  const OpId op = test::last_op(net);
  const TensorParallel cuts = cut_over(net.graph, kTp, {});
  ASSERT_EQ(cuts.held[a], cut_along(1));
  ASSERT_EQ(cuts.held[b], cut_along(1));
  EXPECT_EQ(cuts.ops[op].axes, (Cuts{kWhole, kWhole, kAll}));
  EXPECT_EQ(cuts.ops[op].gathered, std::vector<TensorId>{b});
  EXPECT_EQ(sums_of_result(net.graph, cuts, op), Sums{kAll});
}

TEST(TensorParallel, DevicesThatPickRowsDoNotCutAnAxisToo) {
  // Rows of x, cut along them, are picked and added to what is cut along its columns.
  test::Net net;
  const TensorId x = net.add(test::matmul(40, 32, 16), {test::trained(net, {40, 16})});
  const std::string by_rows = net.graph.ops.back().name;
  const TensorId other = net.add(test::matmul(6, 32, 16), {test::trained(net, {6, 16})});
  test::OneOp picks(ir::OpKind::Gather, "gather", test::embedding(6, 40, 32).op().axes);
  picks.reads(ir::Home::Activation, {40, 32}, {test::point(), test::along(AxisId{1})})
      .reads(ir::Home::Activation, {6}, {test::along(AxisId{0})})
      .reads(ir::Home::Activation, {6, 32}, {test::along(AxisId{0}), test::along(AxisId{1})})
      .writes({6, 32}, {test::along(AxisId{0}), test::along(AxisId{1})});
  picks.op().operands.front().indirect = test::embedding(6, 40, 32).op().operands.front().indirect;
  net.add(picks, {x, test::indices(net, 6), other});
  const OpId op = test::last_op(net);
  const TensorParallel cuts = cut_over(net.graph, kTp, {{.op = by_rows, .axes = {{"m", kTp}}}});
  EXPECT_EQ(cuts.ops[op].picked, kAll);
  EXPECT_EQ(cuts.ops[op].axes, (Cuts{kWhole, kWhole}));
  EXPECT_EQ(cuts.ops[op].gathered, std::vector<TensorId>{other});
}

TEST(TensorParallel, WhatOnlyInputsMakeIsCutAsAllItsReadersHaveIt) {
  for (const bool another : {false, true}) {
    test::Net net;
    const TensorId mask = net.add(test::exp_of(6, 32), {net.tensor(ir::Home::Input, {6, 32})});
    const TensorId x = test::trained(net, {6, 16});
    const TensorId y = net.add(test::matmul(6, 32, 16), {x});
    net.add(test::add_of(6, 32), {y, mask});
    if (another) {  // One that reads all of the mask.
      net.add(test::add_of(6, 32), {test::trained(net, {6, 32}), mask});
    }
    EXPECT_EQ(cut_over(net.graph, kTp, {}).held[mask], another ? TensorCuts{} : cut_along(1));
  }
}

/// A product, m of 12, n of 10, k of 8, and a softmax of its result.
ir::Graph product_and_softmax() {
  test::Net net;
  const TensorId x = test::trained(net, {12, 8});
  test::OneOp product = test::matmul(12, 10, 8);
  product.op().onnx_type = "MatMul";
  product.op().axes[AxisId{2}].name = "k_0";  // of several reduced dimensions the first
  const TensorId y = net.add(product, {x});
  net.add(test::softmax(12, 10), {y});
  return net.graph;
}
constexpr OpId kProduct{1};

TEST(TensorParallel, OfSeveralDegreesTheLastAxisHasNeighbours) {
  const ir::Graph graph = product_and_softmax();
  const std::vector<AxisDegree> axes{{"m", 3}, {"n", 2}, {"k", 4}};
  const GroupCut by_m{.parts = 3, .stride = 8};
  const GroupCut by_n{.parts = 2, .stride = 4};
  const GroupCut by_k{.parts = 4, .stride = 1};
  for (const std::string& name : {graph.ops[kProduct].name, std::string("MatMul")}) {
    const TensorParallel cuts = cut_over(graph, 24, {{.op = name, .axes = axes}});
    EXPECT_EQ(cuts.ops[kProduct].axes, (Cuts{by_m, by_n, by_k}));
    EXPECT_EQ(cuts.held[graph.ops[kProduct].operands.back().tensor],
              (TensorCuts{{.dim = DimId{0}, .cut = by_m}, {.dim = DimId{1}, .cut = by_n}}));
    EXPECT_EQ(sums_of_result(graph, cuts, kProduct), Sums{by_k});
    EXPECT_EQ(cuts.ops[kProduct + 1].axes, (Cuts{by_m, by_n})) << "the softmax follows";
    EXPECT_EQ(local_sizes(graph.ops[kProduct], cuts.ops[kProduct]),
              (Table<AxisId, std::int64_t>{4, 5, 2}));
  }
}

TEST(TensorParallel, AnOpWithGivenDegreesFollowsNobodyAndGathersWhatItReads) {
  const ir::Graph graph = product_and_softmax();
  const TensorParallel cuts = cut_over(graph, 2,
                                       {{.op = graph.ops[kProduct].name, .axes = {{"m", 2}}},
                                        {.op = graph.ops[kProduct + 1].name, .axes = {{"r", 1}}}});
  EXPECT_EQ(cuts.ops[kProduct].axes, (Cuts{{.parts = 2, .stride = 1}, kWhole, kWhole}));
  EXPECT_EQ(cuts.ops[kProduct + 1].axes, (Cuts{kWhole, kWhole})) << "a degree of one cuts nothing";
  EXPECT_EQ(cuts.ops[kProduct + 1].gathered,
            std::vector<TensorId>{graph.ops[kProduct].operands.back().tensor});
}

TEST(TensorParallel, DegreesThatTheGraphDoesNotHaveAreRefused) {
  const auto complaint = [](const OpDegrees& wrong) {
    try {
      static_cast<void>(cut_over(product_and_softmax(), 20, {wrong}));
    } catch (const InvalidInput& error) {
      EXPECT_EQ(error.code(), "strategy");
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(complaint({.op = "Gemm", .axes = {{"m", 2}}}),
            "degrees: no operator is called, or of type, \"Gemm\"");
  EXPECT_EQ(complaint({.op = "MatMul", .axes = {{"h", 2}}}),
            "degrees[\"MatMul\"][\"h\"] must be an axis of at least 2 in each such operator, op1 "
            "has m of 12, n of 10, k_0 of 8");
  EXPECT_EQ(complaint({.op = "MatMul", .axes = {{"n", 20}}}),
            "degrees[\"MatMul\"][\"n\"] must be an axis of at least 20 in each such operator, op1 "
            "has m of 12, n of 10, k_0 of 8");
}

}  // namespace
}  // namespace elk::train
