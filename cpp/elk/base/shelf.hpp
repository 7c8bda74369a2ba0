#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
/// there. When it is full, it starts afresh.
template <class Key, class Value, class Hash = std::hash<Key>>
class Shelf {
 public:
  explicit Shelf(std::size_t most) : most_(most) {}

  [[nodiscard]] std::optional<Value> find(const Key& key) {
    const std::scoped_lock lock(mutex_);
    ++reuse_.asked;
    const auto found = values_.find(key);
    if (found == values_.end()) {
      return std::nullopt;
    }
    ++reuse_.found;
    return found->second;
  }
  void put(Key key, const Value& value) {
    const std::scoped_lock lock(mutex_);
    if (values_.size() >= most_) {
      values_.clear();
    }
    values_.emplace(std::move(key), value);
  }
  [[nodiscard]] Reuse reuse() const {
    const std::scoped_lock lock(mutex_);
    return reuse_;
  }

 private:
  mutable std::mutex mutex_;
  std::size_t most_;
  std::unordered_map<Key, Value, Hash> values_;
  Reuse reuse_;
};

}  // namespace elk
