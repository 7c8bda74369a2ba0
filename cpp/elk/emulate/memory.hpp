#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

namespace elk::emulate {

/// The SRAM of one core. A byte that nobody has written since it was freed is poison.
class Arena {
 public:
  /// A memory of `bytes`, all of them poison.
  explicit Arena(std::int64_t bytes);
  /// Poisons [begin, begin + bytes).
  void free(std::int64_t begin, std::int64_t bytes);

  /// Copies bytes out. Throws InternalError with code "emulate_poison" at the first poisoned one,
  /// "emulate_address" outside the memory.
  void read(std::int64_t address, std::span<std::byte> out) const;
  void write(std::int64_t address, std::span<const std::byte> data);
  /// The same as read, poison or not.
  void peek(std::int64_t address, std::span<std::byte> out) const;

 private:
  void check(std::int64_t address, std::size_t bytes) const;

  struct Release {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::int64_t size_ = 0;
  std::unique_ptr<std::byte, Release> bytes_;  // Zeros, which take no room until they are written.
  std::unique_ptr<std::uint8_t, Release> written_;
};

/// Addresses [begin, begin + bytes) of a core.
struct Segment {
  std::int64_t begin;
  std::int64_t bytes;
};

/// Where the bytes of a piece lie, one segment after another.
struct Storage {
  std::vector<Segment> segments;

  [[nodiscard]] std::int64_t bytes() const;
};

/// Copies `count` elements of `bits` each from number `from` of `in` to number `to` of `out`.
struct ElementCopy {
  std::int64_t from;
  std::int64_t to;
  std::int64_t count;
  std::int64_t bits;
};
void copy_elements(const std::byte* in, std::byte* out, const ElementCopy& copy);

/// A piece in the memory of a core. Reading or writing beyond its storage throws InternalError with
/// code "emulate_address".
class View {
 public:
  View(Arena& arena, const Storage& storage, std::int64_t bits)
      : arena_(arena), storage_(storage), bits_(bits) {}

  /// `count` elements from number `first` on, from the lowest bits of `out` on.
  void read(std::int64_t first, std::int64_t count, std::byte* out) const;
  /// The same, from element number `to` of `out` on.
  void read_to(std::int64_t first, std::int64_t count, std::byte* out, std::int64_t to) const;
  void write(std::int64_t first, std::int64_t count, const std::byte* in) const;

 private:
  template <class Visit>
  void visit(std::int64_t begin, std::int64_t bytes, const Visit& visit) const;

  Arena& arena_;
  const Storage& storage_;
  std::int64_t bits_;
};

}  // namespace elk::emulate
