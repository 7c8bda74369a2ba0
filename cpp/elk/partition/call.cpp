#include "elk/partition/call.hpp"

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/plan.hpp"

namespace elk::partition {

Bytes call_bytes(const ir::Graph& graph, const ir::Op& op,
                 TableView<AxisId, const std::int64_t> size) {
  const Table<AxisId, std::int64_t> whole = sizes(op);
  Bytes sum{0};
  for (const ir::Operand& operand : op.operands) {
    const ir::Tensor& tensor = graph.tensors[operand.tensor];
    sum += element_bytes(box(tensor, operand, whole, size).elements, ir::bits(tensor.dtype));
  }
  return sum;
}

}  // namespace elk::partition
