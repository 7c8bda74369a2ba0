#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace elk::emulate {

/// Frees what `std::calloc` gave.
struct MemoryRelease {
  void operator()(void* memory) const { std::free(memory); }
};

/// Which bytes of a memory have been written: one bit for each.
///
/// Threads may use it together as long as no two of them use the same eight bytes, from a multiple
/// of eight on, and one of them changes their bits.
class WriteMask {
 public:
  /// Of a memory of `bytes`, none of them written.
  explicit WriteMask(std::int64_t bytes);

  void set(std::int64_t begin, std::int64_t bytes);
  void clear(std::int64_t begin, std::int64_t bytes);
  /// The first byte of [begin, begin + bytes) that is not written; begin + bytes if all are.
  [[nodiscard]] std::int64_t first_unset(std::int64_t begin, std::int64_t bytes) const;

 private:
  std::unique_ptr<std::uint8_t, MemoryRelease>
      bits_;  // Zeros, which take no room until they are set.
};

}  // namespace elk::emulate
