#include "elk/emulate/machine/operand_addresses.hpp"

#include <algorithm>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"

namespace elk::emulate {

using program::Role;

OperandAddresses::OperandAddresses(const EmulationJob& job, const BufferBook& book,
                                   program::Spaces& spaces, OpId op)
    : job_(job),
      book_(book),
      id_(op),
      op_(job.graph.ops[op]),
      plan_(job.program.ops[op]),
      execute_(spaces.execute(op)),
      preload_(spaces.preload(op)) {}

bool OperandAddresses::is_preloaded(OperandId k) const {
  return partition::from_hbm(job_.graph, op_.operands[k]) && plan_.divisor[k] > 0;
}

bool OperandAddresses::is_gathered(OperandId k) const {
  const ir::Operand& operand = op_.operands[k];
  return operand.access == ir::Access::Read && !is_preloaded(k) &&
         std::any_of(execute_.begin(), execute_.end(),
                     [&](const program::ExecuteSpace& space) { return space.operand == k; });
}

std::vector<Segment> OperandAddresses::buffers(
    OperandId k, Role role, const std::vector<program::ExecuteSpace>& spaces) const {
  const TensorId tensor = op_.operands[k].tensor;
  std::size_t nth = 0;
  for (const program::ExecuteSpace& space : spaces) {
    if (space.operand == k) {
      const auto found = book_.of_op(id_, role, tensor);
      if (nth >= found.size()) {
        throw InternalError(text("op '", op_.name, "' has no buffer for operand ", k),
                            "emulate_address");
      }
      return {book_.segment(*found[nth])};
    }
    if (op_.operands[space.operand].tensor == tensor) {
      ++nth;
    }
  }
  return {};
}

std::vector<Segment> OperandAddresses::rest(OperandId k) const {
  const program::Buffer* buffer = book_.rest(op_.operands[k].tensor);
  return buffer == nullptr ? std::vector<Segment>{} : std::vector{book_.segment(*buffer)};
}

std::vector<Segment> OperandAddresses::preloaded(OperandId k) const {
  return buffers(k, job_.chip.hbm ? Role::Preload : Role::Resident, preload_);
}

std::vector<Segment> OperandAddresses::segments(OperandId k) const {
  const ir::Operand& operand = op_.operands[k];
  std::vector<Segment> out;
  if (is_preloaded(k)) {
    out = preloaded(k);
  } else if (operand.access == ir::Access::Write || !is_gathered(k)) {
    out = rest(k);
  }
  const std::vector<Segment> more = buffers(k, Role::Execute, execute_);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace elk::emulate
