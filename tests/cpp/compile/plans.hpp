#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/rounds.hpp"
#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/compile/compile.hpp"
#include "schedule/models.hpp"

/// Plans of small models, and whether two are the same.
namespace elk::compile {

using schedule::Policy;

inline constexpr std::array<Policy, 5> kPolicies{Policy::Basic, Policy::Static, Policy::ElkDyn,
                                                 Policy::ElkFull, Policy::Ideal};

/// All policies; under a sanitizer those two whose work includes that of the others.
inline std::vector<Policy> policies_with_all_work() {
  return test::kSanitized ? std::vector<Policy>{Policy::ElkFull, Policy::Ideal}
                          : std::vector<Policy>(kPolicies.begin(), kPolicies.end());
}

/// Pods are pooled unless `pod` says otherwise.
inline std::optional<Plan> plan(const ir::Graph& graph, const chip::Chip& chip, Policy policy,
                                std::int32_t threads = 1, Pod pod = Pod::Pooled) {
  try {
    return compile(graph, chip, test::analytic(),
                   {.policy = policy, .pod = pod, .threads = threads});
  } catch (const Infeasible&) {
    return std::nullopt;
  }
}

inline std::vector<Picoseconds> instants(const schedule::Forecast& forecast) {
  std::vector<Picoseconds> result{forecast.total};
  for (const schedule::OpTimes& op : forecast.ops) {
    result.insert(result.end(),
                  {op.preload.begin, op.preload.end, op.execute.begin, op.execute.end});
  }
  for (const schedule::StoreTimes& store : forecast.stores) {
    result.insert(result.end(), {store.store.begin, store.store.end});
  }
  return result;
}

inline std::vector<Seconds> numbers(const schedule::Bounds& bounds) {
  return {bounds.ideal, bounds.lower_bound, bounds.hbm, bounds.execute, bounds.link};
}

/// All but the ideal, which knows what its policy found.
inline std::vector<Seconds> proved(schedule::Bounds bounds) {
  bounds.ideal = {0.0};
  return numbers(bounds);
}

inline std::vector<std::int64_t> numbers(const Search& search) {
  return {search.complete,         search.filtered,         search.pareto,
          search.orders.scheduled, search.orders.generated, search.orders.pruned};
}

inline void expect_same_ops(const Plan& a, const Plan& b) {
  ASSERT_EQ(a.ops.size(), b.ops.size());
  for (const OpId i : a.ops.ids()) {
    EXPECT_EQ(a.ops[i].option.plan, b.ops[i].option.plan);
    EXPECT_EQ(a.ops[i].option.gather, b.ops[i].option.gather);
    EXPECT_EQ(a.ops[i].option.time, b.ops[i].option.time);
    EXPECT_EQ(a.ops[i].state.divisor, b.ops[i].state.divisor);
    EXPECT_EQ(a.ops[i].state.space, b.ops[i].state.space);
    EXPECT_EQ(a.ops[i].has_preload, b.ops[i].has_preload);
    EXPECT_EQ(a.ops[i].front, b.ops[i].front);
    EXPECT_EQ(a.ops[i].choice, b.ops[i].choice);
  }
}

inline void expect_same(const Plan& a, const Plan& b) {
  expect_same_ops(a, b);
  ASSERT_EQ(a.fronts.size(), b.fronts.size());
  for (std::size_t k = 0; k < a.fronts.size(); ++k) {
    ASSERT_EQ(a.fronts[k].options.size(), b.fronts[k].options.size());
    for (std::size_t option = 0; option < a.fronts[k].options.size(); ++option) {
      EXPECT_EQ(a.fronts[k].options[option].plan, b.fronts[k].options[option].plan);
    }
    EXPECT_EQ(a.fronts[k].floor.corners, b.fronts[k].floor.corners);
  }
  EXPECT_EQ(a.front_of, b.front_of);
  EXPECT_EQ(a.schedule, b.schedule);
  EXPECT_EQ(a.program.ops, b.program.ops);
  EXPECT_EQ(a.program.code, b.program.code);
  EXPECT_EQ(a.program.buffers, b.program.buffers);
  EXPECT_EQ(instants(a.predicted), instants(b.predicted));
  EXPECT_EQ(numbers(a.bounds), numbers(b.bounds));
  EXPECT_EQ(a.raw, b.raw);
  EXPECT_EQ(a.origin, b.origin);
  EXPECT_EQ(a.occupancy, b.occupancy);
  EXPECT_EQ(numbers(a.search), numbers(b.search));
}

}  // namespace elk::compile
