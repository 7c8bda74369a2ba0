#include "elk/compile/waves.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/compile/compile_tuning.hpp"
#include "elk/partition/plan.hpp"
#include "elk/program/code/lifetimes.hpp"

namespace elk::compile {
namespace {

/// Bytes of what an op reads from HBM, as it lies there.
double loaded_bytes(const ir::Graph& graph, const ir::Op& op) {
  double sum = 0.0;
  for (const ir::Operand& operand : op.operands) {
    if (partition::from_hbm(graph, operand) && !operand.indirect) {
      sum += static_cast<double>(ir::bytes(graph.tensors[operand.tensor]).value);
    }
  }
  return sum;
}

double all_room(const chip::Chip& machine) {
  return static_cast<double>(chip::room(machine).value) *
         static_cast<double>(chip::total_cores(machine));
}

/// Bytes of all results that live during each op.
Table<OpId, Bytes> made_bytes(const ir::Graph& graph, const program::Lifetimes& lives) {
  return program::alive(graph, lives, [&](TensorId t) {
    return lives.producer[t] != OpId::none ? ir::bytes(graph.tensors[t]) : Bytes{0};
  });
}

/// Whether the results that live beside each other exceed all SRAM.
bool overflows(const ir::Graph& graph, const chip::Chip& machine) {
  const Table<OpId, Bytes> made = made_bytes(graph, program::lifetimes(graph));
  return static_cast<double>(std::max_element(made.begin(), made.end())->value) > all_room(machine);
}

}  // namespace

std::optional<ir::WaveGraph> large_in_waves(const ir::Graph& graph,
                                            const Table<OpId, AxisId>& split,
                                            const chip::Chip& machine, double share) {
  const double wave = share * all_room(machine);
  Table<OpId, double> loaded;
  Table<OpId, char> heavy;
  double all = 0.0;
  double large = 0.0;
  for (const ir::Op& op : graph.ops) {
    loaded.push_back(loaded_bytes(graph, op));
    heavy.push_back(loaded.back() > wave ? 1 : 0);
    all += loaded.back();
    large += heavy.back() != 0 ? loaded.back() : 0.0;
  }
  if (!machine.hbm || large == 0.0 || large < tuning::kWorthwhile * all) {
    return std::nullopt;
  }
  std::vector<ir::Chain> chains = ir::chains(graph, heavy, split);
  for (ir::Chain& chain : chains) {
    double most = 0.0;
    for (const ir::Chain::ChainOp& link : chain.links) {
      most = std::max(most, loaded[link.op]);
    }
    chain.waves = std::min(chain.length, static_cast<std::int64_t>(std::ceil(most / wave)));
  }
  std::erase_if(chains, [](const ir::Chain& chain) { return chain.waves > tuning::kMostWaves; });
  if (chains.empty()) {
    return std::nullopt;
  }
  return ir::in_waves(graph, chains);
}

Sliced in_slices(const ir::Graph& graph, const Table<OpId, AxisId>& split,
                 const chip::Chip& machine, std::int64_t slices) {
  Sliced result{.may_go_on = false, .waves = std::nullopt};
  std::vector<ir::Chain> chains = ir::batch_chains(graph, split);
  std::erase_if(chains, [&](const ir::Chain& chain) { return chain.length < slices; });
  if (!machine.hbm || chains.empty()) {
    return result;
  }
  std::size_t ops = 0;
  for (ir::Chain& chain : chains) {
    chain.waves = slices;
    ops += chain.links.size() * static_cast<std::size_t>(slices);
  }
  result.may_go_on = slices <= tuning::kMostSlices && ops <= tuning::kMostSlicedOps;
  if (result.may_go_on) {
    ir::WaveGraph waves = ir::in_waves(graph, chains);
    if (!overflows(waves.graph, machine)) {
      result.waves = std::move(waves);
    }
  }
  return result;
}

bool is_crowded(const ir::Graph& graph, const chip::Chip& machine) {
  const program::Lifetimes lives = program::lifetimes(graph);
  const double most = tuning::kCrowded * all_room(machine);
  Table<OpId, Bytes> taken = made_bytes(graph, lives);
  for (const OpId i : graph.ops.ids()) {
    for (const TensorId t : ir::tensors_of(graph.ops[i])) {
      taken[i] += lives.producer[t] == OpId::none ? ir::bytes(graph.tensors[t]) : Bytes{0};
    }
  }
  return std::any_of(taken.begin(), taken.end(),
                     [&](Bytes bytes) { return static_cast<double>(bytes.value) > most; });
}

Seconds least_in_slices(const ir::Graph& graph, const chip::Chip& machine, std::int64_t slices) {
  double read = 0.0;
  for (const ir::Tensor& tensor : graph.tensors) {
    const auto size = static_cast<double>(ir::bytes(tensor).value);
    read += tensor.home == ir::Home::Weight ? size * static_cast<double>(slices) : 0.0;
    read += tensor.home == ir::Home::State ? size : 0.0;
  }
  return {read / (machine.hbm->rate * static_cast<double>(machine.chips))};
}

shard::OneChip in_parts(const shard::OneChip& one, const ir::WaveGraph& waves) {
  shard::OneChip result{.graph = waves.graph, .forms = {}, .whole = {}, .axes = {}};
  for (const TensorId t : waves.tensor_of.ids()) {
    const TensorId from = waves.tensor_of[t];
    Table<DimId, std::int64_t>& whole = result.whole.emplace_back(one.whole[from]);
    if (waves.dim_of[t] != DimId::none) {
      const DimId dim = waves.dim_of[t];
      whole[dim] = waves.graph.tensors[t].shape[dim];  // No chain goes along what chips share.
    }
    result.forms.push_back(one.forms[from]);
  }
  for (const OpId op : waves.op_of) {
    result.axes.push_back(one.axes[op]);
  }
  return result;
}

shard::OneChip unsplit(const ir::Graph& graph) {
  shard::OneChip result{.graph = graph, .forms = {}, .whole = {}, .axes = {}};
  for (const ir::Tensor& tensor : graph.tensors) {
    result.forms.push_back(shard::whole());
    result.whole.push_back(tensor.shape);
  }
  result.axes.assign(graph.ops.size(), AxisId::none);
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
