#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/problem/problem.hpp"

namespace elk::schedule {

/// Where ops stand in a model of equal layers: a *place* is an op outside of them, or all ops that
/// stand at the same point of a layer, and goes by the first of these. A model without equal layers
/// is one layer.
class LayerPlaces {
 public:
  explicit LayerPlaces(const Problem& problem);

  [[nodiscard]] OpId of(OpId op) const { return layers_.first_like(op); }
  [[nodiscard]] OpId begin() const { return layers_.begin; }
  [[nodiscard]] std::int32_t period() const { return layers_.period; }
  [[nodiscard]] std::int32_t count() const { return layers_.count; }
  [[nodiscard]] std::int32_t end() const { return begin().value + (period() * count()); }
  /// Whether several ops stand at `place`.
  [[nodiscard]] bool repeats(OpId place) const {
    return begin() <= place && place < begin() + period();
  }
  /// In order.
  [[nodiscard]] const std::vector<OpId>& all() const { return all_; }
  /// The places in a layer whose ops preload, in order.
  [[nodiscard]] const std::vector<OpId>& loaded() const { return loaded_; }

 private:
  ir::Repeat layers_;
  std::vector<OpId> all_;
  std::vector<OpId> loaded_;
};

/// Places in groups whose ops have one front, as have those that make their operands, and those
/// that read their results: the ends of a model repeat what its layers do, and so do equal parts of
/// one layer.
struct PlaceGroups {
  std::vector<std::vector<OpId>> groups;  // places, in order
  Table<OpId, std::int32_t> of;           // the group of each op that is a place, or -1
};
[[nodiscard]] PlaceGroups alike(const Problem& problem, const LayerPlaces& places);

/// The preloads of a layer, the same in each: their order, and how far ahead of its execute each
/// may be issued.
struct Arrangement {
  std::vector<std::int32_t> sequence;  // numbers in Places::loaded(), first preload first
  std::vector<std::int32_t> ahead;     // executes, of each in Places::loaded(); 0: any number

  friend bool operator==(const Arrangement&, const Arrangement&) = default;
};

/// In the order of their executes, each as early as there is room.
[[nodiscard]] Arrangement in_order(const LayerPlaces& places);

/// The preload order of the whole model.
[[nodiscard]] std::vector<OpId> preload_order(const Problem& problem, const LayerPlaces& places,
                                              const Arrangement& arrangement);

/// The first slot of every op's preload; 0: any.
[[nodiscard]] Table<OpId, OpId> first_slots(const Problem& problem, const LayerPlaces& places,
                                            const Arrangement& arrangement);

}  // namespace elk::schedule
