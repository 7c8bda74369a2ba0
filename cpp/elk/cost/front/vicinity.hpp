#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "elk/cost/floor/cuts.hpp"

namespace elk::cost {

/// Walks from cuts to those next to them, each once.
class Vicinity {
 public:
  /// Cuts with factors of `visited` alone are left out. Both outlive the vicinity.
  Vicinity(const Factors& all, const Factors& visited, std::int64_t cores)
      : all_(all), visited_(visited), cores_(cores) {}

  /// Cuts not yet met that take a step from `cut` to the next factor of one axis, or a step up on
  /// one and a step down on another. Empty if it was asked before.
  [[nodiscard]] std::vector<std::vector<std::int64_t>> around(std::span<const std::int64_t> cut);
  [[nodiscard]] std::size_t met() const { return met_.size(); }

 private:
  using FactorNumbers = std::vector<std::size_t>;  // of a cut's factors in `all_`

  [[nodiscard]] FactorNumbers places(std::span<const std::int64_t> cut) const;
  void meet(const FactorNumbers& places, std::vector<std::vector<std::int64_t>>& cuts);

  const Factors& all_;
  const Factors& visited_;
  std::int64_t cores_;
  std::set<FactorNumbers> asked_;
  std::set<FactorNumbers> met_;
};

}  // namespace elk::cost
