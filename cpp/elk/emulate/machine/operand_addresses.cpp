#include "elk/emulate/machine/operand_addresses.hpp"

#include <algorithm>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/partition/layout/layout.hpp"

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
  return job_.chip.hbm.has_value() && partition::from_hbm(job_.graph, op_.operands[k]);
}

bool OperandAddresses::is_gathered(OperandId k) const {
  const ir::Operand& operand = op_.operands[k];
  return operand.access == ir::Access::Read && !partition::from_hbm(job_.graph, operand) &&
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

std::vector<Segment> OperandAddresses::resident(OperandId k) const {
  const partition::Layout layout = partition::layout(job_.graph, op_, k, plan_.execute, job_.chip);
  const TensorId tensor = op_.operands[k].tensor;
  const auto own = book_.of_op(id_, Role::Resident, tensor);
  std::size_t nth = 0;
  for (OperandId i{0}; i < k; ++i) {
    if (op_.operands[i].tensor == tensor && partition::first_like(op_, i) == i) {
      ++nth;
    }
  }
  if (nth < own.size()) {
    return {book_.segment(*own[nth])};
  }
  for (const program::Buffer* buffer : book_.residents(tensor)) {
    const ir::Op& other = job_.graph.ops[buffer->op];
    const program::OpPlan& plan = job_.program.ops[buffer->op];
    for (const OperandId i : other.operands.ids()) {
      if (other.operands[i].tensor == tensor && !program::rotates(plan.execute, i) &&
          partition::same(partition::layout(job_.graph, other, i, plan.execute, job_.chip),
                          layout)) {
        return {book_.segment(*buffer)};
      }
    }
  }
  throw InternalError(text("op '", op_.name, "' has no buffer for operand ", k), "emulate_address");
}

std::vector<Segment> OperandAddresses::rest(OperandId k) const {
  const program::Buffer* buffer = book_.rest(op_.operands[k].tensor);
  return buffer == nullptr ? std::vector<Segment>{} : std::vector{book_.segment(*buffer)};
}

std::vector<Segment> OperandAddresses::preloaded(OperandId k) const {
  return buffers(k, Role::Preload, preload_);
}

std::vector<Segment> OperandAddresses::segments(OperandId k) const {
  const ir::Operand& operand = op_.operands[k];
  const bool hbm = partition::from_hbm(job_.graph, operand);
  if (operand.access == ir::Access::Read && hbm && !job_.chip.hbm) {
    return resident(k);
  }
  std::vector<Segment> out;
  if (operand.access == ir::Access::Write || (!hbm && !is_gathered(k))) {
    out = rest(k);
  } else if (hbm) {
    out = preloaded(k);
  }
  const std::vector<Segment> more = buffers(k, Role::Execute, execute_);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace elk::emulate
