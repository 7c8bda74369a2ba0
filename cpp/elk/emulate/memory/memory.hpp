#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "elk/emulate/memory/boxes.hpp"
#include "elk/emulate/memory/write_mask.hpp"

namespace elk::emulate {

/// The SRAM of one core. A byte that nobody has written since it was freed is poison.
class Arena {
 public:
  /// A memory of `bytes`, all of them poison.
  explicit Arena(std::int64_t bytes);
  /// Poisons [begin, begin + bytes).
  void free(std::int64_t begin, std::int64_t bytes);

  /// The bytes [address, address + bytes), to be read. Throws InternalError with code
  /// "emulate_poison" if one of them is poisoned, "emulate_address" outside the memory.
  [[nodiscard]] const std::byte* reading(std::int64_t address, std::int64_t bytes) const;
  /// The bytes [address, address + bytes), to be written: from now on they are no poison.
  [[nodiscard]] std::byte* writing(std::int64_t address, std::int64_t bytes);
  /// The bytes [address, address + bytes), to be read, poison or not.
  [[nodiscard]] const std::byte* peeking(std::int64_t address, std::int64_t bytes) const;

 private:
  void check(std::int64_t address, std::int64_t bytes) const;

  std::int64_t size_ = 0;
  std::unique_ptr<std::byte, MemoryRelease>
      bytes_;  // Zeros, which take no room until they are written.
  WriteMask written_;
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
  /// Reads elements as `read` does, but puts them from element number `to` of `out` on.
  void read_to(std::int64_t first, std::int64_t count, std::byte* out, std::int64_t to) const;
  void write(std::int64_t first, std::int64_t count, const std::byte* in) const;

  /// Where `count` elements from number `first` on lie, to be read in place; null if they are not
  /// whole bytes in one segment.
  [[nodiscard]] const std::byte* reading(std::int64_t first, std::int64_t count) const;
  /// Where these elements lie, to be written in place; null as for `reading`.
  [[nodiscard]] std::byte* writing(std::int64_t first, std::int64_t count) const;

  [[nodiscard]] std::int64_t bits() const { return bits_; }
  /// Whether it lies in one segment, each element in whole bytes.
  [[nodiscard]] bool is_dense() const { return storage_.segments.size() == 1 && bits_ % 8 == 0; }

 private:
  [[nodiscard]] std::int64_t address_of(std::int64_t first, std::int64_t count) const;
  template <class Visit>
  void visit(std::int64_t begin, std::int64_t bytes, const Visit& visit) const;

  Arena& arena_;
  const Storage& storage_;
  std::int64_t bits_;
};

/// Copies elements between pieces that do not overlap.
void copy_run(const View& from, const View& to, const OverlapRange& run);

/// Copies many runs, each element of `to` once: what goes on from one to the next on a side is
/// checked there, or marked as written, as one.
void copy_runs(const View& from, const View& to, std::span<const OverlapRange> runs);
/// Copies many runs from bytes elsewhere, to elements of whole bytes.
void write_runs(const std::byte* from, const View& to, std::span<const OverlapRange> runs);

}  // namespace elk::emulate
