#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/key_writer.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/plan.hpp"

namespace elk::compile {

/// An op's plan in the words of a plan file, by names of axes and tensors. What is left out follows
/// from the rest by the rules of `partition::complete_plan`.
struct NamedPlan {
  std::map<std::string, std::int64_t> factors;                // of axes; others: 1
  std::map<std::string, std::vector<std::int64_t>> temporal;  // of tensors; others: whole
  std::optional<std::vector<std::pair<std::string, std::int64_t>>> pace;  // outermost loop first
  std::optional<std::vector<std::string>> order;                          // of cut axes
  std::optional<std::map<std::string, std::int32_t>> mesh_dims;           // of cut axes
};

/// Plans made elsewhere that an op may take, and no others.
struct GivenPlans {
  std::string op;
  std::vector<NamedPlan> plans;
};

/// For each op of `graph` the plans that are given for its name, none where it is not named. Throws
/// InvalidInput of code `kGivenPlan` where no op has a name or a plan breaks a rule, and Infeasible
/// where one fits no core.
[[nodiscard]] Table<OpId, std::vector<partition::ExecutePlan>> given_plans(
    const ir::Graph& graph, const chip::Chip& chip, const std::vector<GivenPlans>& given);

inline constexpr const char* kGivenPlan = "given_plan";

/// Whether an error says no more than that a model cannot run in one of several ways: as one
/// machine or over chips, whole or in waves. Then another may do.
[[nodiscard]] bool is_of_one_way(const Error& error);

/// Adds all of it to what something depends on.
void add_given(const std::vector<GivenPlans>& given, KeyWriter& key);

}  // namespace elk::compile
