#include "elk/compile/kept.hpp"

#include <algorithm>

#include "elk/base/ids.hpp"
#include "elk/base/key_writer.hpp"
#include "elk/compile/compile.hpp"
#include "elk/compile/compile_tuning.hpp"
#include "elk/compile/passes.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/cost/option.hpp"
#include "elk/cost/price/pricer.hpp"
#include "elk/ir/op_key.hpp"
#include "elk/partition/plan.hpp"

namespace elk::compile {
namespace {

/// What executes depend on: everything but the HBM, the host, energy and names.
void add_cores(const chip::Chip& chip, KeyWriter& out) {
  const auto& [name, chips, core, links, hbm, inter_chip, host_rate, energy] = chip;
  out.all(chips, core.count, core.rows, core.cols, core.depth, core.sram, core.reserved,
          core.clock_hz, core.sram_rate, core.remote_access_blocks, core.tile_model);
  out.all(links.topology, links.link_rate, links.hop_latency, links.sync_latency,
          links.fragment_latency, links.multicast, links.overlaps_compute, links.native_shift,
          links.node_ports.value_or(0));
  out.all(hbm.has_value(), inter_chip.has_value());
  if (inter_chip) {
    out.all(inter_chip->rate, inter_chip->latency, inter_chip->sync_latency, inter_chip->port_cores,
            inter_chip->topology);
  }
}

/// What of the HBM counts in a key.
enum class HbmKey : std::uint8_t { Rates, NoRates };

void add_hbm(const chip::Chip& chip, HbmKey what, KeyWriter& out) {
  if (chip.hbm) {
    const auto& [modules, rate, port_rate, latency, channels, refresh_interval, refresh_stall,
                 outstanding, capacity, position] = *chip.hbm;
    out.all(modules, latency, channels, refresh_interval, refresh_stall, outstanding, capacity,
            position);
    if (what == HbmKey::Rates) {
      out.all(rate, port_rate);
    }
  }
}

bool reads_hbm(const ir::Graph& graph, const ir::Op& op) {
  return std::any_of(op.operands.begin(), op.operands.end(), [&](const ir::Operand& operand) {
    return partition::from_hbm(graph, operand);
  });
}

std::string cores_key(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip) {
  KeyWriter out;
  add_cores(chip, out);
  return ir::op_key(graph, op) + std::move(out).key();
}

std::string front_key(const KeptOp& of, const chip::Chip& chip,
                      const cost::Constraints& constraints) {
  const auto& [graph, op, rest_once] = of;
  KeyWriter out;
  add_cores(chip, out);
  const auto& [min_core_share, max_padding, thinning, looks, stores_every] = constraints;
  out.all(min_core_share, max_padding, thinning, looks, stores_every);
  for (const ir::Operand& operand : op.operands) {
    out.add(rest_once[operand.tensor] ? 1 : 0);
  }
  if (reads_hbm(graph, op)) {
    add_hbm(chip, HbmKey::NoRates, out);
  }
  return ir::op_key(graph, op, ir::KeyOffsets::Clipping) + std::move(out).key();
}

/// All that passes depend on, with the names that errors mention.
std::string passes_key(const PassesInput& input, const chip::Chip& chip, const Options& options) {
  const ir::Graph& graph = input.graph;
  KeyWriter out;
  out.add(input.slice != nullptr);  // which the graph tells
  add_cores(chip, out);
  add_hbm(chip, HbmKey::Rates, out);
  out.add(chip.energy.has_value());
  if (chip.energy) {
    const auto& [flop, sram_byte, link_byte, hbm_byte, chip_byte, idle] = *chip.energy;
    out.all(flop, sram_byte, link_byte, hbm_byte, chip_byte, idle);
  }
  const auto& [min_core_share, max_padding, thinning, looks, stores_every] = options.constraints;
  out.all(options.effort, options.objective, min_core_share, max_padding, thinning, looks,
          stores_every);
  out.add(graph.tensors.size());
  for (const ir::Tensor& tensor : graph.tensors) {
    out.all(tensor.name, tensor.dtype, tensor.home, tensor.shape);
  }
  out.add(graph.ops.size());
  for (const ir::Op& op : graph.ops) {
    out.all(op.name, ir::op_key(graph, op));
    for (const ir::Operand& operand : op.operands) {
      out.all(operand.tensor, operand.indirect ? operand.indirect->index : TensorId::none);
    }
  }
  out.add(graph.stores.size());
  for (const ir::Store& store : graph.stores) {
    out.all(store.tensor, store.op, store.run, store.into, store.begin);
  }
  out.all(graph.outputs, graph.repeat.has_value());
  if (graph.repeat) {
    out.all(graph.repeat->begin, graph.repeat->period, graph.repeat->count);
  }
  add_given(options.plans, out);
  return std::move(out).key();
}

void set_tensors(const ir::Op& op, cost::Front& front) {
  const std::vector<TensorId> tensors = ir::tensors_of(op);
  for (cost::PlanOption& option : front.options) {
    option.footprint.tensors = tensors;
  }
}

}  // namespace

std::string machine_key(const chip::Chip& chip) {
  KeyWriter out;
  add_cores(chip, out);
  add_hbm(chip, HbmKey::NoRates, out);
  return std::move(out).key();
}

std::string memory_key(const chip::Chip& chip) {
  KeyWriter out;
  add_cores(chip, out);
  add_hbm(chip, HbmKey::Rates, out);
  return std::move(out).key();
}

cost::Front Kept::front(const KeptOp& of, const chip::Chip& chip, const tile::TileModel& tiles,
                        const cost::Constraints& constraints) {
  const auto& [graph, op, rest_once] = of;
  const std::string key = front_key(of, chip, constraints);
  if (std::optional<cost::Front> known = fronts_.find(key)) {
    set_tensors(op, *known);
    cost::retime(*known, chip);
    return std::move(*known);
  }
  cost::Front result = ir::is_collective(op.kind) ? cost::front(graph, op, chip, tiles, constraints)
                                                  : searched(graph, op, chip, tiles, constraints);
  fronts_.put(key, result, std::size_t{100} << 10U);
  return result;
}

cost::Front Kept::searched(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                           const tile::TileModel& tiles, const cost::Constraints& constraints) {
  cost::Pricer pricer(graph, op, chip, tiles, constraints.stores_every);
  const std::string rates_key = cores_key(graph, op, chip);
  std::optional<tile::TileRates> rates = rates_.find(rates_key);
  if (!rates) {
    rates.emplace(op, pricer.tiles());
    rates_.put(rates_key, *rates, std::size_t{10} << 10U);
  }
  return cost::front(pricer, std::move(*rates), constraints);
}

std::shared_ptr<Passes> Kept::passes(const PassesInput& input, const chip::Chip& chip,
                                     const tile::TileModel& tiles, const Options& options) {
  std::string key = passes_key(input, chip, options);
  if (const auto known = passes_.find(key); known && (*known)->sound()) {
    return *known;
  }
  auto fresh = std::make_shared<Passes>(input, chip, tiles, options);
  const std::size_t bytes = key.size() + (tuning::kBytesOfOp * input.graph.ops.size());
  passes_.put(std::move(key), fresh, bytes);
  return fresh;
}

shard::ExecuteTime Kept::recalled(const ir::Graph& graph, const chip::Chip& pod,
                                  shard::ExecuteTime execute) {
  return [this, &graph, &pod, execute = std::move(execute)](const ir::Op& op) {
    return executes_.find_or_make(
        cores_key(graph, op, pod), [&] { return execute(op); },
        [](const shard::ChipExecute& made) { return sizeof(made); });
  };
}

std::vector<std::pair<std::string, Reuse>> Kept::reuse() const {
  return {{"fronts", fronts_.reuse()},           {"rates", rates_.reuse()},
          {"executes", executes_.reuse()},       {"handovers", known_.handovers.reuse()},
          {"gathers", known_.gathers.reuse()},   {"preloads", known_.preloads.reuse()},
          {"bounds", known_.neighbours.reuse()}, {"executions", executions_.executed.reuse()},
          {"loads", executions_.loads.reuse()},  {"passes", passes_.reuse()}};
}

}  // namespace elk::compile
