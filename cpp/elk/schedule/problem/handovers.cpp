#include "elk/schedule/problem/handovers.hpp"

namespace elk::schedule {

std::size_t LayoutHash::operator()(const partition::Layout& layout) const {
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&](const auto& numbers) {
    for (const auto number : numbers) {
      std::uint64_t bits = 0;
      if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(number)>>) {
        bits = static_cast<std::uint64_t>(number);
      } else {
        bits = number.index();
      }
      hash = (hash ^ bits) * 0x100000001b3U;
    }
  };
  add(layout.shape);
  add(layout.size);
  add(layout.factors);
  add(layout.order);
  return static_cast<std::size_t>(hash ^ (hash >> 32U));
}

HandoverKey handover_key(const partition::Layout& have, const partition::Layout& need,
                         std::int64_t bits, const chip::Chip& chip) {
  return {.have = have,
          .need = need,
          .bits = bits,
          .cores = chip.core.count,
          .rows = chip.core.rows,
          .chips = chip.chips,
          .multicast = chip.interconnect.multicast};
}

}  // namespace elk::schedule
