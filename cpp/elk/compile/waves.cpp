#include "elk/compile/waves.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/compile/compile_tuning.hpp"
#include "elk/ir/cuts.hpp"
#include "elk/ir/spills.hpp"
#include "elk/ir/touched.hpp"
#include "elk/program/code/lifetimes.hpp"

namespace elk::compile {
namespace {

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

/// `sliced` with those of its inputs that an op reads once in HBM until their slice begins, unless
/// they are few beside this room.
ir::WaveGraph with_inputs_in_hbm(ir::WaveGraph sliced, double room) {
  const ir::Graph& graph = sliced.graph;
  const Table<TensorId, char> may_be = ir::may_be_spilled(graph);
  Table<TensorId, std::int32_t> readers(graph.tensors.size(), 0);
  for (const ir::Op& op : graph.ops) {
    for (const TensorId t : ir::tensors_of(op)) {
      ++readers[t];
    }
  }
  Bytes moved{0};
  Table<TensorId, OpId> from(graph.tensors.size(), OpId::none);
  for (const TensorId t : from.ids()) {
    if (graph.tensors[t].home == ir::Home::Input && may_be[t] != 0 && readers[t] == 1) {
      from[t] = OpId{0};
      moved += ir::bytes(graph.tensors[t]);
    }
  }
  const bool are_few = static_cast<double>(moved.value) <= tuning::kFewInputs * room;
  return are_few ? std::move(sliced) : ir::spilled(std::move(sliced), from);
}

}  // namespace

std::optional<ir::WaveGraph> fitted(const ir::WaveGraph& parts, const chip::Chip& machine,
                                    SramShares shares, std::size_t most) {
  const double room = all_room(machine);
  std::optional<ir::WaveGraph> cut =
      ir::cut_to_fit(parts, {.room = room, .most = shares.op * room, .ops = most});
  return cut ? std::optional(ir::spilled_to_fit(std::move(*cut), shares.rest * room))
             : std::nullopt;
}

bool may_fit_in_waves(const ir::Graph& graph, const chip::Chip& machine) {
  return ir::least_touched(graph) <= all_room(machine);
}

bool overflows(const ir::Graph& graph, const chip::Chip& machine) {
  const Table<OpId, Bytes> made = made_bytes(graph, program::lifetimes(graph));
  return static_cast<double>(std::max_element(made.begin(), made.end())->value) > all_room(machine);
}

std::optional<ir::WaveGraph> in_slices(const ir::Graph& graph, const chip::Chip& machine,
                                       std::int64_t slices) {
  std::vector<ir::Chain> chains = ir::batch_chains(graph);
  std::erase_if(chains, [&](const ir::Chain& chain) { return chain.length < slices; });
  std::size_t ops = 0;
  for (ir::Chain& chain : chains) {
    chain.waves = slices;
    ops += chain.links.size() * static_cast<std::size_t>(slices);
  }
  if (chains.empty() || slices > tuning::kMostSlices || ops > tuning::kMostOpsInParts) {
    return std::nullopt;
  }
  return with_inputs_in_hbm(ir::in_waves(ir::in_no_waves(graph), chains), all_room(machine));
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
  for (const TensorId t : waves.part_of.ids()) {
    const TensorId from = waves.part_of[t].tensor;
    const ir::Tensor& tensor = waves.graph.tensors[t];
    Table<DimId, std::int64_t>& whole = result.whole.emplace_back(one.whole[from]);
    for (const DimId dim : whole.ids()) {  // Of a part it is what each chip has.
      const bool cut = tensor.shape[dim] != one.graph.tensors[from].shape[dim];
      whole[dim] = cut ? tensor.shape[dim] : whole[dim];
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
    for (const ir::PartOf& part : waves->part_of) {
      plan.parts.push_back({.of = whole.graph.tensors[part.tensor].name, .begin = part.begin});
    }
    plan.shard = in_parts(whole.one != nullptr ? *whole.one : unsplit(whole.graph), *waves);
  } else if (whole.one != nullptr) {
    plan.shard = *whole.one;
  }
  plan.pod = whole.one != nullptr ? Pod::Sharded : Pod::Pooled;
}

}  // namespace elk::compile
