#include "elk/compile/waves.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/partition/plan.hpp"

namespace elk::compile {
namespace {

/// Of all bytes read from HBM, those that large ops must read for waves to be worth a search.
constexpr double kWorthwhile = 0.1;

/// More waves read the parts of a tensor as more operands than a search through their rotations can
/// go through, and a chip so small leaves nothing to preload ahead.
constexpr std::int64_t kMostWaves = 16;

/// Bytes of what an op reads from HBM, as it lies there.
double loaded_bytes(const ir::Graph& graph, const ir::Op& op) {
  double sum = 0.0;
  for (const ir::Operand& operand : op.operands) {
    if (partition::from_hbm(graph, operand) && !operand.indirect) {
      sum += static_cast<double>(ir::bytes(graph.tensors[subscript(operand.tensor)]).value);
    }
  }
  return sum;
}

}  // namespace

std::optional<ir::WaveGraph> large_in_waves(const ir::Graph& graph,
                                            const std::vector<std::int32_t>& split,
                                            const chip::Chip& machine, double share) {
  const double wave = share * static_cast<double>(chip::room(machine).value) *
                      static_cast<double>(chip::total_cores(machine));
  std::vector<double> loaded;
  std::vector<char> heavy;
  double all = 0.0;
  double large = 0.0;
  for (const ir::Op& op : graph.ops) {
    loaded.push_back(loaded_bytes(graph, op));
    heavy.push_back(loaded.back() > wave ? 1 : 0);
    all += loaded.back();
    large += heavy.back() != 0 ? loaded.back() : 0.0;
  }
  if (!machine.hbm || large == 0.0 || large < kWorthwhile * all) {
    return std::nullopt;
  }
  std::vector<ir::Chain> chains = ir::chains(graph, heavy, split);
  for (ir::Chain& chain : chains) {
    double most = 0.0;
    for (const ir::Chain::ChainOp& link : chain.links) {
      most = std::max(most, loaded[subscript(link.op)]);
    }
    chain.waves = std::min(chain.length, static_cast<std::int64_t>(std::ceil(most / wave)));
  }
  std::erase_if(chains, [](const ir::Chain& chain) { return chain.waves > kMostWaves; });
  if (chains.empty()) {
    return std::nullopt;
  }
  return ir::in_waves(graph, chains);
}

shard::OneChip in_parts(const shard::OneChip& one, const ir::WaveGraph& waves) {
  shard::OneChip result{.graph = waves.graph, .forms = {}, .whole = {}, .axes = {}};
  for (std::size_t t = 0; t < waves.tensor_of.size(); ++t) {
    const std::size_t from = subscript(waves.tensor_of[t]);
    std::vector<std::int64_t>& whole = result.whole.emplace_back(one.whole[from]);
    if (waves.dim_of[t] >= 0) {
      const std::size_t dim = subscript(waves.dim_of[t]);
      whole[dim] = waves.graph.tensors[t].shape[dim];  // No chain goes along what chips share.
    }
    result.forms.push_back(one.forms[from]);
  }
  for (const std::int32_t op : waves.op_of) {
    result.axes.push_back(one.axes[subscript(op)]);
  }
  return result;
}

shard::OneChip unsplit(const ir::Graph& graph) {
  shard::OneChip result{.graph = graph, .forms = {}, .whole = {}, .axes = {}};
  for (const ir::Tensor& tensor : graph.tensors) {
    result.forms.push_back(shard::whole());
    result.whole.push_back(tensor.shape);
  }
  result.axes.assign(graph.ops.size(), -1);
  return result;
}

void run_as(const PlanRequest& whole, const ir::WaveGraph* waves, Plan& plan) {
  if (waves != nullptr) {
    plan.wave_dims = waves->dim_of;
    plan.shard = in_parts(whole.one != nullptr ? *whole.one : unsplit(whole.graph), *waves);
  } else if (whole.one != nullptr) {
    plan.shard = *whole.one;
  }
  plan.pod = whole.one != nullptr ? Pod::Sharded : Pod::Pooled;
}

}  // namespace elk::compile
