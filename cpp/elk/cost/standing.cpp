#include "elk/cost/standing.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/cost/cuts.hpp"
#include "elk/cost/floor.hpp"

namespace elk::cost {
namespace {

constexpr std::int64_t kMostStanding = 100'000;  // cuts of an op
constexpr double kFragments = 200.0;             // that an exchange may cost more than its least

/// Whether such an op's cuts are listed.
bool is_listed(ir::OpKind kind) {
  switch (kind) {
    case ir::OpKind::Elementwise:
    case ir::OpKind::Reduce:
    case ir::OpKind::Softmax:
    case ir::OpKind::Norm:
    case ir::OpKind::Copy:
    case ir::OpKind::MatMul:
      return true;
    case ir::OpKind::Conv:
    case ir::OpKind::DepthwiseConv:
    case ir::OpKind::Pool:
    case ir::OpKind::Gather:
    case ir::OpKind::Opaque:
    case ir::OpKind::AllReduce:
    case ir::OpKind::AllGather:
    case ir::OpKind::ReduceScatter:
    case ir::OpKind::AllToAll:
      break;
  }
  return false;
}

/// Times the cuts of an op that take less than a limit.
class StandingSearch {
 public:
  StandingSearch(Pricer& pricer, Rates& rates, const Resting& resting, double limit)
      : pricer_(pricer),
        rates_(rates),
        resting_(resting),
        limit_(limit),
        cores_(chip::total_cores(pricer.chip())),
        factors_(all_factors(pricer.op(), cores_)),
        turns_(pricer, cores_),
        floor_(pricer, rates, cores_, false),
        cut_(uncut(factors_.size())) {}

  /// Every cut, by its shapes; false if a tile undercut the rates.
  bool run() {
    best_.clear();
    sound_ = true;
    visit({.axes = 0, .product = 1, .rate = 0.0, .volume = rates_.volume(pricer_.size())});
    return sound_;
  }
  [[nodiscard]] std::vector<StandingCut> cuts() const {
    std::vector<StandingCut> result;
    for (const auto& [shape, times] : best_) {
      const auto& [read, written, moves] = shape;
      result.push_back({.read = read,
                        .written = written,
                        .moves = moves,
                        .execute = {times.execute},
                        .whole = {times.whole},
                        .turned = times.turned,
                        .ports = {times.ports}});
    }
    result.push_back({.read = {},
                      .written = {},
                      .moves = true,
                      .execute = {limit_},
                      .whole = {limit_},
                      .turned = kNotTurned,
                      .ports = {limit_}});
    return result;
  }

 private:
  /// What the factors of the first axes say of a cut's tiles.
  struct Prefix {
    std::size_t axes;
    std::int64_t product;  // of the factors
    double rate;           // least seconds for each unit of volume
    double volume;         // with the other axes whole
  };

  /// Every cut with the factors of `before`, the axes after these in any way.
  void visit(const Prefix& before) {
    if (before.axes == factors_.size()) {
      look(before.rate * before.volume);
      return;
    }
    const std::size_t axis = before.axes;
    const std::int64_t size = pricer_.op().axes[axis].size;
    for (const std::int64_t factor : factors_[axis]) {
      if (before.product * factor > cores_) {
        break;
      }
      const std::int64_t length = ceil_div(size, factor);
      const double share = static_cast<double>(length) / static_cast<double>(size);
      const Prefix here{.axes = axis + 1,
                        .product = before.product * factor,
                        .rate = std::max(before.rate, rates_.rate(axis, length)),
                        .volume = before.volume * (rates_.counts(axis) ? share : 1.0)};
      cut_.factor[axis] = factor;
      cut_.tile[axis] = length;
      if (may_take_less(here)) {
        visit(here);
      }
    }
    cut_.factor[axis] = 1;
    cut_.tile[axis] = size;
  }

  /// Whether a cut with these factors may take less than the limit. What is not known of it yet
  /// stands at its least: the axes uncut so far share and sum nothing.
  bool may_take_less(const Prefix& here) {
    const std::int64_t pieces = cores_ / here.product;  // of the tile that others can cut
    const double compute = here.rate * here.volume / static_cast<double>(pieces);
    if (compute >= limit_) {
      return false;
    }
    pricer_.count_sharers(cut_);
    cut_.reduce = kNoExchange;
    return floor_.ports(cut_, compute) < limit_;
  }

  /// `compute`: what its tiles take at least.
  void look(double compute) {
    pricer_.count_sharers(cut_);
    cut_.reduce = kNoExchange;
    if (floor_.ports(cut_, compute) >= limit_) {
      return;
    }
    pricer_.measure(cut_);
    const WholeTile whole{
        .time = pricer_.tiles().sub_task(cut_.tile),
        .beyond = rates_.tells_beyond() && pricer_.tiles().extrapolated(cut_.tile)};
    if (rates_.gain(whole) * whole.time >= limit_) {
      return;
    }
    pricer_.reduce(cut_);
    const auto read = static_cast<std::size_t>(resting_.largest());
    const bool turning = may_turn(read);
    const FloorSearch::Least least = floor_.least(cut_, whole, turns_, limit_, turning);
    sound_ = sound_ && least.sound;
    if (least.ports < limit_) {
      const Times now{.execute = std::min(least.execute, limit_),
                      .whole = turning ? least.whole : least.execute,
                      .turned = turning ? least.turned : kNotTurned,
                      .ports = least.ports};
      const auto [place, fresh] =
          best_.emplace(Shape{counts(read), written(), resting_.moved(cut_) > 0}, now);
      Times& times = place->second;
      times.execute = std::min(times.execute, now.execute);
      times.whole = std::min(times.whole, now.whole);
      for (std::size_t steps = 0; steps < kStepsTold.size(); ++steps) {
        times.turned[steps] = std::min(times.turned[steps], now.turned[steps]);
      }
      times.ports = std::min(times.ports, now.ports);
    }
  }

  /// Whether the axes of a dimension number its indices, each once.
  [[nodiscard]] bool tells(const SlotDim& dim) const {
    std::int64_t indices = 1;
    for (const std::int32_t axis : dim.axes) {
      indices = saturated_product(indices, pricer_.size()[subscript(axis)]);
    }
    return !dim.picks && (dim.kind == SlotDimKind::Point || dim.kind == SlotDimKind::Plain ||
                          (dim.kind == SlotDimKind::Product && indices == dim.shape));
  }

  /// Whether a slot may rotate.
  [[nodiscard]] bool may_turn(std::size_t slot) const {
    const std::vector<SlotDim>& dims = pricer_.slots()[slot].dims;
    return cut_.held[slot].sharers > 1 &&
           std::any_of(dims.begin(), dims.end(), [](const SlotDim& dim) { return dim.rotates; });
  }

  /// The most indices of each dimension of a slot that a core needs or makes, 0 where axes do
  /// not tell.
  [[nodiscard]] std::vector<std::int64_t> counts(std::size_t slot) const {
    const std::vector<SlotDim>& dims = pricer_.slots()[slot].dims;
    std::vector<std::int64_t> result(dims.size(), 0);
    for (std::size_t dim = 0; dim < dims.size(); ++dim) {
      if (tells(dims[dim])) {
        result[dim] = cut_.held[slot].extent[dim].count;
      }
    }
    return result;
  }

  /// The same of the result, partial ones scattered.
  [[nodiscard]] std::vector<std::int64_t> written() const {
    if (pricer_.slots().size() != pricer_.reads() + 1) {
      return {};
    }
    std::vector<std::int64_t> result = counts(pricer_.reads());
    const partition::Scatter& scatter = cut_.held[pricer_.reads()].scatter;
    if (scatter.parts > 1 && scatter.dim >= 0) {
      const auto dim = static_cast<std::size_t>(scatter.dim);
      result[dim] = result[dim] * scatter.piece / scatter.tile;
    }
    return result;
  }

  struct Times {
    double execute;
    double whole;
    TimeOfSteps turned;
    double ports;
  };
  using Shape = std::tuple<std::vector<std::int64_t>, std::vector<std::int64_t>, bool>;

  Pricer& pricer_;
  Rates& rates_;
  const Resting& resting_;
  double limit_;
  std::int64_t cores_;
  Factors factors_;
  Turns turns_;
  FloorSearch floor_;
  Cut cut_;
  bool sound_ = true;
  std::map<Shape, Times> best_;
};

}  // namespace

Standing standing(Pricer& pricer, Rates& rates, const Floor& floor) {
  const chip::Chip& chip = pricer.chip();
  const std::int64_t cores = chip::total_cores(chip);
  if (!is_listed(pricer.op().kind) || chip::is_mesh(chip) || chip.interconnect.overlaps_compute ||
      floor.corners.empty() ||
      count_cuts(all_factors(pricer.op(), cores), cores, kMostStanding) > kMostStanding) {
    return {};
  }
  const Resting resting(pricer);
  if (resting.largest() < 0) {
    return {};
  }
  const Slot& slot = pricer.slots()[subscript(resting.largest())];
  const double byte_time = resting.wire(1) / static_cast<double>(cores);
  const double element_time = byte_time * static_cast<double>(slot.bits) / 8.0;
  const double still = resting.still(1);
  const double fetch = still + (static_cast<double>(slot.unique) * element_time) +
                       (kFragments * chip.interconnect.fragment_latency.value);
  StandingSearch search(pricer, rates, resting, floor.execute.value + (2.0 * fetch));
  while (!search.run()) {
  }
  return {.operand = static_cast<std::int32_t>(slot.operand),
          .elements = slot.unique,
          .element_time = element_time,
          .exchange = {still},
          .fragment = chip.interconnect.fragment_latency,
          .cuts = search.cuts()};
}

}  // namespace elk::cost
