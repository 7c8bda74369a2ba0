#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "elk/chip/chip.hpp"
#include "elk/partition/layout.hpp"

namespace elk::schedule {

/// FNV-1a over what tells most layouts apart.
struct LayoutHash {
  std::size_t operator()(const partition::Layout& layout) const;
};

/// What cores move between two layouts, kept from one compile to the next: it depends on the cores
/// and the network of a chip, and not on its HBM. Threads may share it: what is found is the same
/// whoever put it there. When it is full, it starts afresh.
class Handovers {
 public:
  struct Key {
    partition::Layout have;
    partition::Layout need;
    std::int64_t bits;   // of an element
    std::int64_t cores;  // of a chip
    std::int64_t rows;   // of its grid
    std::int64_t chips;
    bool multicast;

    friend bool operator==(const Key&, const Key&) = default;
  };
  [[nodiscard]] static Key key(const partition::Layout& have, const partition::Layout& need,
                               std::int64_t bits, const chip::Chip& chip);

  [[nodiscard]] std::optional<partition::Handover> find(const Key& key);
  void put(Key key, const partition::Handover& handover);

  /// How many were found, of how many that were asked for.
  struct Counts {
    std::int64_t asked;
    std::int64_t found;
  };
  [[nodiscard]] Counts counts() const;

 private:
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  mutable std::mutex mutex_;
  std::unordered_map<Key, partition::Handover, KeyHash> known_;
  Counts counts_{.asked = 0, .found = 0};
};

}  // namespace elk::schedule
