#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/chip.hpp"
#include "elk/compile/compile.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/ir/graph.hpp"
#include "elk/tile/tile.hpp"

namespace elk::compile {

/// The fronts of the distinct ops of a graph, and which of them each op has.
struct Fronts {
  std::vector<cost::Front> fronts;
  Table<OpId, std::int32_t> front_of;
};

/// One front for each set of equal ops; of ops whose plans the options give, one for each set with
/// equal plans. Throws Infeasible that names every op for which no plan fits a core's SRAM, by how
/// many bytes, and what would make it fit; and what `given_plans` throws.
[[nodiscard]] Fronts fronts(const ir::Graph& graph, const chip::Chip& chip,
                            const tile::TileModel& tiles, const Options& options);

/// Throws InvalidInput where the bytes of an op times the cores of the machine come near the end of
/// 64 bits: what all cores receive, padding and repeated shifts included, is counted in them.
void check_products(const ir::Graph& graph, const chip::Chip& chip);

/// Throws Infeasible when weights and states are more than the chips' HBM holds.
void check_capacity(const ir::Graph& graph, const chip::Chip& chip);

}  // namespace elk::compile
