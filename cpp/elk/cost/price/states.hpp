#pragma once

#include <vector>

#include "elk/base/ids.hpp"
#include "elk/cost/exchange/exchange.hpp"
#include "elk/cost/option.hpp"
#include "elk/cost/price/gather.hpp"

namespace elk::cost {

/// Where the data of a plan enter a grid.
struct GridEntry {
  std::int64_t modules = 0;  // of one chip; 0 off a grid
  std::int64_t nodes = 1;    // beside the plan's cores, of the module that has fewest there
};

/// An operand from HBM, or at rest on a chip without, under one execute plan.
struct HbmOperand {
  OperandId operand{0};
  Bytes full;             // of a core's piece at execute
  double expected = 1.0;  // share of it that is filled: below 1 only where an index picks rows
  partition::PieceSharing sharing;
  std::int64_t pieces = 1;  // different ones that the cores of a chip hold, at most
  GridEntry edge;
  std::int64_t ring = 1;    // cores that its partitions rotate through: peers are as far apart
  std::int64_t around = 0;  // peers that go once around their dimension of a torus, 0: none do
  bool by_ports = false;    // peers differ in their places along a full line
  Bytes spread{0};          // on every core of the tensor if it lies evenly over all cores ...
  Arrival gathered = {};    // ... and what an execute then gathers of it
  bool picked = false;      // an index picks rows of it, which are not known ahead
};

/// Bytes that all chips read of an operand whose cores receive one part in `d` of their piece:
/// once for each chip, or where nothing is multicast once for each ring of peers.
[[nodiscard]] std::int64_t hbm_bytes(const partition::PieceSharing& sharing, std::int64_t d,
                                     bool multicast);

/// The preload states of an op on the Pareto front of (space, distribute time), largest space
/// first. Without HBM, its idle states (T10 4.3.2): a core keeps one part in `d` of its piece, or
/// the tensor lies evenly over all cores, and the execute brings the rest. `wide`: cores of several
/// chips take part.
[[nodiscard]] std::vector<PreloadState> preload_states(const std::vector<HbmOperand>& operands,
                                                       const ir::Op& op, const Fabric& fabric,
                                                       const chip::Chip& chip, bool wide);

/// Gives states their times at the HBM rate of `chip`.
void retime(std::vector<PreloadState>& states, const chip::Chip& chip);

}  // namespace elk::cost
