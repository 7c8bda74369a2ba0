#pragma once

#include <atomic>
#include <cstdint>

namespace elk {

/// How far long work is, for whoever waits for it, and his word to end it with the best so far.
/// Nothing that is computed depends on it until it stops.
struct Watch {
  std::atomic<bool> stopped{false};
  std::atomic<std::int64_t> done{0};  // of `all`
  std::atomic<std::int64_t> all{0};   // grows as more is found to do

  /// Whether `watch` is there and was told to stop.
  [[nodiscard]] static bool stops(const Watch* watch) {
    return watch != nullptr && watch->stopped.load(std::memory_order_relaxed);
  }
  static void expect(Watch* watch, std::int64_t work) {
    if (watch != nullptr) {
      watch->all.fetch_add(work, std::memory_order_relaxed);
    }
  }
  static void advance(Watch* watch, std::int64_t work) {
    if (watch != nullptr) {
      watch->done.fetch_add(work, std::memory_order_relaxed);
    }
  }
};

}  // namespace elk
