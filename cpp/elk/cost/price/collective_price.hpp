#pragma once

#include <cstdint>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/cost/exchange/busiest_link.hpp"
#include "elk/cost/exchange/exchange.hpp"
#include "elk/cost/option.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/collective.hpp"
#include "elk/tile/tile.hpp"

namespace elk::cost {

/// The exchange between chips, adds aside, by the cheaper way.
struct LinkPhase {
  partition::CollectiveAlgorithm way;
  Seconds time;
  Bytes sent;  // by each chip
};

/// Of a collective of `kind` among `chips` of which one holds `chip` and one port `port` of it:
///
///     t = sum over steps of sync + w L + max(x / B, y / b)
///
/// with L the latency between chips, w the links that the farthest message passes, x the bytes that
/// a chip sends, those that pass it included, over its rate B, and y the bytes of a port over the
/// rate b of its core's link. A ring wins ties: it needs no more than neighbours.
[[nodiscard]] LinkPhase link_phase(ir::OpKind kind, const partition::CollectiveBytes& chip,
                                   const partition::CollectiveBytes& port, std::int64_t chips,
                                   const chip::Chip& machine);

/// The cores of a plan; off a grid, in one row.
[[nodiscard]] chip::PerDim workers(const partition::ExecutePlan& plan);

/// Adds what the cores beside a port, those before the next one, hand to it (`collects`) or take
/// from it: `piece` bytes each.
void add_ports(const chip::Chip& chip, const chip::PerDim& workers, std::int64_t piece,
               bool collects, Traffic& traffic);

/// A collective under a plan: its gather is `PlanOption::gather`, its link phase with the adds
/// `shift`, its scatter `reduce` (design 2.6).
[[nodiscard]] PlanOption collective_option(const ir::Graph& graph, const ir::Op& op,
                                           const partition::ExecutePlan& plan,
                                           const chip::Chip& chip, const tile::TileModel& tiles);

}  // namespace elk::cost
