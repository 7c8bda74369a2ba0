#include "elk/schedule/handovers.hpp"

#include <utility>

namespace elk::schedule {
namespace {

constexpr std::size_t kMostKept = 16'384;  // about 1 KB each

}  // namespace

std::size_t LayoutHash::operator()(const partition::Layout& layout) const {
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&](const auto& numbers) {
    for (const auto number : numbers) {
      hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x100000001b3U;
    }
  };
  add(layout.shape);
  add(layout.size);
  add(layout.factors);
  add(layout.order);
  return static_cast<std::size_t>(hash ^ (hash >> 32U));
}

std::size_t Handovers::KeyHash::operator()(const Key& key) const {
  return (LayoutHash{}(key.have) * 31U) + LayoutHash{}(key.need);
}

Handovers::Key Handovers::key(const partition::Layout& have, const partition::Layout& need,
                              std::int64_t bits, const chip::Chip& chip) {
  return {.have = have,
          .need = need,
          .bits = bits,
          .cores = chip.core.count,
          .rows = chip.core.rows,
          .chips = chip.chips,
          .multicast = chip.interconnect.multicast};
}

std::optional<partition::Handover> Handovers::find(const Key& key) {
  const std::scoped_lock lock(mutex_);
  ++counts_.asked;
  const auto found = known_.find(key);
  if (found == known_.end()) {
    return std::nullopt;
  }
  ++counts_.found;
  return found->second;
}

void Handovers::put(Key key, const partition::Handover& handover) {
  const std::scoped_lock lock(mutex_);
  if (known_.size() >= kMostKept) {
    known_.clear();
  }
  known_.emplace(std::move(key), handover);
}

Handovers::Counts Handovers::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

}  // namespace elk::schedule
