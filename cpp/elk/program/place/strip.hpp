#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace elk::program {

/// A rectangle of fixed width on a strip: `size` addresses during the moments
/// [first, first + length).
struct Rectangle {
  std::int64_t size;
  std::int32_t first;
  std::int32_t length;
};

/// Pieces to lay side by side within `room` addresses. On a cyclic strip the first moment follows
/// the last; no piece is longer than the strip.
struct Strip {
  std::vector<Rectangle> pieces;  // by first moment
  std::int32_t moments;
  bool cyclic;
  std::int64_t room;
};

inline constexpr std::int64_t kUnplaced = -1;

enum class PackOrder : std::uint8_t { LargestFirst, EarliestFirst };

/// Where the pieces lie so that none overlap; empty if none was found before `work` ran out: the
/// neighbours that repairs may look at, used up as they go.
///
/// `offsets` are where pieces lie already, or kUnplaced. The others go, in `order`, into the
/// tightest gap, those of a single moment to the top. A piece without a gap is forced in where it
/// costs least, by the areas of the pieces it drives out, and those are placed again; a piece that
/// had to be forced in becomes dearer to drive out (breakout local search: Morris, AAAI 1993).
[[nodiscard]] std::optional<std::vector<std::int64_t>> pack(const Strip& strip,
                                                            std::vector<std::int64_t> offsets,
                                                            PackOrder order, std::int64_t& work);

}  // namespace elk::program
