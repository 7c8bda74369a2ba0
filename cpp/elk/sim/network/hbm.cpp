#include "elk/sim/network/hbm.hpp"

#include <algorithm>
#include <cmath>

#include "elk/base/errors.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/text.hpp"

namespace elk::sim {
namespace {

/// The time of a run over its time at peak.
double run_cost(const ChannelCosts& costs, Rate peak, Bytes run) {
  if (run == Bytes{0}) {
    return 1.0;
  }
  const double at_peak = static_cast<double>(run.value) * 1e12 / static_cast<double>(peak.value);
  const std::int64_t rows = std::min(ceil_div(run.value, costs.burst.value), costs.banks);
  const auto opening = static_cast<double>(rows * costs.row.value);
  const auto others = static_cast<double>(std::max<std::int64_t>(0, (costs.queue - run).value));
  const double waited =
      static_cast<double>(peak.value) * 1e-12 * static_cast<double>(costs.wait.value);
  const double shown = others > 0.0 ? std::max(0.0, 1.0 - (others / waited)) : 1.0;
  const double moving = at_peak + (static_cast<double>(rows * costs.gap.value) * shown);
  return std::max(opening, moving) / at_peak;
}

}  // namespace

std::int32_t byte_weight(const ChannelCosts& costs, Rate peak, const ChannelTraffic& traffic) {
  const bool valid =
      traffic.run >= Bytes{0} && traffic.write_share >= 0.0 && traffic.write_share <= 1.0;
  if (!valid) {
    throw InvalidInput(
        text("traffic must have runs of at least 0 bytes and a share of writes from "
             "0 to 1, got ",
             traffic.run.value, " bytes and ", traffic.write_share));
  }
  const double turns = std::min(traffic.write_share, 1.0 - traffic.write_share);
  const double cost = run_cost(costs, peak, traffic.run) + (costs.turnaround * turns);
  return static_cast<std::int32_t>(std::llround(kHbmWeight * cost));
}

}  // namespace elk::sim
