#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/units.hpp"

namespace elk::cost {

/// Exchanges one after another, alone on the chip. `wire` is the time in which the busiest port
/// carries data; what no contention stretches comes before it (syncs) and after it (fragments,
/// hops, adds).
struct Moving {
  Seconds before;
  Seconds wire;
  Seconds after;

  [[nodiscard]] Seconds alone() const { return before + wire + after; }
};

/// One execute alone on the chip, in the order it runs.
struct Work {
  Moving in;  // distribution and gather
  Seconds compute;
  Moving out;  // shifts and reductions

  [[nodiscard]] Seconds alone() const { return in.alone() + compute + out.alone(); }
};

/// One transfer between HBM and the cores, alone on the chip.
struct Load {
  Seconds time;
  double share;  // of the rate of the busiest port, or link of a grid, while it streams
  double port;   // of a link's rate: what arrives at, or leaves, the busiest core

  friend bool operator==(const Load&, const Load&) = default;
};

struct WriteBack {
  std::int32_t op;  // issued right after its execute
  std::int32_t tensor;
  Load load;
};

/// A whole program with the time of every part of it alone on the chip.
struct Timeline {
  std::vector<Work> works;  // per op
  std::vector<Load> loads;  // per op; zero time: nothing is preloaded
  std::vector<std::int32_t> preload_order;
  std::vector<std::int32_t> issued_before;  // per op: preloads issued before its execute
  std::vector<WriteBack> write_backs;       // by op
};

/// What shapes contention on a chip.
struct Sharing {
  double port_drag;     // compute lost per share of the port in use: link rate / SRAM rate, or 0
  Seconds hbm_latency;  // paid when the HBM was idle
};

struct Interval {
  Seconds begin;
  Seconds end;
};

struct TimelineResult {
  std::vector<Interval> preloads;  // per op
  std::vector<Interval> executes;  // per op
  std::vector<Interval> stores;    // as `write_backs`
  Seconds total;
};

/// When every part of the program runs, by its rules of order (design 7) and with the links and
/// SRAM ports shared as fluids (design 4): an exchange and a preload that meet on a port get equal
/// shares of it at most, max-min fair,
///
///     preload:  min(s, 1/2) / s        exchange:  1 - min(s, 1/2)        compute:  1 - drag * p
///
/// with `s` the preload's share of the port alone, `p` that of its core; off a grid they are one.
/// Linear in the program.
[[nodiscard]] TimelineResult forecast(const Timeline& timeline, const Sharing& sharing);

}  // namespace elk::cost
