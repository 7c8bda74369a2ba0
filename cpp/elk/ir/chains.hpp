#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"

namespace elk::ir {

/// Ops that go wave by wave together: each does its part of them all before the next wave begins.
struct Chain {
  struct ChainOp {
    OpId op;
    AxisId axis;  // the parallel axis that waves cut

    friend bool operator==(const ChainOp&, const ChainOp&) = default;
  };

  std::vector<ChainOp> links;  // in order of their ops
  std::int64_t length;         // of the axis, the same in all of them
  std::int64_t waves;

  friend bool operator==(const Chain&, const Chain&) = default;
};

/// The chains that begin at ops which are `heavy`, in order: along an axis that indexes what such
/// an op reads from HBM and all that it makes, through ops that go on along this axis, up to the
/// last heavy one. Of several axes the one with most heavy ops, then the outermost in HBM. They are
/// of one wave yet.
///
/// Of each op the axis in `taken` (-1: none; empty: of no op) is cut already, over chips.
/// No chain makes what leaves the graph, is stored, moves between chips or picks: that stays whole.
[[nodiscard]] std::vector<Chain> chains(const Graph& graph, const Table<OpId, char>& heavy,
                                        const Table<OpId, AxisId>& taken = {});

/// The chains that go along the leading dimension of the graph's largest input, its batch, through
/// as many ops in a row as go on along it; what depends on none of it stays outside. They are of
/// one wave yet.
[[nodiscard]] std::vector<Chain> batch_chains(const Graph& graph,
                                              const Table<OpId, AxisId>& taken = {});

/// The dimension of a tensor that an op makes along which its parts along `axis` follow each other.
/// Empty if the axis indexes it in another way.
[[nodiscard]] std::optional<DimId> made_along(const Graph& graph, const Op& op, const Operand& made,
                                              AxisId axis);

}  // namespace elk::ir
