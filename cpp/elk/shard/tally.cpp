#include "elk/shard/tally.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"

namespace elk::shard {
namespace {

/// Bytes of the weights and states of one chip, each part that it keeps once.
std::int64_t kept_bytes(const ir::Graph& graph, const Table<OpId, const SplitCost*>& chosen) {
  std::set<std::tuple<std::int32_t, Form, std::int64_t>> seen;
  double sum = 0.0;
  for (const OpId op : graph.ops.ids()) {
    const Split& split = chosen[op]->split;
    for (const OperandId i : split.forms.ids()) {
      const TensorId number = graph.ops[op].operands[i].tensor;
      const ir::Tensor& tensor = graph.tensors[number];
      const Form form = split.forms[i];
      const bool is_cut = form.kind == Form::Kind::Cut;
      const std::int64_t length = is_cut ? part_length(graph.ops[op], split, i) : 0;
      if (!ir::in_hbm(tensor) || !seen.emplace(number.value, form, length).second) {
        continue;
      }
      const auto bytes = static_cast<double>(ir::bytes(tensor).value);
      sum += is_cut
                 ? bytes * static_cast<double>(length) / static_cast<double>(tensor.shape[form.dim])
                 : bytes;
    }
  }
  return static_cast<std::int64_t>(sum);
}

}  // namespace

Sharding tally(const ShardingCosts& ways, const Table<OpId, const SplitCost*>& chosen,
               const std::vector<Collective>& moves) {
  Sharding sharding{.splits = {},
                    .collectives = {},
                    .time = {0},
                    .replicated = {0},
                    .least = {0},
                    .sent = {0},
                    .hbm = {0},
                    .kept = {kept_bytes(ways.graph(), chosen)}};
  Bytes busiest{0};
  for (const OpId op : chosen.ids()) {
    const SplitCost& part = *chosen[op];
    sharding.splits.push_back(part.split);
    sharding.time += part.time;
    sharding.replicated += ways.whole_op(op).time;
    sharding.least += part.least;
    sharding.hbm += part.hbm;
    busiest = std::max(busiest, Bytes{part.working.value - part.kept.value});
  }
  for (const Collective& move : moves) {
    sharding.time += ways.time(move.tensor, move.from, move.to);
    if (exchange(move.from, move.to) != Conversion::None) {
      sharding.sent += cost(ways.passing(move.tensor, move.from, move.to), ways.chip()).sent;
      sharding.collectives.push_back(move);
    }
  }
  if (ways.chip().hbm) {
    const Picoseconds read = to_picoseconds(ways.loading().least(sharding.hbm));
    sharding.least = std::max(sharding.least, read);
  } else {
    sharding.kept += busiest;
  }
  return sharding;
}

}  // namespace elk::shard
