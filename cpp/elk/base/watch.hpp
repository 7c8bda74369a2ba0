#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

namespace elk {

/// What `Watch::check` throws: nobody waits for the work any more. No error, for nothing is wrong.
class Abandoned : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "nobody waits for this work"; }
};

/// How far long work is, for whoever waits for it, and his word to end it: with the best so far
/// (`stopped`), or with nothing at all (`abandoned`). What is computed depends on neither until
/// then.
struct Watch {
  std::atomic<bool> stopped{false};
  std::atomic<bool> abandoned{false};
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

  /// Throws `Abandoned` if the calling thread works under a watch that says so. Whatever runs for
  /// longer than some milliseconds calls it as it goes on.
  static void check();
};

/// Puts a watch, or none, in force for the calling thread as long as it lives. `parallel_for_index`
/// hands the watch on to its threads: an argument through every function would say no more.
class WatchScope {
 public:
  explicit WatchScope(const Watch* watch) : before_(in_force) { in_force = watch; }
  ~WatchScope() { in_force = before_; }
  WatchScope(const WatchScope&) = delete;
  WatchScope& operator=(const WatchScope&) = delete;
  WatchScope(WatchScope&&) = delete;
  WatchScope& operator=(WatchScope&&) = delete;

  /// The watch that is in force for the calling thread; null: none.
  [[nodiscard]] static const Watch* now() { return in_force; }

 private:
  static inline thread_local const Watch* in_force = nullptr;
  const Watch* before_;
};

inline void Watch::check() {
  const Watch* watch = WatchScope::now();
  if (watch != nullptr && watch->abandoned.load(std::memory_order_relaxed)) {
    throw Abandoned();
  }
}

}  // namespace elk
