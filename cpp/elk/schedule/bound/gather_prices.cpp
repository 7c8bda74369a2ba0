#include "elk/schedule/bound/gather_prices.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace elk::schedule {
namespace {

class GatherCounter {
 public:
  GatherCounter(const cost::GatherFloor& cut, const GatherPrices& prices, const PortFacts& ports)
      : cut_(cut), prices_(prices), ports_(ports) {}

  /// If it takes `time`, and everything is gathered before the first step.
  [[nodiscard]] double counted(double time) const {
    if (!std::isfinite(time)) {
      return time;
    }
    const double idle = cut_.idle.value + (time - cut_.execute.value);
    const double met_gather = (prices_.passing * idle) - met(1.0);
    return alone(idle) - std::max(met_gather, prices_.passing * ports_.sync);
  }

  /// If it takes `time` in `kStepsTold[at]` steps or more.
  [[nodiscard]] double counted(double time, std::size_t at) const {
    const double idle = cut_.idle.value + (time - cut_.execute.value);
    const bool last = at + 1 == cost::kStepsTold.size();
    const std::int64_t most =
        last ? cut_.sharers : std::min(cut_.sharers, cost::kStepsTold[at + 1] - 1);
    const auto fewest = static_cast<double>(cost::kStepsTold[at]);
    const auto sharers = static_cast<double>(cut_.sharers);
    const double part = 1.0 / std::min(fewest, sharers);
    const double some = (part * idle) + ports_.sync;
    const double begun = (prices_.passing * some) - met(1.0 / static_cast<double>(most));
    const double all = (prices_.passing * (idle + ports_.sync)) - met(1.0);
    return alone(idle) - std::max({begun, all, prices_.passing * ports_.sync});
  }

 private:
  [[nodiscard]] double alone(double idle) const {
    return idle + (prices_.meeting * (cut_.execute - cut_.idle).value) +
           ((1.0 - prices_.meeting) * cut_.carried.value);
  }

  /// What preloads cost that meet what is gathered for a part of the steps.
  [[nodiscard]] double met(double part) const {
    if (cut_.gathered.value <= 0.0) {
      return 0.0;
    }
    const auto sharers = static_cast<double>(cut_.sharers);
    const double needed =
        cut_.sharers > 1 ? std::max(0.0, ((part * sharers) - 1.0) / (sharers - 1.0)) : 1.0;
    return std::min(prices_.shield, prices_.meeting * needed * cut_.gathered.value) -
           (prices_.meeting * ports_.late);
  }

  const cost::GatherFloor& cut_;
  const GatherPrices& prices_;
  const PortFacts& ports_;
};

}  // namespace

double counted_load(const cost::GatherFloor& cut, double hbm, const GatherPrices& prices,
                    const PortFacts& ports) {
  const double all = cut.loaded.value;
  const double busiest = cut.held.value;
  const double passing =
      std::max(prices.passing * hbm, std::min(prices.passing, cut.even) * busiest);
  const double whole =
      ((1.0 + prices.meeting) * all) - (prices.meeting * std::max(2.0 * busiest, hbm));
  const double in_part = all - (prices.meeting * (1.0 - ports.filled) * hbm);
  return std::max(std::min({passing, whole, in_part}), -prices.shield);
}

double counted_store(double hbm, double port, const GatherPrices& prices) {
  return std::min(prices.shield, prices.meeting * std::max(2.0 * port, hbm));
}

GatherTimes::CutSeconds counted_executes(const cost::GatherFloor& cut, const GatherPrices& prices,
                                         const PortFacts& ports) {
  const GatherCounter one(cut, prices, ports);
  GatherTimes::CutSeconds result{.least = one.counted(cut.execute.value),
                                 .whole = one.counted(cut.whole.value),
                                 .turned = cost::kNotTurned};
  for (std::size_t at = 0; at < cost::kStepsTold.size(); ++at) {
    if (std::isfinite(cut.turned[at])) {
      result.turned[at] = one.counted(cut.turned[at], at);
      result.least = std::min(result.least, result.turned[at]);
    }
  }
  return result;
}

}  // namespace elk::schedule
