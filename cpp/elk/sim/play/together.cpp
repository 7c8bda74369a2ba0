#include "elk/sim/play/together.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "elk/base/ids.hpp"

namespace elk::sim {

Demand together(const Demand& a, const Demand& b) {
  Demand out = a;
  out.latency += b.latency;
  out.crosses = a.crosses || b.crosses;
  out.received += b.received;
  out.hop_bytes += b.hop_bytes;
  out.chip_bytes += b.chip_bytes;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> known{{{0, 0}, 0}};
  out.kinds = {a.kinds.front()};
  for (std::size_t r = 0; r < out.kind_of.size(); ++r) {
    const std::pair<std::int32_t, std::int32_t> pair{a.kind_of[r], b.kind_of[r]};
    const auto [found, is_new] =
        known.try_emplace(pair, static_cast<std::int32_t>(out.kinds.size()));
    if (is_new) {
      const ResourceLoad& one = a.kinds[subscript(pair.first)];
      const ResourceLoad& other = b.kinds[subscript(pair.second)];
      out.kinds.push_back(pair.first > 0 ? one : other);
      if (pair.first > 0 && pair.second > 0) {
        out.kinds.back().amount += other.amount;
        out.kinds.back().tail += other.tail;
      }
    }
    out.kind_of[r] = found->second;
  }
  return out;
}

}  // namespace elk::sim
