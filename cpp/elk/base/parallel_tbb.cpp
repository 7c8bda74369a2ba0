#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include "elk/base/parallel.hpp"

namespace elk::detail {

/// Where the caller already runs among so many threads, they take this work, too: threads that wait
/// for work of an arena take none of another.
void run_on_threads(std::size_t count, int threads, const std::function<void(std::size_t)>& body) {
  const auto run = [&] { tbb::parallel_for(std::size_t{0}, count, body); };
  if (threads == 0 || threads == tbb::this_task_arena::max_concurrency()) {
    run();
    return;
  }
  tbb::task_arena arena(threads);
  arena.execute(run);
}

}  // namespace elk::detail
