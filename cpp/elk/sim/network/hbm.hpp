#pragma once

#include <cstdint>

#include "elk/base/units.hpp"
#include "elk/sim/flows/engine.hpp"

namespace elk::sim {

/// A sequential byte loads a memory with this weight; bytes that cost more weigh more. Capacities
/// of memories are bytes per second times this.
inline constexpr std::int32_t kHbmWeight = 1024;

/// What bytes cost a channel besides their time at its peak. Of runs that lie scattered, each opens
/// `n = min(ceil(c / burst), banks)` rows of its own, for neighbouring bursts are spread over
/// banks. Rows are opened one after another, and hide all but a `gap` each behind the run's data. A
/// row is open after a `wait`. Meanwhile the data of other runs that the queue holds keep the bus
/// busy, which hides as much of the gaps. A run of `c` bytes takes
///
///     max(n * row, c / peak + n * gap * max(0, 1 - max(0, queue - c) / (peak * wait)))
///
/// and turning the bus between reads and writes adds `turnaround * min(w, 1 - w)` times the time at
/// peak, where `w` is the share of writes.
struct ChannelCosts {
  Picoseconds row;
  std::int64_t banks;
  Bytes burst;
  Picoseconds gap;
  Picoseconds wait;
  Bytes queue;
  double turnaround;

  friend bool operator==(const ChannelCosts&, const ChannelCosts&) = default;
};

/// Fitted to HBM3E (data/hbm/fitted.csv, queue of 64): what chips use, whose files do not say.
inline constexpr ChannelCosts kHbm3ePieces = {.row = {1757},
                                              .banks = 8,
                                              .burst = {32},
                                              .gap = {657},
                                              .wait = {60'000},
                                              .queue = {2048},
                                              .turnaround = 1.217};

/// What is asked of a channel: runs of contiguous bytes on it, scattered (0: one long run), a share
/// of which is written.
struct ChannelTraffic {
  Bytes run;
  double write_share;  // 0 to 1

  friend bool operator==(const ChannelTraffic&, const ChannelTraffic&) = default;
};

/// The weight with which a byte of `traffic` loads a channel of `peak`: `kHbmWeight` times its time
/// over that of a sequential byte.
[[nodiscard]] std::int32_t byte_weight(const ChannelCosts& costs, Rate peak,
                                       const ChannelTraffic& traffic);

}  // namespace elk::sim
