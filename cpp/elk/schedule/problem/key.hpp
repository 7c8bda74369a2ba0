#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace elk::schedule {

/// What a remembered cost or choice depends on, as numbers.
using Key = std::vector<std::int32_t>;

/// FNV-1a over the numbers. What is remembered is only looked up: no result depends on the order in
/// which a hash map holds it.
struct KeyHash {
  using is_transparent = void;

  std::size_t operator()(std::span<const std::int32_t> key) const {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const std::int32_t number : key) {
      hash = (hash ^ static_cast<std::uint32_t>(number)) * 0x100000001b3U;
    }
    return static_cast<std::size_t>(hash ^ (hash >> 32U));
  }
};

/// What lets a map find a key by numbers that lie anywhere.
struct KeyEqual {
  using is_transparent = void;

  bool operator()(std::span<const std::int32_t> a, std::span<const std::int32_t> b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
};

}  // namespace elk::schedule
