#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"
#include "elk/schedule/timing/evaluate.hpp"

namespace elk::schedule {
namespace {

/// The last slot of each preload in `order`: none comes later than those behind it in the order.
std::vector<OpId> last_slots(const std::vector<OpId>& order) {
  std::vector<OpId> result(order);
  for (std::size_t rank = result.size(); rank-- > 1;) {
    result[rank - 1] = std::min(result[rank - 1], result[rank]);
  }
  return result;
}

/// Bytes in use at the executes that preloads may wait through, in the order of `order`: what each
/// uses itself, and the preloads so far that execute later. A preload once issued waits through all
/// executes that are asked about later up to its own, for slots never go back: so all preloads so
/// far count everywhere, and an execute is known without those that do not wait through it.
class OrderOccupancy {
 public:
  /// `used` are the bytes in use at each execute, its own preload included.
  explicit OrderOccupancy(Table<OpId, std::int64_t> used)
      : own_(std::move(used)), most_((own_.size() / kRun) + 1, kNone) {}

  /// Takes in the executes before `end`.
  void upto(OpId end) {
    for (; known_ < end; ++known_) {
      own_[known_] -= issued_;  // Preloads so far execute no later.
      most_[known_.index() / kRun] = std::max(most_[known_.index() / kRun], own_[known_]);
    }
  }

  /// The first execute from `first` on such that from it to `end` nowhere more than `most` is used.
  [[nodiscard]] OpId first_free(OpId first, OpId end, std::int64_t most) {
    const std::int64_t limit = most - issued_;
    while (end > first) {
      const std::size_t run = ((end - 1).index()) / kRun;
      const OpId begin = std::max(first, id_at<OpId>(run * kRun));
      if (most_[run] > limit) {
        std::int64_t seen = kNone;
        const bool all = end == id_at<OpId>((run + 1) * kRun) && begin == id_at<OpId>(run * kRun);
        for (; end > begin; --end) {
          if (own_[end - 1] > limit) {
            return end;
          }
          seen = std::max(seen, own_[end - 1]);
        }
        most_[run] = all ? seen : most_[run];
      }
      end = begin;
    }
    return first;
  }

  /// Issues a preload that waits up to the execute `end`.
  void issue(OpId end, std::int64_t bytes) {
    issued_ += bytes;
    for (; end < known_; ++end) {
      own_[end] -= bytes;  // What is known of runs stays no less than what is in them.
    }
  }

 private:
  static constexpr std::size_t kRun = 8;
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

  Table<OpId, std::int64_t>
      own_;  // bytes in use without preloads that do not wait through the execute
  std::vector<std::int64_t> most_;  // most bytes of the executes known in a run, at the least
  OpId known_{0};
  std::int64_t issued_ = 0;
};

}  // namespace

Issue issue_in_order(const Table<OpId, Bytes>& base, const Table<OpId, Bytes>& piece,
                     const std::vector<OpId>& order, const Table<OpId, OpId>& earliest,
                     Bytes room) {
  Issue result{.issued_before = Table<OpId, std::int32_t>(base.size(), 0),
               .shortage = std::nullopt};
  Table<OpId, std::int64_t> used(base.size());  // at each execute, its own preload included
  for (OpId op{0}; op.index() < base.size(); ++op) {
    used[op] = (base[op] + piece[op]).value;
    if (used[op] > room.value) {
      result.shortage = Shortage{.op = op, .excess = Bytes{used[op]} - room};
      return result;
    }
  }
  OrderOccupancy occupied(std::move(used));
  const std::vector<OpId> last = last_slots(order);
  OpId slot{0};
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const OpId op = order[rank];
    const auto at = op;
    OpId first = std::max(slot, earliest[at]);
    if (rank >= tuning::kMostWaiting) {
      first = std::max(first, last[rank - tuning::kMostWaiting] + 1);
    }
    occupied.upto(at);
    if (first <= op) {
      first = occupied.first_free(first, at, (room - piece[at]).value);
    }
    if (first > last[rank]) {
      result.shortage = Shortage{.op = op, .excess = piece[at]};
      return result;
    }
    slot = first;
    occupied.issue(at, piece[at].value);
    ++result.issued_before[slot];
  }
  std::partial_sum(result.issued_before.begin(), result.issued_before.end(),
                   result.issued_before.begin());
  return result;
}

/// Preloads that wait leave free what is not theirs: as if each execute used at least that itself.
Issue issue(const Problem& problem, const Situation& situation, const std::vector<OpId>& order,
            const PreloadLimits& space) {
  const Bytes room = space.room - situation.idle;
  Table<OpId, OpId> earliest = space.not_before;
  earliest.resize(situation.base.size(), OpId{0});
  for (const OpId op : order) {
    earliest[op] = std::max(earliest[op], problem.not_before(op));
  }
  if (space.preload_room >= space.room) {
    return issue_in_order(situation.base, situation.piece, order, earliest, room);
  }
  Table<OpId, Bytes> base(situation.base);
  for (const OpId op : base.ids()) {
    base[op] = std::max(base[op], space.room - space.preload_room - situation.piece[op]);
  }
  return issue_in_order(base, situation.piece, order, earliest, room);
}

}  // namespace elk::schedule
