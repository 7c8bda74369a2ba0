#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"
#include "ir/graphs.hpp"

namespace elk::ir {
namespace {

/// The message with which `validate` refuses `graph`; empty if it does not.
std::string refusal(const Graph& graph) {
  try {
    validate(graph);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

/// exp and then neg of an input of 8 elements.
Graph small() {
  testing::Chain chain(8);
  chain.graph().outputs = {
      TensorId{chain.add("neg", {chain.add("exp", {chain.tensor(Home::Input)})})}};
  return chain.graph();
}

bool mentions(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

TEST(Bytes, OfHalfBytesAreRoundedUp) {
  EXPECT_EQ(bytes({.name = "t", .dtype = DType::I4, .shape = {3, 3}, .home = Home::Weight}),
            Bytes{5});
  EXPECT_EQ(bytes({.name = "t", .dtype = DType::F16, .shape = {}, .home = Home::Weight}), Bytes{2});
}

TEST(Names, OfTypesAreThoseOfFiles) {
  EXPECT_STREQ(name(DType::BF16), "bf16");
  EXPECT_STREQ(name(DType::Bool), "bool");
  EXPECT_STREQ(name(OpKind::DepthwiseConv), "depthwise_conv");
  EXPECT_EQ(bits(DType::F64), 64);
}

TEST(Validate, AcceptsAChain) { EXPECT_EQ(refusal(small()), ""); }

TEST(Validate, RefusesSizesBelowOne) {
  Graph graph = small();
  graph.tensors[TensorId{0}].shape = {0};
  EXPECT_TRUE(mentions(refusal(graph), "tensor 't0' must have positive sizes, got 0"));
}

TEST(Validate, RefusesSizesWhoseProductOverflows) {
  Graph graph = small();
  graph.tensors[TensorId{0}].shape = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  EXPECT_TRUE(mentions(refusal(graph), "at most 2^56 elements"));
}

TEST(Validate, RefusesTwoTensorsOfOneName) {
  Graph graph = small();
  graph.tensors[TensorId{1}].name = "t0";
  EXPECT_TRUE(mentions(refusal(graph), "got 't0' twice"));
}

TEST(Validate, RefusesWhatCoversOthersWithoutAMaskBehindIt) {
  testing::Chain chain(8);
  const TensorId state = chain.tensor(Home::State);
  const TensorId rows = chain.tensor(Home::Input);
  const TensorId mask = chain.tensor(Home::Input);
  chain.graph().outputs = {TensorId{chain.add("exp", {state, rows, mask})}};
  Graph graph = chain.graph();
  graph.ops[OpId{0}].operands[OperandId{1}].covers = true;
  EXPECT_TRUE(mentions(refusal(graph), "and its mask of truth values behind it"));
  graph.tensors[mask].dtype = DType::Bool;
  EXPECT_EQ(refusal(graph), "");
  graph.ops[OpId{0}].operands[OperandId{2}].covers = true;
  EXPECT_TRUE(mentions(refusal(graph), "and its mask of truth values behind it"));
}

TEST(Validate, RefusesAnOperandWithoutTensor) {
  Graph graph = small();
  graph.ops[OpId{1}].operands[OperandId{0}].tensor = TensorId{3};
  EXPECT_TRUE(mentions(refusal(graph), "must be in the graph, got 3 of 3"));
}

TEST(Validate, RefusesDimsThatDoNotMatchTheShape) {
  Graph graph = small();
  graph.ops[OpId{0}].operands[OperandId{0}].dims.clear();
  EXPECT_TRUE(mentions(refusal(graph), "one dim for each of 1 sizes, got 0"));
}

TEST(Validate, RefusesAnAxisThatIsNotThere) {
  Graph graph = small();
  graph.ops[OpId{0}].operands[OperandId{0}].dims[DimId{0}].axes = {AxisId{1}};
  EXPECT_TRUE(mentions(refusal(graph), "names axis 1 of 1"));
}

TEST(Validate, RefusesCoefficientsBelowOne) {
  Graph graph = small();
  graph.ops[OpId{0}].operands[OperandId{0}].dims[DimId{0}].coef = {0};
  EXPECT_TRUE(mentions(refusal(graph), "positive coefficients, got 0"));
}

TEST(Validate, AcceptsAnIndexThatIsPartlyOutside) {
  Graph graph = small();
  graph.ops[OpId{0}].operands[OperandId{0}].dims[DimId{0}].offset = 7;
  EXPECT_EQ(refusal(graph), "");
  graph.ops[OpId{0}].operands[OperandId{0}].dims[DimId{0}].offset = -7;
  EXPECT_EQ(refusal(graph), "");
}

TEST(Validate, RefusesAnIndexThatIsOutsideAltogether) {
  Graph graph = small();
  graph.ops[OpId{0}].operands[OperandId{0}].dims[DimId{0}].offset = 8;
  EXPECT_TRUE(mentions(refusal(graph), "indexes 8 to 15 of 8: nothing of it is read"));
  graph.ops[OpId{0}].operands[OperandId{0}].dims[DimId{0}].offset = -8;
  EXPECT_TRUE(mentions(refusal(graph), "indexes -8 to -1 of 8: nothing of it is read"));
}

TEST(Validate, RefusesAReadBeforeTheWrite) {
  Graph graph = small();
  std::swap(graph.ops[OpId{0}], graph.ops[OpId{1}]);
  EXPECT_TRUE(mentions(refusal(graph), "reads 't1' before it is written"));
}

TEST(Validate, RefusesASecondWrite) {
  Graph graph = small();
  graph.ops[OpId{1}].operands[OperandId{1}].tensor = TensorId{1};
  EXPECT_TRUE(mentions(refusal(graph), "writes 't1', which is there already"));
}

TEST(Validate, RefusesReadsAfterWrites) {
  Graph graph = small();
  std::swap(graph.ops[OpId{0}].operands[OperandId{0}], graph.ops[OpId{0}].operands[OperandId{1}]);
  EXPECT_TRUE(mentions(refusal(graph), "reads before writes"));
}

TEST(Validate, RefusesAnOpThatMakesNothing) {
  Graph graph = small();
  graph.ops[OpId{1}].operands.pop_back();
  EXPECT_TRUE(mentions(refusal(graph), "must have a write"));
}

TEST(Validate, RefusesAnIndexTensorThatIsNotThere) {
  Graph graph = small();
  graph.ops[OpId{0}].operands[OperandId{0}].indirect =
      Indirect{.index = TensorId{9}, .dim = DimId{0}, .axes = {AxisId{0}}, .expected_picks = 1.0};
  EXPECT_TRUE(mentions(refusal(graph), "the index into 't0'"));
}

TEST(Validate, RefusesPicksThatAreNone) {
  for (const double picks : {-1.0, 9.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    Graph graph = small();
    graph.ops[OpId{0}].operands[OperandId{0}].indirect = Indirect{
        .index = TensorId{0}, .dim = DimId{0}, .axes = {AxisId{0}}, .expected_picks = picks};
    EXPECT_TRUE(mentions(refusal(graph), "must pick from 0 to 8 positions"));
  }
}

TEST(Validate, RefusesMoreAxesThanASetOfThemHolds) {
  Graph graph = small();
  graph.ops[OpId{0}].axes.resize(65, graph.ops[OpId{0}].axes[AxisId{0}]);
  EXPECT_TRUE(mentions(refusal(graph), "the axes must be at most 64, got 65"));
}

TEST(Validate, RefusesParametersBelowZero) {
  Graph graph = small();
  graph.ops[OpId{1}].params = {1, -1};
  EXPECT_TRUE(mentions(refusal(graph), "params must be from 0"));
}

TEST(Validate, RefusesAStoreOfWhatItsOpDoesNotWrite) {
  Graph graph = small();
  graph.stores = {{.tensor = TensorId{2}, .op = OpId{0}, .run = Bytes{16}}};
  EXPECT_TRUE(mentions(refusal(graph), "a store names tensor 't2', which op 0 does not write"));
}

TEST(Validate, RefusesStoresAndOutputsThatAreNotThere) {
  Graph graph = small();
  graph.stores = {{.tensor = TensorId{1}, .op = OpId{2}, .run = Bytes{16}}};
  EXPECT_TRUE(mentions(refusal(graph), "a store names tensor 1 of op 2"));
  graph.stores = {{.tensor = TensorId{1}, .op = OpId{0}, .run = Bytes{0}}};
  EXPECT_TRUE(mentions(refusal(graph), "run must be positive, got 0 bytes"));
  graph.stores.clear();
  graph.outputs = {TensorId{3}};
  EXPECT_TRUE(mentions(refusal(graph), "output 3 is not in the graph"));
}

TEST(Instantiate, PutsTensorsInThePlaceOfPositions) {
  Op pattern =
      testing::op("", "gather", 4, {testing::read(TensorId{0}), testing::write(TensorId{2})});
  pattern.operands[OperandId{0}].indirect =
      Indirect{.index = TensorId{1}, .dim = DimId{0}, .axes = {AxisId{0}}, .expected_picks = 4.0};
  const Table<TensorId, TensorId> tensors{TensorId{7}, TensorId{5}, TensorId{9}};

  const Op made = instantiate(pattern, "pick", tensors);

  EXPECT_EQ(made.name, "pick");
  EXPECT_EQ(made.operands[OperandId{0}].tensor, TensorId{7});
  EXPECT_EQ(made.operands[OperandId{0}].indirect.value_or(Indirect{}).index, TensorId{5});
  EXPECT_EQ(made.operands[OperandId{1}].tensor, TensorId{9});
}

TEST(Instantiate, RefusesTooFewTensors) {
  const Op pattern =
      testing::op("", "exp", 4, {testing::read(TensorId{0}), testing::write(TensorId{1})});
  const Table<TensorId, TensorId> tensors{TensorId{7}};
  EXPECT_THROW((void)instantiate(pattern, "exp", tensors), InvalidInput);
}

}  // namespace
}  // namespace elk::ir
