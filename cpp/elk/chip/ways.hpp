#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/chip/chip.hpp"

namespace elk::chip {

/// For each HBM module, how many of its nodes lie at the edge beside an area: at the left and right
/// in its rows, at the top and bottom in its columns, and in its layers. All of them where none
/// does. Data for the area, which has so many places along each dimension, come in through these:
/// from the others they would have to share the links into it.
[[nodiscard]] std::vector<std::int64_t> nodes_beside(const Chip& chip, const PerDim& area);

/// For each HBM module and each of `receivers`, cores of one chip, the node through which the
/// module's data for it pass: a position in `attached_cores(chip)[module]`. Empty where that is.
/// `area` holds all cores that the data go to.
///
/// Data lie striped over all modules, so each module serves every core. Its nodes beside the area
/// share the receivers evenly, in runs along their edge: those of the left and right columns take
/// rows, those of the top and bottom rows take columns, the corners with them. Together with
/// `turn_at` this keeps data off the links along the edge: the busiest link then carries
/// little more than a node lets in.
[[nodiscard]] std::vector<std::vector<std::int32_t>> entry_nodes(const Chip& chip,
                                                                 std::span<const CoreId> receivers,
                                                                 const PerDim& area);

/// The entry nodes where all cores are receivers, in the order of their numbers.
[[nodiscard]] std::vector<std::vector<std::int32_t>> entry_nodes(const Chip& chip);

/// The core through which one of the `cores` of a chip reaches other chips: the `ports` such cores
/// lie evenly among them. Numbered on the chip.
[[nodiscard]] std::int64_t port_core(std::int64_t core, std::int64_t cores, std::int64_t ports);

/// The least area of one chip's grid that holds `cores`, which are numbered on it.
[[nodiscard]] PerDim area_of(const Chip& chip, std::span<const CoreId> cores);

/// Which way data that pass the node at `core` turn: they leave an edge at a right angle. Where
/// modules are at nodes within the grid, they go along the row first.
[[nodiscard]] DimOrder turn_at(const Chip& chip, CoreId core);

}  // namespace elk::chip
