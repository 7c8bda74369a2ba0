#pragma once

#include "elk/chip/chip.hpp"
#include "elk/cost/exchange/exchange.hpp"
#include "elk/cost/option.hpp"
#include "elk/ir/graph.hpp"

namespace elk::cost {

/// What work costs by the coefficients of a chip that has them, in joules, idling aside (design 4):
///
///     E = e_flop F + e_sram S + e_link H + e_hbm B + e_ic X
///
/// F counts the FLOPs of padded tiles; S the operands and results of every tile call, twice what
/// cores exchange and once what they load; H bytes times links; B bytes of the HBM; X bytes between
/// chips. It is a forecast: every core and every chip counts as the busiest; on a grid, gathers and
/// loads pass as many links as two cores drawn at random are apart, and everything else goes to a
/// neighbour.
class EnergyForecast {
 public:
  /// `chip` must have coefficients.
  EnergyForecast(const ir::Graph& graph, const chip::Chip& chip);

  /// Of an execute that finds its operands in place: tiles, shifts, reductions, collectives.
  [[nodiscard]] double execute(const ir::Op& op, const PlanOption& option) const;
  /// Of bringing them there: the preload, what peers distribute, the gather.
  [[nodiscard]] double bring(const PlanOption& option, const PreloadState& state,
                             const ExchangeCost& gather) const;
  [[nodiscard]] double store(const ir::Store& store) const;

 private:
  [[nodiscard]] double exchanged(double bytes, double hops) const;
  [[nodiscard]] double crossed(Bytes bytes) const;
  [[nodiscard]] double loaded(double bytes) const;

  const ir::Graph& graph_;
  const chip::Chip& chip_;
  chip::Energy each_;  // in joules
  double hops_;        // of a byte from anywhere
};

}  // namespace elk::cost
