#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/cost/floor/cuts.hpp"
#include "elk/cost/floor/floor_search.hpp"
#include "elk/cost/price/pricer.hpp"
#include "elk/cost/price/temporal_factors.hpp"
#include "elk/tile/rate.hpp"

namespace elk::cost {

/// What the factors of the first axes say of a cut's tiles.
struct FactorPrefix {
  std::size_t axes;      // how many
  std::int64_t product;  // of the factors
  double rate;           // least seconds for each unit of volume
  double volume;         // with the other axes whole
};

/// Finds the cuts of an op whose executes may take less than a limit, by branch and bound over the
/// factors of the axes.
class CutsBelow {
 public:
  CutsBelow(Pricer& pricer, tile::TileRates& rates, double limit);

  /// Looks at each. Of a cut, everything is known but how its operands are split over time.
  using Look = std::function<void(const Cut&, const tile::TileTime&)>;
  void each(const Look& look);

  /// What the cut in hand takes at least. `steps`: whether times of several steps are asked for.
  [[nodiscard]] FloorSearch::LeastTime least(const tile::TileTime& whole, bool steps) {
    return floor_.least(cut_, whole, turns_, limit_, steps);
  }
  [[nodiscard]] const std::vector<std::int64_t>& divisors(std::int64_t number) {
    return turns_.divisors(number);
  }

 private:
  void visit(const FactorPrefix& before, const Look& look);
  [[nodiscard]] bool may_take_less(const FactorPrefix& here);
  void arrive(double compute, const Look& look);

  Pricer& pricer_;
  tile::TileRates& rates_;
  double limit_;
  std::int64_t cores_;
  Factors factors_;
  TemporalFactorLists turns_;
  FloorSearch floor_;
  Cut cut_;
};

}  // namespace elk::cost
