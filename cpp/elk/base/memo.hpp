#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace elk {

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

/// Values of the keys put last, in a table that a processor's cache holds: where a value takes no
/// longer to find again than to fetch from memory. Two keys share a bucket, the older one is
/// forgotten. No key is 0.
template <class Value>
class RecentMemo {
 public:
  /// The value at `key`, null if none was put there, or too many others since.
  [[nodiscard]] const Value* find(std::uint64_t key) const {
    const Bucket& place = places_[at(key)];
    if (place.first.key == key) {
      return &place.first.value;
    }
    return place.second.key == key ? &place.second.value : nullptr;
  }

  /// Adds a value whose key is not there.
  void put(std::uint64_t key, Value value) {
    if (++count_ > places_.size() && places_.size() < kMostPlaces) {
      grow();
    }
    Bucket& place = places_[at(key)];
    place.second = std::exchange(place.first, {.key = key, .value = value});
  }

 private:
  static constexpr std::size_t kMostPlaces = std::size_t{1} << 14U;

  struct Entry {
    std::uint64_t key = 0;
    Value value{};
  };
  struct Bucket {
    Entry first;
    Entry second;
  };

  [[nodiscard]] std::size_t at(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15U) >> 24U) & (places_.size() - 1);
  }

  void grow() {
    std::vector<Bucket> old(places_.size() * 4);
    old.swap(places_);
    for (const Bucket& place : old) {
      for (const Entry& entry : {place.second, place.first}) {
        if (entry.key != 0) {
          put(entry.key, entry.value);
        }
      }
    }
    count_ = places_.size() / 4;
  }

  std::vector<Bucket> places_ = std::vector<Bucket>(64);  // a power of two
  std::size_t count_ = 0;                                 // put since the table grew
};

}  // namespace elk
