#pragma once

#include <cstdint>
#include <map>
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
  // Graph inputs that come wave by wave, each along a dimension. GCC wants the initializer.
  std::map<TensorId, DimId> inputs = {};  // NOLINT(readability-redundant-member-init)

  friend bool operator==(const Chain&, const Chain&) = default;
};

/// What chains must heed.
struct ChainMarks {
  const Table<OpId, char>& heavy;      // ops at which chains end
  const Table<TensorId, char>& whole;  // tensors that no chain makes
};

/// What may not be told in parts: what a collective moves or an op without a node reads, what picks
/// or covers by a mask, and states that an op makes.
[[nodiscard]] Table<TensorId, char> kept_whole(const Graph& graph);

/// The chains from an op on, one along each parallel axis that indexes all that it makes: through
/// ops that go on along this axis, up to the last heavy one. They are of one wave yet.
[[nodiscard]] std::vector<Chain> chains_from(const Graph& graph, OpId first,
                                             const ChainMarks& marks);

/// The chains that go along the leading dimension of the graph's largest input, its batch, through
/// as many ops in a row as go on along it; what depends on none of it stays outside. They are of
/// one wave yet. The first has the inputs that are cut along it.
[[nodiscard]] std::vector<Chain> batch_chains(const Graph& graph);

/// The dimension of a tensor that an op makes along which its parts along `axis` follow each other.
/// Empty if the axis indexes it in another way.
[[nodiscard]] std::optional<DimId> made_along(const Graph& graph, const Op& op, const Operand& made,
                                              AxisId axis);

}  // namespace elk::ir
