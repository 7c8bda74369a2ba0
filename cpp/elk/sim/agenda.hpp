#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "elk/base/units.hpp"

namespace elk::sim {

/// The times at which items are due: a heap of four children a node that finds, moves and removes
/// any item. Items due at the same time come in any order: whoever asks takes all of them.
class Agenda {
 public:
  /// Makes `item` due at `time`, whether it was due before or not.
  void set(std::int32_t item, Picoseconds time);

  /// Takes `item` off, if it is there.
  void remove(std::int32_t item);

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] Picoseconds first_time() const { return {entries_.front().time}; }
  [[nodiscard]] std::int32_t first() const { return entries_.front().item; }

 private:
  struct Entry {
    std::int64_t time;
    std::int32_t item;
  };

  void rise(std::size_t at, Entry entry);
  void sink(std::size_t at, Entry entry);
  [[nodiscard]] std::size_t least_child(std::size_t first) const;
  void put(std::size_t at, Entry entry);

  std::vector<Entry> entries_;
  std::vector<std::int32_t> place_;  // per item: index of its entry, or -1
};

}  // namespace elk::sim
