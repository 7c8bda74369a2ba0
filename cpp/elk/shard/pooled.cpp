#include "elk/shard/pooled.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/parallel.hpp"
#include "elk/base/rounding.hpp"
#include "elk/cost/front/estimate.hpp"
#include "elk/shard/split_cost.hpp"

namespace elk::shard {

Picoseconds pooled_time(const ir::Graph& graph, const chip::Chip& chip,
                        const tile::TileModel& tiles, int threads) {
  const HbmTimes loading(chip);
  const std::vector<std::int32_t> equal = ir::equal_ops(graph);
  std::vector<std::int32_t> distinct;
  for (std::size_t op = 0; op < equal.size(); ++op) {
    if (subscript(equal[op]) == op) {
      distinct.push_back(equal[op]);
    }
  }
  const auto time = [&](std::int32_t at) {
    const ir::Op& op = graph.ops[subscript(at)];
    const Bytes each{ceil_div(loaded_bytes(graph, op).value, chip.chips)};
    return to_picoseconds(loading.beside(cost::estimate(graph, op, chip, tiles), each));
  };
  const std::vector<Picoseconds> alone = parallel_map(distinct, time, threads);
  Picoseconds sum{0};
  for (const std::int32_t like : equal) {
    const auto place = std::lower_bound(distinct.begin(), distinct.end(), like) - distinct.begin();
    sum += alone[static_cast<std::size_t>(place)];
  }
  return sum;
}

}  // namespace elk::shard
