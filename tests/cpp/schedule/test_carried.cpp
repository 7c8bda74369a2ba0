#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/plan.hpp"
#include "elk/schedule/improve/carried.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

constexpr Seconds kLong{1.0};

Table<OpId, Choice> fastest_of(const Problem& problem) {
  Table<OpId, Choice> result;
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    result.push_back({.option = problem.front(op).fastest, .state = 0});
  }
  return result;
}

/// Bytes that all ops gather of what others made.
std::int64_t gathered(Problem& problem, const Table<OpId, Choice>& choices) {
  std::int64_t sum = 0;
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    sum += problem.in_place(op, choices).gather.bytes.value;
  }
  return sum;
}

/// Row by row, so that one cut of the rows serves all ops.
ir::Graph by_rows(std::int64_t rows, std::int64_t width) {
  test::Net net;
  const TensorId x = net.tensor(ir::Home::Input, {rows, width});
  TensorId y = net.add(test::exp_of(rows, width), {x});
  y = net.add(test::matmul(rows, 2 * width, width), {y});
  y = net.add(test::exp_of(rows, 2 * width), {y});
  net.add(test::matmul(rows, width, 2 * width), {y}, ir::Home::Output);
  return net.done();
}

TEST(Carried, CutsAModelAlikeWhereSizesAndCoresHaveNoCommonFactor) {
  const tile::TileModel tiles = test::analytic();
  for (const std::int64_t rows : {5, 6, 7}) {
    const ir::Graph graph = by_rows(rows, 64);
    const chip::Chip chip = test::tight_chip(8, 1 << 18);
    Problem problem = test::problem(graph, chip, tiles);
    const std::vector<Table<OpId, Choice>> found = carried(problem, fastest_of(problem), kLong);
    // The first op gathers the input, which lies on all cores: nothing else has to move.
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const std::vector<Choice>& choices) {
      std::int64_t later = gathered(problem, choices);
      later -= problem.in_place(OpId{0}, choices).gather.bytes.value;
      return later == 0 && problem.option(OpId{1}, choices[1]).cores == rows;
    })) << rows;
  }
}

TEST(Carried, LeavesOutWhatTakesTooLongAlone) {
  const tile::TileModel tiles = test::analytic();
  const ir::Graph graph = by_rows(6, 64);
  const chip::Chip chip = test::tight_chip(8, 1 << 18);
  Problem problem = test::problem(graph, chip, tiles);
  EXPECT_FALSE(carried(problem, fastest_of(problem), kLong).empty());
  EXPECT_TRUE(carried(problem, fastest_of(problem), {0.0}).empty());
}

TEST(Carried, GivesValidChoicesOfEveryOpOnRandomModels) {
  const tile::TileModel tiles = test::analytic();
  Random random{61};
  std::size_t all = 0;
  for (int round = 0; round < 30; ++round) {
    const ir::Graph graph = test::random_graph(random);
    const chip::Chip chip = test::random_chip(random);
    Problem problem = test::problem(graph, chip, tiles);
    const Table<OpId, Choice> base = fastest_of(problem);
    for (const Table<OpId, Choice>& choices : carried(problem, base, kLong)) {
      ASSERT_EQ(choices.size(), base.size());
      for (const OpId op : first_ids<OpId>(problem.op_count())) {
        const cost::PlanOption& option = problem.option(op, choices[op]);
        EXPECT_NO_THROW(partition::validate(graph, graph.ops[op], option.plan, chip));
      }
      ++all;
    }
  }
  EXPECT_GT(all, 100U);
}

}  // namespace
}  // namespace elk::schedule
