#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"

namespace elk::cost {

inline constexpr std::size_t kMostRank = 8;   // dimensions of a tensor
inline constexpr std::size_t kMostAxes = 24;  // of an op

/// How one dimension of an operand follows from the tiles.
enum class SlotDimKind : std::uint8_t {
  Point,    // one index
  Plain,    // one axis as it is
  Product,  // packed axes, or picks
  Mapped,   // boxes of an index map
};

struct SlotDim {
  SlotDimKind kind;
  std::int64_t shape;
  std::vector<AxisId> axes;
  bool rotates;
  bool picks;
};

/// A distinct operand of an op: what is held and moved once, however often it is named.
struct Slot {
  OperandId operand;
  std::int64_t bits;
  bool write;
  bool hbm;  // brought from HBM, or resident where a chip has none
  bool indirect;
  bool again;               // not from HBM, and of a tensor that an earlier operand reads
  std::uint64_t contained;  // a bit for each axis
  std::int64_t unique;      // elements that the whole op touches
  Table<DimId, SlotDim> dims;
};

/// The distinct operands of `op`, in order.
[[nodiscard]] std::vector<Slot> slots(const ir::Graph& graph, const ir::Op& op);

}  // namespace elk::cost
