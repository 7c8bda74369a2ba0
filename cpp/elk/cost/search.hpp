#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/intervals.hpp"
#include "elk/cost/archive.hpp"
#include "elk/cost/floor.hpp"
#include "elk/cost/front.hpp"
#include "elk/cost/pricer.hpp"
#include "elk/cost/turns.hpp"

namespace elk::cost {

/// A plan by what is enumerated: everything else follows by rule (partition::complete_plan).
struct Candidate {
  std::vector<std::int64_t> factors;
  std::vector<std::vector<std::int64_t>> temporal;  // per operand; empty: whole

  friend bool operator==(const Candidate&, const Candidate&) = default;
  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

struct Found {
  std::vector<Candidate> members;  // of the front, in no order
  std::vector<Candidate> fastest;  // at most one: of the least time that fits SRAM, filtered or not
  Counts counts;
  Floor floor;
  std::int64_t smallest;  // bytes
};

/// Goes through all plans of an op: every distinct F_op, and for each every way to split each
/// operand over time along one dimension.
///
/// What is skipped is skipped by proof: a corner (least space, time, exchange and HBM bytes of a
/// group of plans) that a known plan beats. The least times of tiles are from `Rates`: every tile
/// that is timed checks them, and one that beats them ends the search, which then starts again with
/// a wider margin.
class Search {
 public:
  Search(Pricer& pricer, const Rates& rates, const Constraints& constraints);

  /// False where a tile beat the rates: then nothing found holds.
  [[nodiscard]] bool run();
  [[nodiscard]] Found found() const;

 private:
  void visit(std::size_t axis, const elk::Interval<std::int64_t>& cores, std::int64_t product);
  void leaf();
  void expand(bool allowed);
  [[nodiscard]] bool hopeless(bool allowed) const;
  [[nodiscard]] double least_shifts(std::int64_t bytes) const;
  [[nodiscard]] bool shares_axis(std::size_t slot) const;
  void keep(const Point& point);
  void weigh(bool allowed);
  [[nodiscard]] Point corner(double compute) const;
  [[nodiscard]] bool allowed() const;
  [[nodiscard]] bool excluded(const Point& corner) const;
  void count_space(std::int64_t least, bool allowed);
  void compete(double time);
  [[nodiscard]] std::int64_t preload_space(const Candidate& plan) const;
  [[nodiscard]] Candidate candidate() const;

  Pricer& pricer_;
  const Rates& rates_;
  const ir::Op& op_;
  const chip::Chip& chip_;
  Constraints constraints_;
  std::int64_t room_;
  std::int64_t cores_;
  std::vector<std::vector<std::int64_t>> factors_;  // distinct ones of each axis
  Turns turns_;
  FloorSearch floor_;
  Cut cut_;
  double cut_rate_ = 0.0;  // best, of tiles no longer than the cut's
  double cut_volume_ = 0.0;
  Point least_;                      // of any plan under the cut
  std::vector<const Turn*> choice_;  // a turn of each slot that is read
  std::vector<std::size_t> at_;      // its position among the slot's turns
  Motion motion_;
  Archive archive_;
  double slack_;  // of a thinned front
  std::vector<Candidate> plans_;    // by id in the archive
  std::vector<Candidate> fastest_;  // at most one
  std::int64_t fastest_preload_ = 0;
  double least_time_;
  std::int64_t smallest_;
  Counts counts_;
  double rate_ = 0.0;
  bool sound_ = true;  // no tile beat the rate
};

}  // namespace elk::cost
