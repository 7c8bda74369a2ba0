#include "elk/schedule/bound/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/mechanisms.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/delivery.hpp"
#include "elk/chip/link_throughput.hpp"
#include "elk/schedule/bound/neighbour_bound.hpp"
#include "elk/schedule/bound/pair_bound.hpp"
#include "elk/schedule/bound/sram_bound.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"

namespace elk::schedule {
namespace {

/// Keeps a sum of floors a bound whatever the rounding of its additions.
constexpr double kRoundDown = 1.0 - 1e-9;

/// Bytes a second that a core receives at most, on average over all. On the grid of one chip every
/// link counts once; what comes from other chips may come in beside them.
double receive_rate(const chip::Chip& chip) {
  const double link = chip.interconnect.link_rate;
  if (!chip::routed(chip)) {
    return link;
  }
  if (chip.chips == 1) {
    return chip::crossing(chip).receive / static_cast<double>(chip.core.count);
  }
  const std::int64_t links = 1 + chip::network_of(chip).receiving_links();  // One is a module's.
  return (link * static_cast<double>(links)) + chip::receiving_between(chip);
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
struct FrontCorners {
  std::vector<Need> needs;
  double ops;
};

/// Ops of which more is known together (`neighbour_bound`, `pair_bound`).
struct Group {
  std::vector<double> ops;  // of each front
  double time;              // seconds of them all
};

Group group(const Problem& problem, NeighbourSum summed, const PairBound& pairs = {}) {
  const NeighbourBound known = mechanisms().bound_neighbours
                                   ? neighbour_bound(problem, summed, pairs.extra)
                                   : NeighbourBound{.ops = {}, .time = {0.0}};
  Group result{.ops = std::vector<double>(problem.fronts().size(), 0.0),
               .time = known.time.value + pairs.gain.value};
  Table<OpId, bool> counted(problem.front_of().size(), false);
  for (const OpId op : known.ops) {
    counted[op] = true;
    result.ops[subscript(problem.front_of()[op])] += 1.0;
  }
  for (const OpId op : pairs.ops) {
    if (!counted[op]) {
      result.ops[subscript(problem.front_of()[op])] += 1.0;
      result.time += problem.front(op).floor.execute.value;
    }
  }
  return result;
}

/// What an op needs at least at some prices: all in all, and beside its execute with any other cut.
struct OpNeed {
  double all;
  double rest;
};

/// The sum over all ops, each by its front, or with those of `group` taken together, of which a
/// second costs `price`.
double most_of(const std::vector<FrontCorners>& shares, const std::vector<OpNeed>& needed,
               const Group& group, double price) {
  double each = 0.0;
  double grouped = price * group.time;
  for (std::size_t front = 0; front < needed.size(); ++front) {
    const auto& [all, rest] = needed[front];
    each += shares[front].ops * all;
    grouped += (shares[front].ops - group.ops[front]) * all;
    grouped += group.ops[front] * rest;
  }
  return std::max(each, grouped);
}

/// Bytes a second that one chip's HBM can give, its edge take in and its links carry to wherever
/// they are needed; infinite without HBM.
double arrival_rate(const chip::Chip& chip) {
  if (!chip.hbm) {
    return std::numeric_limits<double>::infinity();
  }
  return std::min({chip.hbm->rate, chip::delivery(chip).injection, chip::crossing(chip).anywhere});
}

std::vector<FrontCorners> shares(const Problem& problem) {
  const chip::Chip& chip = problem.chip();
  const double port = receive_rate(chip);
  const double arrival = arrival_rate(chip);
  std::vector<FrontCorners> result;
  for (const cost::Front& front : problem.fronts()) {
    FrontCorners share{.needs = {}, .ops = 0.0};
    for (const cost::Corner& corner : front.floor.corners) {
      share.needs.push_back({.execute = corner.execute.value,
                             .link = static_cast<double>(corner.link.value) / port,
                             .hbm = static_cast<double>(corner.hbm_bytes) / arrival});
    }
    result.push_back(std::move(share));
  }
  for (const std::int32_t front : problem.front_of()) {
    result[subscript(front)].ops += 1.0;
  }
  return result;
}

double least(const FrontCorners& share, const Weights& weights) {
  double best = std::numeric_limits<double>::infinity();
  for (const Need& need : share.needs) {
    best = std::min(best, (weights.execute * need.execute) + (weights.link * need.link) +
                              (weights.hbm * need.hbm));
  }
  return share.needs.empty() ? 0.0 : best;
}

double weighed(const std::vector<FrontCorners>& shares, const Group& group,
               const Weights& weights) {
  std::vector<OpNeed> needed;
  for (const FrontCorners& share : shares) {
    const Weights beside{.execute = 0.0, .link = weights.link, .hbm = weights.hbm};
    needed.push_back({.all = least(share, weights), .rest = least(share, beside)});
  }
  return most_of(shares, needed, group, weights.execute) * kRoundDown;
}

/// The most of a grid of weights.
double most_weighed(const std::vector<FrontCorners>& shares, const Group& group) {
  double most = 0.0;
  for (int a = 0; a <= tuning::kWeightGrid; ++a) {
    for (int b = 0; a + b <= tuning::kWeightGrid; ++b) {
      most = std::max(most, weighed(shares, group,
                                    {.execute = static_cast<double>(a) / tuning::kWeightGrid,
                                     .link = static_cast<double>(b) / tuning::kWeightGrid,
                                     .hbm = static_cast<double>(tuning::kWeightGrid - a - b) /
                                            tuning::kWeightGrid}));
    }
  }
  return most;
}

/// Bytes that every plan of an op must read, each once, over all chips; of what an index picks, as
/// many as are expected.
double read_once(const Problem& problem, OpId op) {
  const ir::Op& node = problem.graph().ops[op];
  const partition::ExecutePlan whole{
      .factors = Table<AxisId, std::int64_t>(node.axes.size(), 1),
      .temporal = Table<OperandId, Table<DimId, std::int64_t>>(node.operands.size()),
      .pace = Table<AxisId, std::int64_t>(node.axes.size(), 0),
      .order = {},
      .loops = {},
      .mesh_dims = Table<AxisId, std::int32_t>(node.axes.size(), -1)};
  double sum = 0.0;
  for (const OperandId k : node.operands.ids()) {
    if (partition::from_hbm(problem.graph(), node.operands[k]) &&
        partition::first_like(node, k) == k) {
      sum += static_cast<double>(
          partition::sharing(problem.graph(), node, k, whole, problem.chip()).hbm_bytes);
    }
  }
  return sum;
}

/// Bytes that every op reads; zero without HBM, where weights stay on chip.
Table<OpId, double> reads(const Problem& problem) {
  std::vector<double> known(problem.fronts().size(), -1.0);
  Table<OpId, double> result(problem.front_of().size(), 0.0);
  for (const OpId op : problem.loaded()) {
    double& front = known[subscript(problem.front_of()[op])];
    front = front < 0.0 ? read_once(problem, op) : front;
    result[op] = front;
  }
  return result;
}

/// What preloads that meet exchanges at the ports add (`bounds.hpp`). Of each front, `hbm`: seconds
/// in which its HBM data come at least.
class PortContention {
 public:
  PortContention(const Problem& problem, const std::vector<FrontCorners>& shares,
                 std::vector<double> hbm)
      : problem_(problem),
        shares_(shares),
        hbm_(std::move(hbm)),
        link_(problem.chip().interconnect.link_rate),
        filled_(std::min(1.0, arrival_rate(problem.chip()) /
                                  (link_ * static_cast<double>(problem.chip().core.count)))) {}

  /// With the ops of `group` taken together.
  [[nodiscard]] double most(const Group& group) const {
    double best = 0.0;
    for (int part = 0; part <= 2 * tuning::kPreloadPrices; ++part) {
      const double below = std::min(1.0, static_cast<double>(part) / tuning::kPreloadPrices);
      const double above =
          std::max(0.0, (static_cast<double>(part) / tuning::kPreloadPrices) - 1.0);
      const double price = (below * filled_) + (above * (1.0 - filled_));
      std::vector<OpNeed> needed;
      for (std::size_t front = 0; front < shares_.size(); ++front) {
        needed.push_back({.all = most(front, {.execute = 1.0 - price, .preload = price}),
                          .rest = most(front, {.execute = 0.0, .preload = price})});
      }
      best = std::max(best, most_of(shares_, needed, group, 1.0 - price));
    }
    return best * kRoundDown;
  }

 private:
  /// What seconds are worth: of an execute, and of a preload beside no exchange.
  struct PortPrices {
    double execute;
    double preload;
  };

  /// What the op of a front takes at least, by whichever mean of its ports' time and of the HBM's
  /// is the most. An exchange counts whole, in the execute and beside it.
  [[nodiscard]] double most(std::size_t front, const PortPrices& prices) const {
    const double price = prices.preload;
    const double steepest =
        filled_ < 1.0 ? std::min(price, filled_ * (1.0 - price) / (1.0 - filled_)) : price;
    double best = 0.0;
    for (int part = 0; part <= tuning::kPortMeans; ++part) {
      best = std::max(best, least(front, prices, steepest * part / tuning::kPortMeans));
      if (hbm_[front] <= 0.0) {
        break;
      }
    }
    return best;
  }

  /// The least of its cuts, with the HBM's part in the price.
  [[nodiscard]] double least(std::size_t front, const PortPrices& prices, double hbm) const {
    double best = std::numeric_limits<double>::infinity();
    for (const cost::PortUse& use : problem_.fronts()[front].floor.port_uses) {
      const double carried = static_cast<double>(use.carried.value) / link_;
      const double loaded =
          std::max(static_cast<double>(use.loaded.value) / link_, filled_ * hbm_[front]);
      best = std::min(best, (prices.execute * (use.idle.value + carried)) +
                                (prices.preload * carried) + ((prices.preload - hbm) * loaded));
    }
    return std::isfinite(best) ? best + (hbm * hbm_[front]) : 0.0;
  }

  const Problem& problem_;
  const std::vector<FrontCorners>& shares_;
  std::vector<double> hbm_;
  double link_;
  double filled_;  // share of all ports that the HBM fills at its best
};

/// The bound of contention, where ports bind and exchanges do not hide behind compute. Neighbours
/// are looked at if that may make it more than what is `known`.
double contended(const Problem& problem, const std::vector<FrontCorners>& shares,
                 const Table<OpId, double>& read, Seconds known) {
  const chip::Chip& chip = problem.chip();
  if (!mechanisms().bound_contention || chip::routed(chip) || chip.interconnect.overlaps_compute) {
    return 0.0;
  }
  std::vector<double> hbm(shares.size(), 0.0);
  for (const OpId op : problem.loaded()) {
    hbm[subscript(problem.front_of()[op])] =
        read[op] / (arrival_rate(chip) * static_cast<double>(chip.chips));
  }
  const PortContention ports(problem, shares, std::move(hbm));
  const double apart = ports.most({.ops = std::vector<double>(shares.size(), 0.0), .time = 0.0});
  return apart * tuning::kMostOfNeighbours < known.value
             ? apart
             : ports.most(group(problem, NeighbourSum::Ports));
}

}  // namespace

Bounds bounds(const Problem& problem, Seconds ideal) {
  const chip::Chip& chip = problem.chip();
  const std::vector<FrontCorners> all = shares(problem);
  std::vector<Group> groups = {group(problem, NeighbourSum::Executes)};
  Bounds result{
      .ideal = ideal,
      .lower_bound = {0.0},
      .hbm = {0.0},
      .execute = {weighed(all, groups.front(), {.execute = 1.0, .link = 0.0, .hbm = 0.0})},
      .link = {weighed(all, groups.front(), {.execute = 0.0, .link = 1.0, .hbm = 0.0})}};
  const Table<OpId, double> read = reads(problem);
  const double rate = arrival_rate(chip) * static_cast<double>(chip.chips);
  if (chip.hbm) {
    const double bytes = std::accumulate(read.begin(), read.end(), 0.0);
    const double timeline = mechanisms().bound_sram ? sram_bound(problem, read, rate) : 0.0;
    const PairBound pairs = pair_bound(problem, read, rate);
    if (mechanisms().bound_pairs && !pairs.ops.empty()) {
      groups.push_back(group(problem, NeighbourSum::Executes, pairs));
    }
    result.hbm.value = bytes / (chip.hbm->rate * static_cast<double>(chip.chips)) * kRoundDown;
    result.lower_bound.value = std::max(result.hbm.value, timeline * kRoundDown);
  }
  for (const Group& grouped : groups) {
    result.lower_bound.value = std::max(result.lower_bound.value, most_weighed(all, grouped));
  }
  if (chip.hbm) {
    const Seconds meeting{contended(problem, all, read, result.lower_bound)};
    result.lower_bound = std::max(result.lower_bound, meeting);
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
