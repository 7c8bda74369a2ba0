#include "elk/cost/floor/layout_floor.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/exchange/cost_tuning.hpp"
#include "elk/cost/floor/cuts.hpp"
#include "elk/cost/floor/cuts_below.hpp"
#include "elk/cost/floor/floor_search.hpp"

namespace elk::cost {
namespace {

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
class LayoutFloorSearch {
 public:
  LayoutFloorSearch(Pricer& pricer, tile::TileRates& rates, const ActivationFloor& activation_floor,
                    double limit)
      : pricer_(pricer),
        activation_floor_(activation_floor),
        limit_(limit),
        below_(pricer, rates, limit) {}

  /// Every cut, by its shapes; false if a tile undercut the rates.
  bool run() {
    best_.clear();
    sound_ = true;
    below_.each([this](const Cut& cut, const tile::TileTime& whole) { look(cut, whole); });
    return sound_;
  }
  [[nodiscard]] std::vector<LayoutCut> cuts() const {
    std::vector<LayoutCut> result;
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
  void look(const Cut& cut, const tile::TileTime& whole) {
    const bool turning = may_turn(cut, subscript(activation_floor_.largest()));
    const FloorSearch::LeastTime least = below_.least(whole, turning);
    sound_ = sound_ && least.sound;
    if (least.ports < limit_) {
      const CutTimes now{.execute = std::min(least.execute, limit_),
                         .whole = turning ? least.whole : least.execute,
                         .turned = turning ? least.turned : kNotTurned,
                         .ports = least.ports};
      CutTimes& times = best_.emplace(shape(cut), now).first->second;
      times.execute = std::min(times.execute, now.execute);
      times.whole = std::min(times.whole, now.whole);
      for (std::size_t steps = 0; steps < kStepsTold.size(); ++steps) {
        times.turned[steps] = std::min(times.turned[steps], now.turned[steps]);
      }
      times.ports = std::min(times.ports, now.ports);
    }
  }

  using Shape = std::tuple<std::vector<std::int64_t>, std::vector<std::int64_t>, bool>;

  [[nodiscard]] Shape shape(const Cut& cut) const {
    return {counts(cut, subscript(activation_floor_.largest())), written(cut),
            activation_floor_.moved(cut) > 0};
  }

  /// Whether the axes of a dimension number its indices, each once.
  [[nodiscard]] bool tells(const SlotDim& dim) const {
    std::int64_t indices = 1;
    for (const AxisId axis : dim.axes) {
      indices = saturated_product(indices, pricer_.size()[axis]);
    }
    return !dim.picks && (dim.kind == SlotDimKind::Point || dim.kind == SlotDimKind::Plain ||
                          (dim.kind == SlotDimKind::Product && indices == dim.shape));
  }

  /// Whether a slot may rotate.
  [[nodiscard]] bool may_turn(const Cut& cut, std::size_t slot) const {
    const Table<DimId, SlotDim>& dims = pricer_.slots()[slot].dims;
    return cut.held[slot].sharers > 1 &&
           std::any_of(dims.begin(), dims.end(), [](const SlotDim& dim) { return dim.rotates; });
  }

  /// The most indices of each dimension of a slot that a core needs or makes, 0 where axes do
  /// not tell.
  [[nodiscard]] Table<DimId, std::int64_t> counts(const Cut& cut, std::size_t slot) const {
    const Table<DimId, SlotDim>& dims = pricer_.slots()[slot].dims;
    Table<DimId, std::int64_t> result(dims.size(), 0);
    for (const DimId dim : dims.ids()) {
      if (tells(dims[dim])) {
        result[dim] = cut.held[slot].extent[dim.index()].count;
      }
    }
    return result;
  }

  /// The most indices of each dimension of the result that a core holds, partial ones scattered.
  [[nodiscard]] Table<DimId, std::int64_t> written(const Cut& cut) const {
    if (pricer_.slots().size() != pricer_.reads() + 1) {
      return {};
    }
    Table<DimId, std::int64_t> result = counts(cut, pricer_.reads());
    const partition::Scatter& scatter = cut.held[pricer_.reads()].scatter;
    if (scatter.parts > 1 && scatter.dim != DimId::none) {
      const auto dim = scatter.dim;
      result[dim] = result[dim] * scatter.piece / scatter.tile;
    }
    return result;
  }

  struct CutTimes {
    double execute;
    double whole;
    TimeOfSteps turned;
    double ports;
  };

  Pricer& pricer_;
  const ActivationFloor& activation_floor_;
  double limit_;
  CutsBelow below_;
  bool sound_ = true;
  std::map<Shape, CutTimes> best_;
};

std::vector<LayoutCut> all_cuts(Pricer& pricer, tile::TileRates& rates,
                                const ActivationFloor& activation_floor, double limit) {
  LayoutFloorSearch search(pricer, rates, activation_floor, limit);
  while (!search.run()) {
  }
  return search.cuts();
}

}  // namespace

LayoutFloor layout_floor(Pricer& pricer, tile::TileRates& rates, const Floor& floor) {
  const chip::Chip& chip = pricer.chip();
  const std::int64_t cores = chip::total_cores(chip);
  if (!is_listed(pricer.op().kind) || chip::routed(chip) || chip.interconnect.overlaps_compute ||
      floor.corners.empty() ||
      count_cuts(all_factors(pricer.op(), cores), cores, tuning::kMostCuts) > tuning::kMostCuts) {
    return {};
  }
  const ActivationFloor activation_floor(pricer);
  if (activation_floor.largest() < 0) {
    return {};
  }
  const Slot& slot = pricer.slots()[subscript(activation_floor.largest())];
  const double byte_time = activation_floor.wire(1) / static_cast<double>(cores);
  const double element_time = byte_time * static_cast<double>(slot.bits) / 8.0;
  const double still = activation_floor.still(1);
  const double fetch = still + (static_cast<double>(slot.unique) * element_time) +
                       (tuning::kFragments * chip.interconnect.fragment_latency.value);
  const double limit = (tuning::kFewerCopies * floor.execute.value) + (2.0 * fetch);
  return {.operand = slot.operand,
          .elements = slot.unique,
          .element_time = element_time,
          .exchange = {still},
          .fragment = chip.interconnect.fragment_latency,
          .fetch = {fetch},
          .cuts = all_cuts(pricer, rates, activation_floor, limit)};
}

}  // namespace elk::cost
