#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"
#include "elk/shard/shard.hpp"

namespace elk::shard {

/// What one chip of a pod computes of a model that is cut over all of them. Every chip runs the
/// same ops on tensors of the same sizes; a slice names the part of the first chip, and chip i
/// takes the part that lies i times its length further on.
struct OneChip {
  ir::Graph graph;              // collectives and slices are ops of their own, without an ONNX type
  Table<TensorId, Form> forms;  // of each tensor: what the chips hold of the whole one
  Table<TensorId, Table<DimId, std::int64_t>> whole;  // of each tensor: the whole one's shape
  Table<OpId, AxisId> axes;  // of each op: the axis that is cut over chips, or -1
};

/// `graph` as each of `chips` chips computes it under `sharding`.
///
/// A tensor that is held in several forms is one tensor for each: the first under the name of the
/// whole one, others with their form behind it, `x@whole` or `x@1` if cut along dimension 1.
/// Addends are kept at the width that their op accumulates in. New rows of a state are stored in
/// the form in which they are read beside it.
[[nodiscard]] OneChip one_chip(const ir::Graph& graph, const Sharding& sharding,
                               std::int64_t chips);

/// The ops by which every chip takes its part of a tensor that it holds whole.
[[nodiscard]] std::vector<OpId> slices(const OneChip& one);

}  // namespace elk::shard
