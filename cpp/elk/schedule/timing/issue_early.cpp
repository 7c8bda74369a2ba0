#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "elk/schedule/timing/evaluate.hpp"

namespace elk::schedule {
namespace {

/// Bytes in use at each execute while preloads are given their slots one after another, in the
/// order of their executes. Slots never go back, so an execute that a later preload may reach is
/// reached by all before it that execute no earlier: their sum so far, less what no longer counts
/// there, is in use, and the second part is known once and for all.
class EarlyOccupancy {
 public:
  explicit EarlyOccupancy(const std::vector<Bytes>& base)
      : base_(base), over_(base.size()), highest_(base.size()) {}

  /// Takes in the executes up to that of `op`, whose preload comes next.
  void upto(std::int32_t op) {
    for (; known_ <= op; ++known_) {
      const auto at = static_cast<std::size_t>(known_);
      over_[at] = base_[at] - issued_;  // Preloads so far execute before this.
      while (last_ > first_ && over(highest_[last_ - 1]) <= over_[at]) {
        --last_;
      }
      highest_[last_++] = known_;
    }
  }

  /// In use at the execute of `op` by others than its own preload.
  [[nodiscard]] Bytes at(std::int32_t op) const { return issued_ + over(op); }

  /// The first execute from `earliest` on such that `piece` fits beside what is in use there and at
  /// all later ones up to the last.
  std::int32_t first_fit(std::int32_t earliest, Bytes piece, Bytes room) {
    while (first_ < last_ && highest_[first_] < earliest) {
      ++first_;
    }
    const Bytes most = room - piece - issued_;
    const auto begin = highest_.begin() + static_cast<std::ptrdiff_t>(first_);
    const auto end = highest_.begin() + static_cast<std::ptrdiff_t>(last_);
    const auto fits = std::partition_point(
        begin, end, [&](std::int32_t execute) { return over(execute) > most; });
    return fits == begin ? earliest : *(fits - 1) + 1;
  }

  /// The first slot of a preload that waits for a later op; its own execute is always free.
  [[nodiscard]] std::int32_t first_wait(std::int32_t earliest, std::int32_t op, Bytes piece,
                                        Bytes room) const {
    const auto waiting = [&](std::int32_t execute) {  // base - over: what has executed before it
      return issued_ - (base_[static_cast<std::size_t>(execute) + 1] - over(execute + 1));
    };
    std::int32_t begin = earliest;
    for (std::int32_t end = op; begin < end;) {
      const std::int32_t middle = begin + ((end - begin) / 2);
      if (waiting(middle) + piece <= room) {
        end = middle;
      } else {
        begin = middle + 1;
      }
    }
    return begin;
  }

  void issue(Bytes piece) { issued_ += piece; }

 private:
  [[nodiscard]] Bytes over(std::int32_t execute) const {
    return over_[static_cast<std::size_t>(execute)];
  }

  const std::vector<Bytes>& base_;
  std::vector<Bytes> over_;            // base less the preloads whose executes came before
  std::vector<std::int32_t> highest_;  // executes that no later one is above: `over_` falls
  std::int32_t known_ = 0;             // executes taken in
  std::size_t first_ = 0;              // of `highest_` that a preload may still reach
  std::size_t last_ = 0;               // the end of what a preload may reach
  Bytes issued_{0};
};

/// The first execute at which everything together needs more than the room.
std::optional<Shortage> overflow(const Situation& situation, const std::vector<Bytes>& change,
                                 Bytes room) {
  Bytes pieces{0};
  for (std::size_t at = 0; at < situation.base.size(); ++at) {
    pieces += change[at];
    const Bytes used = situation.base[at] + pieces;
    if (used > room) {
      return Shortage{.op = static_cast<std::int32_t>(at), .excess = used - room};
    }
  }
  return std::nullopt;
}

}  // namespace

Issue issue_early(const Problem& problem, const Situation& situation,
                  const std::vector<std::int32_t>& order, const PreloadLimits& space) {
  const std::size_t count = situation.base.size();
  Issue result{.issued_before = std::vector<std::int32_t>(count, 0), .shortage = std::nullopt};
  std::vector<Bytes> change(count + 1, Bytes{0});  // in space for preloads, from execute to execute
  EarlyOccupancy use(situation.base);
  std::int32_t slot = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const std::int32_t op = order[rank];
    const auto at = static_cast<std::size_t>(op);
    const Bytes piece = situation.piece[at];
    std::int32_t earliest = std::max(slot, problem.not_before(op));
    if (!space.not_before.empty()) {
      earliest = std::max(earliest, space.not_before[at]);
    }
    if (rank >= kMostWaiting) {
      earliest = std::max(earliest, order[rank - kMostWaiting] + 1);
    }
    use.upto(op);
    slot = use.first_fit(earliest, piece, space.room);
    if (slot > op) {
      result.shortage = Shortage{.op = op, .excess = use.at(op) + piece - space.room};
      return result;
    }
    if (space.preload_room < space.room) {
      slot = use.first_wait(slot, op, piece, space.preload_room);
    }
    use.issue(piece);
    change[static_cast<std::size_t>(slot)] += piece;
    change[at + 1] -= piece;
    ++result.issued_before[static_cast<std::size_t>(slot)];
  }
  std::partial_sum(result.issued_before.begin(), result.issued_before.end(),
                   result.issued_before.begin());
  result.shortage = overflow(situation, change, space.room);
  return result;
}

}  // namespace elk::schedule
