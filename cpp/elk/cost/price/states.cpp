#include "elk/cost/price/states.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/delivery.hpp"
#include "elk/cost/exchange/cost_tuning.hpp"

namespace elk::cost {
namespace {

/// Divisors of the operands so far, with what they add up to.
struct Partial {
  std::vector<std::int64_t> divisor;  // of each HBM operand
  std::int64_t space = 0;
  std::int64_t spread = 0;  // of `space`
  std::int64_t link = 0;
  std::int64_t hbm = 0;
  std::int64_t chip_hbm = 0;
  std::int64_t edge = 0;
  Traffic traffic;
};

/// Bytes read over all chips, and on the busiest, at divisor `d`.
struct Reads {
  std::int64_t all;
  std::int64_t chip;
};

/// Once for each chip, or where nothing is multicast once for each ring of peers.
Reads reads(const partition::PieceSharing& sharing, std::int64_t d, bool multicast) {
  if (multicast) {
    return {.all = sharing.hbm_bytes, .chip = sharing.chip_hbm_bytes};
  }
  const double rings = static_cast<double>(sharing.copies) / static_cast<double>(d);
  const double bytes = static_cast<double>(sharing.unique_bytes) * rings;
  return {.all = static_cast<std::int64_t>(std::ceil(bytes)),
          .chip = static_cast<std::int64_t>(std::ceil(bytes * sharing.chip_share))};
}

/// On a grid, bytes through the busiest of the nodes that let in `pieces` pieces of `bytes` each:
/// every module has its share of each piece, and its nodes share the pieces.
std::int64_t edge_bytes(const GridEntry& edge, std::int64_t pieces, std::int64_t bytes) {
  return edge.modules == 0 ? 0 : ceil_div(pieces, edge.nodes) * ceil_div(bytes, edge.modules);
}

Partial with(const Partial& before, const HbmOperand& operand, std::int64_t d,
             const Fabric& fabric) {
  const std::int64_t piece = partition::preload_piece(operand.full, d).value;
  const std::int64_t rest = operand.full.value - piece;
  Partial result = before;
  result.divisor.push_back(d);
  result.space += piece;
  result.link +=
      static_cast<std::int64_t>(std::ceil(static_cast<double>(piece) * operand.expected));
  const Reads read = reads(operand.sharing, d, fabric.multicast());
  result.hbm += read.all;
  result.chip_hbm += read.chip;
  const std::int64_t pieces = operand.pieces * (fabric.multicast() ? d : operand.sharing.copies);
  result.edge += edge_bytes(operand.edge, pieces, piece);
  if (d > 1 && rest > 0) {
    result.traffic.received += rest;
    result.traffic.sent += fabric.multicast() ? piece : rest;
    result.traffic.fragments += d - 1;
    fabric.among(result.traffic,
                 {.cores = d,
                  .apart = operand.ring,
                  .around = d == operand.around,
                  .full = operand.by_ports},
                 piece, fabric.multicast());
  }
  return result;
}

/// The operand lies evenly over all cores, and the execute gathers it from there.
Partial with_spread(const Partial& before, const HbmOperand& operand, const Fabric& fabric) {
  Partial result = before;
  result.divisor.push_back(0);
  result.space += operand.spread.value;
  result.spread += operand.spread.value;
  Traffic one = operand.gathered.traffic;
  fabric.gather(one, operand.gathered.moved);
  result.traffic.received += one.received;
  result.traffic.fragments += one.fragments;
  result.traffic.chip_in += one.chip_in;
  result.traffic.line += one.line;
  result.traffic.hops = std::max(result.traffic.hops, one.hops);
  return result;
}

/// All ways in which an operand may wait for its execute.
std::vector<Partial> with_any(const Partial& before, const HbmOperand& operand,
                              const Fabric& fabric, const chip::Chip& chip) {
  std::vector<Partial> result;
  for (const std::int64_t d : operand.sharing.divisors) {
    if (chip.hbm || !operand.picked) {
      result.push_back(with(before, operand, d, fabric));
    }
  }
  if (!chip.hbm) {
    result.push_back(with_spread(before, operand, fabric));
  }
  return result;
}

/// Whether `a` is at least as good as `b` in all that decides space and time, whatever follows.
bool covers(const Partial& a, const Partial& b) {
  return a.space <= b.space && a.traffic.received <= b.traffic.received &&
         a.traffic.sent <= b.traffic.sent && a.traffic.fragments <= b.traffic.fragments &&
         a.traffic.line <= b.traffic.line && a.traffic.hops <= b.traffic.hops &&
         a.traffic.chip_in <= b.traffic.chip_in && a.hbm <= b.hbm && a.edge <= b.edge;
}

std::vector<Partial> uncovered(std::vector<Partial> all) {
  std::stable_sort(all.begin(), all.end(), [](const Partial& a, const Partial& b) {
    return std::tie(a.space, a.traffic.received, a.divisor) <
           std::tie(b.space, b.traffic.received, b.divisor);
  });
  std::vector<Partial> kept;
  for (Partial& one : all) {
    if (std::none_of(kept.begin(), kept.end(),
                     [&](const Partial& other) { return covers(other, one); })) {
      kept.push_back(std::move(one));
    }
  }
  return kept;
}

/// Not too many of those, evenly from the least space to the most: each operand multiplies them.
std::vector<Partial> thinned(std::vector<Partial> all) {
  constexpr std::size_t kMost = tuning::kMostPartialStates;
  if (all.size() <= kMost) {
    return all;
  }
  std::vector<Partial> kept;
  for (std::size_t i = 0; i < kMost; ++i) {
    kept.push_back(std::move(all[i * (all.size() - 1) / (kMost - 1)]));
  }
  return kept;
}

/// Seconds in which the busiest chip's HBM delivers what it reads. A grid takes in no more than its
/// edges let through, all together and, in `edge`, at the busiest node.
Seconds hbm_seconds(const chip::Chip& chip, const Fabric& fabric, std::int64_t bytes,
                    Seconds edge) {
  if (bytes == 0) {
    return {0.0};
  }
  const auto amount = static_cast<double>(bytes);
  return std::max({chip::hbm_time(chip, amount, false), fabric.delivery(amount), edge});
}

Seconds port_time(Bytes received, const chip::Chip& chip) {
  return {static_cast<double>(received.value) / chip.interconnect.link_rate};
}

void set_times(PreloadState& state, const Fabric& fabric, const chip::Chip& chip) {
  state.hbm_time = hbm_seconds(chip, fabric, state.chip_hbm_bytes, state.edge);
  state.time = std::max(state.hbm_time, port_time(state.link, chip));
}

PreloadState state(const Partial& sum, const std::vector<HbmOperand>& operands, const ir::Op& op,
                   const Fabric& fabric, const chip::Chip& chip) {
  PreloadState result{
      .divisor = Table<OperandId, std::int64_t>(op.operands.size(), 0),
      .space = {sum.space},
      .spread = {sum.spread},
      .link = {chip.hbm ? sum.link : 0},
      .hbm_bytes = chip.hbm ? sum.hbm : 0,
      .chip_hbm_bytes = chip.hbm ? sum.chip_hbm : 0,
      .hbm_time = {0.0},
      .edge = {chip.hbm ? static_cast<double>(sum.edge) / chip.interconnect.link_rate : 0.0},
      .time = {0.0},
      .wire = {0.0},
      .distribute = fabric.exchange(sum.traffic)};
  result.wire = std::max(port_time(result.link, chip), result.edge);
  set_times(result, fabric, chip);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    for (const OperandId twin : op.operands.ids()) {
      if (partition::first_like(op, twin) == operands[i].operand) {
        result.divisor[twin] = sum.divisor[i];
      }
    }
  }
  return result;
}

}  // namespace

std::int64_t hbm_bytes(const partition::PieceSharing& sharing, std::int64_t d, bool multicast) {
  return reads(sharing, d, multicast).all;
}

void retime(std::vector<PreloadState>& states, const chip::Chip& chip) {
  const Fabric fabric(chip);
  for (PreloadState& state : states) {
    set_times(state, fabric, chip);
  }
}

std::vector<PreloadState> preload_states(const std::vector<HbmOperand>& operands, const ir::Op& op,
                                         const Fabric& fabric, const chip::Chip& chip, bool wide) {
  Partial none;
  none.traffic.wide = wide;
  std::vector<Partial> sums{none};
  for (const HbmOperand& operand : operands) {
    std::vector<Partial> more;
    for (const Partial& sum : sums) {
      for (Partial& one : with_any(sum, operand, fabric, chip)) {
        more.push_back(std::move(one));
      }
    }
    sums = thinned(uncovered(std::move(more)));
  }
  // Smallest space first, so the next one is kept only if it is faster.
  std::vector<PreloadState> states;
  for (const Partial& sum : sums) {
    PreloadState next = state(sum, operands, op, fabric, chip);
    if (states.empty() || next.distribute.time < states.back().distribute.time) {
      states.push_back(std::move(next));
    }
  }
  std::reverse(states.begin(), states.end());
  return states;
}

}  // namespace elk::cost
