#include "elk/emulate/memory/write_mask.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "elk/base/ids.hpp"

namespace elk::emulate {
namespace {

constexpr std::int64_t kBits = 8;

/// The bits from number `low` up to number `high`, not included.
std::uint8_t mask(std::int64_t low, std::int64_t high) {
  return static_cast<std::uint8_t>((0xFFU << subscript(low)) & (0xFFU >> subscript(kBits - high)));
}

/// A range of bits: in the first byte, in `whole` bytes behind it, and in the last one.
struct BitRange {
  std::uint8_t* first;
  std::uint8_t head = 0;
  std::int64_t whole = 0;
  std::uint8_t tail = 0;

  BitRange(std::uint8_t* bits, std::int64_t begin, std::int64_t count)
      : first(bits + (begin / kBits)) {
    const std::int64_t low = begin % kBits;
    if (low + count <= kBits) {
      head = count > 0 ? mask(low, low + count) : std::uint8_t{0};
      return;
    }
    head = mask(low, kBits);
    whole = (low + count - kBits) / kBits;
    const std::int64_t rest = (low + count) % kBits;
    tail = rest > 0 ? mask(0, rest) : std::uint8_t{0};
  }
};

/// The first of `count` bytes that has a bit unset; `count` if none has.
std::int64_t first_gap(const std::uint8_t* at, std::int64_t count) {
  constexpr std::int64_t kStride = 8;
  std::int64_t i = 0;
  for (; i + kStride <= count; i += kStride) {
    std::uint64_t word = 0;
    std::memcpy(&word, at + i, sizeof(word));
    if (word != ~std::uint64_t{0}) {
      break;
    }
  }
  while (i < count && at[i] == 0xFFU) {
    ++i;
  }
  return i;
}

}  // namespace

WriteMask::WriteMask(std::int64_t bytes)
    : bits_(static_cast<std::uint8_t*>(std::calloc(subscript(bytes / kBits) + 1, 1))) {
  if (!bits_) {
    throw std::bad_alloc();
  }
}

void WriteMask::set(std::int64_t begin, std::int64_t bytes) {
  const BitRange range(bits_.get(), begin, bytes);
  *range.first |= range.head;
  std::fill_n(range.first + 1, range.whole, std::uint8_t{0xFF});
  if (range.tail != 0) {
    range.first[range.whole + 1] |= range.tail;
  }
}

void WriteMask::clear(std::int64_t begin, std::int64_t bytes) {
  const BitRange range(bits_.get(), begin, bytes);
  *range.first &= static_cast<std::uint8_t>(~range.head);
  std::fill_n(range.first + 1, range.whole, std::uint8_t{0});
  if (range.tail != 0) {
    range.first[range.whole + 1] &= static_cast<std::uint8_t>(~range.tail);
  }
}

std::int64_t WriteMask::first_unset(std::int64_t begin, std::int64_t bytes) const {
  const BitRange range(bits_.get(), begin, bytes);
  const auto behind = [&](const std::uint8_t* at, std::uint8_t wanted) {
    const auto missing = static_cast<std::uint8_t>(wanted & ~*at);
    return ((at - bits_.get()) * kBits) + std::countr_zero(missing);
  };
  if ((*range.first & range.head) != range.head) {
    return behind(range.first, range.head);
  }
  const std::int64_t gap = first_gap(range.first + 1, range.whole);
  if (gap < range.whole) {
    return behind(range.first + 1 + gap, 0xFFU);
  }
  const std::uint8_t* last = range.first + range.whole + 1;
  if (range.tail != 0 && (*last & range.tail) != range.tail) {
    return behind(last, range.tail);
  }
  return begin + bytes;
}

}  // namespace elk::emulate
