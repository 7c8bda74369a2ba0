#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "elk/cost/front/front.hpp"
#include "elk/cost/price/pricer.hpp"
#include "elk/tile/rate.hpp"

namespace elk::cost {

/// A plan by what is enumerated: everything else follows by rule (partition::complete_plan).
struct PlanFactors {
  std::vector<std::int64_t> factors;
  std::vector<std::vector<std::int64_t>> temporal;  // per operand; empty: whole

  friend bool operator==(const PlanFactors&, const PlanFactors&) = default;
  friend auto operator<=>(const PlanFactors&, const PlanFactors&) = default;
};

/// A cut that has room.
struct TrailCut {
  bool skips;  // whether it changes nothing of the floor
  bool timed;
  tile::TileTime tile;  // if it was timed
};

/// What searches for the fastest plan and the floor know when the cuts of the front are done.
struct SurveyStart {
  std::vector<PlanFactors> fastest;
  double least_time;
  std::int64_t fastest_preload;
  tile::TileRates rates;
  std::vector<std::size_t> beaten;  // cuts met before each tile that beat the rates

  friend bool operator==(const SurveyStart&, const SurveyStart&) = default;
};

/// One pass of a search. The rate of the HBM only says which plans are prompt, and so which cuts a
/// search looks at. One that looks at the same cuts, asks the floor no more of them and knows the
/// same in the end finds the same floor and the same fastest plan: it can follow the trail of
/// another instead of timing tiles for them.
struct Trail {
  std::vector<std::int32_t> factors;  // of the cuts met that have room
  std::vector<TrailCut> steps;
  std::vector<tile::TileRates> lowered;  // the rates after each tile of the floor that beat them
  std::vector<std::size_t> by;           // cuts met before these
  std::optional<SurveyStart> known;      // before what follows the front
  std::optional<tile::TileRates> rates;  // in the end
  bool sound;                            // whether no tile beat the rates
  std::vector<PlanFactors> fastest;
  Counts counts;  // all but `pareto`
  Floor floor;
  std::int64_t smallest;
};

/// What a search of an op leaves for one at another rate of the HBM.
struct SearchRecord {
  std::vector<Trail> trails;  // of all its passes
  std::shared_ptr<const LayoutFloor> layout_floor;
  std::vector<SramFloor> sram_floors;
  std::vector<std::pair<PlanFactors, PlanOption>> options;  // by the first; preloads at any rate
};

/// `front` of an op that is no collective, with the memos of `pricer` and the rates of its tiles.
/// `earlier`: what the same left that differs at most in the rate of the HBM, or null; `left`:
/// where to leave that, or null.
[[nodiscard]] Front front(Pricer& pricer, tile::TileRates rates, const Constraints& constraints,
                          const SearchRecord* earlier, SearchRecord* left);

}  // namespace elk::cost
