#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace elk::cost {

/// Values by a 64-bit key: open addressing, never erased, asked for by key alone, so that no answer
/// depends on the order within.
template <class Value>
class Memo {
 public:
  /// The value at `key`, null if none was put there.
  [[nodiscard]] const Value* find(std::uint64_t key) const {
    for (std::size_t i = first(key);; i = next(i)) {
      if (!entries_[i].used) {
        return nullptr;
      }
      if (entries_[i].key == key) {
        return &entries_[i].value;
      }
    }
  }

  /// Adds a value whose key is not known yet.
  void put(std::uint64_t key, Value value) {
    if (2 * (count_ + 1) > entries_.size()) {
      grow();
    }
    std::size_t i = first(key);
    while (entries_[i].used) {
      i = next(i);
    }
    entries_[i] = {.key = key, .value = value, .used = true};
    ++count_;
  }

 private:
  struct Entry {
    std::uint64_t key;
    Value value;
    bool used;
  };

  /// Multiplicative hashing (Knuth, TAOCP 3, 6.4): the high bits of the product.
  [[nodiscard]] std::size_t first(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15U) >> 24U) & (entries_.size() - 1);
  }
  [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & (entries_.size() - 1); }

  void grow() {
    std::vector<Entry> old(entries_.size() * 4);
    old.swap(entries_);
    count_ = 0;
    for (const Entry& entry : old) {
      if (entry.used) {
        put(entry.key, entry.value);
      }
    }
  }

  std::vector<Entry> entries_ = std::vector<Entry>(256);  // a power of two
  std::size_t count_ = 0;
};

}  // namespace elk::cost
