#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rounds.hpp"
#include "chip/chips.hpp"
#include "compile/met_gathers.hpp"
#include "elk/base/random.hpp"
#include "elk/base/rounding.hpp"

/// The arithmetic of `gather_bound` on random programs, held against the simulator.
namespace elk::schedule {
namespace {

constexpr double kExact = 1.0 - 1e-6;  // ends are rounded up to picoseconds

GatherPrices random_prices(Random& random, double longest) {
  const double passing = 1e-3 + (0.99 * random.uniform());
  const bool most = random.below(2) == 0;
  const double meeting = (1.0 - passing) * (most ? 1.0 : 1e-3 + (0.999 * random.uniform()));
  return {.passing = passing, .meeting = meeting, .shield = 2.0 * longest * random.uniform()};
}

/// The best of random prices, and of ever smaller steps from there.
GatherPrices best_prices(const Counted& all, Random& random) {
  GatherPrices best = random_prices(random, all.longest);
  double most = bound(all, best);
  const auto consider = [&](const GatherPrices& prices) {
    const double sum = bound(all, prices);
    if (sum > most) {
      most = sum;
      best = prices;
    }
  };
  for (int round = 0; round < 16; ++round) {
    consider(random_prices(random, all.longest));
  }
  for (double step = 0.4; step > 5e-3; step *= 0.7) {
    for (const double by : {-step, step}) {
      const double part = best.meeting / (1.0 - best.passing);
      const double passing = std::clamp(best.passing * (1.0 + by), 1e-4, 0.999);
      consider({passing, part * (1.0 - passing), best.shield});
      consider(
          {best.passing, std::clamp(part + by, 1e-3, 1.0) * (1.0 - best.passing), best.shield});
      consider({best.passing, best.meeting, std::max(0.0, best.shield + (by * all.longest))});
    }
  }
  return best;
}

/// A stretch of an execute.
struct Stretch {
  double time;  // alone
  bool data;    // whether an exchange carries data
};

/// Makes settings.
class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_{seed} {}

  /// Anything.
  Setting any() {
    Setting made = empty();
    for (std::int64_t& runs : made.runs) {
      runs += odd(4) ? random_.below(3) : 0;
    }
    const std::size_t ops = 1 + below(odd(6) ? 40 : 10);
    const std::size_t ahead = 1 + below(8);
    for (std::size_t number = 0; number < ops; ++number) {
      made.ops.push_back(op());
      enqueue(made, number, number - std::min(number, below(ahead)));
    }
    return made;
  }

  /// Equal ops, beside which jobs pass up to some point of each or of each few.
  Setting steady() {
    Setting made = empty();
    const std::size_t few = odd(2) ? 1 : 1 + below(4);
    const std::size_t ops = few * (1 + below(6));
    Operator one = op();
    const std::size_t spared = odd(3) ? below(cores_) : cores_;
    if (spared < cores_ && one.sharers == 1) {
      one.gather[spared] = 0;
    }
    made.ops.assign(ops, one);
    made.ops.push_back({Amounts(cores_, 0), {}, Amounts(cores_, 0), {1}, 1, false});
    const double port = odd(2) ? 1.0 : std::max(std::min(1.0, filled_), random_.uniform());
    const std::vector<Stretch> stretches = all_of(made, few);
    const std::size_t each = stretches.size() / few;
    const std::size_t last = stretches.size() - (odd(2) ? 0 : below(each));
    const std::int64_t shield = random_.below(3);
    for (std::size_t begin = 0; begin < ops; begin += few) {
      const std::size_t first = shield > 0 ? std::min<std::size_t>(2, last) : 0;
      const Passage before{stretches, 0, first, shield == 1 ? filled_ / 4.0 : 0.0};
      push_shield(made, begin, passing(before), shield == 1, spared);
      push_even(made, begin, passing({stretches, first, last, port}), port);
    }
    return made;
  }

 private:
  bool odd(std::int64_t of) { return random_.below(of) == 0; }
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(bound)));
  }
  /// Whole picoseconds.
  static Seconds whole(double seconds) { return to_seconds(sim::to_latency({seconds})); }

  Setting empty() {
    chip::Chip made = chip::small_chip();
    cores_ = 4 + below(29);
    made.core.count = static_cast<std::int64_t>(cores_);
    made.core.remote_access_blocks = odd(4);
    made.interconnect.link_rate = static_cast<double>(1 + random_.below(8)) * 1e9;
    made.core.sram_rate = made.interconnect.link_rate * (odd(2) ? 1.0 : 4.0);
    filled_ = 0.1 + (1.9 * random_.uniform() * random_.uniform());
    made.hbm->rate =
        std::floor(filled_ * made.interconnect.link_rate * static_cast<double>(cores_));
    made.hbm->port_rate = made.hbm->rate;
    unit_ = 512.0 / made.interconnect.link_rate;
    made.interconnect.sync_latency = whole(odd(4) ? 0.0 : unit_ * random_.uniform());
    made.interconnect.fragment_latency = whole(odd(2) ? 0.0 : 0.1 * unit_ * random_.uniform());
    made.hbm->latency = whole(odd(2) ? 0.0 : 2.0 * unit_ * random_.uniform());
    latency_ = made.hbm->latency.value;
    late_ = latency_ - made.interconnect.sync_latency.value;
    rate_ = made.hbm->rate;
    return {.chip = made, .ops = {}, .queue = {}, .runs = Amounts(cores_, 1)};
  }

  /// Bytes of every core, `most` of the busiest.
  Amounts amounts(std::int64_t most) {
    Amounts made(cores_, most);
    const std::int64_t kind = random_.below(8);
    const std::size_t one = below(cores_);
    for (std::size_t core = 0; core < cores_; ++core) {
      const bool few = odd(4);
      const bool spared = (kind == 2 && core != one) || (kind == 3 && !few && core != one) ||
                          (kind == 4 && core % 2 != one % 2);
      made[core] = spared ? 0 : most;
      made[core] = kind == 5 && few ? ceil_div(most, 2) : made[core];
    }
    return made;
  }

  /// Nothing, a little, what comes by the time that the HBM is late, or more.
  Amounts exchanged() {
    const std::int64_t kind = random_.below(8);
    if (kind == 0) {
      return Amounts(cores_, 0);
    }
    const double late = 512.0 * std::max(0.0, late_) / unit_;
    return kind == 1 ? Amounts(cores_, 1 + static_cast<std::int64_t>(late))
                     : amounts(1 + random_.below(kind == 2 ? 16 : 2048));
  }

  Operator op() {
    const double most = odd(4) ? 0.05 : 8.0;
    const double time = unit_ * (0.01 + (most * random_.uniform()));
    Operator made{.gather = exchanged(),
                  .shifts = {},
                  .reduce = odd(4) ? exchanged() : Amounts(cores_, 0),
                  .compute = sim::to_latency({time}),
                  .sharers = 1,
                  .hot = odd(16)};
    if (odd(4)) {
      turn(made);
    } else if (odd(4)) {
      made.shifts.assign(1 + below(4), exchanged());
    }
    return made;
  }

  /// Has each core gather one of several parts, and receive the others in shifts.
  void turn(Operator& op) {
    op.sharers = 2 + random_.below(24);
    const std::int64_t steps = 1 + random_.below(op.sharers);
    const std::int64_t all = op.sharers * steps * (1 + random_.below(16));  // needed by a core
    op.gather.assign(cores_, (all / steps) - (all / op.sharers));
    op.shifts.assign(static_cast<std::size_t>(steps - 1), Amounts(cores_, all / steps));
    op.compute.value = ceil_div(op.compute.value, steps);
  }

  void enqueue(Setting& setting, std::size_t op, std::size_t before) {
    before = setting.queue.empty() ? before : std::max(before, setting.queue.back().before);
    if (odd(4)) {  // A shield.
      push(setting, {before, op, few_bytes(), 0, sim::kHbmWeight});
    }
    if (odd(4)) {
      const Amounts bytes = odd(2) ? few_bytes() : amounts(1 + random_.below(1024));
      const auto slower = static_cast<std::int32_t>(1 + below(4));
      push(setting, {before, kNoOp, bytes, 0, sim::kHbmWeight * slower});
    }
    if (!odd(6)) {
      Amounts bytes = amounts(1 + random_.below(odd(8) ? 32768 : 4096));
      for (std::size_t core = 0; core < cores_ && odd(6); ++core) {
        bytes[core] = setting.ops[op].gather[core] > 0 ? 0 : bytes[core];
      }
      push(setting, {before, op, moves(bytes) ? bytes : few_bytes(), 0, sim::kHbmWeight});
    }
  }

  Amounts few_bytes() {
    Amounts made(cores_, 0);
    made[below(cores_)] = 1 + random_.below(64);
    return made;
  }

  /// Each byte of the HBM goes to one core or to several.
  void push(Setting& setting, Queued one) {
    const std::int64_t all = std::accumulate(one.bytes.begin(), one.bytes.end(), std::int64_t{0});
    const std::int64_t most = *std::max_element(one.bytes.begin(), one.bytes.end());
    if (one.hbm > 0) {
      one.hbm = std::clamp(one.hbm, most, all);
    } else {
      one.hbm = one.of == kNoOp || odd(3) ? all : most + random_.below(all - most + 1);
    }
    setting.queue.push_back(std::move(one));
  }

  [[nodiscard]] static std::vector<Stretch> all_of(const Setting& setting, std::size_t ops) {
    std::vector<Stretch> all;
    for (std::size_t number = 0; number < ops; ++number) {
      const Operator& op = setting.ops[number];
      add_exchange(setting, op.gather, all);
      all.push_back({to_seconds(op.compute).value, false});
      for (const Amounts& shift : op.shifts) {
        add_exchange(setting, shift, all);
        all.push_back({to_seconds(op.compute).value, false});
      }
      add_exchange(setting, op.reduce, all);
    }
    return all;
  }

  static void add_exchange(const Setting& setting, const Amounts& bytes,
                           std::vector<Stretch>& all) {
    if (moves(bytes)) {
      all.push_back({setting.chip.interconnect.sync_latency.value, false});
      all.push_back({busiest(setting, bytes), true});
      all.push_back({tail(setting, bytes), false});
    }
  }

  struct Passage {
    const std::vector<Stretch>& stretches;
    std::size_t first;
    std::size_t last;
    double port;  // share that it needs of each
  };

  /// What passes meanwhile of a job, in seconds that it takes alone.
  [[nodiscard]] double passing(const Passage& passage) const {
    const double pace = std::min(1.0, 0.5 / std::max(0.5, passage.port));
    double wait = passage.first == 0 ? latency_ : 0.0;
    double sum = 0.0;
    for (std::size_t at = passage.first; at < passage.last; ++at) {
      const Stretch& stretch = passage.stretches[at];
      const double rest = std::max(0.0, stretch.time - wait);
      wait = std::max(0.0, wait - stretch.time);
      sum += stretch.data ? rest * pace / (1.0 - (pace * passage.port)) : rest;
    }
    return sum;
  }

  void push_even(Setting& setting, std::size_t before, double time, double port) {
    const std::size_t jobs = 1 + below(3);
    const double rate = setting.chip.interconnect.link_rate;
    const double each = time / static_cast<double>(jobs);
    const auto bytes = static_cast<std::int64_t>(each * port * rate);
    for (std::size_t job = 0; job < jobs && bytes > 0; ++job) {
      push(setting, {before, setting.ops.size() - 1, Amounts(cores_, bytes),
                     static_cast<std::int64_t>(each * rate_), sim::kHbmWeight});
    }
  }

  void push_shield(Setting& setting, std::size_t before, double time, bool store,
                   std::size_t core) {
    const double rate = setting.chip.interconnect.link_rate;
    if (store) {
      const double part = rate_ / (4.0 * static_cast<double>(cores_));
      const auto bytes = static_cast<std::int64_t>(time * part);
      if (bytes > 0) {
        push(setting, {before, kNoOp, Amounts(cores_, bytes), 0, 4 * sim::kHbmWeight});
      }
      return;
    }
    Amounts one(cores_, 0);
    one[core < cores_ ? core : 0] = static_cast<std::int64_t>(time * std::min(rate, rate_));
    if (moves(one)) {
      push(setting, {before, setting.ops.size() - 1, one, 0, sim::kHbmWeight});
    }
  }

  Random random_;
  std::size_t cores_ = 0;
  double unit_ = 0.0;     // seconds in which a port passes 512 bytes
  double late_ = 0.0;     // by which its data come after a sync
  double latency_ = 0.0;  // of the HBM
  double rate_ = 0.0;     // of the HBM
  double filled_ = 0.0;   // share of all ports that it fills
};

/// How often the best bound says more than executes by themselves, and all but what is.
struct Tally {
  int more = 0;
  int close = 0;
};

void check(const Setting& setting, std::uint64_t seed, Tally& tally) {
  const Counted all = counted(setting);
  const double time = Played(setting, sim::Fidelity::Core).time();
  const double folded = Played(setting, sim::Fidelity::Symmetric).time();
  Random random{seed + 1'000'000};
  for (int one = 0; one < 8; ++one) {
    const GatherPrices prices =
        one == 0 ? best_prices(all, random) : random_prices(random, all.longest);
    const double least = bound(all, prices) * kExact;
    ASSERT_LE(least, time) << seed;
    ASSERT_LE(least, folded) << seed;
    tally.more += one == 0 && least > 1.02 * executes(all) ? 1 : 0;
    tally.close += one == 0 && least > 0.97 * time ? 1 : 0;
  }
}

Tally checked(int rounds, Setting (Maker::*made)()) {
  Tally tally;
  for (int round = 0; round < rounds && !testing::Test::HasFatalFailure(); ++round) {
    const auto seed = static_cast<std::uint64_t>(round);
    Maker maker(seed);
    check((maker.*made)(), seed, tally);
  }
  return tally;
}

TEST(GatherBound, HoldsForAnyProgram) {
  const int rounds = test::rounds(800);
  EXPECT_GE(checked(rounds, &Maker::any).more, rounds / 4);
}

TEST(GatherBound, ComesCloseWhereJobsFillWhatExecutesLeave) {
  const int rounds = test::rounds(2000);
  const Tally tally = checked(rounds, &Maker::steady);
  EXPECT_GE(tally.more, rounds / 4);
  EXPECT_GE(tally.close, rounds / 4);
}

TEST(GatherBound, CountsOpsThatGatherAtOnceInOneTerm) {
  Random random{3};
  for (int round = 0; round < 200; ++round) {
    const Counted all = counted(Maker(random.next()).any());
    const GatherPrices prices = random_prices(random, all.longest);
    for (std::size_t op = 0; op < all.ops.size(); ++op) {
      const double one = at_once(all.ops[op], prices, all.ports);
      EXPECT_NEAR(counted_executes(all.ops[op], prices, all.ports).whole, one, 1e-15);
    }
  }
}

/// Operands that as many cores share, each preloaded in part: the rest comes in exchanges.
TEST(GatherBound, PreloadsInPartCountNoLess) {
  constexpr double kByte = 1e-9;  // seconds
  Random random{4};
  for (int round = 0; round < 20'000; ++round) {
    const double used = 0.2 + (0.8 * random.uniform());  // of all cores
    Passing whole{};
    Passing part{};
    double fetched = 0.0;
    for (std::int64_t operand = 1 + random.below(2); operand > 0; --operand) {
      const std::int64_t bytes = 8 * (1 + random.below(500));
      const std::int64_t piece = round_up(ceil_div(bytes, 1 + random.below(16)), 8);
      whole.busiest += static_cast<double>(bytes) * kByte;
      part.busiest += static_cast<double>(piece) * kByte;
      fetched += used * static_cast<double>(bytes - piece) * kByte;
    }
    whole.spread = used * whole.busiest;
    part.spread = whole.spread - fetched;
    const PortFacts ports{.filled = 0.1 + (0.9 * random.uniform()), .sync = 0.0, .late = 0.0};
    part.hbm = random.uniform() * part.spread / ports.filled;  // no more than ports receive
    GatherPrices prices = random_prices(random, whole.busiest);
    prices.passing = std::min(prices.passing, used);
    cost::GatherFloor cut{};
    cut.loaded = {whole.spread};
    cut.held = {whole.busiest};
    cut.even = used;
    EXPECT_GE(fetched + load(part, prices) + 1e-15, counted_load(cut, part.hbm, prices, ports));
  }
}

}  // namespace
}  // namespace elk::schedule
