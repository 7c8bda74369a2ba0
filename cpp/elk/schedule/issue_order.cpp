#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "elk/schedule/evaluate.hpp"

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

/// Bytes in use at each execute, of which only the greatest in a run of executes matters mostly.
class Occupied {
 public:
  explicit Occupied(std::vector<std::int64_t> used)
      : used_(std::move(used)), runs_((used_.size() / kRun) + 1) {
    for (std::size_t at = 0; at < used_.size(); ++at) {
      Run& run = runs_[at / kRun];
      run.most = std::max(run.most, used_[at]);
    }
  }

  /// The first execute from `first` on such that from it to `end` nowhere more than `most` is used.
  [[nodiscard]] std::size_t first_free(std::size_t first, std::size_t end,
                                       std::int64_t most) const {
    while (end > first) {
      const Run& run = runs_[(end - 1) / kRun];
      const std::size_t begin = std::max(first, (end - 1) / kRun * kRun);
      if (run.most + run.more > most) {
        for (; end > begin; --end) {
          if (used_[end - 1] + run.more > most) {
            return end;
          }
        }
      }
      end = begin;
    }
    return first;
  }

  /// Adds to all from `first` to before `end`; what comes before `first` is never asked for again.
  void add(std::size_t first, std::size_t end, std::int64_t bytes) {
    const std::size_t whole = std::max(first, end / kRun * kRun);
    for (std::size_t run = first / kRun; run < end / kRun; ++run) {
      runs_[run].more += bytes;
    }
    for (std::size_t at = whole; at < end; ++at) {
      used_[at] += bytes;
      runs_[at / kRun].most = std::max(runs_[at / kRun].most, used_[at]);
    }
  }

 private:
  static constexpr std::size_t kRun = 8;
  struct Run {
    std::int64_t most = 0;  // of those in it, without
    std::int64_t more = 0;  // what all of them have beside
  };

  std::vector<std::int64_t> used_;
  std::vector<Run> runs_;
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
  Occupied occupied(std::move(used));
  const std::vector<std::int32_t> last = last_slots(order);
  std::int32_t slot = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const std::int32_t op = order[rank];
    const auto at = static_cast<std::size_t>(op);
    std::int32_t first = std::max(slot, earliest[at]);
    if (rank >= kMostWaiting) {
      first = std::max(first, last[rank - kMostWaiting] + 1);
    }
    if (first <= op) {
      first = static_cast<std::int32_t>(
          occupied.first_free(static_cast<std::size_t>(first), at, (room - piece[at]).value));
    }
    if (first > last[rank]) {
      result.shortage = Shortage{.op = op, .excess = piece[at]};
      return result;
    }
    slot = first;
    occupied.add(static_cast<std::size_t>(slot), at, piece[at].value);
    ++result.issued_before[static_cast<std::size_t>(slot)];
  }
  std::partial_sum(result.issued_before.begin(), result.issued_before.end(),
                   result.issued_before.begin());
  return result;
}

}  // namespace elk::schedule
