#include "elk/cost/exchange/exchange.hpp"

#include <algorithm>
#include <limits>

#include "elk/base/rounding.hpp"
#include "elk/chip/delivery.hpp"
#include "elk/partition/rotation.hpp"

namespace elk::cost {

Fabric::Fabric(const chip::Chip& chip)
    : chip_(chip::network_of(chip)),
      machine_(chip_.times(chip.chips)),
      grid_(chip_.routed()),
      has_full_(chip_.full(0) || chip_.full(1) || chip_.full(2)),
      multicast_(chip.interconnect.multicast),
      chips_(chip.chips),
      link_(chip.interconnect.link_rate),
      sram_(grid_ && chip.core.remote_access_blocks && chip.core.sram_rate > 0.0
                ? chip.core.sram_rate
                : std::numeric_limits<double>::infinity()),
      hop_(chip.interconnect.hop_latency.value),
      fragment_(chip.interconnect.fragment_latency.value),
      sync_(chip.interconnect.sync_latency),
      wide_sync_(chip.inter_chip ? chip.inter_chip->sync_latency : sync_),
      chip_rate_(chip.inter_chip ? chip.inter_chip->rate : 0.0),
      chip_latency_(chip.inter_chip ? chip.inter_chip->latency.value : 0.0),
      delivery_(grid_ && chip.hbm ? chip::delivery(chip).rate
                                  : std::numeric_limits<double>::infinity()) {}

ExchangeCost Fabric::exchange(const Traffic& traffic) const {
  const std::int64_t port = std::max(traffic.received, traffic.sent);
  if (port == 0) {
    return kNoExchange;
  }
  const std::int64_t through =
      traffic.through > 0 ? traffic.through : traffic.received + traffic.sent;
  const double wire = std::max(static_cast<double>(grid_ ? traffic.line : port) / link_,
                               static_cast<double>(through) / sram_);
  const double fragments = static_cast<double>(traffic.fragments) * fragment_;
  double moving = wire + fragments;
  double latency = static_cast<double>(traffic.hops) * hop_;
  const std::int64_t crossing = std::max(traffic.chip_in, traffic.chip_out);
  if (crossing > 0) {  // Fragments are taken in while others are on links between chips, if not on
                       // links of a grid.
    const double between = static_cast<double>(crossing) / chip_rate_;
    moving = std::max(moving, between + (grid_ ? fragments : 0.0));
    latency += chip_latency_;
  }
  const Seconds syncs = sync(traffic.wide || crossing > 0);
  return {.time = {syncs.value + moving + latency},
          .bytes = {port},
          .wire = {wire},
          .tail = {(moving - wire) + latency},
          .crossing = {crossing}};
}

void Fabric::gather(Traffic& traffic, std::int64_t moved) const {
  if (!grid_) {
    return;
  }
  std::int64_t into = 0;    // links and ports into a core in a corner
  std::int64_t across = 0;  // bytes over a link in the middle
  std::int64_t open = 0;    // hops from a corner, and on circles from a core to itself
  std::int64_t circles = 0;
  const std::int64_t half = ceil_div(moved, 2);
  for (std::size_t dim = 0; dim < machine_.dims(); ++dim) {
    const std::int64_t length = machine_.length(dim);
    if (length == 1) {
      continue;
    }
    const bool circle = machine_.joint(dim) == chip::Joint::Circle;
    const std::int64_t ways = circle ? 2 : 1;
    into += ways;
    const std::int64_t links = machine_.full(dim) ? std::max<std::int64_t>(1, machine_.nodes() / 2)
                                                  : machine_.lines_along(dim) * ways;
    across = std::max(across, ceil_div(half, links));
    (circle ? circles : open) += machine_.full(dim) ? 0 : length - 1;
  }
  const std::int64_t corner =
      ceil_div(std::max(traffic.received, traffic.sent), std::max<std::int64_t>(1, into));
  traffic.line = std::max(corner, across);
  traffic.hops = open + (circles / 2);
}

void Fabric::among(Traffic& traffic, const CoresInLine& cores, std::int64_t piece,
                   bool multicast) const {
  if (!grid_) {
    return;
  }
  if (cores.full) {
    traffic.line += (cores.cores - 1) * piece;
    return;
  }
  const std::int64_t ways = cores.around ? 2 : 1;
  const std::int64_t half = cores.cores / 2;
  const std::int64_t pieces = multicast ? cores.cores - 1 : half * (cores.cores - half);
  traffic.line += ceil_div(cores.apart * pieces * piece, ways);
  traffic.hops = std::max(traffic.hops, ceil_div(cores.apart * (cores.cores - 1), ways));
}

void Fabric::shift(Traffic& traffic, const CoresInLine& ring, std::int64_t piece) const {
  if (!grid_) {
    return;
  }
  if (ring.full) {
    traffic.line = piece;
    return;
  }
  traffic.line = ring.apart * piece;
  traffic.hops = ring.apart * partition::ring_hops(ring.cores, !ring.around);
}

ExchangeCost after(const ExchangeCost& first, const ExchangeCost& second) {
  return {.time = first.time + second.time,
          .bytes = first.bytes + second.bytes,
          .wire = first.wire + second.wire,
          .tail = first.tail + second.tail,
          .crossing = first.crossing + second.crossing,
          .use = mean_use({first.use, first.wire.value}, {second.use, second.wire.value})};
}

ExchangeCost repeated(const ExchangeCost& once, std::int64_t times) {
  const auto factor = static_cast<double>(times);
  return {.time = once.time * factor,
          .bytes = once.bytes * times,
          .wire = once.wire * factor,
          .tail = once.tail * factor,
          .crossing = once.crossing * times,
          .use = once.use};
}

ExchangeCost part(const ExchangeCost& whole, std::int64_t times) {
  const double share = 1.0 / static_cast<double>(times);
  return {.time = whole.time * share,
          .bytes = {ceil_div(whole.bytes.value, times)},
          .wire = whole.wire * share,
          .tail = whole.tail * share,
          .crossing = {ceil_div(whole.crossing.value, times)},
          .use = whole.use};
}

}  // namespace elk::cost
