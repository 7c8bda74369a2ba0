#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
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

}  // namespace

Issue issue_in_order(const std::vector<Bytes>& base, const std::vector<Bytes>& piece,
                     const std::vector<std::int32_t>& order,
                     const std::vector<std::int32_t>& earliest, Bytes room) {
  Issue result{.issued_before = std::vector<std::int32_t>(base.size(), 0),
               .shortage = std::nullopt};
  std::vector<Bytes> used(base);  // at each execute, its own preload included
  for (std::size_t op = 0; op < base.size(); ++op) {
    used[op] += piece[op];
    if (used[op] > room) {
      result.shortage = Shortage{.op = static_cast<std::int32_t>(op), .excess = used[op] - room};
      return result;
    }
  }
  const std::vector<std::int32_t> last = last_slots(order);
  std::int32_t slot = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const std::int32_t op = order[rank];
    const auto at = static_cast<std::size_t>(op);
    std::int32_t first = std::max(slot, earliest[at]);
    if (rank >= kMostWaiting) {
      first = std::max(first, last[rank - kMostWaiting] + 1);
    }
    slot = op;
    while (slot > first && used[static_cast<std::size_t>(slot) - 1] + piece[at] <= room) {
      --slot;
    }
    if (slot > last[rank] || first > last[rank]) {
      result.shortage = Shortage{.op = op, .excess = piece[at]};
      return result;
    }
    slot = std::max(slot, first);
    for (std::int32_t execute = slot; execute < op; ++execute) {
      used[static_cast<std::size_t>(execute)] += piece[at];
    }
    ++result.issued_before[static_cast<std::size_t>(slot)];
  }
  std::partial_sum(result.issued_before.begin(), result.issued_before.end(),
                   result.issued_before.begin());
  return result;
}

}  // namespace elk::schedule
