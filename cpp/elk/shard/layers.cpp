#include "elk/shard/layers.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "elk/base/ids.hpp"

namespace elk::shard {

LayerDecisions layer_between(const std::vector<Decision>& nodes, std::int32_t begin,
                             const std::vector<ShardingState>& before,
                             const std::vector<ShardingState>& after) {
  std::map<std::int32_t, std::size_t> place;  // of the node that ends a state before the layer
  for (std::size_t i = 0; i < before.size(); ++i) {
    place[before[i].node] = i;
  }
  LayerDecisions result{
      .nodes = std::vector<std::vector<Decision>>(after.size()), .from = {}, .grown = {}};
  for (std::size_t i = 0; i < after.size(); ++i) {
    std::vector<Decision>& made = result.nodes[i];
    std::int32_t node = after[i].node;
    for (; nodes[subscript(node)].op > begin; node = nodes[subscript(node)].before) {
      made.push_back(nodes[subscript(node)]);
    }
    made.push_back(nodes[subscript(node)]);
    std::reverse(made.begin(), made.end());
    result.from.push_back(place.at(nodes[subscript(node)].before));
    result.grown.push_back(after[i].time - before[i].time);
  }
  return result;
}

void expect(std::vector<ShardingState>& states, const std::vector<std::int64_t>& grown) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i].pace = grown.empty() ? 0 : grown[i];
  }
}

bool stays_apart(const LayerDecisions& layer) {
  return std::all_of(layer.grown.begin(), layer.grown.end(),
                     [&](std::int64_t one) { return one == layer.grown.front(); });
}

bool grows_evenly(const LayerDecisions& layer) {
  for (std::size_t i = 0; i < layer.from.size(); ++i) {
    if (layer.grown[layer.from[i]] != layer.grown[i]) {
      return false;
    }
  }
  return true;
}

std::int64_t layers_alike(std::int64_t slack, std::int64_t pace, std::int64_t sum,
                          std::int64_t most) {
  if (slack >= sum) {
    return pace < 0 ? std::min(most, (slack - sum) / -pace) : most;
  }
  return pace > 0 ? std::min(most, (sum - slack - 1) / pace) : most;
}

std::int64_t layers_in_order(const ShardingState& first, const ShardingState& second,
                             std::int64_t most) {
  const std::int64_t slack = second.time - first.time;
  const std::int64_t pace = second.pace - first.pace;
  return slack == 0 && pace != 0 ? 0 : layers_alike(slack, pace, slack > 0 ? 1 : 0, most);
}

std::int64_t layers_in_order(const std::vector<ShardingState>& sorted, std::int64_t most) {
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    most = layers_in_order(sorted[i - 1], sorted[i], most);
  }
  return most;
}

}  // namespace elk::shard
