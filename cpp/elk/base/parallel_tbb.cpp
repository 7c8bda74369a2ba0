#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include "elk/base/parallel.hpp"

namespace elk::detail {

void run_on_threads(std::size_t count, int threads, const std::function<void(std::size_t)>& body) {
  tbb::task_arena arena(threads == 0 ? tbb::task_arena::automatic : threads);
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, count, body); });
}

}  // namespace elk::detail
