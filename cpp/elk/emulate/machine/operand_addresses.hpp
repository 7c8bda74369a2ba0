#pragma once

#include <cstddef>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/emulate/machine/job.hpp"
#include "elk/emulate/memory/book.hpp"
#include "elk/program/code/spaces.hpp"

namespace elk::emulate {

/// Where the operands of one op lie, the same on all cores.
class OperandAddresses {
 public:
  OperandAddresses(const EmulationJob& job, const BufferBook& book, program::Spaces& spaces,
                   OpId op);

  /// Whether a core has part of operand `k` ahead of the execute: of a weight or a state that does
  /// not lie evenly over all cores.
  [[nodiscard]] bool is_preloaded(OperandId k) const;
  /// Whether it is gathered: an activation that does not lie where it is needed, or what lies
  /// evenly over all cores.
  [[nodiscard]] bool is_gathered(OperandId k) const;

  /// The bytes of a read operand; of a result, its partial tile and the room to receive others'. Of
  /// a preloaded one a core's own slice comes first, then those of its peers.
  [[nodiscard]] std::vector<Segment> segments(OperandId k) const;
  /// The segments that hold what a core has ahead of the execute.
  [[nodiscard]] std::vector<Segment> preloaded(OperandId k) const;
  /// Where the final piece of a result, or what an activation is gathered from, rests.
  [[nodiscard]] std::vector<Segment> rest(OperandId k) const;

 private:
  [[nodiscard]] std::vector<Segment> buffers(
      OperandId k, program::Role role, const std::vector<program::ExecuteSpace>& spaces) const;

  const EmulationJob& job_;
  const BufferBook& book_;
  OpId id_;
  const ir::Op& op_;
  const program::OpPlan& plan_;
  std::vector<program::ExecuteSpace> execute_;
  std::vector<program::ExecuteSpace> preload_;
};

}  // namespace elk::emulate
