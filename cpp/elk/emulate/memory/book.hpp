#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/emulate/memory/memory.hpp"
#include "elk/program/program.hpp"

namespace elk::emulate {

/// The buffers of a program, found by who needs them. Addresses count from the first byte of SRAM.
class BufferBook {
 public:
  BufferBook(const chip::Chip& chip, const program::Program& program);

  [[nodiscard]] Segment segment(const program::Buffer& buffer) const;
  /// Buffers of an op in one role for one tensor, in the order of its operands.
  [[nodiscard]] std::vector<const program::Buffer*> of_op(OpId op, program::Role role,
                                                          TensorId tensor) const;
  /// Where a tensor rests; null if it has no bytes.
  [[nodiscard]] const program::Buffer* rest(TensorId tensor) const;
  [[nodiscard]] std::vector<const program::Buffer*> born(std::int32_t instruction) const;
  [[nodiscard]] std::vector<const program::Buffer*> dead(std::int32_t instruction) const;

 private:
  std::int64_t reserved_;
  std::map<std::pair<OpId, TensorId>, std::vector<const program::Buffer*>> by_op_;
  std::map<TensorId, std::vector<const program::Buffer*>> by_tensor_;
  std::map<std::int32_t, std::vector<const program::Buffer*>> born_;
  std::map<std::int32_t, std::vector<const program::Buffer*>> dead_;
};

}  // namespace elk::emulate
