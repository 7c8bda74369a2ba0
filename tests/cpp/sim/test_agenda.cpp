#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/random.hpp"
#include "elk/sim/flows/agenda.hpp"

namespace elk::sim {
namespace {

/// An agenda beside a map that says what it must hold.
class Both {
 public:
  void set(std::int32_t item, std::int64_t time) {
    agenda_.set(item, {time});
    times_[item] = time;
  }

  void remove(std::int32_t item) {
    agenda_.remove(item);
    times_.erase(item);
  }

  /// Takes what is due first, and returns its time; -1 if nothing is due or the two do not agree.
  std::int64_t take_first() {
    if (agenda_.empty() || times_.empty()) {
      EXPECT_EQ(agenda_.empty(), times_.empty());
      return -1;
    }
    const std::int64_t time = agenda_.first_time().value;
    std::vector<std::int32_t> taken;
    agenda_.take_first(taken);
    for (const std::int32_t item : taken) {
      EXPECT_EQ(times_[item], time);
      times_.erase(item);
    }
    for (const auto& [item, due] : times_) {
      EXPECT_GT(due, time) << item;
    }
    return time;
  }

  [[nodiscard]] std::size_t size() const { return times_.size(); }

 private:
  Agenda agenda_;
  std::map<std::int32_t, std::int64_t> times_;
};

TEST(Agenda, TakesAllThatIsDueAtTheFirstTime) {
  Agenda agenda;
  agenda.set(0, {5});
  agenda.set(1, {3});
  agenda.set(2, {3});
  std::vector<std::int32_t> taken;
  agenda.take_first(taken);
  EXPECT_EQ(taken.size(), 2U);
  EXPECT_EQ(agenda.first_time(), Picoseconds{5});
}

TEST(Agenda, AnItemIsDueWhenItWasSetLast) {
  Both both;
  for (std::int32_t item = 0; item < 100; ++item) {
    both.set(item, 1000 + item);
  }
  both.set(50, 7);     // out of a bucket into the heap
  both.set(0, 5'000);  // out of the heap beyond all buckets
  both.remove(1);
  EXPECT_EQ(both.take_first(), 7);
  EXPECT_EQ(both.take_first(), 1002);
}

TEST(Agenda, IsInOrderWhateverIsSetMovedAndRemoved) {
  // Times spread evenly, in clusters, all equal, and with a few far ahead of the rest.
  for (const std::int64_t span : {1, 3, 1000, 1'000'000'000}) {
    Random random{3};
    Both both;
    std::int64_t now = 0;
    for (int step = 0; step < 3000; ++step) {
      const std::int64_t far = random.below(50) == 0 ? std::int64_t{1} << 50 : 0;
      const std::int64_t kind = random.below(8);
      const auto item = static_cast<std::int32_t>(random.below(step < 1500 ? 300 : 40));
      if (kind < 5) {
        both.set(item, now + random.below(span) + far);
      } else if (kind < 6) {
        both.remove(item);
      } else if (both.size() > 0) {
        const std::int64_t first = both.take_first();
        ASSERT_GE(first, now);
        now = first;
      }
    }
    while (both.size() > 0) {
      const std::int64_t first = both.take_first();
      ASSERT_GE(first, now);
      now = first;
    }
  }
}

TEST(Agenda, HoldsTheLastTimeThereIs) {
  Both both;
  for (std::int32_t item = 0; item < 100; ++item) {
    both.set(item, item < 50 ? INT64_MAX - item : item);
  }
  std::int64_t last = -1;
  for (int k = 0; k < 100; ++k) {
    const std::int64_t time = both.take_first();
    EXPECT_GT(time, last);
    last = time;
  }
  EXPECT_EQ(last, INT64_MAX);
}

}  // namespace
}  // namespace elk::sim
