#include <algorithm>
#include <cstddef>
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

/// How the elementwise op is cut for a reader that is cut by `factors`; empty if it cannot.
Table<AxisId, std::int64_t> fed(const Pair& pair, const Table<AxisId, std::int64_t>& factors) {
  const chip::Chip chip = test::tight_chip(1024, 65536);
  const ir::Graph graph = pair.graph();
  const auto reader = reader_plan(graph, factors, chip);
  const auto plan = feed(graph.ops[OpId{0}], kMade,
                         partition::layout(graph, graph.ops[OpId{1}], OperandId{0}, *reader, chip));
  return plan ? plan->factors : Table<AxisId, std::int64_t>{};
}

using Factors = Table<AxisId, std::int64_t>;

TEST(Feed, CutsAsTheReaderDoes) { EXPECT_EQ(fed({16, 8, 64}, {4, 1, 8}), (Factors{4, 8})); }

TEST(Feed, DealsOutWhatSeveralCoresNeedInWholeRows) {
  EXPECT_EQ(fed({16, 8, 64}, {1, 4, 8}), (Factors{4, 8}));
  EXPECT_EQ(fed({16, 64, 64}, {1, 32, 4}), (Factors{16, 4}));  // 16 of 32 cores get a row each.
}

TEST(Feed, CutsRowsWhereThereIsNoDimensionFurtherOut) {
  EXPECT_EQ(fed({1, 64, 64}, {1, 8, 1}), (Factors{1, 8}));
  EXPECT_EQ(fed({1, 64, 64}, {1, 8, 4}), (Factors{1, 32}));  // Inside the parts that are needed.
}

/// What moves between the elementwise op cut by one plan and the MatMul cut by another.
partition::Transition between(const ir::Graph& graph, const partition::ExecutePlan& maker,
                              const partition::ExecutePlan& reader, const chip::Chip& chip) {
  const partition::Layout have = partition::layout(graph, graph.ops[OpId{0}], kMade, maker, chip);
  return partition::transition(
      &have, partition::layout(graph, graph.ops[OpId{1}], OperandId{0}, reader, chip), 16, chip);
}

/// A reader in m x n x k parts, where n cores each need the same, and what then moves to one core
/// in how many runs; empty where the elementwise op cannot be cut into as many pieces.
std::optional<partition::Transition> moved(const Pair& pair, const Factors& parts) {
  const chip::Chip chip = test::tight_chip(64, 65536);
  const ir::Graph graph = pair.graph();
  const auto reader = reader_plan(graph, parts, chip);
  if (!reader) {
    return std::nullopt;
  }
  const partition::Layout need =
      partition::layout(graph, graph.ops[OpId{1}], OperandId{0}, *reader, chip);
  const auto maker = feed(graph.ops[OpId{0}], kMade, need);
  const bool dealt = maker && maker->factors[AxisId{0}] == parts[AxisId{0}] * parts[AxisId{1}];
  return dealt ? std::optional(between(graph, *maker, *reader, chip)) : std::nullopt;
}

struct Case {
  Pair pair;
  Factors parts;
  partition::Transition moved;
};

std::vector<Case> random_cases() {
  Random random{59};
  std::vector<Case> result;
  for (int round = 0; round < 200; ++round) {
    const Pair pair{.rows = std::int64_t{8} << random.below(4), .outs = 64, .width = 64};
    const Factors parts = {1 << random.below(3), 1 << random.below(4), 1 << random.below(2)};
    if (const auto one = moved(pair, parts)) {
      result.push_back({.pair = pair, .parts = parts, .moved = *one});
    }
  }
  return result;
}

/// Whether each of the cores that share a piece has a part of it, and gets the others in one run.
bool in_few_runs(const Case& one) {
  const std::int64_t rows = one.pair.rows / one.parts[AxisId{0}];
  const std::int64_t piece = rows * (one.pair.width / one.parts[AxisId{2}]) * 2;
  return one.moved.received.value == piece - (piece / one.parts[AxisId{1}]) &&
         one.moved.fragments <= one.parts[AxisId{1}];
}

TEST(Feed, LeavesNoMoreRunsThanCoresShareAPiece) {
  const std::vector<Case> cases = random_cases();
  EXPECT_GT(cases.size(), 30);
  EXPECT_TRUE(std::all_of(cases.begin(), cases.end(), in_few_runs));
}

/// Seconds in which the second op gathers what the first made by an option.
double gathering(Problem& problem, std::int32_t option, const Choice& read) {
  return problem.in_place(OpId{1}, {{.option = option, .state = 0}, read}).gather.time.value;
}

TEST(Feeding, AddsThePlanOnceAndGathersLess) {
  const chip::Chip chip = test::tight_chip(64, 65536);
  const tile::TileModel tiles = test::analytic();
  const ir::Graph graph = Pair{.rows = 16, .outs = 64, .width = 64}.graph();
  Problem problem = test::problem(graph, chip, tiles);
  const auto reader = reader_plan(graph, {1, 16, 4}, chip);
  const Choice read{.option = problem.add(OpId{1}, *reader).value(), .state = 0};
  const Choice made = feeding(problem, OpId{0}, OpId{1}, read).value();
  EXPECT_EQ(feeding(problem, OpId{0}, OpId{1}, read), made);
  double least = 1.0;
  for (std::size_t option = 0; option < problem.front(OpId{0}).options.size(); ++option) {
    least = std::min(least, gathering(problem, static_cast<std::int32_t>(option), read));
  }
  EXPECT_EQ(gathering(problem, made.option, read), least);
  EXPECT_FALSE(feeding(problem, OpId{1}, OpId{0}, made));  // The other way round nothing is made.
}

}  // namespace
}  // namespace elk::schedule
