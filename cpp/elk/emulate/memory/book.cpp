#include "elk/emulate/memory/book.hpp"

#include <algorithm>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"

namespace elk::emulate {
namespace {

using program::Buffer;
using program::Role;
using Buffers = std::vector<const Buffer*>;

template <class Map, class Key>
Buffers found(const Map& map, const Key& key) {
  const auto at = map.find(key);
  return at == map.end() ? Buffers{} : at->second;
}

}  // namespace

BufferBook::BufferBook(const chip::Chip& chip, const program::Program& program)
    : reserved_(chip.core.reserved.value) {
  for (const Buffer& buffer : program.buffers) {
    const std::int64_t end = reserved_ + buffer.offset.value + buffer.bytes.value;
    if (buffer.offset.value < 0 || end > chip.core.sram.value) {
      throw InternalError(text("a buffer of tensor ", buffer.tensor, " ends at byte ", end, " of ",
                               chip.core.sram.value),
                          "emulate_address");
    }
    by_op_[{buffer.op, buffer.tensor}].push_back(&buffer);
    by_tensor_[buffer.tensor].push_back(&buffer);
    born_[buffer.from].push_back(&buffer);
    dead_[buffer.to].push_back(&buffer);
  }
}

Segment BufferBook::segment(const Buffer& buffer) const {
  return {.begin = reserved_ + buffer.offset.value, .bytes = buffer.bytes.value};
}

Buffers BufferBook::of_op(OpId op, Role role, TensorId tensor) const {
  Buffers out = found(by_op_, std::pair(op, tensor));
  std::erase_if(out, [&](const Buffer* buffer) { return buffer->role != role; });
  return out;
}

const Buffer* BufferBook::rest(TensorId tensor) const {
  for (const Buffer* buffer : found(by_tensor_, tensor)) {
    if (buffer->role == Role::Activation || buffer->role == Role::Store) {
      return buffer;
    }
  }
  return nullptr;
}

Buffers BufferBook::born(std::int32_t instruction) const { return found(born_, instruction); }
Buffers BufferBook::dead(std::int32_t instruction) const { return found(dead_, instruction); }

}  // namespace elk::emulate
