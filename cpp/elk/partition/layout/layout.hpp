#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/plan.hpp"
#include "elk/partition/rotation.hpp"

namespace elk::partition {

/// A dimension along which an operand rotates, at the start of an execute: what turns along it says
/// where a core's part begins (`first_index`).
struct CircleDim {
  DimId dim;
  std::int64_t parts;
  std::vector<OperandRotation> turning;

  friend bool operator==(const CircleDim&, const CircleDim&) = default;
};

/// Which part of a stored tensor every core holds: the axes that index it, cut by factors, and the
/// mixed radix of the core id. A graph input lies spread evenly (`spread`): no core can count on
/// having what it needs.
struct Layout {
  Table<DimId, std::int64_t> shape;
  Table<DimId, ir::Dim> dims;               // axes are positions in `size`
  Table<AxisId, std::int64_t> size;         // of each axis of the op
  Table<AxisId, std::int64_t> factors;      // of each axis
  std::vector<AxisId> order;                // cut axes, outermost first
  Table<AxisId, std::int64_t> grid_stride;  // of each axis in the core id (mesh: by mesh dimension)
  std::int64_t cores;
  DimId split_dim;                 // after a reduce-scatter: the dim of the tile that is cut ...
  std::int64_t split;              // ... into this many parts, 1: not
  std::vector<AxisId> split_axes;  // by the index over these axes, modulo `split`
  /// At the start of an execute, where `split_axes` do not tell the part: `split_dim` and any
  /// others along which the operand rotates.
  std::vector<CircleDim> circled;
  bool spread;

  friend bool operator==(const Layout&, const Layout&) = default;
};

/// The layout in which a read operand is needed (f_t aside) or a result rests.
[[nodiscard]] Layout layout(const ir::Graph& graph, const ir::Op& op, OperandId operand,
                            const ExecutePlan& plan, const chip::Chip& chip);

/// The part of a read operand that a core holds when the execute begins: of a rotating operand one
/// partition, cut along every dimension that it rotates along.
[[nodiscard]] Layout start_layout(const ir::Graph& graph, const ir::Op& op, OperandId operand,
                                  const ExecutePlan& plan, const chip::Chip& chip);

/// What crosses the interconnect when `need` follows `have` under the same core mapping.
struct Transition {
  Bytes received;  // by the busiest core
  Bytes sent;      // by the busiest core, or a bound where another receives no less than that
  std::int64_t fragments = 0;  // contiguous runs, of the core that receives most of them
  Bytes chip_in;               // by the busiest chip, a piece once for each chip that lacks it
  Bytes chip_out;
  Bytes total;   // received by all cores
  Bytes unique;  // different bytes of them
};

/// A layout spelled out (`elk/partition/layout/piece.hpp`).
struct Pieces;

/// How `need` follows `have`, which lies on certain cores.
struct Handover {
  Transition moved;
  bool in_place;  // every core works on its piece as it lies: `same`
};
[[nodiscard]] Handover handover(const Pieces& have, const Pieces& need, std::int64_t element_bits,
                                const chip::Chip& chip);

/// True when every core already holds, in place, exactly the piece it needs.
[[nodiscard]] bool same(const Layout& have, const Layout& need);

}  // namespace elk::partition
