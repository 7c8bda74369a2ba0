#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elk/ir/graph.hpp"

namespace elk::ir {

/// Ops that go wave by wave together: each does its part of them all before the next wave begins.
struct Chain {
  struct ChainOp {
    std::int32_t op;
    std::int32_t axis;  // the parallel axis that waves cut

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
[[nodiscard]] std::vector<Chain> chains(const Graph& graph, const std::vector<char>& heavy,
                                        const std::vector<std::int32_t>& taken = {});

/// The dimension of a tensor that an op makes along which its parts along `axis` follow each other.
/// Empty if the axis indexes it in another way.
[[nodiscard]] std::optional<std::int32_t> made_along(const Graph& graph, const Op& op,
                                                     const Operand& made, std::int32_t axis);

}  // namespace elk::ir
