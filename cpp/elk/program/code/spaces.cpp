#include "elk/program/code/spaces.hpp"

#include <algorithm>
#include <unordered_map>

#include "elk/base/ids.hpp"

namespace elk::program {
namespace {

std::size_t hash_of(std::int32_t kind, const partition::ExecutePlan& plan) {
  std::size_t hash = subscript(kind);
  const auto mix = [&](std::size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15U; };
  for (const std::int64_t factor : plan.factors) {
    mix(static_cast<std::size_t>(factor));
  }
  for (const std::int32_t axis : plan.order) {
    mix(subscript(axis));
  }
  return hash;
}

/// Whether the operands of two equal ops name the same tensors twice where one of them does.
bool same_pattern(const ir::Op& a, const ir::Op& b) {
  for (std::size_t i = 0; i < a.operands.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
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

  std::vector<std::int32_t> of(const std::vector<OpPlan>& ops) {
    std::vector<std::int32_t> out;
    out.reserve(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      std::vector<Seen>& alike = seen_[hash_of(kinds_[i], ops[i].execute)];
      const auto found = std::find_if(alike.begin(), alike.end(), [&](const Seen& other) {
        return kinds_[other.op] == kinds_[i] && *other.plan == ops[i].execute &&
               same_pattern(graph_.ops[other.op], graph_.ops[i]);
      });
      const std::int32_t next = before_ + static_cast<std::int32_t>(i);
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
    std::size_t op;
    const partition::ExecutePlan* plan;
    std::int32_t number;
  };

  const ir::Graph& graph_;
  std::vector<std::int32_t> kinds_;
  std::unordered_map<std::size_t, std::vector<Seen>> seen_;
  std::int32_t before_ = 0;
};

}  // namespace

std::vector<std::int32_t> plan_classes(const ir::Graph& graph, const std::vector<OpPlan>& ops) {
  return Classes(graph).of(ops);
}

std::vector<std::vector<std::int32_t>> plan_classes(const ir::Graph& graph,
                                                    std::span<const Program* const> programs) {
  Classes classes(graph);
  std::vector<std::vector<std::int32_t>> out;
  out.reserve(programs.size());
  for (const Program* program : programs) {
    out.push_back(classes.of(program->ops));
  }
  return out;
}

Spaces::Spaces(const ir::Graph& graph, const chip::Chip& chip, const std::vector<OpPlan>& ops)
    : graph_(graph),
      chip_(chip),
      ops_(ops),
      lives_(lifetimes(graph)),
      class_of_(plan_classes(graph, ops)),
      sizes_(ops.size()) {}

const OpBytes& Spaces::sizes(std::int32_t op) {
  std::optional<OpBytes>& known = sizes_[subscript(class_of_[subscript(op)])];
  if (!known) {
    known = sizes_of(graph_, graph_.ops[subscript(op)], ops_[subscript(op)].execute, chip_);
  }
  return *known;
}

bool Spaces::in_place(std::int32_t op, std::size_t k) {
  const ir::Operand& operand = graph_.ops[subscript(op)].operands[k];
  const std::int32_t producer = lives_.producer[subscript(operand.tensor)];
  if (operand.access != ir::Access::Read || partition::from_hbm(graph_, operand) || producer < 0 ||
      operand.indirect || rotates(ops_[subscript(op)].execute, k)) {
    return false;  // An input lies spread, and which rows an index picks is not known: no core can
                   // count on having what it needs.
  }
  const ir::Op& maker = graph_.ops[subscript(producer)];
  const std::size_t made = result_operand(maker, operand.tensor);
  const auto [known, is_new] =
      in_place_.try_emplace({class_of_[subscript(producer)], static_cast<std::int32_t>(made),
                             class_of_[subscript(op)], static_cast<std::int32_t>(k)},
                            false);
  if (is_new) {
    known->second = partition::same(
        partition::layout(graph_, maker, made, ops_[subscript(producer)].execute, chip_),
        partition::layout(graph_, graph_.ops[subscript(op)], k, ops_[subscript(op)].execute,
                          chip_));
  }
  return known->second;
}

std::vector<ExecuteSpace> Spaces::execute(std::int32_t op) {
  const ir::Op& node = graph_.ops[subscript(op)];
  std::vector<std::int8_t> held(node.operands.size(), 0);
  for (std::size_t k = 0; k < held.size(); ++k) {
    held[k] = in_place(op, k) ? 1 : 0;
  }
  return execute_space({graph_, node, ops_[subscript(op)], chip_}, sizes(op), held);
}

std::vector<ExecuteSpace> Spaces::preload(std::int32_t op) {
  return preload_space({graph_, graph_.ops[subscript(op)], ops_[subscript(op)], chip_}, sizes(op));
}

Bytes Spaces::rest(std::int32_t tensor) {
  const std::int32_t producer = lives_.producer[subscript(tensor)];
  if (producer >= 0) {
    return sizes(producer).rest[result_operand(graph_.ops[subscript(producer)], tensor)];
  }
  const ir::Tensor& about = graph_.tensors[subscript(tensor)];
  return about.home == ir::Home::Input ? input_space(about, chip_) : Bytes{0};
}

}  // namespace elk::program
