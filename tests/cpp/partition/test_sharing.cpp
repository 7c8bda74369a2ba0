#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/plan.hpp"
#include "partition/ops.hpp"

namespace elk::partition {
namespace {

using test::small_chip;
using test::two_chips;

using Numbers = Table<AxisId, std::int64_t>;

/// The digits of a core, by axis.
Numbers digits(const ExecutePlan& plan, std::int64_t core) {
  Numbers result(plan.factors.size(), 0);
  for (std::size_t i = plan.order.size(); i-- > 0;) {
    const auto axis = plan.order[i];
    result[axis] = core % plan.factors[axis];
    core /= plan.factors[axis];
  }
  return result;
}

/// Bytes that each chip reads, piece by piece of every core.
std::map<std::int64_t, std::int64_t> read_bytes(const test::OneOp& one, OperandId operand,
                                                const ExecutePlan& plan, const chip::Chip& chip) {
  const ir::Op& op = one.op();
  const std::int64_t cores = tiling(op, plan).cores;
  std::set<std::pair<std::int64_t, Numbers>> seen;
  std::map<std::int64_t, std::int64_t> bytes;
  for (std::int64_t core = 0; core < cores; ++core) {
    Numbers digit = digits(plan, core);
    std::int64_t elements = 1;
    for (const AxisId axis : op.axes.ids()) {
      if (!contains(op.operands[operand], axis)) {
        digit[axis] = 0;
        continue;
      }
      const std::int64_t tile = ceil_div(op.axes[axis].size, plan.factors[axis]);
      elements *= std::min(op.axes[axis].size, (digit[axis] + 1) * tile) - (digit[axis] * tile);
    }
    if (seen.insert({core / chip.core.count, digit}).second) {
      bytes[core / chip.core.count] += elements * 2;
    }
  }
  return bytes;
}

TEST(PieceSharing, CountsEveryPieceOnceAChip) {
  const test::OneOp one = test::matmul(4, 9, 6);
  const chip::Chip chip = two_chips(12);
  for (const std::int64_t m : distinct_factors(4, 24)) {
    for (const std::int64_t n : distinct_factors(9, 24 / m)) {
      for (const std::int64_t k : distinct_factors(6, 24 / (m * n))) {
        const auto plan = complete_plan(one.graph, one.op(), {m, n, k}, {{}, {}, {}}, chip);
        std::int64_t sum = 0;
        std::int64_t most = 0;
        for (const auto& [id, bytes] : read_bytes(one, OperandId{1}, *plan, chip)) {
          sum += bytes;
          most = std::max(most, bytes);
        }
        const PieceSharing shared = sharing(one.graph, one.op(), OperandId{1}, *plan, chip);
        EXPECT_EQ(shared.hbm_bytes, sum) << m << " x " << n << " x " << k;
        EXPECT_EQ(shared.chip_hbm_bytes, most) << m << " x " << n << " x " << k;
        EXPECT_EQ(shared.copies, m);
      }
    }
  }
}

TEST(PieceSharing, KeepsRingsOfPeersWithinOneChip) {
  const test::OneOp one = test::matmul(6, 4, 8);
  const auto plan = complete_plan(one.graph, one.op(), {6, 4, 1}, {{}, {}, {}}, two_chips(15));
  // The six sharers of piece n are cores 6 n to 6 n + 5; those of n = 2 lie on both sides of 15.
  EXPECT_EQ(sharing(one.graph, one.op(), OperandId{1}, *plan, two_chips(15)).divisors,
            (Numbers{1, 3}));
  EXPECT_EQ(sharing(one.graph, one.op(), OperandId{1}, *plan, two_chips(12)).divisors,
            (Numbers{1, 2, 3, 6}));
  EXPECT_EQ(sharing(one.graph, one.op(), OperandId{1}, *plan, small_chip(24)).divisors,
            (Numbers{1, 2, 3, 6}));
}

TEST(PieceSharing, ReadsOfAStateOnlyItsRows) {
  const test::OneOp one = test::attention_scores(2, 2, 9, 4);
  const auto plan =
      complete_plan(one.graph, one.op(), {2, 1, 1, 3, 1}, {{}, {}, {}, {}}, small_chip(12));
  EXPECT_EQ(sharing(one.graph, one.op(), OperandId{1}, *plan, small_chip(12)).hbm_bytes,
            2 * 2 * 8 * 4 * 2);
}

TEST(PieceSharing, ReadsOfATableOnlyTheExpectedRows) {
  const test::OneOp one = test::embedding(8, 100, 16);
  const auto plan = complete_plan(one.graph, one.op(), {4, 2}, {{}, {}, {}}, small_chip(12));
  EXPECT_EQ(sharing(one.graph, one.op(), OperandId{0}, *plan, small_chip(12)).hbm_bytes,
            6 * 16 * 2);
}

}  // namespace
}  // namespace elk::partition
