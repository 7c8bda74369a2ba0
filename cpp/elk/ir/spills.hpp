#pragma once

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"
#include "elk/ir/waves.hpp"

namespace elk::ir {

/// Bytes of `part` that lie in a row in `whole`.
[[nodiscard]] Bytes contiguous(const Tensor& part, const Tensor& whole);

/// Has `part.tensor` stored into `part.into`: by the store that there is of it, or by a new one.
void store_into(Graph& graph, Store part);

/// The last op whose results are stored into each tensor, or that makes what is stored of it; -1
/// where nothing is.
[[nodiscard]] Table<TensorId, OpId> filled_by(const Graph& graph);

/// Refuses spilled tensors that an op writes, that are read before all of them is stored, or whose
/// stores leave out or overlap anything.
void check_spilled(const Graph& graph);

/// Of every tensor that may be spilled what is so now: a graph input or a result that no other
/// store has put into a spilled tensor. An index, a mask, what ops without a node read and what
/// chips exchange may not.
[[nodiscard]] Table<TensorId, char> may_be_spilled(const Graph& graph);

/// `parts` with tensors that ops read from HBM from an op on (-1: never): results are stored as
/// soon as they are made, graph inputs start there and are never read from elsewhere.
[[nodiscard]] WaveGraph spilled(WaveGraph parts, const Table<TensorId, OpId>& from);

/// `parts` with as few bytes spilled that what rests, and what an op touches beside it, takes at
/// most `most` bytes: what is read again farthest ahead goes first.
[[nodiscard]] WaveGraph spilled_to_fit(WaveGraph parts, double most);

}  // namespace elk::ir
