#pragma once

#include <cstdint>
#include <vector>

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
/// group of plans) that a known plan beats. The least time of a tile is its volume times the best
/// rate of any tile, taken from a sample with a margin. Every tile that is timed checks that rate;
/// one that beats it makes `run` start again with a lower one.
class Search {
 public:
  Search(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip, Pricer& pricer,
         const Constraints& constraints);

  /// Empty where a tile beat `rate`, seconds for each unit of volume.
  [[nodiscard]] bool run(double rate);
  [[nodiscard]] Found found() const;

 private:
  void visit(std::size_t axis, std::int64_t product);
  void leaf();
  void expand(bool allowed);
  void weigh(bool allowed);
  [[nodiscard]] Point corner() const;
  [[nodiscard]] bool allowed() const;
  void count_space(std::int64_t least, bool allowed);
  void compete(double time);
  [[nodiscard]] std::int64_t preload_space(const Candidate& plan) const;
  [[nodiscard]] Candidate candidate() const;

  const ir::Graph& graph_;
  const ir::Op& op_;
  const chip::Chip& chip_;
  Pricer& pricer_;
  Constraints constraints_;
  std::int64_t room_;
  std::int64_t cores_;
  std::vector<std::vector<std::int64_t>> factors_;  // distinct ones of each axis
  Turns turns_;
  FloorSearch floor_;
  Cut cut_;
  double least_compute_ = 0.0;       // of the cut
  std::vector<const Turn*> choice_;  // a turn of each slot that is read
  Motion motion_;
  Archive<Candidate> archive_;
  std::vector<Candidate> fastest_;  // at most one
  std::int64_t fastest_preload_ = 0;
  double least_time_;
  std::int64_t smallest_;
  Counts counts_;
  double rate_ = 0.0;
  bool sound_ = true;  // no tile beat the rate
};

}  // namespace elk::cost
