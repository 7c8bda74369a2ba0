#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"

namespace elk::shard {

/// Length along a dimension of what one step of `axis` covers, if the axis cuts it into equal
/// blocks: it is the outermost that indexes the dimension, and what the inner axes and the offset
/// add never reaches the next block.
[[nodiscard]] std::optional<std::int64_t> block_length(const ir::Op& op, const ir::Dim& dim,
                                                       std::int64_t shape, AxisId axis);

/// How long the parts are in which the chips of a pod hold what ops make, if it is cut along a
/// dimension:
///
///     part = g ceil(L / (g C))
///
/// with L the dimension's size, C chips and g its grain: chip i has the i-th part, the last of them
/// less, and where few are long some have none. The grain is the least common multiple of the
/// blocks (a head's columns) in which ops read or write the dimension, leaving out those that
/// would keep more than a quarter of the chips idle: so 40 heads of 128 columns lie on 14 of 16
/// chips as three heads each, and 20 heads on 16 chips are not kept together. Of equal layers, all
/// have the same.
class PartLengths {
 public:
  PartLengths(const ir::Graph& graph, std::int64_t chips);

  [[nodiscard]] std::int64_t chips() const { return chips_; }
  [[nodiscard]] std::int64_t of(TensorId tensor, DimId dim) const { return lengths_[tensor][dim]; }

 private:
  std::int64_t chips_;
  Table<TensorId, Table<DimId, std::int64_t>> lengths_;  // of each tensor and dimension
};

}  // namespace elk::shard
