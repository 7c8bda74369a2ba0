#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <type_traits>
#include <vector>

namespace elk {

/// Calls `body(i)` once for each `i` in `[0, count)`, on at most `threads` threads: 0 is one for
/// each core, 1 is the calling thread alone, in order. Calls share nothing but what `body` shares.
/// If calls throw, what the lowest `i` threw is thrown again, after the other calls have ended. All
/// calls run under the watch of the calling thread, and none begins once that is abandoned.
void parallel_for_index(std::size_t count, int threads,
                        const std::function<void(std::size_t)>& body);

/// `function` of each item, in the order of the items. The answer does not depend on `threads`,
/// which is as in parallel_for_index.
template <class Items, class Function>
[[nodiscard]] auto parallel_map(const Items& items, const Function& function, int threads = 0) {
  using Result = std::remove_cvref_t<decltype(function(*std::begin(items)))>;
  static_assert(!std::is_same_v<Result, bool>, "slots of vector<bool> share bytes: return char");
  std::vector<Result> results(std::size(items));
  parallel_for_index(results.size(), threads,
                     [&](std::size_t i) { results[i] = function(items[i]); });
  return results;
}

namespace detail {

/// Runs `body`, which does not throw, on `threads` threads (0: one for each core).
void run_on_threads(std::size_t count, int threads, const std::function<void(std::size_t)>& body);

}  // namespace detail

}  // namespace elk
