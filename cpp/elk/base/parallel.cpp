#include "elk/base/parallel.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/watch.hpp"

namespace elk {

namespace {

/// The failure of the lowest index. Calls above a known failure need not run, calls below it must:
/// so the failure that is left at the end is the same on any number of threads.
class LowestFailure {
 public:
  explicit LowestFailure(std::size_t count) : index_(count) {}

  [[nodiscard]] bool makes_needless(std::size_t index) const {
    return index > index_.load(std::memory_order_relaxed);
  }

  void record(std::size_t index, std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (index < index_.load(std::memory_order_relaxed)) {
      index_.store(index, std::memory_order_relaxed);
      error_ = std::move(error);
    }
  }

  void rethrow() const {
    if (error_) {
      std::rethrow_exception(error_);
    }
  }

 private:
  std::atomic<std::size_t> index_;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

void parallel_for_index(std::size_t count, int threads,
                        const std::function<void(std::size_t)>& body) {
  if (threads < 0) {
    throw InvalidInput(text("threads must be 0 (one for each core) or more, got ", threads));
  }
  if (threads == 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) {
      Watch::check();
      body(i);
    }
    return;
  }
  LowestFailure failure(count);
  const Watch* const watch = WatchScope::now();
  detail::run_on_threads(count, threads, [&](std::size_t i) {
    if (failure.makes_needless(i)) {
      return;
    }
    try {
      const WatchScope same(watch);
      Watch::check();
      body(i);
    } catch (...) {
      failure.record(i, std::current_exception());
    }
  });
  failure.rethrow();
}

}  // namespace elk
