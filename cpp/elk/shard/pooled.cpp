#include "elk/shard/pooled.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/parallel.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/front/estimate.hpp"
#include "elk/shard/split_cost.hpp"

namespace elk::shard {

Picoseconds pooled_time(const ir::Graph& graph, const chip::Chip& chip,
                        const tile::TileModel& tiles, int threads) {
  const HbmTimes loading(chip);
  const Table<OpId, OpId> equal = ir::equal_ops(graph);
  std::vector<OpId> distinct;
  for (const OpId op : equal.ids()) {
    if (equal[op] == op) {
      distinct.push_back(equal[op]);
    }
  }
  const auto time = [&](OpId at) {
    const ir::Op& op = graph.ops[at];
    const Bytes each{ceil_div(loaded_bytes(graph, op).value, chip.chips)};
    return to_picoseconds(loading.beside(cost::estimate(graph, op, chip, tiles), each));
  };
  const std::vector<Picoseconds> alone = parallel_map(distinct, time, threads);
  Picoseconds sum{0};
  for (const OpId like : equal) {
    const auto place = std::lower_bound(distinct.begin(), distinct.end(), like) - distinct.begin();
    sum += alone[static_cast<std::size_t>(place)];
  }
  return sum;
}

}  // namespace elk::shard
