#pragma once

#include <cstddef>
#include <cstdint>

#include "elk/base/shelf.hpp"
#include "elk/chip/chip.hpp"
#include "elk/partition/layout/layout.hpp"

namespace elk::schedule {

/// FNV-1a over what tells most layouts apart.
struct LayoutHash {
  std::size_t operator()(const partition::Layout& layout) const;
};

/// What cores move between two layouts depends on the cores and the network of a chip, and not on
/// its HBM.
struct HandoverKey {
  partition::Layout have;
  partition::Layout need;
  std::int64_t bits;   // of an element
  std::int64_t cores;  // of a chip
  std::int64_t rows;   // of its grid
  std::int64_t chips;
  bool multicast;

  friend bool operator==(const HandoverKey&, const HandoverKey&) = default;
};
[[nodiscard]] HandoverKey handover_key(const partition::Layout& have, const partition::Layout& need,
                                       std::int64_t bits, const chip::Chip& chip);

struct HandoverHash {
  std::size_t operator()(const HandoverKey& key) const {
    return (LayoutHash{}(key.have) * 31U) + LayoutHash{}(key.need);
  }
};

/// Kept from one compile to the next.
using Handovers = Shelf<HandoverKey, partition::Handover, HandoverHash>;

}  // namespace elk::schedule
