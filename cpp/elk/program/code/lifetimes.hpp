#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/ir/graph.hpp"

namespace elk::program {

/// When tensors are made and used: the liveness every other rule rests on. Positions in
/// Graph::ops; -1 where there is none.
struct Lifetimes {
  Table<TensorId, OpId> producer;  // of each tensor
  Table<TensorId, OpId> first_reader;
  Table<TensorId, OpId> last_reader;
  Table<TensorId, std::int8_t> stored;  // whether a Store names the tensor
};
[[nodiscard]] Lifetimes lifetimes(const ir::Graph& graph);

/// Bytes that tensors take during each op: of each `size`, from the op that makes or first reads it
/// to the op `last`.
template <class SizeOf, class LastOf>
[[nodiscard]] Table<OpId, Bytes> alive(const ir::Graph& graph, const Lifetimes& lives,
                                       const SizeOf& size, const LastOf& last) {
  Table<OpId, Bytes> change(graph.ops.size() + 1, Bytes{0});
  for (const TensorId t : graph.tensors.ids()) {
    const OpId first = lives.producer[t] != OpId::none ? lives.producer[t] : lives.first_reader[t];
    if (first != OpId::none) {
      change[first] += size(t);
      change[last(t) + 1] -= size(t);
    }
  }
  Table<OpId, Bytes> result;
  result.reserve(graph.ops.size());
  Bytes sum{0};
  for (const OpId i : graph.ops.ids()) {
    sum += change[i];
    result.push_back(sum);
  }
  return result;
}

/// To the last op that makes or reads it.
template <class SizeOf>
[[nodiscard]] Table<OpId, Bytes> alive(const ir::Graph& graph, const Lifetimes& lives,
                                       const SizeOf& size) {
  return alive(graph, lives, size,
               [&](TensorId t) { return std::max(lives.producer[t], lives.last_reader[t]); });
}

/// Whether the op has data to preload on a chip with HBM.
[[nodiscard]] bool has_hbm_data(const ir::Graph& graph, const ir::Op& op);

}  // namespace elk::program
