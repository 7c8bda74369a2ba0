#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"
#include "elk/ir/ir_tuning.hpp"

namespace elk::ir {

namespace {

void mix(std::size_t& seed, std::size_t value) {
  seed ^= value + 0x9e3779b97f4a7c15ULL + (seed << 6U) + (seed >> 2U);
}

template <class Integer>
void mix_number(std::size_t& seed, Integer value) {
  mix(seed, std::hash<std::int64_t>{}(static_cast<std::int64_t>(value)));
}

std::size_t hash_of(const Graph& graph, const Op& op) {
  std::size_t seed = std::hash<std::string>{}(op.function);
  mix_number(seed, op.kind);
  for (const Axis& axis : op.axes) {
    mix_number(seed, axis.size);
  }
  for (const Operand& operand : op.operands) {
    const Tensor& tensor = graph.tensors[operand.tensor];
    mix_number(seed, tensor.home);
    mix_number(seed, tensor.dtype);
    for (const Dim& dim : operand.dims) {
      mix_number(seed, dim.offset);
      for (const std::int64_t coef : dim.coef) {
        mix_number(seed, coef);
      }
    }
  }
  return seed;
}

bool same_tensor(const Tensor& a, const Tensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.home == b.home;
}

bool same_operand(const Graph& graph, const Operand& a, const Operand& b) {
  const auto tensor = [&](TensorId t) -> const Tensor& { return graph.tensors[t]; };
  if (a.access != b.access || a.dims != b.dims || a.input != b.input || a.covers != b.covers ||
      !same_tensor(tensor(a.tensor), tensor(b.tensor)) ||
      a.indirect.has_value() != b.indirect.has_value()) {
    return false;
  }
  return !a.indirect ||
         (a.indirect->dim == b.indirect->dim && a.indirect->axes == b.indirect->axes &&
          a.indirect->expected_picks == b.indirect->expected_picks &&
          same_tensor(tensor(a.indirect->index), tensor(b.indirect->index)));
}

/// Of each operand the first one that names the same tensor.
std::vector<std::ptrdiff_t> first_names(const Op& op) {
  std::vector<std::ptrdiff_t> first;
  for (const Operand& operand : op.operands) {
    first.push_back(std::ranges::find(op.operands, operand.tensor, &Operand::tensor) -
                    op.operands.begin());
  }
  return first;
}

/// Whether two ops are alike in all but names, numbers they compute with, and the tensors meant.
bool same_op(const Graph& graph, const Op& a, const Op& b) {
  const auto rest = [](const Op& op) {
    return std::tie(op.kind, op.onnx_type, op.function, op.params, op.compute, op.accumulate,
                    op.axes, op.flops);
  };
  return rest(a) == rest(b) && first_names(a) == first_names(b) &&
         std::ranges::equal(a.operands, b.operands, [&](const Operand& x, const Operand& y) {
           return same_operand(graph, x, y);
         });
}

/// One tensor that an op reads: how many ops before it was made or, where no op makes it, read last
/// (0: never).
struct ReadDistance {
  TensorId tensor;
  std::int32_t distance;  // to the op that touched it last; 0: none did
  bool made;
};

/// The ops of a graph as a sequence in which repeats can be seen.
struct Sequence {
  Table<OpId, std::int32_t> kinds;               // equal numbers: same_op and the same bytes stored
  Table<OpId, std::vector<ReadDistance>> links;  // of each op, in the order of its reads
};

/// What each op stores, as one number: 0 nothing, else 1 + the contiguous bytes.
Table<OpId, std::int64_t> stored_runs(const Graph& graph) {
  Table<OpId, std::int64_t> runs(graph.ops.size());
  for (const Store& store : graph.stores) {
    runs[store.op] += 1 + store.run.value;
  }
  return runs;
}

/// Where each tensor was made or, where no op makes it, read last; -1 where it was not.
struct Touches {
  Table<TensorId, OpId> at;
  Table<TensorId, char> made;
};

std::vector<ReadDistance> links_of(const Op& op, OpId position, Touches& touches) {
  std::vector<ReadDistance> links;
  const auto add = [&](TensorId tensor) {
    const OpId last = touches.at[tensor];
    links.push_back({tensor, last == OpId::none ? 0 : position - last, touches.made[tensor] != 0});
  };
  for (const Operand& operand : op.operands) {
    if (operand.access == Access::Read) {
      add(operand.tensor);
    }
    if (operand.indirect) {
      add(operand.indirect->index);
    }
  }
  for (const Operand& operand : op.operands) {
    const auto t = operand.tensor;
    if (operand.access == Access::Write || touches.made[t] == 0) {
      touches.at[t] = position;
    }
    if (operand.access == Access::Write) {
      touches.made[t] = 1;
    }
  }
  return links;
}

Sequence sequence_of(const Graph& graph, const Table<OpId, std::int32_t>& kinds_of_ops) {
  Sequence out{.kinds = {}, .links = {}};
  const Table<OpId, std::int64_t> runs = stored_runs(graph);
  std::map<std::pair<std::int32_t, std::int64_t>, std::int32_t> kinds;
  for (const OpId op : kinds_of_ops.ids()) {
    const auto next = static_cast<std::int32_t>(kinds.size());
    out.kinds.push_back(kinds.try_emplace({kinds_of_ops[op], runs[op]}, next).first->second);
  }
  Touches touches{.at = Table<TensorId, OpId>(graph.tensors.size(), OpId::none),
                  .made = Table<TensorId, char>(graph.tensors.size(), 0)};
  Table<OpId, std::vector<TensorId>> filled(graph.ops.size());
  for (const Store& store : graph.stores) {
    if (store.into != TensorId::none) {
      filled[store.op].push_back(store.into);
    }
  }
  for (const OpId i : graph.ops.ids()) {
    out.links.push_back(links_of(graph.ops[i], i, touches));
    for (const TensorId tensor : filled[i]) {  // What is stored there is made as far as it goes.
      touches.at[tensor] = i;
      touches.made[tensor] = 1;
    }
  }
  return out;
}

/// Whether what two ops a period apart read is the same, seen from where they are. What no op makes
/// and several periods read has to be one tensor.
bool same_link(const ReadDistance& a, const ReadDistance& b, std::size_t period) {
  const bool near = a.made || static_cast<std::size_t>(a.distance) < period;
  return a.tensor == b.tensor || (a.made == b.made && a.distance == b.distance && near);
}

/// Whether op `i` and op `i + period` do the same with the same tensors, seen from where they are.
bool repeats(const Sequence& sequence, OpId i, std::size_t period) {
  const OpId j = i + period;
  return sequence.kinds[i] == sequence.kinds[j] &&
         std::ranges::equal(sequence.links[i], sequence.links[j],
                            [period](const ReadDistance& a, const ReadDistance& b) {
                              return same_link(a, b, period);
                            });
}

/// Whether op `i`, in the first period of a run from `begin`, is like op `i + period` but for
/// what it takes from before the run.
bool enters(const Sequence& sequence, OpId i, std::size_t period, OpId begin) {
  const OpId j = i + period;
  return sequence.kinds[i] == sequence.kinds[j] &&
         std::ranges::equal(sequence.links[i], sequence.links[j],
                            [&](const ReadDistance& a, const ReadDistance& b) {
                              const std::int64_t first = std::int64_t{i.value} - a.distance;
                              const std::int64_t second = std::int64_t{j.value} - b.distance;
                              const bool carried =
                                  second < static_cast<std::int64_t>(begin.index() + period);
                              const bool outside =
                                  a.distance == 0 || first < static_cast<std::int64_t>(begin.value);
                              return same_link(a, b, period) || (outside && carried);
                            });
}

/// The first op of the run whose steady part begins at `steady`: at most one period earlier.
OpId entry(const Sequence& sequence, OpId steady, std::size_t period) {
  const OpId first = steady.index() > period ? steady - period : OpId{0};
  OpId begin = steady;
  while (begin > first && sequence.kinds[begin - 1] == sequence.kinds[begin - 1 + period]) {
    --begin;
  }
  for (OpId i = steady; i-- > begin;) {
    if (!enters(sequence, i, period, begin)) {
      begin = i + 1;
      i = steady;
    }
  }
  return begin;
}

/// Distances between like ops, the most frequent first; ties go to the shorter.
std::vector<std::size_t> likely_periods(const Sequence& sequence) {
  std::unordered_map<std::int32_t, std::vector<OpId>> places;
  std::map<std::size_t, std::size_t> votes;
  for (const OpId i : sequence.kinds.ids()) {
    std::vector<OpId>& seen = places[sequence.kinds[i]];
    for (std::size_t back = 0; back < std::min(seen.size(), tuning::kDistances); ++back) {
      ++votes[static_cast<std::size_t>(i - seen[seen.size() - 1 - back])];
    }
    seen.push_back(i);
  }
  std::vector<std::pair<std::size_t, std::size_t>> ranked(votes.begin(), votes.end());
  std::ranges::sort(ranked, [](const auto& a, const auto& b) {
    return std::tie(b.second, a.first) < std::tie(a.second, b.first);
  });
  std::vector<std::size_t> periods;
  for (std::size_t i = 0; i < std::min(ranked.size(), tuning::kPeriods); ++i) {
    periods.push_back(ranked[i].first);
  }
  return periods;
}

struct RepeatGuess {
  std::size_t covered;
  std::size_t period;
  OpId begin;
};

/// More ops covered is better, then a shorter period, then an earlier begin.
bool better(const RepeatGuess& a, const RepeatGuess& b) {
  return std::tie(b.covered, a.period, a.begin) < std::tie(a.covered, b.period, b.begin);
}

/// The best run of `period`, if any repeats at least twice.
std::optional<RepeatGuess> best_run(const Sequence& sequence, std::size_t period) {
  std::optional<RepeatGuess> best;
  const std::size_t count = sequence.kinds.size();
  for (OpId i{0}; i.index() + period < count; ++i) {
    if (!repeats(sequence, i, period)) {
      continue;
    }
    OpId end = i + 1;
    while (end.index() + period < count && repeats(sequence, end, period)) {
      ++end;
    }
    const OpId begin = entry(sequence, i, period);
    const std::size_t covered = (end.index() + period - begin.index()) / period * period;
    const RepeatGuess found{covered, period, begin};
    if (covered >= 2 * period && (!best || better(found, *best))) {
      best = found;
    }
    i = end;
  }
  return best;
}

}  // namespace

Table<OpId, OpId> equal_ops(const Graph& graph) {
  Table<OpId, OpId> first(graph.ops.size());
  std::unordered_map<std::size_t, std::vector<OpId>> seen;
  for (const OpId i : graph.ops.ids()) {
    const OpId copied = first_like(graph, i);
    if (copied != i) {
      first[i] = first[copied];
      continue;
    }
    std::vector<OpId>& alike = seen[hash_of(graph, graph.ops[i])];
    const auto found = std::ranges::find_if(
        alike, [&](OpId j) { return same_op(graph, graph.ops[j], graph.ops[i]); });
    first[i] = found != alike.end() ? *found : i;
    if (found == alike.end()) {
      alike.push_back(first[i]);
    }
  }
  return first;
}

std::optional<Repeat> find_repeat(const Graph& graph) {
  Table<OpId, std::int32_t> kinds;
  for (const OpId like : equal_ops(graph)) {
    kinds.push_back(like.value);
  }
  return find_repeat(graph, kinds);
}

std::optional<Repeat> find_repeat(const Graph& graph, const Table<OpId, std::int32_t>& kinds) {
  const Sequence sequence = sequence_of(graph, kinds);
  std::optional<RepeatGuess> best;
  for (const std::size_t period : likely_periods(sequence)) {
    const std::optional<RepeatGuess> found = best_run(sequence, period);
    if (found && (!best || better(*found, *best))) {
      best = found;
    }
  }
  if (!best) {
    return std::nullopt;
  }
  return Repeat{.begin = best->begin,
                .period = static_cast<std::int32_t>(best->period),
                .count = static_cast<std::int32_t>(best->covered / best->period)};
}

}  // namespace elk::ir
