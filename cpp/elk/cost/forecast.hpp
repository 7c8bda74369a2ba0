#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/intervals.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/cost/exchange/link_use.hpp"

namespace elk::cost {

/// Exchanges one after another, alone on the chip. `wire` is the time in which the busiest port
/// carries data; what no contention stretches comes before it (syncs) and after it (fragments,
/// hops, adds).
struct ExchangeSeries {
  Seconds before;
  Seconds wire;
  Seconds after;
  LinkUse use = kEverywhere;  // of a grid

  [[nodiscard]] Seconds alone() const { return before + wire + after; }
};

/// One execute alone on the chip, in the order it runs.
struct ExecuteCost {
  ExchangeSeries in;  // distribution and gather
  Seconds compute;
  ExchangeSeries out;  // shifts and reductions

  [[nodiscard]] Seconds alone() const { return in.alone() + compute + out.alone(); }
};

/// One transfer between HBM and the cores, alone on the chip.
struct PreloadCost {
  Seconds time;
  double share;  // of the rate of the busiest port, or link of a grid, while it streams
  double port;   // of a link's rate: what arrives at, or leaves, the busiest core
  LinkUse use = kEverywhere;  // of a grid

  friend bool operator==(const PreloadCost&, const PreloadCost&) = default;
};

struct WriteBack {
  OpId op;  // issued right after its execute
  TensorId tensor;
  PreloadCost load;
};

/// A whole program with the time of every part of it alone on the chip.
struct Timeline {
  TableView<OpId, const ExecuteCost> works;  // per op
  TableView<OpId, const PreloadCost> loads;  // per op; zero time: nothing is preloaded
  std::span<const OpId> preload_order;
  TableView<OpId, const std::int32_t> issued_before;  // per op: preloads issued before its execute
  std::span<const WriteBack> write_backs;             // by op
};

/// What shapes contention on a chip.
struct ContentionRules {
  double port_drag;      // compute lost per share of the port in use: link rate / SRAM rate, or 0
  Seconds hbm_latency;   // paid when the HBM was idle
  bool regions = false;  // whether exchanges and preloads meet region by region, as on a grid
};

struct TimelineResult {
  Table<OpId, Interval<Seconds>> preloads;  // per op
  Table<OpId, Interval<Seconds>> executes;  // per op
  std::vector<Interval<Seconds>> stores;    // as `write_backs`
  Seconds total;
};

/// When every part of the program runs, by its rules of order (design 7) and with the links and
/// SRAM ports shared as fluids (design 4): an exchange and a preload that meet on a port get equal
/// shares of it at most, max-min fair,
///
///     preload:  min(s, 1/2) / s        exchange:  1 - min(s, 1/2)        compute:  1 - drag * p
///
/// with `s` the preload's share of the port alone, `p` that of its core; off a grid they are one.
/// On a grid that holds in the region where the one slows the other down most: with `u` what each
/// keeps its busiest link there busy, alone, by `LinkUse`,
///
///     preload:  max(1 - u_x, 1/2) / u_p        exchange:  max(1 - u_p, 1/2) / u_x,    1 at most
///
/// Linear in the program.
[[nodiscard]] TimelineResult forecast(const Timeline& timeline, const ContentionRules& sharing);

/// Forecasts programs one after another in the same memory.
class Forecaster {
 public:
  /// The result holds until the next call.
  const TimelineResult& forecast(const Timeline& timeline, const ContentionRules& sharing);

 private:
  /// Progress in a second, of a second alone.
  struct ProgressRates {
    double execute;
    double load;
  };
  enum class ForecastPhase : std::uint8_t { Fixed, Exchange, Compute };

  void reset();
  void issue_preloads(std::size_t upto) {
    for (; issued_ < upto; ++issued_) {
      queue_.push_back(timeline_.preload_order[issued_].value);
    }
  }
  void wait_for_preload(OpId op);
  void run(const ExecuteCost& work);
  bool run_beside_one_load(const ExecuteCost& work);
  void run_moving(const ExchangeSeries& moving);
  template <ForecastPhase kPhase>
  void run_phase(double amount);
  double run_beside_latency(double amount);
  template <ForecastPhase kPhase>
  double run_beside_load(double amount);
  template <ForecastPhase kPhase>
  [[nodiscard]] ProgressRates rates() const;
  [[nodiscard]] ProgressRates beside_head(const LinkUse& exchange) const;
  void finish_head();
  void start_head();
  void end_head();

  Timeline timeline_{};
  ContentionRules sharing_{};
  TimelineResult result_;
  std::vector<std::int32_t>
      queue_;  // ops whose preloads, and -1 - stores that the HBM goes through
  Table<OpId, std::int8_t> done_;
  std::size_t issued_ = 0;
  std::size_t head_ = 0;
  double now_ = 0.0;
  double coming_ = 0.0;      // until the head's first byte
  double remaining_ = 0.0;   // of the head's load from then on, alone
  double free_since_ = 0.0;  // when the HBM last fell idle
  bool started_ = false;
  ProgressRates exchanging_{1.0, 1.0};       // beside the head's load
  std::array<double, kRegions> head_use_{};  // of links in the regions of a grid, by the head
  LinkUse moving_ = kEverywhere;             // of the exchange at hand
  double computing_execute_ = 1.0;
};

}  // namespace elk::cost
