#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compile/plans.hpp"
#include "elk/base/text.hpp"
#include "elk/compile/fronts.hpp"
#include "elk/compile/named_plans.hpp"
#include "elk/partition/enumerate.hpp"
#include "schedule/models.hpp"

namespace elk::compile {
namespace {

const chip::Chip kChip = test::tight_chip(16, 65536);

/// A product of the input, three equal ones, and what ends them.
ir::Graph four_products() { return test::chain(4, 8, 64, false); }

Options with(std::vector<GivenPlans> plans, Policy policy = Policy::ElkFull) {
  return {.policy = policy, .pod = Pod::Pooled, .threads = 1, .plans = std::move(plans)};
}

NamedPlan cut(std::int64_t m, std::int64_t n) {
  return {
      .factors = {{"m", m}, {"n", n}}, .temporal = {}, .pace = {}, .order = {}, .mesh_dims = {}};
}

/// A plan in names.
NamedPlan named(const ir::Graph& graph, const ir::Op& op, const partition::ExecutePlan& plan) {
  NamedPlan result = {.factors = {},
                      .temporal = {},
                      .pace = std::vector<std::pair<std::string, std::int64_t>>{},
                      .order = std::vector<std::string>{},
                      .mesh_dims = std::map<std::string, std::int32_t>{}};
  const auto name = [&](AxisId axis) { return op.axes[axis].name; };
  for (const AxisId axis : op.axes.ids()) {
    result.factors[op.axes[axis].name] = plan.factors[axis];
    if (plan.mesh_dims[axis] >= 0) {
      (*result.mesh_dims)[op.axes[axis].name] = plan.mesh_dims[axis];
    }
  }
  for (const AxisId axis : plan.order) {
    result.order->push_back(name(axis));
  }
  for (const AxisId axis : plan.loops) {
    result.pace->emplace_back(name(axis), plan.pace[axis]);
  }
  for (const OperandId k : op.operands.ids()) {
    if (!plan.temporal[k].empty()) {
      const ir::Tensor& tensor = graph.tensors[op.operands[k].tensor];
      result.temporal[text(tensor.name, " @ operand ", k)] = plan.temporal[k];
    }
  }
  return result;
}

partition::ExecutePlan meant(const ir::Graph& graph, const chip::Chip& chip, NamedPlan plan) {
  return given_plans(graph, chip, {{.op = "op0", .plans = {std::move(plan)}}})[OpId{0}].at(0);
}

TEST(NamedPlans, FollowTheRulesWhereTheySayNothing) {
  const ir::Graph graph = four_products();
  const Table<OperandId, Table<DimId, std::int64_t>> temporal = {{}, {4, 1}, {}};
  NamedPlan plan = cut(4, 4);
  plan.temporal["t1"] = {4, 1};
  EXPECT_EQ(meant(graph, kChip, plan),
            *partition::complete_plan(graph, graph.ops[OpId{0}], {4, 4, 1}, temporal, kChip));
}

TEST(NamedPlans, SayWhatRulesWouldSayOtherwise) {
  const ir::Graph graph = four_products();
  NamedPlan plan = cut(4, 4);
  plan.temporal["t1 @ operand 1"] = {4, 1};
  plan.pace = {{"k", 2}};
  plan.order = {"m", "n"};
  const partition::ExecutePlan found = meant(graph, kChip, plan);
  EXPECT_EQ(found.temporal[OperandId{1}], (Table<DimId, std::int64_t>{4, 1}));
  EXPECT_EQ(found.pace, (Table<AxisId, std::int64_t>{0, 0, 2}));
  EXPECT_EQ(found.loops, std::vector<AxisId>{AxisId{2}});
  EXPECT_EQ(found.order, (std::vector<AxisId>{AxisId{0}, AxisId{1}}));
  EXPECT_NE(found.order, meant(graph, kChip, cut(4, 4)).order);
}

TEST(NamedPlans, LieOnAGridAsTheySay) {
  const ir::Graph graph = four_products();
  const chip::Chip grid = test::grid_chip(4, 4, 65536);
  NamedPlan plan = cut(2, 4);
  plan.mesh_dims = {{"m", 0}, {"n", 1}};
  const partition::ExecutePlan found = meant(graph, grid, plan);
  EXPECT_EQ(found.mesh_dims, (Table<AxisId, std::int32_t>{0, 1, -1}));
  EXPECT_EQ(found.order, (std::vector<AxisId>{AxisId{0}, AxisId{1}}));
}

/// What is said of a plan that is refused.
std::string refused_as(const chip::Chip& chip, const NamedPlan& plan,
                       const std::string& op = "op0") {
  try {
    static_cast<void>(given_plans(four_products(), chip, {{.op = op, .plans = {cut(2, 2), plan}}}));
  } catch (const Error& error) {
    EXPECT_TRUE(is_of_one_way(error));
    return text(error.code(), ": ", error.what());
  }
  return "none";
}

bool has_words(const std::string& said, const std::string& words) {
  return said.find(words) != std::string::npos;
}

TEST(NamedPlans, AreRefusedByOpPlanAndRule) {
  const std::string place = "given_plan: plans['op0'][1]: ";
  const std::string uneven = refused_as(kChip, cut(7, 2));
  EXPECT_TRUE(has_words(uneven, place)) << uneven;
  EXPECT_TRUE(
      has_words(uneven, "factor 7 of axis m of size 8 leaves cores without work; 4 would not"));
  NamedPlan plan = cut(2, 2);
  plan.factors["q"] = 2;
  EXPECT_TRUE(
      has_words(refused_as(kChip, plan), place + "factors names axis 'q', the op has m, n, k"));
  plan = cut(2, 2);
  plan.temporal["w"] = {2, 1};
  EXPECT_TRUE(
      has_words(refused_as(kChip, plan), place + "temporal names 'w', the op reads t0, t1"));
  plan = cut(2, 2);
  plan.temporal["t1"] = {2};
  EXPECT_TRUE(has_words(refused_as(kChip, plan), "has 2 dimensions and 1 temporal factors"));
  plan = cut(2, 2);
  plan.pace = {{"k", 1}};
  EXPECT_TRUE(has_words(refused_as(kChip, plan), "pace 1 along axis k"));
  plan = cut(2, 2);
  plan.order = {"m"};
  EXPECT_TRUE(has_words(refused_as(kChip, plan), "order does not list exactly"));
  EXPECT_TRUE(has_words(refused_as(kChip, cut(8, 4)), "uses more than the 16 cores"));
}

TEST(NamedPlans, AreRefusedWhereTheyDoNotFitTheGrid) {
  const chip::Chip grid = test::grid_chip(4, 4, 65536);
  EXPECT_TRUE(has_words(refused_as(grid, cut(2, 8)), "do not fit the chip's grid"));
  NamedPlan plan = cut(2, 4);
  plan.mesh_dims = {{"m", 0}, {"n", 1}};
  plan.order = {"n", "m"};
  EXPECT_TRUE(has_words(refused_as(grid, plan), "lies along an earlier mesh dimension"));
}

TEST(NamedPlans, AreRefusedWhereNoOpIsCalledSo) {
  const std::string unknown = refused_as(kChip, cut(2, 2), "op9");
  EXPECT_TRUE(
      has_words(unknown, "given_plan: plans['op9']: no operator of the planned graph, 'net'"));
}

TEST(NamedPlans, AreInfeasibleWhereACoreHasNoRoom) {
  const std::string large = refused_as(test::tight_chip(16, 8000), cut(1, 1));
  EXPECT_TRUE(
      has_words(large, "sram_overflow: plans['op0'][1]: it needs 10240 bytes a core, 2240 more"))
      << large;
}

TEST(NamedPlans, HoldTheNamedOpsAndNoOthersLikeThem) {
  const ir::Graph graph = four_products();
  const GivenPlans given = {.op = "op2", .plans = {cut(2, 2), cut(8, 2)}};
  const Fronts found = fronts(graph, kChip, test::analytic(), with({given}));
  const Fronts before = fronts(graph, kChip, test::analytic(), with({}));
  EXPECT_EQ(found.front_of, (Table<OpId, std::int32_t>{0, 1, 2, 1, 3}));
  EXPECT_EQ(before.front_of, (Table<OpId, std::int32_t>{0, 1, 1, 1, 2}));
  EXPECT_EQ(found.fronts[1].options.size(), before.fronts[1].options.size());
  EXPECT_EQ(found.fronts[2].options.size(), 2U);
  EXPECT_TRUE(found.fronts[2].given);
}

TEST(NamedPlans, ShareAFrontWhereOpsAndPlansAreEqual) {
  const GivenPlans first = {.op = "op1", .plans = {cut(2, 2)}};
  const GivenPlans last = {.op = "op3", .plans = {cut(2, 2)}};
  const Fronts found = fronts(four_products(), kChip, test::analytic(), with({first, last}));
  EXPECT_EQ(found.front_of, (Table<OpId, std::int32_t>{0, 1, 2, 1, 3}));
}

TEST(NamedPlans, AreAllThatEveryPolicyTakes) {
  const ir::Graph graph = test::transformer({.layers = 4});
  std::vector<GivenPlans> given;
  for (const std::string op : {"op12", "op24"}) {
    given.push_back({.op = op, .plans = {cut(2, 4), cut(4, 2)}});
  }
  for (const Policy policy : policies_with_all_work()) {
    const Plan plan = compile(graph, kChip, test::analytic(), with(given, policy));
    for (const OpId op : {OpId{12}, OpId{24}}) {
      const cost::Front& front = plan.fronts[subscript(plan.front_of[op])];
      EXPECT_EQ(front.options.size(), 2U);
      const Table<AxisId, std::int64_t>& factors = plan.ops[op].option.plan.factors;
      EXPECT_TRUE(factors == (Table<AxisId, std::int64_t>{2, 4, 1}) ||
                  factors == (Table<AxisId, std::int64_t>{4, 2, 1}));
    }
    EXPECT_LE(plan.bounds.lower_bound, to_seconds(plan.predicted.total));
  }
}

TEST(NamedPlans, OfAPlanMakeItAgain) {
  for (const chip::Chip& chip : {kChip, test::grid_chip(4, 4, 65536)}) {
    const ir::Graph graph = test::transformer({.layers = 3});
    const Plan first = compile(graph, chip, test::analytic(), with({}, Policy::Static));
    std::vector<GivenPlans> given;
    for (const OpId op : graph.ops.ids()) {
      given.push_back({.op = graph.ops[op].name,
                       .plans = {named(graph, graph.ops[op], first.ops[op].option.plan)}});
    }
    const Plan again = compile(graph, chip, test::analytic(), with(given, Policy::Static));
    for (const OpId op : graph.ops.ids()) {
      EXPECT_EQ(again.ops[op].option.plan, first.ops[op].option.plan);
    }
    EXPECT_LE(again.predicted.total, first.predicted.total);
  }
}

TEST(NamedPlans, AreToldApartInWhatIsKept) {
  const ir::Graph graph = four_products();
  const tile::TileModel tiles = test::analytic();
  Kept kept;
  const auto factors = [&](std::vector<GivenPlans> plans) {
    Options options = with(std::move(plans));
    options.kept = &kept;
    return compile(graph, kChip, tiles, options).ops[OpId{0}].option.plan.factors;
  };
  const Table<AxisId, std::int64_t> free = factors({});
  EXPECT_EQ(factors({{.op = "op0", .plans = {cut(1, 2)}}}), (Table<AxisId, std::int64_t>{1, 2, 1}));
  EXPECT_EQ(factors({{.op = "op0", .plans = {cut(2, 1)}}}), (Table<AxisId, std::int64_t>{2, 1, 1}));
  EXPECT_EQ(factors({}), free);
}

}  // namespace
}  // namespace elk::compile
