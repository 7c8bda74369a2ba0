#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/layout/layout.hpp"
#include "elk/program/expand/gather.hpp"
#include "partition/ops.hpp"

namespace elk::program {
namespace {

using Numbers = Table<AxisId, std::int64_t>;

/// A number from `least` to `most`.
struct Drawn {
  Random source;

  std::int64_t operator()(std::int64_t least, std::int64_t most) {
    return least + source.below(most - least + 1);
  }
};

/// An op that makes a matrix: whole at once, or by adding up parts that cores then share out.
test::OneOp maker(Drawn& drawn, std::int64_t rows, std::int64_t cols) {
  return drawn(0, 1) == 0 ? test::matmul(rows, cols, drawn(1, 6)) : test::softmax(rows, cols);
}

/// A dimension of `size` indices, and the axes that a reader runs over it: all of it, a strip,
/// every second or third index, or windows.
ir::Dim read_dim(Drawn& drawn, std::int64_t size, Table<AxisId, ir::Axis>& axes) {
  const auto axis = id_at<AxisId>(axes.size());
  const auto add = [&](std::int64_t length) {
    axes.push_back(test::parallel("p", length, ir::TileDim::Elements));
  };
  switch (drawn(0, 3)) {
    case 0: {
      const std::int64_t length = drawn(1, size);
      add(length);
      return test::along(axis, drawn(0, size - length));
    }
    case 1: {
      const std::int64_t step = drawn(2, 3);
      add(ceil_div(size, step));
      return test::mapped({axis}, {step});
    }
    case 2: {
      const std::int64_t window = drawn(2, 3);
      const std::int64_t step = drawn(1, 2);
      add(ceil_div(size, step));
      axes.push_back(test::reduction("k", window, ir::TileDim::Elements));
      return test::mapped({axis, axis + 1}, {step, 1}, -(window / 2));
    }
    default:
      add(size);
      return test::along(axis);
  }
}

test::OneOp reader(Drawn& drawn, std::int64_t rows, std::int64_t cols) {
  Table<AxisId, ir::Axis> axes;
  const ir::Dim first = read_dim(drawn, rows, axes);
  const auto second_axis = static_cast<std::int32_t>(axes.size());
  const ir::Dim second = read_dim(drawn, cols, axes);
  const Numbers shape{axes[AxisId{0}].size, axes[id_at<AxisId>(second_axis)].size};
  axes.push_back(test::parallel("more", drawn(1, 4), ir::TileDim::Elements));
  const auto more = static_cast<std::int32_t>(axes.size()) - 1;
  const std::int64_t copies = axes.back().size;
  test::OneOp one(ir::OpKind::Elementwise, "exp", std::move(axes));
  one.reads(ir::Home::Activation, {rows, cols}, {first, second})
      .writes(
          {copies, shape[AxisId{0}], shape[AxisId{1}]},
          {test::along(AxisId{more}), test::along(AxisId{0}), test::along(AxisId{second_axis})});
  return one;
}

/// Any cut of an op over at most so many cores.
std::optional<partition::ExecutePlan> drawn_cut(Drawn& drawn, const test::OneOp& one,
                                                const chip::Chip& chip) {
  Numbers factors;
  std::int64_t left = chip::total_cores(chip);
  for (const ir::Axis& axis : one.op().axes) {
    const Numbers known = partition::distinct_factors(axis.size, left);
    factors.push_back(known[id_at<AxisId>(drawn(0, static_cast<std::int64_t>(known.size()) - 1))]);
    left /= factors.back();
  }
  return partition::complete_plan(
      one.graph, one.op(), factors,
      Table<OperandId, Table<DimId, std::int64_t>>(one.op().operands.size()), chip);
}

std::int64_t most(const Table<CoreId, std::int64_t>& of) {
  return *std::max_element(of.begin(), of.end());
}

/// What the planner thinks that a gather moves, and what the program sends.
struct Gathered {
  partition::Transition planned;
  PortTraffic sent;
};

std::optional<Gathered> gathered(Drawn& drawn, const chip::Chip& chip) {
  const std::int64_t rows = drawn(1, 24);
  const std::int64_t cols = drawn(1, 40);
  const test::OneOp from = maker(drawn, rows, cols);
  const test::OneOp to = reader(drawn, rows, cols);
  const auto made = drawn_cut(drawn, from, chip);
  const auto read = drawn_cut(drawn, to, chip);
  if (!made || !read) {
    return {};
  }
  const OperandId result = id_at<OperandId>(from.op().operands.size() - 1);
  const partition::Layout have = partition::layout(from.graph, from.op(), result, *made, chip);
  const partition::Layout need =
      partition::start_layout(to.graph, to.op(), OperandId{0}, *read, chip);
  const OpPlan plan{.execute = *read, .divisor = {0, 0}};
  Exchange exchange;
  add_gather({to.graph, to.op(), plan, chip}, OperandId{0}, &have, exchange);
  return Gathered{.planned = test::transition(have, need, 16, chip),
                  .sent = traffic(exchange, chip)};
}

/// Of random gathers on a chip.
struct Checked {
  std::int64_t exact = 0;    // where the busiest core carries what is planned
  std::int64_t senders = 0;  // where it sends more than any receives
};

Checked check(const chip::Chip& chip, std::int64_t cases) {
  Checked result;
  Drawn drawn{.source = {7}};
  while (cases > 0) {
    const std::optional<Gathered> one = gathered(drawn, chip);
    if (!one || one->planned.total == Bytes{0}) {
      continue;
    }
    --cases;
    const auto& [planned, sent] = *one;
    EXPECT_EQ(planned.received.value, most(sent.received));
    EXPECT_EQ(planned.fragments, most(sent.fragments));
    const std::int64_t port = std::max(planned.received, planned.sent).value;
    EXPECT_GE(port, busiest(sent));
    result.exact += port == busiest(sent) ? 1 : 0;
    result.senders += most(sent.sent) > most(sent.received) ? 1 : 0;
  }
  return result;
}

constexpr std::int64_t kCases = 400;

TEST(Senders, AreAsBusyAsPlannedOnOneChip) {
  for (const bool multicast : {true, false}) {
    for (const std::int64_t cores : {8, 24, 60}) {
      chip::Chip chip = test::small_chip(cores);
      chip.interconnect.multicast = multicast;
      const Checked checked = check(chip, kCases);
      EXPECT_EQ(checked.exact, kCases);
      EXPECT_GT(checked.senders, kCases / 4);
    }
  }
}

// The cores of one chip need no full product of sets, so that planned are some boxes too many.
TEST(Senders, AreNoBusierThanPlannedOnSeveralChips) {
  for (const std::int64_t cores : {4, 12, 30}) {
    const Checked checked = check(test::two_chips(cores), kCases);
    EXPECT_GE(checked.exact, kCases * 17 / 20);
    EXPECT_GT(checked.senders, kCases / 4);
  }
}

}  // namespace
}  // namespace elk::program
