#include <algorithm>
#include <atomic>
#include <thread>

#include "elk/base/parallel.hpp"

namespace elk::detail {

void run_on_threads(std::size_t count, int threads, const std::function<void(std::size_t)>& body) {
  const std::size_t wanted = threads == 0 ? std::max(2U, std::thread::hardware_concurrency())
                                          : static_cast<std::size_t>(threads);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      body(i);
    }
  };
  std::vector<std::jthread> workers;
  for (std::size_t i = 1; i < std::min(wanted, count); ++i) {
    workers.emplace_back(work);
  }
  work();
}

}  // namespace elk::detail
