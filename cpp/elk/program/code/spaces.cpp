#include "elk/program/code/spaces.hpp"

#include <algorithm>
#include <unordered_map>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"

namespace elk::program {
namespace {

std::size_t hash_of(OpId kind, const partition::ExecutePlan& plan) {
  std::size_t hash = kind.index();
  const auto mix = [&](std::size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15U; };
  for (const std::int64_t factor : plan.factors) {
    mix(static_cast<std::size_t>(factor));
  }
  for (const AxisId axis : plan.order) {
    mix(axis.index());
  }
  return hash;
}

/// Whether the operands of two equal ops name the same tensors twice where one of them does.
bool same_pattern(const ir::Op& a, const ir::Op& b) {
  for (const OperandId i : a.operands.ids()) {
    for (OperandId j{0}; j < i; ++j) {
      if ((a.operands[i].tensor == a.operands[j].tensor) !=
          (b.operands[i].tensor == b.operands[j].tensor)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

namespace {

/// Numbers ops of one program after another.
class Classes {
 public:
  explicit Classes(const ir::Graph& graph) : graph_(graph), kinds_(ir::equal_ops(graph)) {}

  Table<OpId, std::int32_t> of(const Table<OpId, OpPlan>& ops) {
    Table<OpId, std::int32_t> out;
    out.reserve(ops.size());
    for (const OpId i : ops.ids()) {
      std::vector<Seen>& alike = seen_[hash_of(kinds_[i], ops[i].execute)];
      const auto found = std::find_if(alike.begin(), alike.end(), [&](const Seen& other) {
        return kinds_[other.op] == kinds_[i] && *other.plan == ops[i].execute &&
               same_pattern(graph_.ops[other.op], graph_.ops[i]);
      });
      const std::int32_t next = before_ + i.value;
      out.push_back(found != alike.end() ? found->number : next);
      if (found == alike.end()) {
        alike.push_back({.op = i, .plan = &ops[i].execute, .number = next});
      }
    }
    before_ += static_cast<std::int32_t>(ops.size());
    return out;
  }

 private:
  struct Seen {
    OpId op;
    const partition::ExecutePlan* plan;
    std::int32_t number;
  };

  const ir::Graph& graph_;
  Table<OpId, OpId> kinds_;
  std::unordered_map<std::size_t, std::vector<Seen>> seen_;
  std::int32_t before_ = 0;
};

}  // namespace

Table<OpId, std::int32_t> plan_classes(const ir::Graph& graph, const Table<OpId, OpPlan>& ops) {
  return Classes(graph).of(ops);
}

std::vector<Table<OpId, std::int32_t>> plan_classes(const ir::Graph& graph,
                                                    std::span<const Program* const> programs) {
  Classes classes(graph);
  std::vector<Table<OpId, std::int32_t>> out;
  out.reserve(programs.size());
  for (const Program* program : programs) {
    out.push_back(classes.of(program->ops));
  }
  return out;
}

Spaces::Spaces(const ir::Graph& graph, const chip::Chip& chip, const Table<OpId, OpPlan>& ops)
    : graph_(graph),
      chip_(chip),
      ops_(ops),
      lives_(lifetimes(graph)),
      class_of_(plan_classes(graph, ops)),
      sizes_(ops.size()) {}

const OpBytes& Spaces::sizes(OpId op) {
  std::optional<OpBytes>& known = sizes_[subscript(class_of_[op])];
  if (!known) {
    known = sizes_of(graph_, graph_.ops[op], ops_[op].execute, chip_);
  }
  return *known;
}

bool Spaces::in_place(OpId op, OperandId k) {
  const ir::Operand& operand = graph_.ops[op].operands[k];
  const OpId producer = lives_.producer[operand.tensor];
  if (operand.access != ir::Access::Read || partition::from_hbm(graph_, operand) ||
      producer == OpId::none || operand.indirect || rotates(ops_[op].execute, k)) {
    return false;  // An input lies spread, and which rows an index picks is not known: no core can
                   // count on having what it needs.
  }
  const ir::Op& maker = graph_.ops[producer];
  const auto made = id_at<OperandId>(result_operand(maker, operand.tensor));
  const auto [known, is_new] =
      in_place_.try_emplace({class_of_[producer], static_cast<std::int32_t>(made.value),
                             class_of_[op], static_cast<std::int32_t>(k.value)},
                            false);
  if (is_new) {
    known->second =
        partition::same(partition::layout(graph_, maker, made, ops_[producer].execute, chip_),
                        partition::layout(graph_, graph_.ops[op], k, ops_[op].execute, chip_));
  }
  return known->second;
}

std::vector<ExecuteSpace> Spaces::execute(OpId op) {
  const ir::Op& node = graph_.ops[op];
  Table<OperandId, std::int8_t> held(node.operands.size(), 0);
  for (const OperandId k : held.ids()) {
    held[k] = in_place(op, k) ? 1 : 0;
  }
  return execute_space({graph_, node, ops_[op], chip_}, sizes(op), held);
}

std::vector<ExecuteSpace> Spaces::preload(OpId op) {
  return preload_space({graph_, graph_.ops[op], ops_[op], chip_}, sizes(op));
}

Bytes Spaces::rest(TensorId tensor) {
  const OpId producer = lives_.producer[tensor];
  if (producer != OpId::none) {
    return sizes(producer).rest[id_at<OperandId>(result_operand(graph_.ops[producer], tensor))];
  }
  const ir::Tensor& about = graph_.tensors[tensor];
  return about.home == ir::Home::Input ? partition::spread_share(about, chip_) : Bytes{0};
}

}  // namespace elk::program
