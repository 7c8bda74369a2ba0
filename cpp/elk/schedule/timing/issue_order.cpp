#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "elk/schedule/timing/evaluate.hpp"

namespace elk::schedule {
namespace {

/// The last slot of each preload in `order`: none comes later than those behind it in the order.
std::vector<std::int32_t> last_slots(const std::vector<std::int32_t>& order) {
  std::vector<std::int32_t> result(order);
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
  explicit OrderOccupancy(std::vector<std::int64_t> used)
      : own_(std::move(used)), most_((own_.size() / kRun) + 1, kNone) {}

  /// Takes in the executes before `end`.
  void upto(std::size_t end) {
    for (; known_ < end; ++known_) {
      own_[known_] -= issued_;  // Preloads so far execute no later.
      most_[known_ / kRun] = std::max(most_[known_ / kRun], own_[known_]);
    }
  }

  /// The first execute from `first` on such that from it to `end` nowhere more than `most` is used.
  [[nodiscard]] std::size_t first_free(std::size_t first, std::size_t end, std::int64_t most) {
    const std::int64_t limit = most - issued_;
    while (end > first) {
      const std::size_t run = (end - 1) / kRun;
      const std::size_t begin = std::max(first, run * kRun);
      if (most_[run] > limit) {
        std::int64_t seen = kNone;
        const bool all = end == (run + 1) * kRun && begin == run * kRun;
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
  void issue(std::size_t end, std::int64_t bytes) {
    issued_ += bytes;
    for (; end < known_; ++end) {
      own_[end] -= bytes;  // What is known of runs stays no less than what is in them.
    }
  }

 private:
  static constexpr std::size_t kRun = 8;
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

  std::vector<std::int64_t>
      own_;  // bytes in use without preloads that do not wait through the execute
  std::vector<std::int64_t> most_;  // most bytes of the executes known in a run, at the least
  std::size_t known_ = 0;
  std::int64_t issued_ = 0;
};

}  // namespace

Issue issue_in_order(const std::vector<Bytes>& base, const std::vector<Bytes>& piece,
                     const std::vector<std::int32_t>& order,
                     const std::vector<std::int32_t>& earliest, Bytes room) {
  Issue result{.issued_before = std::vector<std::int32_t>(base.size(), 0),
               .shortage = std::nullopt};
  std::vector<std::int64_t> used(base.size());  // at each execute, its own preload included
  for (std::size_t op = 0; op < base.size(); ++op) {
    used[op] = (base[op] + piece[op]).value;
    if (used[op] > room.value) {
      result.shortage =
          Shortage{.op = static_cast<std::int32_t>(op), .excess = Bytes{used[op]} - room};
      return result;
    }
  }
  OrderOccupancy occupied(std::move(used));
  const std::vector<std::int32_t> last = last_slots(order);
  std::int32_t slot = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const std::int32_t op = order[rank];
    const auto at = static_cast<std::size_t>(op);
    std::int32_t first = std::max(slot, earliest[at]);
    if (rank >= kMostWaiting) {
      first = std::max(first, last[rank - kMostWaiting] + 1);
    }
    occupied.upto(at);
    if (first <= op) {
      first = static_cast<std::int32_t>(
          occupied.first_free(static_cast<std::size_t>(first), at, (room - piece[at]).value));
    }
    if (first > last[rank]) {
      result.shortage = Shortage{.op = op, .excess = piece[at]};
      return result;
    }
    slot = first;
    occupied.issue(at, piece[at].value);
    ++result.issued_before[static_cast<std::size_t>(slot)];
  }
  std::partial_sum(result.issued_before.begin(), result.issued_before.end(),
                   result.issued_before.begin());
  return result;
}

}  // namespace elk::schedule
