#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/schedule/bound/gather_prices.hpp"
#include "elk/sim/network/hbm.hpp"
#include "elk/sim/play/player.hpp"

/// Programs of gathers, computations, preloads and stores: what `gather_bound` counts of them, and
/// what the simulator says.
namespace elk::schedule {

using Amounts = std::vector<std::int64_t>;  // bytes, of every core

inline constexpr std::size_t kNoOp = std::numeric_limits<std::size_t>::max();

/// An op: a gather, computations of equal length with shifts between, and a reduction.
struct Operator {
  Amounts gather;
  std::vector<Amounts> shifts;
  Amounts reduce;
  Picoseconds compute;   // each
  std::int64_t sharers;  // of what rotates; 1: nothing does
  bool hot;              // whether one core sends all of the gather
};

/// A preload or a store.
struct Queued {
  std::size_t before;  // the op that it is issued before
  std::size_t of;      // the op that waits for it; kNoOp: it is a store
  Amounts bytes;
  std::int64_t hbm;
  std::int32_t weight;  // of a byte at the HBM
};

struct Setting {
  chip::Chip chip;
  std::vector<Operator> ops;
  std::vector<Queued> queue;
  Amounts runs;  // received by every core in an exchange
};

inline double ports(const Setting& setting, double bytes) {
  return bytes / setting.chip.interconnect.link_rate;
}

inline double busiest(const Setting& setting, const Amounts& bytes) {
  return ports(setting, static_cast<double>(*std::max_element(bytes.begin(), bytes.end())));
}

inline double spread(const Setting& setting, const Amounts& bytes) {
  const std::int64_t all = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  return ports(setting, static_cast<double>(all)) / static_cast<double>(bytes.size());
}

inline bool moves(const Amounts& bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](std::int64_t one) { return one > 0; });
}

inline std::vector<const Amounts*> exchanges(const Operator& op) {
  std::vector<const Amounts*> all{&op.gather, &op.reduce};
  for (const Amounts& shift : op.shifts) {
    all.push_back(&shift);
  }
  std::erase_if(all, [](const Amounts* one) { return !moves(*one); });
  return all;
}

/// The fragments after the last byte of an exchange, of the core that receives fewest.
inline double tail(const Setting& setting, const Amounts& bytes) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (std::size_t core = 0; core < bytes.size(); ++core) {
    fewest = bytes[core] > 0 ? std::min(fewest, setting.runs[core]) : fewest;
  }
  return setting.chip.interconnect.fragment_latency.value * static_cast<double>(fewest);
}

inline cost::GatherFloor gather_floor(const Setting& setting, const Operator& op) {
  const double sync = setting.chip.interconnect.sync_latency.value;
  const std::size_t steps = op.shifts.size() + 1;
  double idle = to_seconds(op.compute).value * static_cast<double>(steps);
  double wide = 0.0;
  double carried = 0.0;
  double gathered = (2.0 * spread(setting, op.gather)) - busiest(setting, op.gather);
  for (const Amounts* one : exchanges(op)) {
    idle += sync + tail(setting, *one);
    wide += busiest(setting, *one);
    carried += spread(setting, *one);
  }
  for (std::size_t step = 1; step < steps && op.sharers > 1; ++step) {
    gathered +=
        (2.0 * spread(setting, op.shifts[step - 1])) - busiest(setting, op.shifts[step - 1]);
  }
  cost::GatherFloor one{.execute = {idle + wide},
                        .whole = {idle + wide},
                        .turned = cost::kNotTurned,
                        .idle = {idle},
                        .carried = {carried},
                        .gathered = {std::max(0.0, gathered)},
                        .sharers = op.sharers,
                        .loaded = {0.0},
                        .held = {0.0},
                        .even = 1.0};
  for (std::size_t at = 0; at < one.turned.size() && op.sharers > 1; ++at) {
    const bool told = static_cast<std::int64_t>(steps) >= cost::kStepsTold[at];
    one.turned[at] = told ? one.execute.value : one.turned[at];
  }
  return one;
}

/// Of a whole preload or of a store.
struct Passing {
  double hbm;  // seconds
  double busiest;
  double spread;
  bool store;
};

/// All that the bound counts, in seconds.
struct Counted {
  PortFacts ports;
  std::vector<cost::GatherFloor> ops;
  std::vector<std::size_t> steps;
  std::vector<Passing> queue;
  double longest = 0.0;  // gather
};

inline Counted counted(const Setting& setting) {
  const chip::Chip& chip = setting.chip;
  const double sync = chip.interconnect.sync_latency.value;
  const double all = chip.interconnect.link_rate * static_cast<double>(chip.core.count);
  Counted result{.ports = {.filled = std::min(1.0, chip.hbm->rate / all),
                           .sync = sync,
                           .late = std::max(0.0, chip.hbm->latency.value - sync)},
                 .ops = {},
                 .steps = {},
                 .queue = {}};
  for (const Operator& op : setting.ops) {
    result.ops.push_back(gather_floor(setting, op));
    result.steps.push_back(op.shifts.size() + 1);
    result.longest = std::max(result.longest, result.ops.back().gathered.value);
  }
  for (const Queued& one : setting.queue) {
    const double rate = chip.hbm->rate * sim::kHbmWeight / one.weight;
    result.queue.push_back({.hbm = static_cast<double>(one.hbm) / rate,
                            .busiest = busiest(setting, one.bytes),
                            .spread = spread(setting, one.bytes),
                            .store = one.of == kNoOp});
  }
  return result;
}

inline double load(const Passing& one, const GatherPrices& prices) {
  const double alone = std::max(one.hbm, one.busiest);
  const double met =
      ((1.0 + prices.meeting) * one.spread) - (prices.meeting * std::max(2.0 * one.busiest, alone));
  return std::max(-prices.shield, std::min(prices.passing * alone, met));
}

/// What an op counts that gathers all before it computes.
inline double at_once(const cost::GatherFloor& op, const GatherPrices& prices,
                      const PortFacts& ports) {
  const double wide = (op.execute - op.idle).value;
  const double spared = std::min(prices.shield, prices.meeting * op.gathered.value);
  const double met = op.gathered.value > 0.0 ? spared - (prices.meeting * ports.late) : 0.0;
  return op.idle.value + (prices.meeting * wide) + ((1.0 - prices.meeting) * op.carried.value) -
         std::max(prices.passing * ports.sync, (prices.passing * op.idle.value) - met);
}

inline double execute(const cost::GatherFloor& op, std::size_t steps, const GatherPrices& prices,
                      const PortFacts& ports) {
  const GatherTimes::CutSeconds times = counted_executes(op, prices, ports);
  if (op.sharers == 1 || steps == 1) {
    return times.whole;
  }
  std::size_t at = 0;
  while (at + 1 < times.turned.size() &&
         cost::kStepsTold[at + 1] <= static_cast<std::int64_t>(steps)) {
    ++at;
  }
  return times.turned[at];
}

inline double bound(const Counted& all, const GatherPrices& prices) {
  double sum = 0.0;
  for (std::size_t op = 0; op < all.ops.size(); ++op) {
    sum += execute(all.ops[op], all.steps[op], prices, all.ports);
  }
  for (const Passing& one : all.queue) {
    sum += one.store ? -counted_store(one.hbm, one.busiest, prices) : load(one, prices);
  }
  return sum;
}

inline double executes(const Counted& all) {
  double sum = 0.0;
  for (const cost::GatherFloor& op : all.ops) {
    sum += op.execute.value;
  }
  return sum;
}

/// Plays a setting.
class Played {
 public:
  Played(const Setting& setting, sim::Fidelity fidelity)
      : setting_(setting),
        demands_(setting.chip, fidelity),
        player_(demands_, sim::to_latency(setting.chip.hbm->latency)) {}

  double time() {
    std::size_t next = 0;
    for (std::size_t op = 0; op < setting_.ops.size(); ++op) {
      for (; next < setting_.queue.size() && setting_.queue[next].before <= op; ++next) {
        push(setting_.queue[next]);
      }
      for (std::size_t job = 0; job < next; ++job) {
        if (setting_.queue[job].of == op) {
          player_.wait(job);
        }
      }
      run(setting_.ops[op]);
    }
    for (std::size_t job = 0; job < next; ++job) {
      player_.wait(job);
    }
    return to_seconds(player_.now()).value;
  }

 private:
  void push(const Queued& one) {
    program::Loading loading{.hbm_bytes = {one.hbm}, .pieces = {}, .run = 0};
    for (std::size_t core = 0; core < one.bytes.size(); ++core) {
      if (one.bytes[core] > 0) {
        loading.pieces.push_back({.operand = one.of == kNoOp ? -1 : 0,
                                  .chip = 0,
                                  .bytes = one.bytes[core],
                                  .cores = {static_cast<std::int32_t>(core)}});
      }
    }
    player_.push(&known_.emplace_back(demands_.of(loading, one.weight)));
  }

  void run(const Operator& op) {
    exchange(op.gather, op.hot);
    compute(op.compute);
    for (const Amounts& shift : op.shifts) {
      exchange(shift, false);
      compute(op.compute);
    }
    exchange(op.reduce, false);
  }

  void exchange(const Amounts& bytes, bool hot) {
    if (!moves(bytes)) {
      return;
    }
    program::Exchange exchange;
    const auto cores = static_cast<std::int32_t>(bytes.size());
    for (std::int32_t core = 0; core < cores; ++core) {
      const std::int32_t sender = hot && core > 0 ? 0 : (core + 1) % cores;
      const auto from = static_cast<std::int32_t>(exchange.groups.size());
      exchange.groups.push_back({sender});
      exchange.groups.push_back({core});
      exchange.transfers.push_back({.pattern = program::Pattern::Fetch,
                                    .operand = 0,
                                    .from = from,
                                    .to = from + 1,
                                    .unit = bytes[static_cast<std::size_t>(core)],
                                    .extent = 1,
                                    .chunk = 1,
                                    .runs = setting_.runs[static_cast<std::size_t>(core)],
                                    .level = 0});
    }
    player_.pass(sim::to_latency(setting_.chip.interconnect.sync_latency));
    play(demands_.of(exchange));
  }

  void compute(Picoseconds time) {
    program::Tiles tiles{.size = {}, .cores = program::Cores(setting_.runs.size())};
    std::iota(tiles.cores.begin(), tiles.cores.end(), 0);
    play(demands_.of(std::span(&tiles, 1), std::span(&time, 1)));
  }

  void play(const sim::Demand& demand) {
    known_.push_back(demand);
    player_.play(known_.back(), static_cast<std::int32_t>(known_.size()));
  }

  const Setting& setting_;
  sim::Demands demands_;
  sim::Player player_;
  std::deque<sim::Demand> known_;
};

}  // namespace elk::schedule
