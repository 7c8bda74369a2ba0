#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/forecast.hpp"
#include "elk/schedule/improve/arrangement.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/schedule/timing/evaluate.hpp"
#include "elk/schedule/timing/idle.hpp"
#include "elk/schedule/timing/proposal.hpp"

namespace elk::schedule {

/// Layers of a sketch: some settle, the next are measured, and the last end.
struct SketchLayers {
  std::int32_t settled;
  std::int32_t measured;
  std::int32_t all;
};

/// A model whose equal layers all do alike, forecast by a few of them: what a change costs to try
/// does not grow with the number of layers (design 6.7). The layers left out take each what one in
/// the middle of those shown takes.
class Sketch {
 public:
  /// Every layer takes the choices of the middle one of the proposal.
  Sketch(Problem& problem, const Proposal& proposal);

  [[nodiscard]] const LayerPlaces& places() const { return places_; }
  [[nodiscard]] const Table<OpId, Choice>& choices() const { return choices_; }

  /// Changes all ops at a place.
  void set(OpId place, const Choice& choice);

  /// Seconds of the whole model; where preloads so arranged do not fit, a huge number that grows
  /// with the bytes missing. Between changes, several threads may ask.
  [[nodiscard]] double seconds(const Arrangement& arrangement) const;
  /// The seconds that a given forecaster finds.
  [[nodiscard]] double seconds(const Arrangement& arrangement, cost::Forecaster& forecaster) const;
  /// Ops that a forecast looks at.
  [[nodiscard]] std::int64_t work() const { return static_cast<std::int64_t>(ops_.size()); }

  /// Seconds of the executes at a place alone, in all layers, beside no preload.
  [[nodiscard]] double execute_seconds(OpId place) const;
  /// Bytes in use at an execute by what does not wait for a later one.
  [[nodiscard]] Bytes used(OpId place) const;
  /// Bytes of an op's preload from issue to execute.
  [[nodiscard]] Bytes piece(std::int32_t place) const;

  /// The choices in force, arranged so, for the whole model.
  [[nodiscard]] Proposal proposal(const Arrangement& arrangement) const;

 private:
  void list_ops();
  void list_lives();
  void list_readers();
  void list_writes();
  /// Where an op is shown; one that is not, where the next layer that is shown has it.
  [[nodiscard]] OpId index(OpId op) const;
  void settle(OpId place);
  void put(OpId at, const OpSituation& part);
  [[nodiscard]] std::vector<OpId> order(const Arrangement& arrangement) const;
  [[nodiscard]] Table<OpId, OpId> earliest(const Arrangement& arrangement) const;
  [[nodiscard]] double layers_left_out(const cost::TimelineResult& times) const;

  Problem& problem_;
  PreloadLimits space_;
  LayerPlaces places_;
  SketchLayers shown_;
  std::int32_t layers_;                       // shown
  Table<OpId, Choice> choices_;               // of all ops
  Table<OpId, OpId> ops_;                     // shown
  Table<OpId, std::vector<Lifetime>> lives_;  // of what each makes
  Table<OpId, std::vector<OpId>> readers_;    // of each op: places
  Table<OpId, Bytes> own_;                    // of each shown, as in its part
  Table<OpId, OpId> not_before_;              // of each shown
  Table<OpId, Bytes> rest_;  // of all ops: what lies on each core of what they make
  Table<OpId, std::int8_t>
      stores_;  // of all ops: whether what those at a place make is written back
  std::vector<cost::WriteBack> writes_;
  Situation situation_;  // of what is shown
  IdleBytes idle_;       // of all ops
};

}  // namespace elk::schedule
