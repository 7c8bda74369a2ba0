#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/schedule/improve/align.hpp"
#include "elk/schedule/improve/alternatives.hpp"
#include "elk/schedule/timing/evaluate.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

constexpr OperandId kMade{1};  // operand of exp that it writes

/// An elementwise op and a MatMul [m, n, k] that reads its rows x width results.
struct Pair {
  std::int64_t rows;
  std::int64_t outs;
  std::int64_t width;

  [[nodiscard]] ir::Graph graph() const {
    test::Net net;
    const TensorId x = net.tensor(ir::Home::Input, {rows, width});
    const TensorId y = net.add(test::exp_of(rows, width), {x});
    net.add(test::matmul(rows, outs, width), {y}, ir::Home::Output);
    return net.done();
  }
};

std::optional<partition::ExecutePlan> reader_plan(const ir::Graph& graph,
                                                  const Table<AxisId, std::int64_t>& factors,
                                                  const chip::Chip& chip) {
  const ir::Op& op = graph.ops[OpId{1}];
  Table<OperandId, Table<DimId, std::int64_t>> whole;
  whole.reserve(op.operands.size());
  for (const ir::Operand& operand : op.operands) {
    whole.emplace_back(operand.dims.size(), 1);
  }
  return partition::complete_plan(graph, op, factors, whole, chip);
}

/// How the elementwise op is cut that holds its result as a reader cut by `factors` needs it; empty
/// if it cannot.
Table<AxisId, std::int64_t> followed(const Pair& pair, const Table<AxisId, std::int64_t>& factors) {
  const chip::Chip chip = test::tight_chip(1024, 65536);
  const ir::Graph graph = pair.graph();
  const auto reader = reader_plan(graph, factors, chip);
  const auto plan =
      follow(graph.ops[OpId{0}], kMade,
             partition::layout(graph, graph.ops[OpId{1}], OperandId{0}, *reader, chip), chip);
  return plan ? plan->factors : Table<AxisId, std::int64_t>{};
}

using Factors = Table<AxisId, std::int64_t>;

TEST(Follow, CutsAsTheReaderDoes) { EXPECT_EQ(followed({16, 8, 64}, {4, 1, 8}), (Factors{4, 8})); }

TEST(Follow, HasNoPlanWhereSeveralCoresNeedTheSame) {
  EXPECT_TRUE(followed({16, 8, 64}, {1, 4, 8}).empty());
}

TEST(Following, AddsThePlanOnceAndGathersNothing) {
  const chip::Chip chip = test::tight_chip(64, 65536);
  const tile::TileModel tiles = test::analytic();
  const ir::Graph graph = Pair{.rows = 16, .outs = 64, .width = 64}.graph();
  Problem problem = test::problem(graph, chip, tiles);
  Table<OpId, Choice> choices(graph.ops.size(), {.option = 0, .state = 0});
  const auto maker = partition::complete_plan(
      graph, graph.ops[OpId{0}], {16, 1},
      Table<OperandId, Table<DimId, std::int64_t>>(graph.ops[OpId{0}].operands.size()), chip);
  choices[OpId{0}].option = problem.add(OpId{0}, *maker).value();
  choices[OpId{1}] = following(problem, OpId{1}, OpId{0}, choices).value();
  EXPECT_EQ(following(problem, OpId{1}, OpId{0}, choices), choices[OpId{1}]);
  EXPECT_EQ(problem.in_place(OpId{1}, choices).gather.time, Seconds{0.0});
  EXPECT_FALSE(following(problem, OpId{0}, OpId{1}, choices));  // The maker reads nothing of it.
}

/// Seconds of executes beside their neighbours.
double executes(Problem& problem, const Table<OpId, Choice>& choices) {
  double sum = 0.0;
  for (const cost::ExecuteCost& work : situation(problem, choices).works) {
    sum += work.alone().value;
  }
  return sum;
}

TEST(Align, TakesNoLongerThanTheFastestPlansOfAPair) {
  const tile::TileModel tiles = test::analytic();
  Random random{59};
  int shorter = 0;
  for (int round = 0; round < 80; ++round) {
    const chip::Chip chip = test::tight_chip(64, 65536);
    const ir::Graph graph = Pair{.rows = std::int64_t{8} << random.below(4),
                                 .outs = std::int64_t{8} << random.below(4),
                                 .width = std::int64_t{8} << random.below(4)}
                                .graph();
    Problem problem = test::problem(graph, chip, tiles);
    Table<OpId, Choice> choices;
    for (const OpId op : graph.ops.ids()) {
      choices.push_back({.option = problem.front(op).fastest, .state = 0});
    }
    const double before = executes(problem, choices);
    align(problem, choices, {.share = 0.0, .drag = 0.0, .late = 0.0}, chip::room(chip));
    const double after = executes(problem, choices);
    EXPECT_LE(after, before * (1.0 + 1e-9));
    shorter += after < before ? 1 : 0;
  }
  EXPECT_GT(shorter, 5);
}

}  // namespace
}  // namespace elk::schedule
