#include <atomic>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/base/parallel.hpp"
#include "elk/base/text.hpp"
#include "elk/base/watch.hpp"

namespace elk {
namespace {

constexpr int kThreads[] = {0, 1, 2, 7};

TEST(ParallelForIndex, CallsEachIndexOnce) {
  for (const int threads : kThreads) {
    std::vector<std::atomic<int>> calls(1000);
    parallel_for_index(calls.size(), threads, [&](std::size_t i) { ++calls[i]; });
    for (const std::atomic<int>& count : calls) {
      EXPECT_EQ(count, 1);
    }
  }
}

TEST(ParallelForIndex, DoesNothingForNothing) {
  parallel_for_index(0, 0, [](std::size_t) { FAIL(); });
}

TEST(ParallelForIndex, RefusesANegativeThreadCount) {
  EXPECT_THROW(parallel_for_index(3, -1, [](std::size_t) {}), InvalidInput);
}

TEST(ParallelForIndex, ThrowsWhatTheLowestIndexThrew) {
  for (const int threads : kThreads) {
    std::string message;
    try {
      parallel_for_index(500, threads, [](std::size_t i) {
        if (i % 100 == 37) {
          throw Infeasible(text("at ", i));
        }
      });
    } catch (const Infeasible& error) {
      message = error.what();
    }
    EXPECT_EQ(message, "at 37");
  }
}

TEST(ParallelForIndex, RunsInsideItself) {
  for (const int threads : kThreads) {
    std::atomic<int> calls{0};
    parallel_for_index(8, threads, [&](std::size_t) {
      parallel_for_index(8, threads, [&](std::size_t) { ++calls; });
    });
    EXPECT_EQ(calls, 64);
  }
}

/// Whether two calls within the second of two calls run at the same time, the first being over.
bool meet_within(int threads) {
  std::atomic<int> begun{0};
  std::atomic<bool> met{false};
  parallel_for_index(2, threads, [&](std::size_t outer) {
    if (outer == 0) {
      return;
    }
    parallel_for_index(2, threads, [&](std::size_t) {
      ++begun;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (begun < 2 && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
      }
      met = begun == 2;
    });
  });
  return met;
}

TEST(ParallelForIndex, HasThreadsThatWaitTakeWorkFromWithin) {
  if (std::thread::hardware_concurrency() < 2) {
    GTEST_SKIP() << "one thread has nobody to meet";
  }
  for (const int threads : {0, 2}) {
    EXPECT_TRUE(meet_within(threads)) << threads << " threads";
  }
}

TEST(ParallelForIndex, EndsWithinItselfWhenItsWatchIsAbandoned) {
  for (const int threads : kThreads) {
    Watch watch;
    std::atomic<int> calls{0};
    const auto work = [&] {
      const WatchScope scope(&watch);
      parallel_for_index(64, threads, [&](std::size_t) {
        parallel_for_index(64, threads, [&](std::size_t) {
          watch.abandoned = true;
          ++calls;
        });
      });
    };
    EXPECT_THROW(work(), Abandoned) << threads << " threads";
    EXPECT_LT(calls, 64 * 64);
    EXPECT_EQ(WatchScope::now(), nullptr);
  }
}

TEST(ParallelForIndex, WorksOnUnderNoWatchOrAnother) {
  for (const int threads : kThreads) {
    Watch abandoned;
    abandoned.abandoned = true;
    const Watch other;
    const WatchScope outer(&abandoned);
    const WatchScope inner(&other);
    std::atomic<int> calls{0};
    parallel_for_index(64, threads, [&](std::size_t) { ++calls; });
    EXPECT_EQ(calls, 64);
  }
}

TEST(ParallelMap, AnswersInTheOrderOfTheItems) {
  std::vector<int> items(1000);
  std::iota(items.begin(), items.end(), 0);
  const auto square = [](int x) { return x * x; };
  const std::vector<int> serial = parallel_map(items, square, 1);
  EXPECT_EQ(serial[31], 961);
  for (const int threads : kThreads) {
    EXPECT_EQ(parallel_map(items, square, threads), serial);
  }
}

}  // namespace
}  // namespace elk
