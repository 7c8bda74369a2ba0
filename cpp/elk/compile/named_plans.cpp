#include "elk/compile/named_plans.hpp"

#include <algorithm>
#include <cstddef>

#include "elk/base/ids.hpp"
#include "elk/base/text.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/order.hpp"

namespace elk::compile {
namespace {

/// Words with commas between them.
template <class Words>
std::string listed(const Words& words) {
  std::string result;
  for (const std::string& word : words) {
    result += text(result.empty() ? "" : ", ", word);
  }
  return result;
}

/// Names and what they stand for.
template <class Pairs>
void add_pairs(const Pairs& pairs, KeyWriter& key) {
  key.add(pairs.size());
  for (const auto& [name, value] : pairs) {
    key.all(name, value);
  }
}

using NamedNumbers = std::vector<std::pair<std::string, std::int64_t>>;

/// The names of an op's axes.
std::vector<std::string> axis_names(const ir::Op& op) {
  std::vector<std::string> result;
  result.reserve(op.axes.size());
  for (const ir::Axis& axis : op.axes) {
    result.push_back(axis.name);
  }
  return result;
}

/// The plan of one op that some names stand for.
class Meant {
 public:
  Meant(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip)
      : graph_(graph), op_(op), chip_(chip) {
    for (const AxisId axis : op.axes.ids()) {
      axes_.emplace(op.axes[axis].name, axis);
    }
  }

  /// Throws InvalidInput where it breaks a rule.
  [[nodiscard]] partition::ExecutePlan of(const NamedPlan& named) const {
    partition::ExecutePlan plan{
        .factors = Table<AxisId, std::int64_t>(op_.axes.size(), 1),
        .temporal = temporal(named),
        .pace = Table<AxisId, std::int64_t>(op_.axes.size(), 0),
        .order = {},
        .loops = {},
        .mesh_dims = Table<AxisId, std::int32_t>(op_.axes.size(), -1),
    };
    for (const auto& [name, factor] : named.factors) {
      plan.factors[axis("factors", name)] = factor;
    }
    partition::validate_cut(op_, plan, chip_);
    for (Table<DimId, std::int64_t>& parts : plan.temporal) {
      if (std::all_of(parts.begin(), parts.end(), [](std::int64_t n) { return n == 1; })) {
        parts.clear();
      }
    }
    lay_out(named, plan);
    turn(named, plan);
    partition::validate(graph_, op_, plan, chip_);
    return plan;
  }

 private:
  [[nodiscard]] AxisId axis(const char* key, const std::string& name) const {
    const auto found = axes_.find(name);
    if (found == axes_.end()) {
      throw InvalidInput(
          text(key, " names axis '", name, "', the op has ", listed(axis_names(op_))));
    }
    return found->second;
  }

  /// By the name of what an operand reads, or by that and its number where it is one of several.
  [[nodiscard]] Table<OperandId, Table<DimId, std::int64_t>> temporal(
      const NamedPlan& named) const {
    Table<OperandId, Table<DimId, std::int64_t>> result(op_.operands.size());
    std::map<std::string, std::vector<std::int64_t>> left = named.temporal;
    std::vector<std::string> known;
    for (const OperandId k : op_.operands.ids()) {
      if (op_.operands[k].access == ir::Access::Write) {
        continue;
      }
      known.push_back(graph_.tensors[op_.operands[k].tensor].name);
      for (const std::string& key : {known.back(), text(known.back(), " @ operand ", k)}) {
        if (const auto found = named.temporal.find(key); found != named.temporal.end()) {
          result[k] = found->second;
          left.erase(key);
        }
      }
    }
    if (!left.empty()) {
      throw InvalidInput(
          text("temporal names '", left.begin()->first, "', the op reads ", listed(known)));
    }
    return result;
  }

  /// Where the parts of the cut axes lie.
  void lay_out(const NamedPlan& named, partition::ExecutePlan& plan) const {
    const auto by_dim = [&](AxisId a, AxisId b) { return plan.mesh_dims[a] < plan.mesh_dims[b]; };
    plan.order = partition::core_order(graph_, op_, plan.factors);
    if (named.order) {
      plan.order.clear();
      for (const std::string& name : *named.order) {
        plan.order.push_back(axis("order", name));
      }
    }
    if (named.mesh_dims) {
      for (const auto& [name, dim] : *named.mesh_dims) {
        plan.mesh_dims[axis("mesh_dims", name)] = dim;
      }
    } else if (auto dims = partition::mesh_dims(plan.order, plan.factors,
                                                chip::network_of_machine(chip_))) {
      plan.mesh_dims = std::move(*dims);
    } else {
      throw InvalidInput(
          "its cut axes do not fit the chip's grid, of which each takes a dimension of its own");
    }
    if (!named.order) {
      std::stable_sort(plan.order.begin(), plan.order.end(), by_dim);
    } else if (!std::is_sorted(plan.order.begin(), plan.order.end(), by_dim)) {
      throw InvalidInput(
          "order has an axis before one that lies along an earlier mesh dimension; without order "
          "it follows from mesh_dims");
    }
  }

  /// In which steps operands turn.
  void turn(const NamedPlan& named, partition::ExecutePlan& plan) const {
    if (!named.pace) {
      plan.pace = partition::paces(op_, plan);
      plan.loops = partition::loop_order(graph_, op_, plan, chip_);
      return;
    }
    for (const auto& [name, pace] : *named.pace) {
      const AxisId along = axis("pace", name);
      plan.pace[along] = pace;
      plan.loops.push_back(along);
    }
  }

  const ir::Graph& graph_;
  const ir::Op& op_;
  const chip::Chip& chip_;
  std::map<std::string, AxisId> axes_;  // positions, by name
};

/// The plans given for one op, as plans of `op`.
std::vector<partition::ExecutePlan> plans_of(const ir::Graph& graph, const ir::Op& op,
                                             const chip::Chip& chip, const GivenPlans& given) {
  const Meant meant(graph, op, chip);
  const std::int64_t room = chip::room(chip).value;
  std::vector<partition::ExecutePlan> result;
  for (std::size_t i = 0; i < given.plans.size(); ++i) {
    const std::string place = text("plans['", given.op, "'][", i, "]: ");
    try {
      result.push_back(meant.of(given.plans[i]));
    } catch (const InvalidInput& error) {
      throw InvalidInput(place + error.what(), kGivenPlan);
    }
    const std::int64_t space = partition::footprint(graph, op, result.back(), chip).space.value;
    if (space > room) {
      throw Infeasible(
          text(place, "it needs ", space, " bytes a core, ", space - room, " more than the ", room,
               " that are usable (core.sram_bytes - core.reserved_bytes)"),
          "sram_overflow");
    }
  }
  return result;
}

}  // namespace

Table<OpId, std::vector<partition::ExecutePlan>> given_plans(const ir::Graph& graph,
                                                             const chip::Chip& chip,
                                                             const std::vector<GivenPlans>& given) {
  Table<OpId, std::vector<partition::ExecutePlan>> result(graph.ops.size());
  for (const GivenPlans& one : given) {
    bool found = false;
    for (const OpId op : graph.ops.ids()) {
      if (graph.ops[op].name == one.op) {
        found = true;
        result[op] = plans_of(graph, graph.ops[op], chip, one);
      }
    }
    if (!found) {
      throw InvalidInput(text("plans['", one.op, "']: no operator of the planned graph, '",
                              graph.name, "', is called so"),
                         kGivenPlan);
    }
  }
  return result;
}

bool is_of_one_way(const Error& error) {
  return dynamic_cast<const Infeasible*>(&error) != nullptr || error.code() == kGivenPlan;
}

void add_given(const std::vector<GivenPlans>& given, KeyWriter& key) {
  key.add(given.size());
  for (const auto& [op, plans] : given) {
    key.all(op, plans.size());
    for (const auto& [factors, temporal, pace, order, mesh_dims] : plans) {
      add_pairs(factors, key);
      add_pairs(temporal, key);
      key.all(pace.has_value(), order.has_value(), mesh_dims.has_value());
      add_pairs(pace.value_or(NamedNumbers{}), key);
      key.add(order.value_or(std::vector<std::string>{}));
      add_pairs(mesh_dims.value_or(std::map<std::string, std::int32_t>{}), key);
    }
  }
}

}  // namespace elk::compile
