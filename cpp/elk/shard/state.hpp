#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <vector>

#include "elk/shard/forms.hpp"
#include "elk/shard/shard.hpp"

namespace elk::shard {

/// A tensor that ops still read, and the forms of it that are at hand.
struct TensorForms {
  std::int32_t tensor;
  Forms forms;

  friend auto operator<=>(const TensorForms&, const TensorForms&) = default;
};

/// What is at hand after some ops, the time until then, and the last decision that led there.
struct ShardingState {
  std::vector<TensorForms> live;  // by tensor
  std::int64_t time;              // picoseconds
  std::int64_t pace;              // by how much `time` is expected to grow here from layer to layer
  std::int32_t node;
};

/// Whether all of every live tensor is at hand.
[[nodiscard]] inline bool is_whole(const ShardingState& state) {
  return std::all_of(state.live.begin(), state.live.end(),
                     [](const TensorForms& live) { return live.forms.has(whole()); });
}

/// What is at hand of a live tensor.
[[nodiscard]] inline TensorForms& find(ShardingState& state, std::int32_t tensor) {
  return *std::find_if(state.live.begin(), state.live.end(),
                       [tensor](const TensorForms& live) { return live.tensor == tensor; });
}

/// The decision on one op.
struct Decision {
  std::int32_t before;  // -1: none
  std::int32_t op;
  std::int32_t split;
  std::vector<Collective> moves;
};

}  // namespace elk::shard
