#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/sim/flows/engine.hpp"
#include "sim/obvious.hpp"
#include "sim/played.hpp"

/// The engine on random loads, held against slower ones.
namespace elk::sim {
namespace {

/// Flows, computations and timers at random on a few resources.
struct RandomLoad {
  Machine machine;
  std::vector<std::vector<ResourceUse>> uses;
  std::vector<std::int64_t> bytes;
  std::vector<Picoseconds> start;
};

RandomLoad random_load(Random& random) {
  RandomLoad load;
  const std::int64_t resources = 2 + random.below(6);
  for (std::int64_t r = 0; r < resources; ++r) {
    load.machine.resources.push_back({.capacity = {1'000'000 * (1 + random.below(5000))},
                                      .sustained = {0},
                                      .refreshes = random.below(4) == 0});
  }
  load.machine.refresh = {.interval = {2'000'000}, .stall = {200'000}, .fresh = {0}};
  for (std::int64_t k = 0; k < 40; ++k) {
    std::vector<ResourceUse>& uses = load.uses.emplace_back();
    for (std::int32_t r = 0; r < resources; ++r) {
      if (random.below(3) == 0 || (r + 1 == resources && uses.empty())) {
        uses.push_back({ResourceId{r}, 1 + static_cast<std::int32_t>(random.below(3))});
      }
    }
    load.bytes.push_back(random.below(5000));
    load.start.push_back({1'000'000 * random.below(4)});  // many at one time
  }
  return load;
}

std::vector<Event> play(const RandomLoad& load, const std::vector<std::size_t>& order) {
  Engine engine(load.machine);
  for (const std::size_t k : order) {
    const auto tag = static_cast<Tag>(k);
    if (k % 5 == 0) {
      engine.start(
          Computation{
              .tag = tag, .alone = {load.bytes[k] * 100}, .port = load.uses[k].front().resource},
          load.start[k]);
    } else if (k % 7 == 0) {
      engine.start_timer(tag, load.start[k]);
    } else {
      engine.start(plain(tag, load.bytes[k], load.uses[k]), load.start[k]);
    }
  }
  return play(engine);
}

std::vector<std::size_t> in_order(std::size_t count) {
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < count; ++k) {
    order.push_back(k);
  }
  return order;
}

TEST(EngineOnRandomLoads, ShuffledInsertionChangesNothing) {
  Random random{3};
  for (int round = 0; round < 300; ++round) {
    const RandomLoad load = random_load(random);
    std::vector<std::size_t> order = in_order(load.bytes.size());
    const std::vector<Event> events = play(load, order);
    for (std::size_t k = order.size(); k > 1; --k) {
      std::swap(order[k - 1],
                order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(k)))]);
    }
    EXPECT_EQ(play(load, order), events);
  }
}

TEST(EngineOnRandomLoads, NoResourceMovesMoreThanItCanAndEveryByteArrives) {
  Random random{4};
  for (int round = 0; round < 300; ++round) {
    const RandomLoad load = random_load(random);
    Engine engine(load.machine);
    std::vector<std::int64_t> sent(load.machine.resources.size(), 0);
    for (std::size_t k = 0; k < load.bytes.size(); ++k) {
      engine.start(plain(static_cast<Tag>(k), load.bytes[k], load.uses[k]), load.start[k]);
      for (const ResourceUse& use : load.uses[k]) {
        sent[use.resource.index()] += use.weight * load.bytes[k];
      }
    }
    EXPECT_EQ(play(engine).size(), load.bytes.size());
    for (std::size_t r = 0; r < sent.size(); ++r) {
      EXPECT_EQ(engine.carried(id_at<ResourceId>(r)).value, sent[r]);
      const std::int64_t rate = load.machine.resources[r].capacity.value;
      EXPECT_LE(Wide{sent[r]} * 1'000'000'000'000, Wide{rate} * engine.now().value);
    }
  }
}

/// An engine the slow way: all shares anew at every event, in exact fractions. As the engine does,
/// it lets a flow end at the first whole picosecond at which nothing of it is left.
class SlowEngine {
 public:
  explicit SlowEngine(const RandomLoad& load)
      : load_(load), end_(load.bytes.size(), Picoseconds{-1}) {
    for (const std::int64_t bytes : load.bytes) {
      left_.emplace_back(bytes, 1);
    }
  }

  std::vector<Picoseconds> play() {
    while (step()) {
    }
    return end_;
  }

 private:
  bool step() {
    const std::vector<std::size_t> active = share();
    std::int64_t next = std::numeric_limits<std::int64_t>::max();
    for (const Picoseconds start : load_.start) {
      next = start > now_ ? std::min(next, start.value) : next;
    }
    for (std::size_t a = 0; a < active.size(); ++a) {
      const Fraction time = left_[active[a]] / speed_[a];
      const Wide whole = (time.num + time.den - 1) / time.den;
      next = std::min(next, now_.value + static_cast<std::int64_t>(whole));
    }
    if (next == std::numeric_limits<std::int64_t>::max()) {
      return false;
    }
    for (std::size_t a = 0; a < active.size(); ++a) {
      Fraction& left = left_[active[a]];
      left = left - (speed_[a] * Fraction{next - now_.value, 1});
      if (!(Fraction{0, 1} < left)) {
        end_[active[a]] = {next};
      }
    }
    now_ = {next};
    return true;
  }

  /// The flows under way, and into `speed_` their bytes a picosecond.
  std::vector<std::size_t> share() {
    FlowSet sharing;
    std::vector<std::size_t> active;
    for (const Resource& resource : load_.machine.resources) {
      sharing.capacity.push_back(resource.capacity.value / 1'000'000'000'000);
    }
    sharing.begin.push_back(0);
    for (std::size_t k = 0; k < left_.size(); ++k) {
      if (load_.start[k] <= now_ && end_[k] < Picoseconds{0}) {
        active.push_back(k);
        sharing.cap.push_back(0);
        sharing.uses.insert(sharing.uses.end(), load_.uses[k].begin(), load_.uses[k].end());
        sharing.begin.push_back(static_cast<std::int32_t>(sharing.uses.size()));
      }
    }
    speed_ = obvious_shares(sharing);
    return active;
  }

  const RandomLoad& load_;
  std::vector<Fraction> left_;
  std::vector<Fraction> speed_;
  std::vector<Picoseconds> end_;
  Picoseconds now_{0};
};

/// Bytes and uses as of an exchange: some flows equal, all of one resource or a few.
RandomLoad random_exchange(Random& random) {
  RandomLoad load;
  const std::int64_t resources = 4 + random.below(6);
  const std::int64_t rate = (1 + random.below(12)) * 1'000'000'000'000;
  for (std::int64_t r = 0; r < resources; ++r) {
    load.machine.resources.push_back(steady({(1 + random.below(2)) * rate}));
  }
  const std::int64_t flows = 4 + random.below(9);
  for (std::int64_t k = 0; k < flows; ++k) {
    const std::int64_t from = random.below(resources);
    load.uses.push_back({{id_at<ResourceId>(from), 1}});
    if (random.below(3) > 0) {
      const std::int64_t to = (from + 1 + random.below(resources - 1)) % resources;
      load.uses.back().push_back({id_at<ResourceId>(to), 1});
    }
    load.bytes.push_back(random.below(2) == 0 ? 120 : 1 + random.below(500));
    load.start.push_back({40 * random.below(3)});
  }
  return load;
}

void expect_the_ends_of_a_slow_engine(const RandomLoad& load) {
  Engine engine(load.machine);
  for (std::size_t k = 0; k < load.bytes.size(); ++k) {
    engine.start(plain(static_cast<Tag>(k), load.bytes[k], load.uses[k]), load.start[k]);
  }
  const std::vector<Picoseconds> expected = SlowEngine(load).play();
  for (const Event& event : play(engine)) {
    ASSERT_EQ(event.time, expected[static_cast<std::size_t>(event.tag)]);
  }
}

TEST(EngineOnRandomLoads, AGlanceAtWhatChangedFindsTheSharesOfASlowEngine) {
  Random random{11};
  for (int round = 0; round < 3000; ++round) {
    const RandomLoad load = random_exchange(random);
    SCOPED_TRACE(round);
    expect_the_ends_of_a_slow_engine(load);
  }
}

TEST(EngineOnRandomLoads, EndsAreThoseOfASlowEngineInExactFractions) {
  // Rates of 1 to 12 bytes a picosecond, up to six flows of up to 500 bytes that start at 0 or 40
  // ps.
  Random random{6};
  for (int round = 0; round < 3000; ++round) {
    RandomLoad load;
    const std::int64_t resources = 1 + random.below(4);
    for (std::int64_t r = 0; r < resources; ++r) {
      load.machine.resources.push_back(steady({(1 + random.below(12)) * 1'000'000'000'000}));
    }
    const std::int64_t flows = 1 + random.below(6);
    for (std::int64_t k = 0; k < flows; ++k) {
      std::vector<ResourceUse>& uses = load.uses.emplace_back();
      for (std::int32_t r = 0; r < resources; ++r) {
        if (random.below(2) == 0 || (r + 1 == resources && uses.empty())) {
          uses.push_back({ResourceId{r}, 1 + static_cast<std::int32_t>(random.below(2))});
        }
      }
      load.bytes.push_back(1 + random.below(500));
      load.start.push_back({40 * random.below(2)});
    }
    SCOPED_TRACE(round);
    expect_the_ends_of_a_slow_engine(load);
  }
}

}  // namespace
}  // namespace elk::sim
