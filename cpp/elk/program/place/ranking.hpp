#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"

namespace elk::program {

/// Placed pieces in the order of an address. Some of them are listed in order without being sorted:
/// each marks its slot. There is a slot for every piece, and those of pieces that have no place lie
/// anywhere between the others, so that few move when one is placed.
class Ranking {
 public:
  /// `addresses` are of all pieces, kUnplaced of those that have no place.
  explicit Ranking(const std::vector<std::int64_t>& addresses);

  /// Places a piece that has no place before the first that is not below it.
  void insert(std::int32_t piece, std::int64_t address);

  /// Takes the place of a piece away.
  void erase(std::int32_t piece) {
    order_[subscript(slot_[subscript(piece)])].piece = kFree;
    slot_[subscript(piece)] = kFree;
  }

  /// Marks a piece if it is placed.
  void mark(std::int32_t piece) {
    const std::int32_t slot = slot_[subscript(piece)];
    if (slot != kFree) {
      marks_[subscript(slot) / kWord] |= std::uint64_t{1} << (subscript(slot) % kWord);
    }
  }

  /// Calls `visit(address, piece)` for the marked pieces, in order, and takes the marks away.
  template <class Visit>
  void take_marked(const Visit& visit) {
    for (std::size_t word = 0; word < marks_.size(); ++word) {
      for (std::uint64_t left = std::exchange(marks_[word], 0); left != 0; left &= left - 1) {
        const auto bit = static_cast<std::size_t>(std::countr_zero(left));
        const RankEntry& slot = order_[(word * kWord) + bit];
        visit(slot.address, slot.piece);
      }
    }
  }

 private:
  static constexpr std::int32_t kFree = -1;
  static constexpr std::size_t kWord = 64;

  struct RankEntry {
    std::int64_t address;
    std::int32_t piece;
  };

  [[nodiscard]] std::size_t nearest_free(std::size_t at) const;
  void set(std::size_t at, const RankEntry& slot) {
    order_[at] = slot;
    slot_[subscript(slot.piece)] = static_cast<std::int32_t>(at);
  }

  std::vector<RankEntry> order_;      // addresses never fall, those of free slots included
  std::vector<std::int32_t> slot_;    // of each piece
  std::vector<std::uint64_t> marks_;  // of slots
};

}  // namespace elk::program
