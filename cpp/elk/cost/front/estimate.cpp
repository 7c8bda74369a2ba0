#include "elk/cost/front/estimate.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/cost/floor/cuts.hpp"
#include "elk/cost/price/price.hpp"
#include "elk/partition/enumerate.hpp"

namespace elk::cost {
namespace {

constexpr int kRounds = 8;

/// Cuts priced one by one, and the best of them.
class CutWalk {
 public:
  CutWalk(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
          const tile::TileModel& tiles)
      : graph_(graph),
        op_(op),
        chip_(chip),
        cores_(chip::total_cores(chip)),
        factors_(all_factors(op, cores_)),
        pricer_(graph, op, chip, tiles),
        at_(op.axes.size(), 1) {}

  Estimate run() {
    static_cast<void>(visit(at_));
    if (pricer_.fabric().chip().has_edges()) {
      lay_out();
    } else {
      while (double_one()) {
      }
    }
    for (int round = 0; round < kRounds && trade(); ++round) {
    }
    return best_ ? Estimate{.time = {best_->time}, .exchange = {best_->exchange}}
                 : Estimate{.time = {0.0}, .exchange = {0.0}};
  }

 private:
  using FactorTuple = std::vector<std::int64_t>;

  struct Visited {
    bool too_large;
    double time;
    FactorTuple factors;
    double exchange;

    // NOLINTNEXTLINE(readability-implicit-bool-conversion): the comparison as it is defaulted
    friend auto operator<=>(const Visited&, const Visited&) = default;
  };

  /// Goes on along the axis that leaves the fastest plan; false where no axis can be cut further.
  bool double_one() {
    std::optional<Visited> next;
    for (std::size_t axis = 0; axis < at_.size(); ++axis) {
      const FactorTuple there = further(at_, axis, 2 * at_[axis]);
      const auto found = there == at_ ? std::nullopt : visit(there);
      next = found && (!next || *found < *next) ? found : next;
    }
    at_ = next ? next->factors : at_;
    return next.has_value();
  }

  /// Every axis over every dimension of the grid, as often as they go.
  void lay_out() {
    const auto most = [&](std::size_t axis, std::int64_t limit) {
      const FactorTuple& choice = factors_[axis];
      return *(std::upper_bound(choice.begin(), choice.end(), limit) - 1);
    };
    const chip::Network& network = pricer_.fabric().chip();
    const auto axes = static_cast<std::int64_t>(at_.size());
    std::int64_t ways =
        1;  // to lay an axis over each dimension; of one that comes twice, the first
    for (std::size_t dim = 0; dim < network.dims(); ++dim) {
      ways *= axes;
    }
    for (std::int64_t way = 0; way < ways; ++way) {
      FactorTuple there = at_;
      std::vector<bool> laid(at_.size(), false);
      std::int64_t left = ways;
      for (std::size_t dim = 0; dim < network.dims(); ++dim) {
        left /= axes;
        const std::size_t axis = subscript(way / left % axes);
        there[axis] = laid[axis] ? there[axis] : most(axis, network.length(dim));
        laid[axis] = true;
      }
      static_cast<void>(visit(there));
    }
  }

  /// From the best cut, one axis cut half as often, or none, and another as often as that leaves
  /// cores for; false where none is better.
  bool trade() {
    const std::optional<Visited> before = best_;
    const FactorTuple from = before->factors;
    for (std::size_t less = 0; less <= from.size(); ++less) {
      const FactorTuple start = less < from.size() ? halved(from, less) : from;
      for (std::size_t more = 0; more < from.size(); ++more) {
        for (const std::int64_t wanted : {2 * start[more], cores_}) {
          const FactorTuple there = further(start, more, wanted);
          if (more != less && there != from) {
            static_cast<void>(visit(there));
          }
        }
      }
    }
    return best_ != before;
  }

  /// `from` with the axis cut in no more than half as many.
  [[nodiscard]] FactorTuple halved(const FactorTuple& from, std::size_t axis) const {
    const FactorTuple& choice = factors_[axis];
    const auto above = std::upper_bound(choice.begin(), choice.end(), from[axis] / 2);
    FactorTuple result = from;
    result[axis] = above == choice.begin() ? 1 : *(above - 1);
    return result;
  }

  /// `from` with the axis cut in `wanted`, or as often as cores are left for.
  [[nodiscard]] FactorTuple further(const FactorTuple& from, std::size_t axis,
                                    std::int64_t wanted) const {
    const std::int64_t others =
        std::accumulate(from.begin(), from.end(), std::int64_t{1}, std::multiplies<>()) /
        from[axis];
    const FactorTuple& choice = factors_[axis];
    const auto reach = std::upper_bound(choice.begin(), choice.end(), cores_ / others);
    const auto there = std::lower_bound(choice.begin(), reach, wanted);
    FactorTuple result = from;
    if (reach != choice.begin()) {
      result[axis] = std::max(from[axis], there == reach ? *(reach - 1) : *there);
    }
    return result;
  }

  /// What the cut costs; empty if the chip's grid has no place for it.
  std::optional<Visited> visit(const FactorTuple& factors) {
    const auto plan = partition::complete_plan(
        graph_, op_, factors, std::vector<FactorTuple>(op_.operands.size()), chip_);
    if (!plan) {
      return std::nullopt;
    }
    const PlanOption option = price_execute(graph_, op_, *plan, pricer_);
    const double gather = gather_time(option.gather);
    Visited found{.too_large = option.footprint.space > chip::room(chip_),
                  .time = option.time.value - option.gather.time.value + gather,
                  .factors = factors,
                  .exchange = gather + option.shift.time.value + option.reduce.time.value};
    best_ = best_ && *best_ < found ? best_ : found;
    return found;
  }

  /// Of activations, which seldom come from everywhere: on a grid at most what each core receives,
  /// over one link.
  [[nodiscard]] double gather_time(const ExchangeCost& gather) const {
    const double near = chip_.interconnect.sync_latency.value +
                        (static_cast<double>(gather.bytes.value) / chip_.interconnect.link_rate);
    return pricer_.fabric().grid() ? std::min(gather.time.value, near) : gather.time.value;
  }

  const ir::Graph& graph_;
  const ir::Op& op_;
  const chip::Chip& chip_;
  std::int64_t cores_;
  Factors factors_;
  Pricer pricer_;
  FactorTuple at_;
  std::optional<Visited> best_;
};

}  // namespace

Estimate estimate(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                  const tile::TileModel& tiles) {
  return CutWalk(graph, op, chip, tiles).run();
}

}  // namespace elk::cost
