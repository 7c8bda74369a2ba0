#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/intervals.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/floor/cuts.hpp"
#include "elk/cost/floor/cuts_below.hpp"
#include "elk/cost/floor/floor_search.hpp"
#include "elk/cost/front/archive.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/cost/price/pricer.hpp"
#include "elk/cost/price/temporal_factors.hpp"

namespace elk::cost {

/// A plan by what is enumerated: everything else follows by rule (partition::complete_plan).
struct PlanFactors {
  Table<AxisId, std::int64_t> factors;
  Table<OperandId, Table<DimId, std::int64_t>> temporal;  // per operand; empty: whole

  friend bool operator==(const PlanFactors&, const PlanFactors&) = default;
  friend auto operator<=>(const PlanFactors&, const PlanFactors&) = default;
};

/// The members of a front in the making, with their plans.
struct Collection {
  Archive archive;
  std::vector<PlanFactors> plans;  // by id in the archive

  void add(const Merits& point, PlanFactors&& plan);
  [[nodiscard]] std::vector<PlanFactors> members() const;
};

/// The products that the factors of some axes make, and in how many ways each. `shared`: the slots,
/// a bit each, that do not contain these axes.
struct ProductsOfAxes {
  std::uint64_t shared;
  std::vector<std::pair<std::int64_t, std::int64_t>> counts;  // by product
};

struct SearchResult {
  std::vector<PlanFactors> members;  // of the front, in no order
  std::vector<PlanFactors> prompt;   // of the front by the time from the start of the preload
  std::vector<PlanFactors>
      fastest;  // at most one: of the least time that fits SRAM, filtered or not
  Counts counts;
  Floor floor;
  std::int64_t smallest;  // bytes
};

/// Goes through all plans of an op: every distinct F_op, and for each every way to split each
/// operand over time along one dimension.
///
/// What is skipped is skipped by proof, given the least times of tiles: a corner (least space,
/// time, exchange and HBM bytes of a group of plans) that a known plan beats. The least times of
/// tiles are from `TileRates`, which nothing proves: every tile that is timed checks them, and one
/// that beats them ends the search, which then starts again with a wider margin.
///
/// A second front is that of the plans that leave every core an equal piece of the results, so that
/// what reads them can work on them as they lie, by the time from the start of their preload: the
/// first op of a model, and others behind a slow HBM, wait for it. That time is the least in which
/// the ports let the preload in, so that a front does not depend on the rate of the HBM.
///
/// Of a large space, the front looks at cuts by factors some steps apart and at those near its
/// members; the floor and the fastest plan see every cut (`survey`). In a vast one they do as long
/// as a budget of work lasts; then the floor takes cuts together by the factors already chosen, at
/// the least that their tiles could take. There a tile that beats the rates starts only their
/// search again: what it has found stays.
class FrontSearch {
 public:
  FrontSearch(Pricer& pricer, tile::TileRates& rates, const Constraints& constraints);

  /// False where a tile beat the rates: then nothing found holds.
  [[nodiscard]] bool run();
  [[nodiscard]] SearchResult found() const;

 private:
  void look_at_front();
  void visit_all(const Factors& factors);
  void visit(const Factors& factors, const elk::Interval<std::int64_t>& cores, AxisId axis,
             std::int64_t product);
  void cut_by(AxisId axis, std::int64_t factor);
  [[nodiscard]] std::vector<AxisId> survey_order() const;
  void refine();
  void look_at(const Table<AxisId, std::int64_t>& factors);
  void survey_all();
  void survey(const FactorPrefix& before);
  [[nodiscard]] FactorPrefix extended(const FactorPrefix& before, AxisId axis) const;
  [[nodiscard]] std::int64_t rest(const FactorPrefix& before) const;
  [[nodiscard]] bool changes_nothing(double compute);
  void look(double compute);
  void count_complete();
  void count_complete(std::span<const ProductsOfAxes> kinds, std::int64_t product,
                      std::int64_t ways);
  [[nodiscard]] bool arranged();
  [[nodiscard]] double least_compute();
  void time_whole();
  void bound(double compute);
  void leaf();
  void expand(bool allowed);
  void choose(std::size_t slot, bool allowed);
  [[nodiscard]] bool hopeless(std::size_t chosen, bool allowed);
  [[nodiscard]] double least_shifts(std::size_t chosen, std::int64_t bytes) const;
  [[nodiscard]] bool shares_axis(std::size_t slot) const;
  void keep(const Merits& point);
  void weigh(bool allowed);
  [[nodiscard]] Merits corner(double compute) const;
  [[nodiscard]] bool allowed() const;
  [[nodiscard]] bool excluded(const Merits& corner, double wait);
  [[nodiscard]] bool leaves_even_pieces() const;
  [[nodiscard]] double least_wait() const;
  [[nodiscard]] double wait() const;
  [[nodiscard]] double wait(std::int64_t bytes) const;
  void count_space(std::int64_t least, bool allowed);
  void compete(double time);
  [[nodiscard]] std::int64_t preload_space(const PlanFactors& plan) const;
  [[nodiscard]] PlanFactors candidate() const;

  Pricer& pricer_;
  tile::TileRates& rates_;
  const ir::Op& op_;
  const chip::Chip& chip_;
  Constraints constraints_;
  std::int64_t room_;
  std::int64_t cores_;
  Factors all_factors_;        // distinct ones of each axis
  Factors factors_;            // factors at which the front looks
  bool coarse_;                // whether these are not all
  bool vast_;                  // whether there may be too many to see them all
  bool sound_ = true;          // no tile beat the rate
  bool prompt_ = false;        // whether the cut in hand may have prompt plans
  bool crossed_ = false;       // whether what only concerns several chips is known of it
  std::vector<AxisId> order_;  // in which a survey chooses the factors of axes
  std::int64_t surveyed_ = 0;
  std::int64_t looked_ = 0;
  TemporalFactorLists turns_;
  FloorSearch floor_;
  Cut cut_;
  double cut_rate_ = 0.0;  // best, of tiles no longer than the cut's
  double cut_volume_ = 0.0;
  tile::TileTime whole_{};                // the cut's tile
  double gained_ = 0.0;                   // what it takes in steps at least
  Merits least_;                          // of any plan under the cut
  std::vector<TemporalFactors*> choice_;  // a turn of each slot that is read
  std::vector<std::int64_t> rest_;        // least space of the slots from each one on
  Motion motion_;
  Collection members_;
  Collection prompt_members_;         // by the time from the start of their preload
  double cut_wait_ = 0.0;             // for the preload of any plan under the cut, at least
  double slack_;                      // of a thinned front
  std::vector<PlanFactors> fastest_;  // at most one
  std::int64_t fastest_preload_ = 0;
  double least_time_;
  std::int64_t smallest_;
  std::int64_t combinations_;  // of turns looked at under one cut, in the front of a vast space
  Counts counts_;
};

}  // namespace elk::cost
