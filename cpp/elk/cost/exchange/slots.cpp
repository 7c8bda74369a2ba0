#include "elk/cost/exchange/slots.hpp"

#include <algorithm>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/text.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/plan.hpp"

namespace elk::cost {
namespace {

SlotDim slot_dim(const ir::Op& op, OperandId operand, DimId dim, std::int64_t shape,
                 TableView<AxisId, const std::int64_t> size) {
  const ir::Operand& named = op.operands[operand];
  const ir::Dim& map = named.dims[dim];
  SlotDim result{.kind = SlotDimKind::Point,
                 .shape = shape,
                 .axes = map.axes,
                 .rotates = partition::rotates(op, operand, dim),
                 .picks = named.indirect && named.indirect->dim == dim};
  if (result.picks) {
    result.kind = SlotDimKind::Product;
    result.axes = named.indirect->axes;
  } else if (partition::simple(map)) {
    result.kind = SlotDimKind::Plain;
  } else if (!map.axes.empty()) {
    result.kind = partition::packed(map, size) ? SlotDimKind::Product : SlotDimKind::Mapped;
  }
  return result;
}

/// Whether an operand before `operand` reads its tensor.
bool read_before(const ir::Op& op, OperandId operand) {
  const auto end = op.operands.begin() + static_cast<std::ptrdiff_t>(operand.value);
  return std::any_of(op.operands.begin(), end, [&](const ir::Operand& other) {
    return other.tensor == op.operands[operand].tensor && other.access == ir::Access::Read;
  });
}

}  // namespace

std::vector<Slot> slots(const ir::Graph& graph, const ir::Op& op) {
  if (op.axes.size() > kMostAxes) {
    throw InvalidInput(text("op ", op.name, " has ", op.axes.size(),
                            " axes; plans are made for up to ", kMostAxes));
  }
  const Table<AxisId, std::int64_t> size = partition::sizes(op);
  std::vector<Slot> result;
  for (const OperandId i : op.operands.ids()) {
    if (partition::first_like(op, i) != i) {
      continue;
    }
    const ir::Operand& operand = op.operands[i];
    const ir::Tensor& tensor = graph.tensors[operand.tensor];
    if (operand.dims.size() > kMostRank) {
      throw InvalidInput(text("tensor ", tensor.name, " has ", operand.dims.size(),
                              " dimensions; plans are made for up to ", kMostRank));
    }
    Slot slot{.operand = i,
              .bits = ir::bits(tensor.dtype),
              .write = operand.access == ir::Access::Write,
              .hbm = partition::from_hbm(graph, operand),
              .indirect = operand.indirect.has_value(),
              .again = !partition::from_hbm(graph, operand) && read_before(op, i),
              .contained = 0,
              .unique = partition::box(tensor, operand, size, size).elements,
              .dims = {}};
    for (const AxisId axis : op.axes.ids()) {
      const bool contained = partition::contains(operand, axis);
      slot.contained |= static_cast<std::uint64_t>(contained ? 1 : 0) << axis.index();
    }
    for (const DimId dim : operand.dims.ids()) {
      slot.dims.push_back(slot_dim(op, i, dim, tensor.shape[dim], size));
    }
    result.push_back(std::move(slot));
  }
  return result;
}

}  // namespace elk::cost
