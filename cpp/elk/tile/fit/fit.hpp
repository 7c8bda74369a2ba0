#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "elk/tile/tile.hpp"

namespace elk::tile {

/// One row of a profile. `family` is the position of the family that the profile names as the one
/// that computed the tile, `transposed` the orientation it names: -1 where it names none.
struct ProfileRow {
  TileShape shape;
  double cycles;
  std::int32_t family;
  std::int32_t transposed;
};

/// What a fit is for.
struct FitTarget {
  std::string function;
  ir::DType compute;
  ir::DType accumulate;
};

struct FitOptions {
  static constexpr double kAnySize = std::numeric_limits<double>::infinity();

  std::int32_t folds = 4;      // of the cross-validation that chooses among alternatives
  std::int32_t rounds = 24;    // of assigning rows to families and fitting again
  std::size_t least_rows = 3;  // among several families, a piece with fewer is unseen
  double better = 0.9;         // a later alternative must cut the error to this share
  double exact = 1e-4;         // errors below this are none
  // How far beyond the columns and the depth of any row that it computed a family is asked: where
  // errors hardly differ, for few columns, which is quickest, and for any depth.
  std::array<double, 7> slacks = {1.0, 1.25, 1.5, 2.0, 3.0, 4.0, kAnySize};
};

/// Fits a kernel to the rows of a profile: least squares of relative errors,
///
///     minimise sum_i (x_i . c / y_i - 1)^2
///
/// over each piece of each family, where a row belongs to the family and orientation that the
/// profile names or, if it names none, to the one that predicts it best (alternating between both).
/// `alternatives` are sets of families; cross-validation chooses the set, the earlier at a tie, and
/// the sizes beyond which all families but the first are left out.
/// Refuses a target without rows.
[[nodiscard]] KernelFit fit_kernel(const FitTarget& target, std::span<const ProfileRow> samples,
                                   std::span<const std::vector<Formula>> alternatives,
                                   const FitOptions& options);

}  // namespace elk::tile
