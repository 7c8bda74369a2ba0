#include "elk/chip/link_throughput.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "elk/chip/delivery.hpp"

namespace elk::chip {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Places along one dimension between the first and the last node of a module.
struct ModuleReach {
  std::int64_t first;
  std::int64_t last;
};

/// Bytes a second that the straight cuts across one dimension let through to and from modules that
/// reach so far along it.
BytesPerSecond through(const Network& network, std::size_t dim,
                       const std::vector<ModuleReach>& reaches, BytesPerSecond link) {
  BytesPerSecond least = kInfinite;
  const auto modules = static_cast<double>(reaches.size());
  for (std::int64_t at = 1; at < network.length(dim); ++at) {
    const double rate = static_cast<double>(network.links_across(dim, at)) * link;
    const auto before = std::count_if(reaches.begin(), reaches.end(),
                                      [at](const ModuleReach& reach) { return reach.last < at; });
    const auto after = std::count_if(reaches.begin(), reaches.end(),
                                     [at](const ModuleReach& reach) { return reach.first >= at; });
    const double a = static_cast<double>(before) / modules;
    const double c = static_cast<double>(after) / modules;
    if (a > 0.0 && c > 0.0) {
      least = std::min(least, rate * (a + c) / (a * c));
    }
  }
  return least;
}

/// How far the nodes of a module reach along one dimension.
ModuleReach reach_of(const Network& network, std::size_t dim, const std::vector<CoreId>& module) {
  ModuleReach result{.first = network.length(dim), .last = -1};
  for (const CoreId core : module) {
    const std::int64_t at = network.place(core.value)[dim];
    result = {.first = std::min(result.first, at), .last = std::max(result.last, at)};
  }
  return result;
}

}  // namespace

LinkThroughput crossing(const Chip& chip) {
  LinkThroughput result{.receive = kInfinite, .anywhere = kInfinite};
  const Network network = network_of(chip);
  if (!network.routed()) {
    return result;
  }
  const BytesPerSecond link = chip.interconnect.link_rate;
  const std::vector<std::vector<CoreId>> modules = attached_cores(chip);
  std::int64_t nodes = 0;
  for (const std::vector<CoreId>& module : modules) {
    nodes += static_cast<std::int64_t>(module.size());
  }
  result.receive = static_cast<double>(network.all_links() + nodes) * link;
  for (std::size_t dim = 0; dim < network.dims() && nodes > 0; ++dim) {
    std::vector<ModuleReach> reaches;
    reaches.reserve(modules.size());
    for (const std::vector<CoreId>& module : modules) {
      reaches.push_back(reach_of(network, dim, module));
    }
    result.anywhere = std::min(result.anywhere, through(network, dim, reaches, link));
  }
  return result;
}

}  // namespace elk::chip
