#include "elk/schedule/problem/handover_table.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "elk/base/parallel.hpp"
#include "elk/partition/layout/piece.hpp"

namespace elk::schedule {

std::int32_t HandoverTable::number(partition::Layout layout) {
  if (const auto known = numbers_.find(layout); known != numbers_.end()) {
    return known->second;
  }
  const auto number = static_cast<std::int32_t>(layouts_.size());
  layouts_.push_back(std::make_shared<const partition::Layout>(std::move(layout)));
  numbers_.emplace(layouts_.back(), number);
  return number;
}

/// Takes those of `pairs` that earlier compiles worked out, and leaves the others.
void HandoverTable::recall(std::vector<LayoutPair>& pairs) {
  std::erase_if(pairs, [&](const LayoutPair& pair) {
    const auto found =
        kept_->find(handover_key(layout(pair.have), layout(pair.need), pair.bits, chip_));
    if (found) {
      known_.emplace(pair, *found);
    }
    return found.has_value();
  });
}

void HandoverTable::learn(std::vector<LayoutPair> pairs, int threads) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  std::erase_if(pairs, [&](const LayoutPair& pair) { return known_.contains(pair); });
  if (kept_ != nullptr) {
    recall(pairs);
  }
  std::vector<std::int32_t> spelled;
  for (const LayoutPair& pair : pairs) {
    spelled.push_back(pair.have);
    spelled.push_back(pair.need);
  }
  std::sort(spelled.begin(), spelled.end());
  spelled.erase(std::unique(spelled.begin(), spelled.end()), spelled.end());
  const auto pieces = parallel_map(
      spelled,
      [&](std::int32_t number) {
        return std::make_unique<const partition::Pieces>(layout(number));
      },
      threads);
  const auto pieces_of = [&](std::int32_t number) -> const partition::Pieces& {
    return *pieces[static_cast<std::size_t>(
        std::lower_bound(spelled.begin(), spelled.end(), number) - spelled.begin())];
  };
  const std::vector<partition::Handover> found = parallel_map(
      pairs,
      [&](const LayoutPair& pair) {
        const partition::Pieces& have = pieces_of(pair.have);
        const partition::Pieces& need = pieces_of(pair.need);
        if (counts_) {  // What moves is counted from the program's sends.
          const bool ready = partition::comparable(have.layout, need.layout) && same(have, need);
          return partition::Handover{.moved = {}, .in_place = ready};
        }
        return partition::handover(have, need, pair.bits, chip_);
      },
      threads);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    known_.emplace(pairs[i], found[i]);
    if (kept_ != nullptr) {
      kept_->put(handover_key(layout(pairs[i].have), layout(pairs[i].need), pairs[i].bits, chip_),
                 found[i], 1024);
    }
  }
}

}  // namespace elk::schedule
