#include "elk/emulate/machine/operand_addresses.hpp"

#include <algorithm>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/partition/layout/layout.hpp"

namespace elk::emulate {

using program::Role;

OperandAddresses::OperandAddresses(const EmulationJob& job, const BufferBook& book,
                                   program::Spaces& spaces, std::int32_t op)
    : job_(job),
      book_(book),
      id_(op),
      op_(job.graph.ops[subscript(op)]),
      plan_(job.program.ops[subscript(op)]),
      execute_(spaces.execute(op)),
      preload_(spaces.preload(op)) {}

bool OperandAddresses::is_preloaded(std::size_t k) const {
  return job_.chip.hbm.has_value() && partition::from_hbm(job_.graph, op_.operands[k]);
}

bool OperandAddresses::is_gathered(std::size_t k) const {
  const ir::Operand& operand = op_.operands[k];
  return operand.access == ir::Access::Read && !partition::from_hbm(job_.graph, operand) &&
         std::any_of(execute_.begin(), execute_.end(), [&](const program::ExecuteSpace& space) {
           return subscript(space.operand) == k;
         });
}

std::vector<Segment> OperandAddresses::buffers(
    std::size_t k, Role role, const std::vector<program::ExecuteSpace>& spaces) const {
  const std::int32_t tensor = op_.operands[k].tensor;
  std::size_t nth = 0;
  for (const program::ExecuteSpace& space : spaces) {
    if (subscript(space.operand) == k) {
      const auto found = book_.of_op(id_, role, tensor);
      if (nth >= found.size()) {
        throw InternalError(text("op '", op_.name, "' has no buffer for operand ", k),
                            "emulate_address");
      }
      return {book_.segment(*found[nth])};
    }
    if (op_.operands[subscript(space.operand)].tensor == tensor) {
      ++nth;
    }
  }
  return {};
}

std::vector<Segment> OperandAddresses::resident(std::size_t k) const {
  const partition::Layout layout = partition::layout(job_.graph, op_, k, plan_.execute, job_.chip);
  const std::int32_t tensor = op_.operands[k].tensor;
  const auto own = book_.of_op(id_, Role::Resident, tensor);
  std::size_t nth = 0;
  for (std::size_t i = 0; i < k; ++i) {
    if (op_.operands[i].tensor == tensor && partition::first_like(op_, i) == i) {
      ++nth;
    }
  }
  if (nth < own.size()) {
    return {book_.segment(*own[nth])};
  }
  for (const program::Buffer* buffer : book_.residents(tensor)) {
    const ir::Op& other = job_.graph.ops[subscript(buffer->op)];
    const program::OpPlan& plan = job_.program.ops[subscript(buffer->op)];
    for (std::size_t i = 0; i < other.operands.size(); ++i) {
      if (other.operands[i].tensor == tensor && !program::rotates(plan.execute, i) &&
          partition::same(partition::layout(job_.graph, other, i, plan.execute, job_.chip),
                          layout)) {
        return {book_.segment(*buffer)};
      }
    }
  }
  throw InternalError(text("op '", op_.name, "' has no buffer for operand ", k), "emulate_address");
}

std::vector<Segment> OperandAddresses::rest(std::size_t k) const {
  const program::Buffer* buffer = book_.rest(op_.operands[k].tensor);
  return buffer == nullptr ? std::vector<Segment>{} : std::vector{book_.segment(*buffer)};
}

std::vector<Segment> OperandAddresses::preloaded(std::size_t k) const {
  return buffers(k, Role::Preload, preload_);
}

std::vector<Segment> OperandAddresses::segments(std::size_t k) const {
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
