#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace elk {

/// How many entries were found, of how many that were asked for.
struct Reuse {
  std::int64_t asked = 0;
  std::int64_t found = 0;
};

/// Values by all that they depend on, for several threads: what is found is the same whoever put it
/// there.
///
/// Its entries take so many bytes at most. Half of these are for what was put or found of late;
/// when that half is full it becomes the older half, and what nobody has found since goes.
template <class Key, class Value, class Hash = std::hash<Key>>
class Shelf {
 public:
  explicit Shelf(std::size_t most_bytes) : most_(most_bytes / 2) {}

  [[nodiscard]] std::optional<Value> find(const Key& key) {
    const std::scoped_lock lock(mutex_);
    ++reuse_.asked;
    if (const auto found = late_.find(key); found != late_.end()) {
      ++reuse_.found;
      return found->second.value;
    }
    auto found = early_.extract(key);
    if (found.empty()) {
      return std::nullopt;
    }
    ++reuse_.found;
    Value value = found.mapped().value;
    make_room(found.mapped().bytes);
    late_.insert(std::move(found));
    return value;
  }
  /// The value at a key, made and put there if it is not known yet. `bytes_of(value)`: about how
  /// many bytes it takes.
  template <class Make, class BytesOf>
  [[nodiscard]] Value find_or_make(Key key, const Make& make, const BytesOf& bytes_of) {
    if (std::optional<Value> known = find(key)) {
      return *std::move(known);
    }
    Value made = make();
    const std::size_t bytes = std::size(key) + bytes_of(made);
    put(std::move(key), made, bytes);
    return made;
  }
  /// Puts an entry of about so many bytes, its key included.
  void put(Key key, Value value, std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    make_room(bytes);
    late_.insert_or_assign(std::move(key), ShelfEntry{.value = std::move(value), .bytes = bytes});
  }
  [[nodiscard]] Reuse reuse() const {
    const std::scoped_lock lock(mutex_);
    return reuse_;
  }

 private:
  struct ShelfEntry {
    Value value;
    std::size_t bytes;
  };

  void make_room(std::size_t bytes) {
    if (held_ + bytes > most_) {
      early_ = std::exchange(late_, {});
      held_ = 0;
    }
    held_ += bytes;
  }

  mutable std::mutex mutex_;
  std::size_t most_;
  std::size_t held_ = 0;  // by late entries
  std::unordered_map<Key, ShelfEntry, Hash> late_;
  std::unordered_map<Key, ShelfEntry, Hash> early_;
  Reuse reuse_;
};

}  // namespace elk
