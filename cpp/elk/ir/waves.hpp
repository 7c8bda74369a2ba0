#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/chains.hpp"
#include "elk/ir/graph.hpp"

namespace elk::ir {

/// Of which tensor another is a part or, where it begins at 0 and is as long, itself or its copy.
struct PartOf {
  TensorId tensor;
  Table<DimId, std::int64_t> begin;

  friend bool operator==(const PartOf&, const PartOf&) = default;
};

/// A graph some of whose ops go in waves, and where everything in it comes from.
struct WaveGraph {
  Graph graph;
  Table<OpId, OpId> op_of;          // of each op: the one that it is (a wave of)
  Table<TensorId, PartOf> part_of;  // of each tensor
};

/// `graph` as one in which nothing goes in waves.
[[nodiscard]] WaveGraph in_no_waves(const Graph& graph);

/// The graph with every op of a chain as several, `x#0`, `x#1` and so on, one a wave. Each reads
/// its part of what lies whole, and makes a tensor of its own for its part of each result, `y#0`.
/// Others read such a result as operands that are parts of one value (`Operand::input`); where one
/// of them needs many parts, they are stored into one tensor in HBM (`Home::Spilled`), which all
/// others read.
[[nodiscard]] WaveGraph in_waves(const WaveGraph& parts, std::span<const Chain> chains);

/// The last of the slices that `sliced` goes in, as a graph of its own. Nothing where an op outside
/// reads what other slices make. What all slices read whole the first reads from its begin, along
/// which it might rotate in a plan of the first alone.
[[nodiscard]] std::optional<WaveGraph> last_slice(const WaveGraph& sliced);

/// Of each op of a graph in slices the one of `slice`, one of them, that does the same. Nothing
/// where slices differ.
[[nodiscard]] std::optional<Table<OpId, OpId>> repeats_of(const WaveGraph& slice,
                                                          const WaveGraph& sliced);

/// Takes the tensors that are `out` from `parts`, in which nothing names them any more, and numbers
/// the others anew.
void drop_tensors(const Table<TensorId, char>& out, WaveGraph& parts);

/// A name like `wanted` that none of `names` is, which it joins.
[[nodiscard]] std::string unused_name(std::string wanted, std::set<std::string>& names);

}  // namespace elk::ir
