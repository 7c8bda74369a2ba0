#include "elk/train/work/work.hpp"

#include <algorithm>
#include <utility>

#include "elk/base/rounding.hpp"
#include "elk/train/work/group_work.hpp"

namespace elk::train {
namespace {

void find_gradients(WorkFacts& facts) {
  const Table<OpId, Origin> origin = origins(facts.graph);
  for (const TensorId t : facts.graph.tensors.ids()) {
    const ir::Tensor& tensor = facts.graph.tensors[t];
    facts.gradient[t] = tensor.home == ir::Home::Weight && is_float(tensor.dtype) ? 1 : 0;
    facts.transient[t] = tensor.home == ir::Home::Input ? 1 : 0;
  }
  for (const OpId id : facts.graph.ops.ids()) {
    const ir::Op& op = facts.graph.ops[id];
    const bool leads = std::ranges::any_of(op.operands, [&facts](const ir::Operand& one) {
      return one.access == ir::Access::Read && facts.gradient[one.tensor] != 0;
    });
    for (const TensorId t : written_by(op)) {
      facts.gradient[t] = leads && is_float(facts.graph.tensors[t].dtype) ? 1 : 0;
      facts.transient[t] = origin[id] == Origin::Inputs ? 1 : 0;
    }
  }
}

void find_held(WorkFacts& facts) {
  for (const ir::Tensor& tensor : facts.graph.tensors) {
    facts.held.push_back(ir::bytes(tensor));
  }
  for (const TensorId t : facts.graph.tensors.ids()) {
    for (const DimCut& one : facts.cuts.held[t]) {
      facts.held[t] = {ceil_div(facts.held[t].value, one.cut.parts)};
    }
  }
}

void find_readers(WorkFacts& facts) {
  for (const OpId id : facts.graph.ops.ids()) {
    const bool takes_part = facts.gradient[facts.graph.ops[id].operands.back().tensor] != 0;
    for (const ir::Operand& one : facts.graph.ops[id].operands) {
      if (one.access == ir::Access::Read) {
        facts.readers[one.tensor].push_back(id);
        facts.last_reader[one.tensor] = takes_part ? id : facts.last_reader[one.tensor];
      }
    }
  }
}

}  // namespace

WorkOfOps::WorkOfOps(const ir::Graph& graph, const TensorParallel& cuts, CoreCalls* calls)
    : facts_(std::make_unique<WorkFacts>(
          WorkFacts{.graph = graph,
                    .cuts = cuts,
                    .calls = calls,
                    .gradient = Table<TensorId, char>(graph.tensors.size(), 0),
                    .transient = Table<TensorId, char>(graph.tensors.size(), 0),
                    .held = {},
                    .readers = Table<TensorId, std::vector<OpId>>(graph.tensors.size()),
                    .last_reader = Table<TensorId, OpId>(graph.tensors.size(), OpId::none)})) {
  find_gradients(*facts_);
  find_held(*facts_);
  find_readers(*facts_);
}

WorkOfOps::~WorkOfOps() = default;

bool WorkOfOps::has_gradient(TensorId tensor) const { return facts_->gradient[tensor] != 0; }

Bytes WorkOfOps::held(TensorId tensor) const { return facts_->held[tensor]; }

Work WorkOfOps::of(std::span<const OpId> ops, bool trains) const {
  Work work;
  const auto& [graph, cuts] = std::tie(facts_->graph, facts_->cuts);
  const std::vector<KernelGroup> groups = kernel_groups(graph, cuts, ops);
  GradientSums sums;
  for (const OpId id : ops) {
    for (const ir::Operand& one : graph.ops[id].operands) {
      if (one.access == ir::Access::Read && has_gradient(graph.ops[id].operands.back().tensor)) {
        for (const GroupCut& sum : sums_over(graph.ops[id], cuts.ops[id], one)) {
          sums[one.tensor].insert(sum);
        }
      }
    }
  }
  std::vector<std::vector<WorkStep>> backward;
  backward.reserve(groups.size());
  for (const KernelGroup& group : groups) {
    backward.push_back(add_group(*facts_, group, trains, sums, work));
  }
  for (std::size_t g = groups.size(); g-- > 0;) {
    work.backward.insert(work.backward.end(), backward[g].begin(), backward[g].end());
  }
  return work;
}

}  // namespace elk::train
