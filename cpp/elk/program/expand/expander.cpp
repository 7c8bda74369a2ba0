#include "elk/program/expand/expander.hpp"

#include <cstddef>
#include <optional>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/key_writer.hpp"
#include "elk/ir/op_key.hpp"

namespace elk::program {
namespace {

using Signature = Expander::Signature;

/// The number of a key, a new one if it was not seen before.
std::int32_t number(std::map<Signature, std::int32_t>& known, Signature key) {
  const auto next = static_cast<std::int32_t>(known.size());
  return known.try_emplace(std::move(key), next).first->second;
}

void add_cut(const ir::Graph& graph, const ir::Op& op, const partition::ExecutePlan& plan,
             KeyWriter& out) {
  out.add(ir::op_key(graph, op));
  partition::add_plan(plan, out);
}

}  // namespace

Expander::Expander(const ir::Graph& graph, const chip::Chip& chip, const std::vector<OpPlan>& ops)
    : Expander(graph, chip, ops, plan_classes(graph, ops)) {}

Expander::Expander(const ir::Graph& graph, const chip::Chip& chip, const std::vector<OpPlan>& ops,
                   const std::vector<std::int32_t>& classes)
    : graph_(graph), chip_(chip), ops_(ops), lives_(lifetimes(graph)) {
  std::map<Signature, std::int32_t> executes;
  std::map<Signature, std::int32_t> loads;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const ir::Op& op = graph.ops[i];
    Signature key{classes[i], ops[i].tree ? 1 : 0, ops[i].ring ? 1 : 0};
    key.insert(key.end(), ops[i].divisor.begin(), ops[i].divisor.end());
    preload_of_.push_back(chip.hbm && has_hbm_data(graph, op) ? number(loads, key) : -1);
    append_makers(op, classes, key);
    const std::int32_t execution = number(executes, key);
    execution_of_.push_back(execution);
    if (execution == executions()) {
      first_of_.push_back(static_cast<std::int32_t>(i));
      key_of_.push_back(std::move(key));
    }
  }
  stores_ = number_stores(classes);
  preloads_ = static_cast<std::int32_t>(loads.size());
}

/// What makes each operand, and as which of its results.
void Expander::append_makers(const ir::Op& op, const std::vector<std::int32_t>& classes,
                             std::vector<std::int64_t>& key) const {
  for (const ir::Operand& operand : op.operands) {
    const std::int32_t maker = maker_of(operand);
    key.push_back(maker < 0 ? -1 : classes[subscript(maker)]);
    key.push_back(maker < 0 ? -1 : result_of(maker, operand.tensor));
  }
}

/// Returns how many different stores there are.
std::int32_t Expander::number_stores(const std::vector<std::int32_t>& classes) {
  std::map<Signature, std::int32_t> written;
  for (const ir::Store& store : graph_.stores) {
    store_of_.push_back(number(written, {classes[subscript(store.op)],
                                         result_of(store.op, store.tensor), store.run.value}));
  }
  return static_cast<std::int32_t>(written.size());
}

std::int32_t Expander::maker_of(const ir::Operand& operand) const {
  const bool rests = operand.access == ir::Access::Read && !partition::from_hbm(graph_, operand);
  return rests ? lives_.producer[subscript(operand.tensor)] : -1;
}

std::int64_t Expander::result_of(std::int32_t op, std::int32_t tensor) const {
  return static_cast<std::int64_t>(result_operand(graph_.ops[subscript(op)], tensor));
}

std::int32_t Expander::execution_of(std::int32_t op) const { return execution_of_[subscript(op)]; }

std::string Expander::signature(std::int32_t op) const {
  const ir::Op& node = graph_.ops[subscript(op)];
  const auto& [execute, divisor, tree, ring] = ops_[subscript(op)];
  KeyWriter out;
  add_cut(graph_, node, execute, out);
  out.all(divisor, tree, ring);
  for (const ir::Operand& operand : node.operands) {
    const std::int32_t maker = maker_of(operand);
    out.add(maker >= 0);
    if (maker >= 0) {
      add_cut(graph_, graph_.ops[subscript(maker)], ops_[subscript(maker)].execute, out);
      out.add(result_of(maker, operand.tensor));
    }
  }
  return std::move(out).key();
}

std::string Expander::preload_signature(std::int32_t op) const {
  const auto& [execute, divisor, tree, ring] = ops_[subscript(op)];
  KeyWriter out;
  add_cut(graph_, graph_.ops[subscript(op)], execute, out);
  out.all(divisor, true);
  return std::move(out).key();
}

std::string Expander::store_signature(const ir::Store& store) const {
  KeyWriter out;
  add_cut(graph_, graph_.ops[subscript(store.op)], ops_[subscript(store.op)].execute, out);
  out.all(result_of(store.op, store.tensor), store.run, false);
  return std::move(out).key();
}

std::int32_t Expander::preload_of(std::int32_t op) const { return preload_of_[subscript(op)]; }

Execution Expander::execution(std::int32_t op) const {
  const ir::Op& node = graph_.ops[subscript(op)];
  std::vector<std::optional<partition::Layout>> layouts(node.operands.size());
  std::vector<const partition::Layout*> have(node.operands.size(), nullptr);
  for (std::size_t k = 0; k < node.operands.size(); ++k) {
    const ir::Operand& operand = node.operands[k];
    if (operand.access == ir::Access::Read && !partition::from_hbm(graph_, operand)) {
      layouts[k] = rest_layout(graph_, operand.tensor, ops_, lives_, chip_);
      have[k] = layouts[k] ? &*layouts[k] : nullptr;
    }
  }
  return expand({graph_, node, ops_[subscript(op)], chip_}, have);
}

Loading Expander::preload(std::int32_t op) const {
  return program::preload({graph_, graph_.ops[subscript(op)], ops_[subscript(op)], chip_});
}

Loading Expander::store(const ir::Store& store) const {
  const std::optional<partition::Layout> rest =
      rest_layout(graph_, store.tensor, ops_, lives_, chip_);
  if (!rest) {
    throw InternalError(text("a store names tensor ", store.tensor, ", which rests nowhere"));
  }
  return program::store(graph_, store, *rest, chip_);
}

}  // namespace elk::program
