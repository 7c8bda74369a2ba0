#pragma once

#include <cstdint>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/cost/exchange/link_use.hpp"

namespace elk::cost {

/// One phase of an execute, alone on the chip: what contention acts on.
struct ExchangeCost {
  Seconds time;    // syncs, fragments and hops included
  Bytes bytes;     // through the busiest core's port: max(received, sent)
  Seconds wire;    // the part of `time` during which the busiest port carries data
  Seconds tail;    // the part of `time` after that: fragments, hops, links between chips, adds
  Bytes crossing;  // between chips, into or out of the busiest one
  LinkUse use = kEverywhere;  // of a grid

  friend bool operator==(const ExchangeCost&, const ExchangeCost&) = default;
};

/// What one exchange between two syncs moves.
struct Traffic {
  std::int64_t received = 0;   // bytes of the busiest core
  std::int64_t sent = 0;       // bytes of the busiest core
  std::int64_t fragments = 0;  // contiguous runs into the busiest core
  std::int64_t line = 0;       // on a grid: bytes over the busiest link
  std::int64_t through = 0;    // bytes that come and go at one core of a grid; 0: all of the above
  std::int64_t hops = 0;       // on a grid: the longest way
  std::int64_t chip_in = 0;    // bytes into the busiest chip
  std::int64_t chip_out = 0;
  bool wide = false;  // whether cores of several chips take part
};

/// Cores in a line of a grid, `apart` hops from one to the next, with as many such groups in turn;
/// `around`: the last is as far from the first; `full`: the line is a full one, so that each of
/// them reaches every other through ports.
struct CoresInLine {
  std::int64_t cores;
  std::int64_t apart;
  bool around;
  bool full;
};

/// The interconnect as exchanges see it.
///
/// On a grid a link, not a port, is what binds, and `line` is its load under dimension-order
/// routing. Reductions and the cores beside a port count it (`BusiestLink`); here are three
/// patterns more:
///
/// - a gather whose senders lie evenly over the grid: a core in a corner receives over one link a
///   dimension; and half of what is wanted crosses the middle of the grid, over as many links each
///   way as there are rows (columns);
/// - a preload handed on among `n` neighbours in a line: floor(n / 2) * ceil(n / 2) pieces cross
/// its
///   middle; with multicast every piece passes every link once, so that the last one carries n - 1;
/// - a shift within a ring (`partition::Rotation`): every link carries one piece each way, and
///   where the cores of a circle lie `apart`, one of each of as many circles.
///
/// A torus and a ring halve the first; the second only among cores that go once around. Along a
/// full line what a core receives, or sends, passes its port, once, and nothing passes another.
///
/// More links than one lead to a core: where remote access blocks, what comes and goes there
/// together may outrun its SRAM port.
class Fabric {
 public:
  explicit Fabric(const chip::Chip& chip);

  /// Time of one exchange; zero if nothing moves.
  [[nodiscard]] ExchangeCost exchange(const Traffic& traffic) const;
  [[nodiscard]] Seconds sync(bool wide) const { return wide ? wide_sync_ : sync_; }
  /// Whether cores of several chips sync sooner than those of one.
  [[nodiscard]] bool syncs_sooner_wide() const { return chips_ > 1 && wide_sync_ < sync_; }
  [[nodiscard]] Seconds least_sync() const { return sync(syncs_sooner_wide()); }

  /// Fills `line` and `hops` for a gather of `moved` bytes in all from everywhere.
  void gather(Traffic& traffic, std::int64_t moved) const;
  /// Adds to them an all to all of pieces of `piece` bytes among neighbours; `multicast`: the same
  /// piece goes to all of them.
  void among(Traffic& traffic, const CoresInLine& cores, std::int64_t piece, bool multicast) const;
  /// Fills them for a shift in a ring, or in the circles of one of its dimensions.
  void shift(Traffic& traffic, const CoresInLine& ring, std::int64_t piece) const;

  /// Least time for `bytes` from HBM to pass the edges of one chip's grid; zero off a grid.
  [[nodiscard]] Seconds delivery(double bytes) const { return {bytes / delivery_}; }

  [[nodiscard]] bool multicast() const { return multicast_; }
  [[nodiscard]] bool grid() const { return grid_; }
  /// The networks of all cores, and of those of one chip.
  [[nodiscard]] const chip::Network& machine() const { return machine_; }
  [[nodiscard]] const chip::Network& chip() const { return chip_; }
  /// Whether there are full lines among its lines.
  [[nodiscard]] bool has_full() const { return has_full_; }
  [[nodiscard]] std::int64_t chips() const { return chips_; }

 private:
  chip::Network chip_;
  chip::Network machine_;
  bool grid_;
  bool has_full_;
  bool multicast_;
  std::int64_t chips_;
  double link_;
  double sram_;  // the rate at which an exchange on a grid passes an SRAM port, or no limit
  double hop_;
  double fragment_;
  Seconds sync_;
  Seconds wide_sync_;
  double chip_rate_;
  double chip_latency_;
  double delivery_;
};

inline constexpr ExchangeCost kNoExchange{
    .time = {0.0}, .bytes = {0}, .wire = {0.0}, .tail = {0.0}, .crossing = {0}};

/// Two phases after each other.
[[nodiscard]] ExchangeCost after(const ExchangeCost& first, const ExchangeCost& second);

/// One phase `times` times.
[[nodiscard]] ExchangeCost repeated(const ExchangeCost& once, std::int64_t times);

/// The share of one of `times` phases that it counts for, bytes rounded up.
[[nodiscard]] ExchangeCost part(const ExchangeCost& whole, std::int64_t times);

}  // namespace elk::cost
