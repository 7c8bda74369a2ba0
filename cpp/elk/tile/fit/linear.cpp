#include "elk/tile/fit/linear.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <Eigen/Dense>

namespace elk::tile {
namespace {

constexpr double kRankTolerance = 1e-9;
constexpr int kSweeps = 2000;
constexpr double kConverged = 1e-13;

/// Rows of features over cycles, columns scaled to length one, and the scales.
struct System {
  Eigen::MatrixXd rows;
  Eigen::VectorXd scale;
};

System scaled_system(std::span<const Terms> features, std::span<const double> cycles) {
  const auto count = static_cast<Eigen::Index>(features.size());
  const auto width = static_cast<Eigen::Index>(features.front().count);
  System system{.rows = Eigen::MatrixXd(count, width), .scale = Eigen::VectorXd(width)};
  for (Eigen::Index i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    for (Eigen::Index j = 0; j < width; ++j) {
      system.rows(i, j) = features[at].value[static_cast<std::size_t>(j)] / cycles[at];
    }
  }
  for (Eigen::Index j = 0; j < width; ++j) {
    const double length = system.rows.col(j).norm();
    system.scale(j) = length > 0.0 ? 1.0 / length : 0.0;
    system.rows.col(j) *= system.scale(j);
  }
  return system;
}

std::vector<double> unscaled(const Eigen::VectorXd& solution, const Eigen::VectorXd& scale) {
  std::vector<double> out(static_cast<std::size_t>(solution.size()));
  for (Eigen::Index j = 0; j < solution.size(); ++j) {
    out[static_cast<std::size_t>(j)] = solution(j) * scale(j);
  }
  return out;
}

}  // namespace

std::vector<double> fit_relative(std::span<const Terms> features, std::span<const double> cycles,
                                 std::span<const double> prior) {
  const System system = scaled_system(features, cycles);
  Eigen::VectorXd start(system.scale.size());
  for (Eigen::Index j = 0; j < start.size(); ++j) {
    // A feature that is zero in all rows keeps its prior, too.
    start(j) = system.scale(j) > 0.0 ? prior[static_cast<std::size_t>(j)] / system.scale(j) : 0.0;
  }
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> solver;
  solver.setThreshold(kRankTolerance);
  solver.compute(system.rows);
  const Eigen::VectorXd missing = Eigen::VectorXd::Ones(system.rows.rows()) - (system.rows * start);
  std::vector<double> fitted = unscaled(start + solver.solve(missing), system.scale);
  for (std::size_t j = 0; j < fitted.size(); ++j) {
    if (system.scale(static_cast<Eigen::Index>(j)) == 0.0) {
      fitted[j] = prior[j];
    }
  }
  return fitted;
}

std::vector<double> fit_relative_nonnegative(std::span<const Terms> features,
                                             std::span<const double> cycles) {
  const System system = scaled_system(features, cycles);
  const Eigen::MatrixXd gram = system.rows.transpose() * system.rows;
  const Eigen::VectorXd target =
      system.rows.transpose() * Eigen::VectorXd::Ones(system.rows.rows());
  Eigen::VectorXd solution = Eigen::VectorXd::Zero(gram.rows());
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double moved = 0.0;
    for (Eigen::Index j = 0; j < gram.rows(); ++j) {
      if (gram(j, j) <= 0.0) {
        continue;
      }
      const double step = (target(j) - gram.row(j).dot(solution)) / gram(j, j);
      const double next = std::max(0.0, solution(j) + step);
      moved = std::max(moved, std::abs(next - solution(j)));
      solution(j) = next;
    }
    if (moved <= kConverged * solution.lpNorm<Eigen::Infinity>()) {
      break;
    }
  }
  return unscaled(solution, system.scale);
}

}  // namespace elk::tile
