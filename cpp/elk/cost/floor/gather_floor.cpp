#include "elk/cost/floor/gather_floor.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "elk/base/ids.hpp"
#include "elk/partition/plan.hpp"

namespace elk::cost {
namespace {

/// Preloads in part are rounded up to whole words. Of an operand of which a core holds less than
/// this, that may be more than `counted_load` leaves for it, so that it counts as larger.
constexpr std::int64_t kSmall = 256;    // bytes
constexpr std::int64_t kRounding = 16;  // bytes

/// Whether every index of the operand's tensor is read, and counted by the axes.
bool reads_whole(const Pricer& pricer, const Slot& slot) {
  const std::int32_t tensor = pricer.op().operands[slot.operand].tensor;
  const bool counted = std::none_of(slot.dims.begin(), slot.dims.end(), [](const SlotDim& dim) {
    return dim.kind == SlotDimKind::Mapped || dim.picks;
  });
  return counted && !slot.indirect && slot.bits % 8 == 0 &&
         slot.unique == ir::elements(pricer.graph().tensors[subscript(tensor)]);
}

/// Cores that share each element of an activation at least, of those that several share; else 1.
std::int64_t least_sharers(const Pricer& pricer, const Cut& cut) {
  std::int64_t least = 0;
  for (std::size_t i = 0; i < pricer.reads(); ++i) {
    const std::int64_t sharers = cut.held[i].sharers;
    if (!pricer.slots()[i].hbm && sharers > 1) {
      least = least == 0 ? sharers : std::min(least, sharers);
    }
  }
  return std::max<std::int64_t>(least, 1);
}

bool undercuts(const GatherFloor& a, const GatherFloor& b) {
  bool sooner = a.whole - a.execute <= b.whole - b.execute && a.even >= b.even;
  for (std::size_t steps = 0; steps < kStepsTold.size(); ++steps) {
    sooner = sooner && a.turned[steps] - a.execute.value <= b.turned[steps] - b.execute.value;
  }
  return sooner && a.execute <= b.execute && a.idle <= b.idle && a.carried <= b.carried &&
         a.gathered <= b.gathered && a.sharers == b.sharers && a.loaded <= b.loaded &&
         a.held == b.held;
}

}  // namespace

GatherFloor gather_floor(const Pricer& pricer, const ActivationFloor& activation_floor,
                         const Cut& cut, const FloorSearch::LeastTime& least, bool turns) {
  const auto all = static_cast<double>(chip::total_cores(pricer.chip()));
  const double spread = activation_floor.wire(activation_floor.moved(cut)) / all;
  const double narrow = spread * all / static_cast<double>(cut.cores);
  GatherFloor result{.execute = {least.execute - least.overflow},
                     .whole = {(turns ? least.whole : least.execute) - least.overflow},
                     .turned = turns ? least.turned : kNotTurned,
                     .idle = {least.idle},
                     .carried = {least.carried},
                     .gathered = {std::max(0.0, (2.0 * spread) - narrow)},
                     .sharers = least_sharers(pricer, cut),
                     .loaded = {0.0},
                     .held = {0.0},
                     .even = 1.0};
  for (double& time : result.turned) {
    time -= least.overflow;
  }
  for (std::size_t i = 0; i < pricer.reads(); ++i) {
    const Slot& slot = pricer.slots()[i];
    if (!slot.hbm) {
      continue;
    }
    if (!reads_whole(pricer, slot)) {
      result.loaded = {0.0};
      result.held = {std::numeric_limits<double>::infinity()};
      result.even = 0.0;
      return result;
    }
    const SlotPiece& held = cut.held[i];
    const std::int64_t once = partition::element_bytes(slot.unique, slot.bits).value;
    const std::int64_t most = partition::element_bytes(held.elements, slot.bits).value;
    const double spread_load = activation_floor.wire(held.sharers * once) / all;
    const double busiest = activation_floor.wire(most + (most < kSmall ? kRounding : 0));
    result.loaded.value += spread_load;
    result.held.value += busiest;
    result.even = std::min(result.even, spread_load / busiest);
  }
  return result;
}

void keep(std::vector<GatherFloor>& kept, const GatherFloor& one) {
  if (std::none_of(kept.begin(), kept.end(),
                   [&](const GatherFloor& other) { return undercuts(other, one); })) {
    std::erase_if(kept, [&](const GatherFloor& other) { return undercuts(one, other); });
    kept.push_back(one);
  }
}

}  // namespace elk::cost
