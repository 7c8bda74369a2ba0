#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/tile/tile.hpp"

namespace elk::train {

/// Which of its products an op is called for: its own, or the gradient of its first or its second
/// operand, in which axes exchange their roles.
enum class CallRole : std::uint8_t { Forward, FirstGradient, SecondGradient };

/// The dimension of a product that an axis of a product or a convolution belongs to: `Group`, `M`
/// with places of a result, `N` with its channels, or `K`.
[[nodiscard]] ir::TileDim product_dim(ir::TileDim dim);

/// Times of tile calls on a core, each found once for ops that are alike.
class CoreCalls {
 public:
  CoreCalls(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles);

  /// One call of an op whose axes have these sizes.
  [[nodiscard]] Seconds of(OpId op, const Table<AxisId, std::int64_t>& sizes, CallRole role);
  /// A pass over `elements` of a tensor.
  [[nodiscard]] Seconds pass(std::int64_t elements, ir::DType dtype) const;

 private:
  using CallKey = std::tuple<OpId, Table<AxisId, std::int64_t>, CallRole>;

  const ir::Graph& graph_;
  const chip::Chip& chip_;
  const tile::TileModel& tiles_;
  Table<OpId, OpId> alike_;
  std::map<CallKey, Seconds> known_;
};

}  // namespace elk::train
