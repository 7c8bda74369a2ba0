#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/chip/chip.hpp"

namespace elk::chip {

/// For each HBM module and each of `receivers`, cores of one chip, the node through which the
/// module's data for it pass: a position in `attached_cores(chip)[module]`. Empty where that is.
///
/// Data lie striped over all modules, so each module serves every core. Its nodes share the
/// receivers evenly, in runs along their edge: those of the left and right columns take rows, those
/// of the top and bottom rows take columns, the corners with them. Together with `along_row_first`
/// this keeps data off the links along the edge: the busiest link then carries little more than a
/// node lets in.
[[nodiscard]] std::vector<std::vector<std::int32_t>> entry_nodes(const Chip& chip,
                                                                 std::span<const CoreId> receivers);

/// The same where all cores are receivers, in the order of their numbers.
[[nodiscard]] std::vector<std::vector<std::int32_t>> entry_nodes(const Chip& chip);

/// Whether data that pass the node at `core` go along its row first and then along a column: they
/// leave an edge at a right angle. Where modules are at nodes within the grid, always.
[[nodiscard]] bool along_row_first(const Chip& chip, CoreId core);

}  // namespace elk::chip
