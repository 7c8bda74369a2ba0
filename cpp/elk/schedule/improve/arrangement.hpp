#pragma once

#include <cstdint>
#include <vector>

#include "elk/schedule/problem/problem.hpp"

namespace elk::schedule {

/// Where ops stand in a model of equal layers: a *place* is an op outside of them, or all ops that
/// stand at the same point of a layer, and goes by the first of these. A model without equal layers
/// is one layer.
class LayerPlaces {
 public:
  explicit LayerPlaces(const Problem& problem);

  [[nodiscard]] std::int32_t of(std::int32_t op) const { return layers_.first_like(op); }
  [[nodiscard]] std::int32_t begin() const { return layers_.begin; }
  [[nodiscard]] std::int32_t period() const { return layers_.period; }
  [[nodiscard]] std::int32_t count() const { return layers_.count; }
  [[nodiscard]] std::int32_t end() const { return begin() + (period() * count()); }
  /// Whether several ops stand at `place`.
  [[nodiscard]] bool repeats(std::int32_t place) const {
    return begin() <= place && place < begin() + period();
  }
  /// In order.
  [[nodiscard]] const std::vector<std::int32_t>& all() const { return all_; }
  /// The places in a layer whose ops preload, in order.
  [[nodiscard]] const std::vector<std::int32_t>& loaded() const { return loaded_; }

 private:
  ir::Repeat layers_;
  std::vector<std::int32_t> all_;
  std::vector<std::int32_t> loaded_;
};

/// Places in groups whose ops have one front, as have those that make their operands, and those
/// that read their results: the ends of a model repeat what its layers do, and so do equal parts of
/// one layer.
struct PlaceGroups {
  std::vector<std::vector<std::int32_t>> groups;  // places, in order
  std::vector<std::int32_t> of;                   // the group of each op that is a place, or -1
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
[[nodiscard]] std::vector<std::int32_t> preload_order(const Problem& problem,
                                                      const LayerPlaces& places,
                                                      const Arrangement& arrangement);

/// The first slot of every op's preload; 0: any.
[[nodiscard]] std::vector<std::int32_t> first_slots(const Problem& problem,
                                                    const LayerPlaces& places,
                                                    const Arrangement& arrangement);

}  // namespace elk::schedule
