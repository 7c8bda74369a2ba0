#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "elk/emulate/machine/job.hpp"
#include "elk/emulate/memory/book.hpp"
#include "elk/program/code/spaces.hpp"

namespace elk::emulate {

/// Where the operands of one op lie, the same on all cores.
class OperandAddresses {
 public:
  OperandAddresses(const EmulationJob& job, const BufferBook& book, program::Spaces& spaces,
                   std::int32_t op);

  /// Whether operand `k` comes from HBM, and on a chip that has one.
  [[nodiscard]] bool is_preloaded(std::size_t k) const;
  /// Whether it is gathered: an activation that does not lie where it is needed.
  [[nodiscard]] bool is_gathered(std::size_t k) const;

  /// The bytes of a read operand; of a result, its partial tile and the room to receive others'. Of
  /// a preloaded one a core's own slice comes first, then those of its peers.
  [[nodiscard]] std::vector<Segment> segments(std::size_t k) const;
  /// The segments that a preload fills.
  [[nodiscard]] std::vector<Segment> preloaded(std::size_t k) const;
  /// Where the final piece of a result, or what an activation is gathered from, rests.
  [[nodiscard]] std::vector<Segment> rest(std::size_t k) const;

 private:
  [[nodiscard]] std::vector<Segment> buffers(
      std::size_t k, program::Role role, const std::vector<program::ExecuteSpace>& spaces) const;
  [[nodiscard]] std::vector<Segment> resident(std::size_t k) const;

  const EmulationJob& job_;
  const BufferBook& book_;
  std::int32_t id_;
  const ir::Op& op_;
  const program::OpPlan& plan_;
  std::vector<program::ExecuteSpace> execute_;
  std::vector<program::ExecuteSpace> preload_;
};

}  // namespace elk::emulate
