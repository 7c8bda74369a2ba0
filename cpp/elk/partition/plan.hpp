#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/key_writer.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/extent.hpp"

namespace elk::partition {

/// How an op is cut over cores while it runs (design 3.1; T10 4.1-4.2).
struct ExecutePlan {
  Table<AxisId, std::int64_t> factors;  // F_op, one for each axis of the op
  Table<OperandId, Table<DimId, std::int64_t>>
      temporal;                           // f_t, one row for each operand; empty: whole
  Table<AxisId, std::int64_t> pace;       // rp of each axis that is rotated along, else 0
  std::vector<AxisId> order;              // cut axes, outermost first: the core id
  std::vector<AxisId> loops;              // rotated axes, outermost loop first
  Table<AxisId, std::int32_t> mesh_dims;  // mesh dimension of each axis, -1: not cut

  friend bool operator==(const ExecutePlan&, const ExecutePlan&) = default;
  friend auto operator<=>(const ExecutePlan&, const ExecutePlan&) = default;
};

/// Adds all of a plan to what something depends on.
void add_plan(const ExecutePlan& plan, KeyWriter& key);

/// What follows from a plan by arithmetic alone.
struct Tiling {
  Table<AxisId, std::int64_t> tile;      // ceil(L / f) of each axis
  Table<AxisId, std::int64_t> sub_task;  // the tile, at the pace of rotated axes
  std::vector<std::int64_t> trips;       // of each loop in `loops`
  std::int64_t cores;                    // product of the factors
  std::int64_t steps;                    // product of the trips
};
[[nodiscard]] Tiling tiling(const ir::Op& op, const ExecutePlan& plan);

/// How a result ends up whose reduction axes are cut: of the `parts` cores that hold a partial
/// tile, each keeps one part of the tile, cut along the dimension whose pieces arrive soonest by
/// their elements and contiguous runs (ties: outermost).
struct Scatter {
  std::int64_t parts;  // product of the factors of the reduction axes; 1: nothing to reduce
  DimId dim;           // -1 where `parts` is 1
  std::int64_t tile;   // elements of a partial tile
  std::int64_t piece;  // elements of the largest part
  std::int64_t runs;   // contiguous runs of a piece within the tile
};
[[nodiscard]] Scatter scatter(const ir::Graph& graph, const ir::Op& op, OperandId operand,
                              const ExecutePlan& plan, const chip::Chip& chip);
/// How a tile of `counts` indices a dimension ends up, where a run takes as long as `run` elements.
[[nodiscard]] Scatter scatter(TableView<DimId, const std::int64_t> counts, std::int64_t parts,
                              std::int64_t run);
/// Elements of `bits` that a link carries in the time that one contiguous run adds.
[[nodiscard]] std::int64_t elements_of_run(std::int64_t bits, const chip::Chip& chip);

/// What a row op adds up over a row that is cut: one exchange for each round of `values` numbers a
/// row. A softmax needs its largest value before it can sum; a norm sums values and squares in one
/// round.
struct RowSums {
  std::int64_t rounds;
  std::int64_t values;
};
[[nodiscard]] RowSums row_sums(const ir::Op& op);

/// Cores that need the same sub-tensor of an operand: the product of the factors of the axes that
/// it does not contain.
[[nodiscard]] std::int64_t sharers(const ir::Op& op, OperandId operand,
                                   const Table<AxisId, std::int64_t>& factors);

/// Whether `operand` is brought from HBM: a weight, a state or a spilled tensor.
[[nodiscard]] bool from_hbm(const ir::Graph& graph, const ir::Operand& operand);

/// The first operand that names the same tensor with the same expression: its data are held and
/// moved once for both.
[[nodiscard]] OperandId first_like(const ir::Op& op, OperandId operand);

/// The size of every axis.
[[nodiscard]] Table<AxisId, std::int64_t> sizes(const ir::Op& op);

/// Bytes of `elements` of `bits` each, and the same rounded up to the 8 that buffers align to.
[[nodiscard]] Bytes element_bytes(std::int64_t elements, std::int64_t bits);
[[nodiscard]] Bytes aligned(Bytes bytes);

/// What the busiest core holds of an operand: its tile, or a partition of it where it is split over
/// time.
[[nodiscard]] Box held_box(const ir::Graph& graph, const ir::Op& op, OperandId operand,
                           const ExecutePlan& plan);

/// Bytes of each operand on the busiest core, at execute (design 3.2); each piece rounded up to 8.
struct Footprint {
  Table<OperandId, Bytes>
      operand;                // sub-tensor / prod(f_t); of a result: its space during the execute
  std::vector<Bytes> tensor;  // bytes of each distinct tensor: parallel to `tensors`
  std::vector<TensorId> tensors;  // distinct tensors in order of first operand
  Bytes rest;   // the result as it rests afterwards (1/f of the tile after a reduce)
  Bytes space;  // sum of `tensor`
};
[[nodiscard]] Footprint footprint(const ir::Graph& graph, const ir::Op& op, const ExecutePlan& plan,
                                  const chip::Chip& chip);

/// How a piece of an HBM operand is shared: who else holds the same piece.
///
/// The cores that share a sub-tensor are numbered by core id; `prod(f_t)` neighbours form a
/// rotation ring, so number `p` starts with part `p mod prod(f_t)`, and `d` neighbouring copies of
/// one part are the peers of a preload state.
struct PieceSharing {
  std::int64_t copies;                 // R = P / prod(f_t), over the whole machine
  std::vector<std::int64_t> divisors;  // of R whose rings of peers stay within one chip; 1 first
  std::int64_t hbm_bytes;              // read over all chips, a piece once for each chip it is on
  std::int64_t chip_hbm_bytes;         // read on the busiest chip
  std::int64_t unique_bytes;           // needed by any core, each once
  double chip_share;                   // of the cores that are on the busiest chip
};
[[nodiscard]] PieceSharing sharing(const ir::Graph& graph, const ir::Op& op, OperandId operand,
                                   const ExecutePlan& plan, const chip::Chip& chip);

/// Bytes of `full` that a core has ahead of an execute under divisor `d`: ceil(full / d), in
/// eights; under 0 none, for the tensor lies evenly over all cores.
[[nodiscard]] Bytes preload_piece(Bytes full, std::int64_t d);

/// Bytes on every core of a tensor that lies evenly over all of them, in eights.
[[nodiscard]] Bytes spread_share(const ir::Tensor& tensor, const chip::Chip& chip);

/// Whether `axis` may be cut or rotated along at all: an opaque op is whole along everything that
/// is not parallel, a collective along the axis of the chips.
[[nodiscard]] bool divisible(const ir::Op& op, AxisId axis);

/// The cut axes' order, outermost first, that keeps HBM operands from being read on several chips
/// and reductions within one (ties: the axis's position).
[[nodiscard]] std::vector<AxisId> core_order(const ir::Graph& graph, const ir::Op& op,
                                             const Table<AxisId, std::int64_t>& factors);

/// Throws InvalidInput unless the plan has an entry for every axis and operand, and obeys the rules
/// of factors and temporal factors: the rest of it can then be worked out by `complete_plan`.
void validate_cut(const ir::Op& op, const ExecutePlan& plan, const chip::Chip& chip);

/// Throws InvalidInput unless the plan obeys every rule of design 3.1 on this chip.
void validate(const ir::Graph& graph, const ir::Op& op, const ExecutePlan& plan,
              const chip::Chip& chip);

}  // namespace elk::partition
