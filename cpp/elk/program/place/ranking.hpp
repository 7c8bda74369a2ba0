#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"

namespace elk::program {

/// Placed pieces in the order of an address. Some of them are listed in order without being sorted:
/// each marks its slot. Free slots lie between the others, so that few move when one is placed.
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
      const std::size_t word = subscript(slot) / kWord;
      marks_[word] |= std::uint64_t{1} << (subscript(slot) % kWord);
      marked_[word / kWord] |= std::uint64_t{1} << (word % kWord);
    }
  }

  /// Calls `visit(address, piece)` for the marked pieces, in order, and takes the marks away.
  template <class Visit>
  void take_marked(const Visit& visit) {
    for (std::size_t at = 0; at < marked_.size(); ++at) {
      each_bit(at, std::exchange(marked_[at], 0), [&](std::size_t word) {
        each_bit(word, std::exchange(marks_[word], 0),
                 [&](std::size_t slot) { visit(order_[slot].address, order_[slot].piece); });
      });
    }
  }

 private:
  static constexpr std::int32_t kFree = -1;
  static constexpr std::size_t kWord = 64;

  struct RankEntry {
    std::int64_t address;
    std::int32_t piece;
  };

  /// Calls `visit` with the number of each bit of word `at`.
  template <class Visit>
  static void each_bit(std::size_t at, std::uint64_t word, const Visit& visit) {
    for (; word != 0; word &= word - 1) {
      visit((at * kWord) + static_cast<std::size_t>(std::countr_zero(word)));
    }
  }

  [[nodiscard]] std::size_t nearest_free(std::size_t at) const;
  void set(std::size_t at, const RankEntry& slot) {
    order_[at] = slot;
    slot_[subscript(slot.piece)] = static_cast<std::int32_t>(at);
  }

  std::vector<RankEntry> order_;       // addresses never fall, those of free slots included
  std::vector<std::int32_t> slot_;     // of each piece
  std::vector<std::uint64_t> marks_;   // of slots
  std::vector<std::uint64_t> marked_;  // words of marks
};

}  // namespace elk::program
