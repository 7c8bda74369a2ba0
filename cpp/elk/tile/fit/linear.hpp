#pragma once

#include <span>
#include <vector>

#include "elk/tile/form/form.hpp"

namespace elk::tile {

/// The coefficients c that minimise sum_i (x_i . c / y_i - 1)^2; where the rows do not tell
/// features apart, the c nearest to `prior` (with features scaled to one length).
[[nodiscard]] std::vector<double> fit_relative(std::span<const Terms> features,
                                               std::span<const double> cycles,
                                               std::span<const double> prior);

/// The coefficients of a fit with c >= 0.
[[nodiscard]] std::vector<double> fit_relative_nonnegative(std::span<const Terms> features,
                                                           std::span<const double> cycles);

}  // namespace elk::tile
