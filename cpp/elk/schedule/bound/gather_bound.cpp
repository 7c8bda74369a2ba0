#include "elk/schedule/bound/gather_bound.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/chip/delivery.hpp"
#include "elk/cost/exchange/store.hpp"
#include "elk/schedule/bound/gather_prices.hpp"
#include "elk/schedule/bound/neighbour_bound.hpp"
#include "elk/schedule/bound/neighbour_forest.hpp"
#include "elk/schedule/bound/neighbour_pieces.hpp"
#include "elk/schedule/timing/evaluate.hpp"

namespace elk::schedule {
namespace {

/// Keeps a sum a bound whatever the rounding of its parts, of which the simulator rounds some up.
constexpr double kLessThanRounded = 1.0 - 1e-6;

/// Not seen to be more than this many times what executes take.
constexpr double kMost = 1.08;

constexpr double kNear = 0.99;  // of what is known: less is not worth a look at neighbours

/// Prices are tried one after another.
constexpr std::array kPassing = {0.02, 0.03, 0.045, 0.06, 0.08, 0.1, 0.13, 0.16};
constexpr std::array kMeeting = {0.25, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0};    // of the most
constexpr std::array kShield = {0.05, 0.08, 0.11, 0.15, 0.2, 0.28, 0.4, 0.56};  // of the longest
constexpr int kRounds = 2;
constexpr GatherPrices kFirst{.passing = 0.08, .meeting = 0.8, .shield = 0.2};
constexpr std::array kTried = {GatherPrices{.passing = 0.02, .meeting = 0.95, .shield = 0.2},
                               GatherPrices{.passing = 0.06, .meeting = 0.8, .shield = 0.1},
                               GatherPrices{.passing = 0.16, .meeting = 0.5, .shield = 0.4}};
constexpr std::size_t kLikely = 24;  // cuts of an op, of which one is the best at any such prices

/// What an op makes that is written to HBM.
struct Written {
  double hbm;      // seconds, alone
  double element;  // seconds in which one passes a port; infinite: how it lies is not known

  friend auto operator<=>(const Written&, const Written&) = default;
};

/// Ops that take the same.
struct GatherKind {
  std::int32_t front;
  bool loads;
  double hbm;  // seconds that it needs for what the op reads
  std::vector<Written> written;
  bool hangs;
  double ops = 0.0;
};

class GatherSearch {
 public:
  GatherSearch(const Problem& problem, const std::vector<double>& read, double rate)
      : problem_(problem),
        ports_{.filled = std::min(1.0, rate / (problem.chip().interconnect.link_rate *
                                               static_cast<double>(problem.chip().core.count))),
               .sync = sync(problem.chip()),
               .late = std::max(0.0, problem.chip().hbm->latency.value - sync(problem.chip()))} {
    list_kinds(read, rate);
    for (const GatherKind& kind : kinds_) {
      longest_ = std::max(longest_, gathered(kind));
    }
    for (const GatherKind& kind : kinds_) {
      likely_.push_back(likely(kind));
    }
  }

  /// Nothing if it is less than `known`, as far as can be told before neighbours are looked at.
  [[nodiscard]] Seconds more_than(Seconds known, Seconds executes) const {
    const GatherPrices prices = best_prices();
    const double beside = executes.value - floors();
    const double about = apart(prices) + ((1.0 - prices.passing) * beside);
    if (about < kNear * known.value) {
      return {0.0};
    }
    return beside_neighbours(prices) * kLessThanRounded;
  }

 private:
  static double sync(const chip::Chip& chip) { return chip.interconnect.sync_latency.value; }

  void list_kinds(const std::vector<double>& read, double rate) {
    std::vector<std::vector<Written>> written(read.size());
    for (const ir::Store& store : stores(problem_)) {
      written[subscript(store.op)].push_back(written_by(store));
    }
    const NeighbourForest wiring(problem_, NeighbourSum::Executes, {});
    std::map<std::tuple<std::int32_t, double, std::vector<Written>>, std::size_t> known;
    for (std::size_t op = 0; op < read.size(); ++op) {
      const std::int32_t front = problem_.front_of()[op];
      const auto [at, fresh] =
          known.try_emplace(std::tuple(front, read[op], written[op]), kinds_.size());
      if (fresh) {
        kinds_.push_back({.front = front,
                          .loads = problem_.is_loaded(static_cast<std::int32_t>(op)),
                          .hbm = read[op] / rate,
                          .written = written[op],
                          .hangs = wiring.hangs(static_cast<std::int32_t>(op))});
      }
      kinds_[at->second].ops += 1.0;
      kind_of_.push_back(at->second);
    }
  }

  [[nodiscard]] Written written_by(const ir::Store& store) const {
    const chip::Chip& chip = problem_.chip();
    const ir::Tensor& tensor = problem_.graph().tensors[subscript(store.tensor)];
    const double bytes = static_cast<double>(ir::bits(tensor.dtype)) / 8.0;
    const ir::Op& op = problem_.graph().ops[subscript(store.op)];
    const auto writes = std::count_if(op.operands.begin(), op.operands.end(), [](const auto& one) {
      return one.access == ir::Access::Write;
    });
    const bool told = writes == 1 && op.operands.back().tensor == store.tensor;
    return {.hbm = 2.0 * cost::store_time(chip, ir::bytes(tensor), store.run).value,
            .element = told ? bytes / chip.interconnect.link_rate : kInfinite};
  }

  /// Of each cut of its front, with what its preload and its stores count.
  [[nodiscard]] std::vector<GatherTimes::CutSeconds> times(const GatherKind& kind,
                                                           const GatherPrices& prices) const {
    std::vector<GatherTimes::CutSeconds> result;
    for (const cost::LayoutCut& cut : known_of(problem_.fronts()[subscript(kind.front)]).cuts) {
      result.push_back(times(kind, cut, prices));
    }
    return result;
  }

  [[nodiscard]] GatherTimes::CutSeconds times(const GatherKind& kind, const cost::LayoutCut& cut,
                                              const GatherPrices& prices) const {
    double beside = 0.0;
    for (const Written& written : kind.written) {
      beside -= counted_store(written.hbm, port_time(cut, written), prices);
    }
    if (cut.beside.empty()) {
      const double any = beside + unknown(kind, cut.execute.value, prices);
      return {.least = any, .whole = any, .turned = cost::kNotTurned};
    }
    GatherTimes::CutSeconds result{
        .least = kInfinite, .whole = kInfinite, .turned = cost::kNotTurned};
    for (const cost::GatherFloor& one : cut.beside) {
      const double load = kind.loads ? counted_load(one, kind.hbm, prices, ports_) : 0.0;
      const GatherTimes::CutSeconds now = counted_executes(one, prices, ports_);
      result.least = std::min(result.least, now.least + load + beside);
      result.whole = std::min(result.whole, now.whole + load + beside);
      for (std::size_t steps = 0; steps < now.turned.size(); ++steps) {
        result.turned[steps] = std::min(result.turned[steps], now.turned[steps] + load + beside);
      }
    }
    return result;
  }

  /// Seconds in which what the busiest core makes passes its port.
  [[nodiscard]] static double port_time(const cost::LayoutCut& cut, const Written& written) {
    double most = written.element;
    for (const std::int64_t count : cut.written) {
      most *= count > 0 ? static_cast<double>(count) : kInfinite;
    }
    return cut.written.empty() ? kInfinite : most;
  }

  /// Of cuts of which no more is known than the least that they take.
  [[nodiscard]] static double unknown(const GatherKind& kind, double execute,
                                      const GatherPrices& prices) {
    return ((1.0 - prices.passing) * execute) - (kind.loads ? prices.shield : 0.0);
  }

  /// What an op of a kind counts at least that stands in no tree.
  [[nodiscard]] double alone(const GatherKind& kind, const GatherPrices& prices) const {
    const cost::Front& front = problem_.fronts()[subscript(kind.front)];
    if (known_of(front).cuts.empty()) {
      const auto stored = static_cast<double>(kind.written.size());
      return unknown(kind, front.floor.execute.value, prices) - (stored * prices.shield);
    }
    double best = kInfinite;
    for (const GatherTimes::CutSeconds& cut : times(kind, prices)) {
      best = std::min(best, cut.least);
    }
    return best;
  }

  [[nodiscard]] Seconds beside_neighbours(const GatherPrices& prices) const {
    GatherTimes gather_times{
        .kind_of = kind_of_, .times = {}, .still = 1.0 - prices.passing, .uneven = prices.meeting};
    double rest = 0.0;
    for (const GatherKind& kind : kinds_) {
      gather_times.times.push_back(kind.hangs ? times(kind, prices)
                                              : std::vector<GatherTimes::CutSeconds>{});
      rest += kind.hangs ? 0.0 : kind.ops * alone(kind, prices);
    }
    return neighbour_bound(problem_, gather_times).time + Seconds{rest};
  }

  /// Seconds in which all ports together receive what the fastest cut of a kind gathers.
  [[nodiscard]] double gathered(const GatherKind& kind) const {
    double fastest = kInfinite;
    double result = 0.0;
    for (const cost::LayoutCut& cut : known_of(problem_.fronts()[subscript(kind.front)]).cuts) {
      for (const cost::GatherFloor& one : cut.beside) {
        result = one.execute.value < fastest ? one.gathered.value : result;
        fastest = std::min(fastest, one.execute.value);
      }
    }
    return result;
  }

  /// Prices of which `shield` is a part of the longest gather.
  [[nodiscard]] GatherPrices scaled(GatherPrices prices) const {
    prices.shield *= longest_;
    return prices;
  }

  /// The cuts of a kind that count least at some prices.
  [[nodiscard]] std::vector<const cost::LayoutCut*> likely(const GatherKind& kind) const {
    const std::vector<cost::LayoutCut>& cuts =
        known_of(problem_.fronts()[subscript(kind.front)]).cuts;
    std::vector<std::size_t> found;
    for (const GatherPrices& prices : kTried) {
      const std::vector<GatherTimes::CutSeconds> all = times(kind, scaled(prices));
      std::vector<std::size_t> order(all.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      const auto most = static_cast<std::ptrdiff_t>(std::min(kLikely, order.size()));
      std::partial_sort(order.begin(), order.begin() + most, order.end(),
                        [&](std::size_t a, std::size_t b) { return all[a].least < all[b].least; });
      found.insert(found.end(), order.begin(), order.begin() + most);
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    std::vector<const cost::LayoutCut*> result;
    result.reserve(found.size());
    for (const std::size_t cut : found) {
      result.push_back(&cuts[cut]);
    }
    return result;
  }

  [[nodiscard]] double floors() const {
    double sum = 0.0;
    for (const GatherKind& kind : kinds_) {
      sum += kind.ops * problem_.fronts()[subscript(kind.front)].floor.execute.value;
    }
    return sum;
  }

  /// About what all ops count, each with its own best cut.
  [[nodiscard]] double apart(const GatherPrices& prices) const {
    double sum = 0.0;
    for (std::size_t number = 0; number < kinds_.size(); ++number) {
      const GatherKind& kind = kinds_[number];
      double best = likely_[number].empty() ? alone(kind, prices) : kInfinite;
      for (const cost::LayoutCut* cut : likely_[number]) {
        best = std::min(best, times(kind, *cut, prices).least);
      }
      sum += kind.ops * best;
    }
    return sum;
  }

  [[nodiscard]] GatherPrices best_prices() const {
    GatherPrices best = scaled(kFirst);
    double most = apart(best);
    const auto consider = [&](const GatherPrices& prices) {
      const double sum = apart(prices);
      if (sum > most) {
        most = sum;
        best = prices;
      }
    };
    for (int round = 0; round < kRounds; ++round) {
      for (const double passing : kPassing) {
        consider({.passing = passing,
                  .meeting = std::min(best.meeting, 1.0 - passing),
                  .shield = best.shield});
      }
      for (const double part : kMeeting) {
        consider({.passing = best.passing,
                  .meeting = part * (1.0 - best.passing),
                  .shield = best.shield});
      }
      for (const double shield : kShield) {
        consider({.passing = best.passing, .meeting = best.meeting, .shield = shield * longest_});
      }
    }
    return best;
  }

  const Problem& problem_;
  PortFacts ports_;
  std::vector<GatherKind> kinds_;
  double longest_ = 0.0;                                     // seconds of a gather, on all ports
  std::vector<std::size_t> kind_of_;                         // of each op
  std::vector<std::vector<const cost::LayoutCut*>> likely_;  // of each kind
};

/// Whether preloads meet exchanges at the ports, and no more than one thing decides how fast.
bool meet(const chip::Chip& chip, double rate) {
  return chip.hbm && chip.chips == 1 && !chip::routed(chip) &&
         !chip.interconnect.overlaps_compute && chip.interconnect.multicast &&
         chip.hbm->refresh_stall.value <= 0.0 && rate >= chip.hbm->rate &&
         chip::delivery(chip).hbm >= chip.hbm->rate &&
         chip.core.sram_rate >= chip.interconnect.link_rate;
}

}  // namespace

Seconds gather_bound(const Problem& problem, const std::vector<double>& read, double rate,
                     const Bounds& known) {
  if (!meet(problem.chip(), rate) || known.lower_bound > known.execute * kMost) {
    return {0.0};
  }
  return GatherSearch(problem, read, rate).more_than(known.lower_bound, known.execute);
}

}  // namespace elk::schedule
