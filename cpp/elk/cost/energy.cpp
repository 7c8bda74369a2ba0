#include "elk/cost/energy.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/partition/call.hpp"
#include "elk/partition/plan.hpp"

namespace elk::cost {
namespace {

constexpr double kPicojoule = 1e-12;

chip::Energy in_joules(const chip::Chip& chip) {
  if (!chip.energy) {
    throw InvalidInput("chip.energy: the chip has no energy coefficients");
  }
  return {.pj_per_flop = chip.energy->pj_per_flop * kPicojoule,
          .pj_per_sram_byte = chip.energy->pj_per_sram_byte * kPicojoule,
          .pj_per_link_byte_hop = chip.energy->pj_per_link_byte_hop * kPicojoule,
          .pj_per_hbm_byte = chip.energy->pj_per_hbm_byte * kPicojoule,
          .pj_per_inter_chip_byte = chip.energy->pj_per_inter_chip_byte * kPicojoule,
          .static_w = chip.energy->static_w};
}

double as_double(Bytes bytes) { return static_cast<double>(bytes.value); }

}  // namespace

EnergyForecast::EnergyForecast(const ir::Graph& graph, const chip::Chip& chip)
    : graph_(graph),
      chip_(chip),
      each_(in_joules(chip)),
      hops_(chip::network_of(chip).mean_hops()) {}

/// Read and written once, over `hops` links.
double EnergyForecast::exchanged(double bytes, double hops) const {
  return bytes * ((2.0 * each_.pj_per_sram_byte) + (hops * each_.pj_per_link_byte_hop));
}

/// Between chips: of each of them as much as of the busiest.
double EnergyForecast::crossed(Bytes bytes) const {
  return as_double(bytes) * static_cast<double>(chip_.chips) * each_.pj_per_inter_chip_byte;
}

/// Between the HBM and a core: written or read there.
double EnergyForecast::loaded(double bytes) const {
  return bytes * (each_.pj_per_sram_byte + (hops_ * each_.pj_per_link_byte_hop));
}

double EnergyForecast::execute(const ir::Op& op, const PlanOption& option) const {
  const auto cores = static_cast<double>(option.cores);
  const double moved = exchanged(cores * as_double(option.shift.bytes + option.reduce.bytes), 1.0) +
                       crossed(option.shift.crossing + option.reduce.crossing);
  const Bytes call = partition::call_bytes(graph_, op, partition::tiling(op, option.plan).sub_task);
  const double calls = cores * static_cast<double>(option.steps);
  return moved + (option.padded_flops * each_.pj_per_flop) +
         (calls * as_double(call) * each_.pj_per_sram_byte);
}

double EnergyForecast::bring(const PlanOption& option, const PreloadState& state,
                             const ExchangeCost& gather) const {
  const auto cores = static_cast<double>(option.cores);
  return crossed(gather.crossing + state.distribute.crossing) +
         exchanged(cores * as_double(gather.bytes), hops_) +
         exchanged(cores * as_double(state.distribute.bytes), 1.0) +
         loaded(cores * as_double(state.link)) +
         (static_cast<double>(state.hbm_bytes) * each_.pj_per_hbm_byte);
}

double EnergyForecast::store(const ir::Store& store) const {
  const double bytes = as_double(ir::bytes(graph_.tensors[subscript(store.tensor)]));
  return chip_.hbm ? loaded(bytes) + (bytes * each_.pj_per_hbm_byte) : 0.0;
}

}  // namespace elk::cost
