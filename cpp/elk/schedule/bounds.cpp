#include "elk/schedule/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/chip/crossing.hpp"
#include "elk/chip/delivery.hpp"
#include "elk/schedule/sram_bound.hpp"

namespace elk::schedule {
namespace {

/// Keeps a sum of floors a bound whatever the rounding of its additions.
constexpr double kRoundDown = 1.0 - 1e-9;

constexpr int kGrid = 16;  // weights are multiples of 1 / kGrid

/// Bytes a second that a core receives at most, on average over all. On the grid of one chip every
/// link counts once; what comes from other chips may come in beside them.
double receive_rate(const chip::Chip& chip) {
  const double link = chip.interconnect.link_rate;
  if (!chip::is_mesh(chip)) {
    return link;
  }
  if (chip.chips == 1) {
    return chip::crossing(chip).receive / static_cast<double>(chip.core.count);
  }
  const bool ring = chip.interconnect.topology == chip::Topology::Ring;
  return link * (ring ? 3.0 : 5.0);  // One of them a module's.
}

/// What a cut needs at least, in seconds of each resource.
struct Need {
  double execute;
  double link;
  double hbm;
};

struct Weights {
  double execute;
  double link;
  double hbm;
};

/// The Pareto corners of a front in seconds, and how many ops have it.
struct Share {
  std::vector<Need> needs;
  double ops;
};

/// Bytes a second that one chip's HBM can give, its edge take in and its links carry to wherever
/// they are needed; infinite without HBM.
double arrival_rate(const chip::Chip& chip) {
  if (!chip.hbm) {
    return std::numeric_limits<double>::infinity();
  }
  return std::min({chip.hbm->rate, chip::delivery(chip).injection, chip::crossing(chip).anywhere});
}

std::vector<Share> shares(const Problem& problem) {
  const chip::Chip& chip = problem.chip();
  const double port = receive_rate(chip);
  const double arrival = arrival_rate(chip);
  std::vector<Share> result;
  for (const cost::Front& front : problem.fronts()) {
    Share share{.needs = {}, .ops = 0.0};
    for (const cost::Corner& corner : front.floor.corners) {
      share.needs.push_back({.execute = corner.execute.value,
                             .link = static_cast<double>(corner.link.value) / port,
                             .hbm = static_cast<double>(corner.hbm_bytes) / arrival});
    }
    result.push_back(std::move(share));
  }
  for (const std::int32_t front : problem.front_of()) {
    result[static_cast<std::size_t>(front)].ops += 1.0;
  }
  return result;
}

double least(const Share& share, const Weights& weights) {
  double best = std::numeric_limits<double>::infinity();
  for (const Need& need : share.needs) {
    best = std::min(best, (weights.execute * need.execute) + (weights.link * need.link) +
                              (weights.hbm * need.hbm));
  }
  return share.needs.empty() ? 0.0 : best;
}

double weighed(const std::vector<Share>& shares, const Weights& weights) {
  double sum = 0.0;
  for (const Share& share : shares) {
    sum += share.ops * least(share, weights);
  }
  return sum * kRoundDown;
}

/// What preloads that meet exchanges at the ports add. Exchanges take a time X, all else I; while
/// no exchange runs, no more than the HBM gives in I comes in, and the rest of its bytes, each on
/// some port, beside the exchanges: with s the share of all ports that the HBM fills at its best,
/// and P the time in which all ports together take in what it must give,
///
///     X >= carried + P - s I,  and  T >= I + X >= carried + P + (1 - s) I
///
/// for this s and any less of both P and s.
double contended(const Problem& problem, const std::vector<Share>& shares, double bytes) {
  const chip::Chip& chip = problem.chip();
  if (chip::is_mesh(chip) || chip.interconnect.overlaps_compute) {
    return 0.0;  // Links, not ports; exchanges may hide behind compute.
  }
  const double link = chip.interconnect.link_rate;
  const double ports = link * static_cast<double>(chip.core.count);
  const double share = std::min(arrival_rate(chip) / ports, 1.0);
  double best = 0.0;
  for (int part = 1; part <= kGrid; ++part) {
    const double less = static_cast<double>(part) / kGrid;
    double sum = less * bytes / (ports * static_cast<double>(chip.chips));
    for (std::size_t front = 0; front < shares.size(); ++front) {
      double least = std::numeric_limits<double>::infinity();
      for (const cost::PortUse& use : problem.fronts()[front].floor.port_uses) {
        least = std::min(least, ((1.0 - (less * share)) * use.idle.value) +
                                    (static_cast<double>(use.carried.value) / link));
      }
      sum += std::isfinite(least) ? shares[front].ops * least : 0.0;
    }
    best = std::max(best, sum * kRoundDown);
  }
  return best;
}

/// Bytes that every plan of an op must read, each once, over all chips.
double read_once(const Problem& problem, std::int32_t op) {
  const ir::Op& node = problem.graph().ops[static_cast<std::size_t>(op)];
  const partition::ExecutePlan whole{
      .factors = std::vector<std::int64_t>(node.axes.size(), 1),
      .temporal = std::vector<std::vector<std::int64_t>>(node.operands.size()),
      .pace = std::vector<std::int64_t>(node.axes.size(), 0),
      .order = {},
      .loops = {},
      .mesh_dims = std::vector<std::int32_t>(node.axes.size(), -1)};
  double sum = 0.0;
  for (std::size_t k = 0; k < node.operands.size(); ++k) {
    const ir::Operand& operand = node.operands[k];
    bool again = false;
    for (std::size_t j = 0; j < k; ++j) {
      again = again || node.operands[j].tensor == operand.tensor;
    }
    if (partition::from_hbm(problem.graph(), operand) && !operand.indirect && !again) {
      sum += static_cast<double>(
          partition::sharing(problem.graph(), node, k, whole, problem.chip()).hbm_bytes);
    }
  }
  return sum;
}

/// The same of every op; zero without HBM, where weights stay on chip.
std::vector<double> reads(const Problem& problem) {
  std::vector<double> known(problem.fronts().size(), -1.0);
  std::vector<double> result(problem.front_of().size(), 0.0);
  for (const std::int32_t op : problem.loaded()) {
    double& front = known[subscript(problem.front_of()[subscript(op)])];
    front = front < 0.0 ? read_once(problem, op) : front;
    result[subscript(op)] = front;
  }
  return result;
}

}  // namespace

Bounds bounds(const Problem& problem, Seconds ideal) {
  const chip::Chip& chip = problem.chip();
  const std::vector<Share> all = shares(problem);
  Bounds result{.ideal = ideal,
                .lower_bound = {0.0},
                .hbm = {0.0},
                .execute = {weighed(all, {.execute = 1.0, .link = 0.0, .hbm = 0.0})},
                .link = {weighed(all, {.execute = 0.0, .link = 1.0, .hbm = 0.0})}};
  if (chip.hbm) {
    const std::vector<double> read = reads(problem);
    const double bytes = std::accumulate(read.begin(), read.end(), 0.0);
    const auto chips = static_cast<double>(chip.chips);
    const double timeline = sram_bound(problem, read, arrival_rate(chip) * chips);
    result.hbm.value = bytes / (chip.hbm->rate * chips) * kRoundDown;
    result.lower_bound.value =
        std::max({result.hbm.value, timeline * kRoundDown, contended(problem, all, bytes)});
  }
  for (int a = 0; a <= kGrid; ++a) {
    for (int b = 0; a + b <= kGrid; ++b) {
      const Weights weights{.execute = static_cast<double>(a) / kGrid,
                            .link = static_cast<double>(b) / kGrid,
                            .hbm = static_cast<double>(kGrid - a - b) / kGrid};
      result.lower_bound.value = std::max(result.lower_bound.value, weighed(all, weights));
    }
  }
  return result;
}

Bounds least_bounds(std::span<const Bounds> spaces) {
  Bounds result = spaces.front();
  for (const Bounds& one : spaces.subspan(1)) {
    result.ideal = std::min(result.ideal, one.ideal);
    result.lower_bound = std::min(result.lower_bound, one.lower_bound);
    result.hbm = std::min(result.hbm, one.hbm);
    result.execute = std::min(result.execute, one.execute);
    result.link = std::min(result.link, one.link);
  }
  return result;
}

}  // namespace elk::schedule
