#include "elk/program/place/ranking.hpp"

#include <algorithm>
#include <limits>

#include "elk/base/ids.hpp"
#include "elk/program/place/strip.hpp"

namespace elk::program {
namespace {

constexpr std::size_t kSlots = 2;  // for each piece

}  // namespace

Ranking::Ranking(const std::vector<std::int64_t>& addresses)
    : slot_(addresses.size(), kFree),
      marks_((kSlots * addresses.size() / kWord) + 1, 0),
      marked_((marks_.size() / kWord) + 1, 0) {
  std::vector<RankEntry> placed;
  for (std::size_t piece = 0; piece < addresses.size(); ++piece) {
    if (addresses[piece] != kUnplaced) {
      placed.push_back({.address = addresses[piece], .piece = static_cast<std::int32_t>(piece)});
    }
  }
  std::sort(placed.begin(), placed.end(), [](const RankEntry& a, const RankEntry& b) {
    return a.address != b.address ? a.address < b.address : a.piece < b.piece;
  });
  for (const RankEntry& one : placed) {
    slot_[subscript(one.piece)] = static_cast<std::int32_t>(order_.size());
    order_.push_back(one);
    order_.resize(order_.size() + kSlots - 1, {.address = one.address, .piece = kFree});
  }
  order_.resize(kSlots * addresses.size(),
                {.address = std::numeric_limits<std::int64_t>::max(), .piece = kFree});
}

void Ranking::insert(std::int32_t piece, std::int64_t address) {
  const auto found = std::lower_bound(
      order_.begin(), order_.end(), address,
      [](const RankEntry& slot, std::int64_t wanted) { return slot.address < wanted; });
  const auto at = static_cast<std::size_t>(found - order_.begin());
  std::size_t free = nearest_free(at);
  for (; free > at; --free) {
    set(free, order_[free - 1]);
  }
  for (; free + 1 < at; ++free) {
    set(free, order_[free + 1]);
  }
  set(free, {.address = address, .piece = piece});
}

/// One is: there are more slots than pieces.
std::size_t Ranking::nearest_free(std::size_t at) const {
  const auto is_free = [&](std::size_t slot) { return order_[slot].piece == kFree; };
  for (std::size_t away = 0;; ++away) {
    if (at + away < order_.size() && is_free(at + away)) {
      return at + away;
    }
    if (away < at && is_free(at - away - 1)) {
      return at - away - 1;
    }
  }
}

}  // namespace elk::program
