#include "elk/chip/delivery.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/chip/link_throughput.hpp"

namespace elk::chip {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// The cores at a place of rows and columns, one behind the other.
void add_cores(const Network& network, std::int64_t row, std::int64_t col,
               std::vector<CoreId>& cores) {
  for (std::int64_t at = 0; at < network.length(2); ++at) {
    cores.push_back(id_at<CoreId>(subscript(network.node({row, col, at}))));
  }
}

std::vector<CoreId> perimeter(const Network& network) {
  const std::int64_t rows = network.length(0);
  const std::int64_t cols = network.length(1);
  std::vector<CoreId> cores;
  for (std::int64_t col = 0; col < cols; ++col) {
    add_cores(network, 0, col, cores);
  }
  for (std::int64_t row = 1; row < rows; ++row) {
    add_cores(network, row, cols - 1, cores);
  }
  for (std::int64_t col = cols - 2; rows > 1 && col >= 0; --col) {
    add_cores(network, rows - 1, col, cores);
  }
  for (std::int64_t row = rows - 2; cols > 1 && row >= 1; --row) {
    add_cores(network, row, 0, cores);
  }
  return cores;
}

std::vector<CoreId> outer_columns(const Network& network) {
  const std::int64_t rows = network.length(0);
  const std::int64_t cols = network.length(1);
  std::vector<CoreId> cores;
  for (std::int64_t row = 0; row < rows; ++row) {
    add_cores(network, row, 0, cores);
  }
  for (std::int64_t row = 0; cols > 1 && row < rows; ++row) {
    add_cores(network, row, cols - 1, cores);
  }
  return cores;
}

/// `cores` cut into `parts` runs whose lengths differ by one at most.
std::vector<std::vector<CoreId>> shares(const std::vector<CoreId>& cores, std::size_t parts) {
  std::vector<std::vector<CoreId>> cut(parts);
  for (std::size_t i = 0; i < cores.size(); ++i) {
    cut[i * parts / cores.size()].push_back(cores[i]);
  }
  return cut;
}

/// One core for each of `modules`, in the middle of the parts of a `down` x `across` division of
/// rows and columns: the most even one whose parts are not empty.
std::vector<std::vector<CoreId>> centres(const Network& network, std::int64_t modules) {
  const std::int64_t rows = network.length(0);
  const std::int64_t cols = network.length(1);
  std::int64_t down = 1;
  for (std::int64_t d = 1; d <= std::min(modules, rows); ++d) {
    const bool fits = modules % d == 0 && modules / d <= cols;
    const bool first = modules / down > cols;
    if (fits && (first || std::abs(d - (modules / d)) < std::abs(down - (modules / down)))) {
      down = d;
    }
  }
  if (modules / down > cols) {  // No division fits, as for 11 modules on 4 x 4.
    std::vector<std::vector<CoreId>> spread;
    for (std::int64_t k = 0; k < modules; ++k) {
      const std::int64_t at = ((2 * k) + 1) * network.nodes() / (2 * modules);
      spread.push_back({id_at<CoreId>(static_cast<std::size_t>(at))});
    }
    return spread;
  }
  const std::int64_t across = modules / down;
  std::vector<std::vector<CoreId>> cores;
  for (std::int64_t k = 0; k < modules; ++k) {
    const std::int64_t row = ((2 * (k / across)) + 1) * rows / (2 * down);
    const std::int64_t col = ((2 * (k % across)) + 1) * cols / (2 * across);
    cores.push_back({id_at<CoreId>(subscript(network.node({row, col, network.length(2) / 2})))});
  }
  return cores;
}

const Hbm& hbm_of(const Chip& chip) {
  if (!chip.hbm) {
    throw InvalidInput("hbm must be present to read from it: chip " + chip.name + " has none",
                       "invalid_chip");
  }
  return *chip.hbm;
}

BytesPerSecond peak(const Hbm& hbm) {
  const auto modules = static_cast<double>(hbm.modules);
  const double channels = modules * static_cast<double>(hbm.channels);
  double rate = std::min(hbm.rate, modules * hbm.port_rate);
  if (hbm.latency > Seconds{0}) {
    rate =
        std::min(rate, channels * static_cast<double>(hbm.outstanding.value) / hbm.latency.value);
  }
  return rate;
}

struct ModuleBoundary {
  double nodes;  // to which modules are attached
  double links;  // from these nodes to others
};

ModuleBoundary cut_around(const Network& network, const std::vector<std::vector<CoreId>>& modules) {
  std::vector<std::int64_t> nodes;
  for (const std::vector<CoreId>& module : modules) {
    for (const CoreId core : module) {
      nodes.push_back(core.value);
    }
  }
  std::sort(nodes.begin(), nodes.end());
  std::int64_t links = 0;
  for (const std::int64_t node : nodes) {
    network.for_each_neighbour(node, [&](std::int64_t other) {
      links += std::binary_search(nodes.begin(), nodes.end(), other) ? 0 : 1;
    });
  }
  return {.nodes = static_cast<double>(nodes.size()), .links = static_cast<double>(links)};
}

}  // namespace

std::vector<std::vector<CoreId>> attached_cores(const Chip& chip) {
  const Network network = network_of(chip);
  if (!chip.hbm || !network.routed()) {
    return {};
  }
  const auto modules = static_cast<std::size_t>(chip.hbm->modules);
  switch (chip.hbm->position) {
    case HbmPosition::Nodes:
      return centres(network, chip.hbm->modules);
    case HbmPosition::EdgesLeftRight:
      return shares(outer_columns(network), modules);
    case HbmPosition::EdgesAll:
      return shares(perimeter(network), modules);
  }
  throw InternalError("unknown HBM position");
}

Delivery delivery(const Chip& chip) {
  const BytesPerSecond link = chip.interconnect.link_rate;
  const Network network = network_of(chip);
  Delivery result{.hbm = peak(hbm_of(chip)),
                  .injection = kNoLimit,
                  .edge_cut = kNoLimit,
                  .crossing = kNoLimit,
                  .receive = kNoLimit,
                  .bisection = network.halving_links() * link,
                  .rate = 0,
                  .bound_by = ""};
  const auto cores = static_cast<double>(chip.core.count);
  if (network.routed()) {
    const ModuleBoundary cut = cut_around(network, attached_cores(chip));
    result.injection = cut.nodes * link;
    result.crossing = crossing(chip).anywhere;
    if (cut.nodes < cores) {
      result.edge_cut = cut.links * link / ((cores - cut.nodes) / cores);
    }
  } else {
    result.receive = cores * link;
  }
  const std::array<std::pair<BytesPerSecond, const char*>, 5> limits = {
      {{result.hbm, "hbm"},
       {result.injection, "injection"},
       {result.edge_cut, "edge_cut"},
       {result.crossing, "crossing"},
       {result.receive, "receive"}}};
  const auto* least =
      std::min_element(limits.begin(), limits.end(), [](const auto& a, const auto& b) {
        return a.first < b.first;  // The first of equals.
      });
  result.rate = least->first;
  result.bound_by = least->second;
  return result;
}

double receiving_between(const Chip& chip) {
  return routed(chip) && chip.inter_chip ? chip.inter_chip->rate : 0.0;
}

Seconds hbm_time(const Chip& chip, double bytes, bool idle) {
  const Hbm& hbm = hbm_of(chip);
  if (!(bytes > 0)) {
    return Seconds{0};
  }
  const double stall = hbm.refresh_stall.value;
  const double busy = bytes / peak(hbm);
  const double served = hbm.refresh_interval.value - stall;  // seconds of service per interval
  if (stall <= 0) {
    return Seconds{busy + (idle ? hbm.latency.value : 0)};
  }
  if (!idle) {
    return Seconds{busy + (stall * busy / served)};
  }
  // The n-th boundary is passed if the end with the n - 1 stalls before it lies beyond:
  // work + (n - 1) stall > n interval.
  const double work = hbm.latency.value + busy;
  const double passed = std::max(0.0, std::ceil((work - stall) / served) - 1);
  return Seconds{work + (stall * passed)};
}

}  // namespace elk::chip
