#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "elk/shard/state.hpp"

namespace elk::shard {

/// What one layer decided.
struct LayerDecisions {
  std::vector<std::vector<Decision>> nodes;  // decisions that end in each state after the layer
  std::vector<std::size_t> from;             // the state before it that each comes from
  std::vector<std::int64_t> grown;  // by how much each took longer than that in its place before
};

/// The layer that begins with op `begin`, of all decisions in `nodes`.
[[nodiscard]] LayerDecisions layer_between(const std::vector<Decision>& nodes, std::int32_t begin,
                                           const std::vector<ShardingState>& before,
                                           const std::vector<ShardingState>& after);

/// Expects each state to take `grown` longer with each further layer: no longer if that is empty.
void expect(std::vector<ShardingState>& states, const std::vector<std::int64_t>& grown);

/// Whether the differences between states are the same with each further layer, or grow evenly:
/// each takes as much longer as the one it comes from.
[[nodiscard]] bool stays_apart(const LayerDecisions& layer);
[[nodiscard]] bool grows_evenly(const LayerDecisions& layer);

/// For how many further layers, up to `most`, what is true of `slack` now stays true of it as it
/// grows by `pace` with each: that it is at least `sum`, or that it is less.
[[nodiscard]] std::int64_t layers_alike(std::int64_t slack, std::int64_t pace, std::int64_t sum,
                                        std::int64_t most);

/// For how many further layers, up to `most`, a state stays before one that comes after it now, or
/// all of a list as they are.
[[nodiscard]] std::int64_t layers_in_order(const ShardingState& first, const ShardingState& second,
                                           std::int64_t most);
[[nodiscard]] std::int64_t layers_in_order(const std::vector<ShardingState>& sorted,
                                           std::int64_t most);

}  // namespace elk::shard
