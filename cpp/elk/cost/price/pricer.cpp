#include "elk/cost/price/pricer.hpp"

#include <algorithm>
#include <numeric>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/base/text.hpp"
#include "elk/partition/core_needs.hpp"
#include "elk/partition/order.hpp"
#include "elk/partition/plan.hpp"

namespace elk::cost {
namespace {

using partition::aligned;
using partition::element_bytes;

constexpr int kKeyBits = 21;  // of one tile in the key of a mapped extent

bool has(std::uint64_t axes, AxisId axis) { return ((axes >> axis.index()) & 1U) != 0; }

std::uint64_t axes_with(const ir::Op& op, ir::AxisRole role) {
  std::uint64_t result = 0;
  for (const AxisId axis : op.axes.ids()) {
    result |= static_cast<std::uint64_t>(op.axes[axis].role == role ? 1 : 0) << axis.index();
  }
  return result;
}

/// Bytes of each slot that come from HBM, each once; of what an index picks, those expected.
std::vector<std::int64_t> hbm_bytes(const ir::Graph& graph, const ir::Op& op,
                                    const std::vector<Slot>& slots) {
  const Table<AxisId, std::int64_t> uncut(op.axes.size(), 1);
  std::vector<std::int64_t> result;
  result.reserve(slots.size());
  for (const Slot& slot : slots) {
    const partition::CoreNeeds needs(graph, op, slot.operand, uncut, {});
    result.push_back(slot.hbm ? needs.bytes(0, 1) : 0);
  }
  return result;
}

std::int64_t total(const std::vector<std::int64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

}  // namespace

Cut uncut(std::size_t axes) {
  return {.factor = Table<AxisId, std::int64_t>(axes, 1),
          .tile = Table<AxisId, std::int64_t>(axes, 1),
          .order = {},
          .mesh_dims = Table<AxisId, std::int32_t>(axes, -1),
          .held = {},
          .cores = 1,
          .result = 0,
          .result_wide = 0,
          .reduce = kNoExchange,
          .tree = false,
          .wide = false,
          .ids = 0,
          .hbm = {}};
}

Pricer::Pricer(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
               const tile::TileModel& tiles, std::int64_t stores_every)
    : graph_(graph),
      op_(op),
      chip_(chip),
      slots_(cost::slots(graph, op)),
      reads_(static_cast<std::size_t>(
          std::count_if(slots_.begin(), slots_.end(), [](const Slot& s) { return !s.write; }))),
      fabric_(chip),
      busiest_(chip),
      tiles_(graph, op, chip, tiles),
      size_(partition::sizes(op)),
      axis_order_(partition::axis_order(graph, op)),
      mapped_(slots_.size() * kMostRank),
      summed_(axes_with(op, ir::AxisRole::Reduction)),
      wide_bits_(ir::bits(op.accumulate)),
      least_hbm_(ceil_div(total(hbm_bytes(graph, op, slots_)), chip.chips)),
      cores_(chip::total_cores(chip)),
      stores_every_(stores_every) {
  std::stable_partition(slots_.begin(), slots_.end(), [](const Slot& s) { return !s.write; });
  read_bytes_ = hbm_bytes(graph, op, slots_);
  if (!chip.hbm) {
    read_bytes_.assign(slots_.size(), 0);
  }
  for (Slot& slot : slots_) {
    for (SlotDim& dim : slot.dims) {
      dim.rotates = dim.rotates && stores_every_ == 0;
    }
  }
}

bool Pricer::arrange(Cut& cut) const {
  cut.order.clear();
  for (const AxisId axis : axis_order_) {
    if (cut.factor[axis] > 1) {
      cut.order.push_back(axis);
    }
  }
  auto dims = partition::mesh_dims(cut.order, cut.factor, fabric_.machine());
  if (!dims) {
    return false;
  }
  cut.mesh_dims = std::move(*dims);
  std::stable_sort(cut.order.begin(), cut.order.end(),
                   [&](AxisId a, AxisId b) { return cut.mesh_dims[a] < cut.mesh_dims[b]; });
  return true;
}

partition::Extent Pricer::extent(std::size_t slot, DimId dim, const Cut& cut) {
  const Slot& held = slots_[slot];
  const SlotDim& map = held.dims[dim];
  if (map.kind == SlotDimKind::Plain) {
    return {.count = std::min(map.shape, cut.tile[map.axes[0]]), .intervals = 1};
  }
  const ir::Operand& operand = op_.operands[held.operand];
  const ir::Tensor& tensor = graph_.tensors[operand.tensor];
  if (map.kind != SlotDimKind::Mapped || map.axes.size() * kKeyBits > 64) {
    return partition::extent(tensor, operand, dim, size_, cut.tile);
  }
  std::uint64_t key = 0;
  for (const AxisId axis : map.axes) {
    key = (key << static_cast<unsigned>(kKeyBits)) ^ static_cast<std::uint64_t>(cut.tile[axis]);
  }
  Memo<partition::Extent>& known = mapped_[(slot * kMostRank) + dim.index()];
  if (const partition::Extent* found = known.find(key)) {
    return *found;
  }
  const partition::Extent result = partition::extent(tensor, operand, dim, size_, cut.tile);
  known.put(key, result);
  return result;
}

void Pricer::count_sharers(Cut& cut) const {
  cut.held.resize(slots_.size());
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    std::int64_t sharers = 1;
    for (const AxisId axis : cut.factor.ids()) {
      sharers *= has(slots_[slot].contained, axis) ? 1 : cut.factor[axis];
    }
    cut.held[slot].sharers = sharers;
  }
}

void Pricer::measure(Cut& cut) {
  cut.cores = 1;
  for (const std::int64_t factor : cut.factor) {
    cut.cores *= factor;
  }
  // Whatever the order; where it decides, as what takes less.
  cut.wide = cut.cores > chip_.core.count || fabric_.syncs_sooner_wide();
  cut.result = 0;
  cut.result_wide = 0;
  cut.ids = 0;
  count_sharers(cut);
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    SlotPiece& held = cut.held[slot];
    held.elements = 1;
    for (const DimId dim : slots_[slot].dims.ids()) {
      held.extent[dim.index()] = extent(slot, dim, cut);
      held.elements *= held.extent[dim.index()].count;
    }
    held.chip_in = 0;
    held.straddling = 0;
    if (slots_[slot].write) {
      measure_result(cut, slot);
    }
  }
}

std::int64_t Pricer::parts_of(const Cut& cut, const Slot& slot) const {
  std::int64_t parts = 1;
  for (const AxisId axis : cut.factor.ids()) {
    parts *= has(summed_ & ~slot.contained, axis) ? cut.factor[axis] : 1;
  }
  return parts;
}

void Pricer::measure_result(Cut& cut, std::size_t slot) const {
  const Slot& result = slots_[slot];
  SlotPiece& held = cut.held[slot];
  std::array<std::int64_t, kMostRank> counts{};
  for (const DimId dim : result.dims.ids()) {
    counts[dim.index()] = held.extent[dim.index()].count;
  }
  const std::int64_t wide = std::max(wide_bits_, result.bits);
  held.scatter = partition::scatter(std::span(counts.data(), result.dims.size()),
                                    parts_of(cut, result), partition::elements_of_run(wide, chip_));
  const std::int64_t partial = aligned(element_bytes(held.elements, wide)).value;
  if (held.scatter.parts == 1) {
    cut.result += aligned(element_bytes(held.elements, result.bits)).value;
    cut.result_wide += partial;
    return;
  }
  const std::int64_t arriving =
      aligned(element_bytes((held.scatter.parts - 1) * held.scatter.piece, wide)).value;
  cut.result += partial + arriving;
  cut.result_wide += partial + arriving;
}

void Pricer::cross(Cut& cut) const {
  const std::int64_t chips = fabric_.chips();
  if (chips == 1) {
    return;
  }
  const std::int64_t ids = partition::ids_of_chip(cut.factor, cut.order, cut.mesh_dims, chip_);
  cut.ids = ids;
  cut.wide = cut.cores > ids;
  cut.hbm.clear();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    const partition::CoreNeeds needs(graph_, op_, slot.operand, cut.factor, cut.order);
    std::int64_t before = 0;  // sub-tensors that this chip shares with the one before
    std::int64_t most = 0;
    for (std::int64_t chip = 0; chip < chips; ++chip) {
      const std::int64_t after = needs.straddling((chip + 1) * ids);
      cut.held[i].straddling = std::max(cut.held[i].straddling, before + after);
      before = after;
      const std::int64_t bytes = slot.write ? 0 : needs.bytes(chip * ids, (chip + 1) * ids);
      most = std::max(most, bytes);
      cut.hbm.push_back(slot.hbm ? bytes : 0);
    }
    if (!slot.hbm && !slot.write) {
      cut.held[i].chip_in = partition::lacking(most, chips);
    }
  }
}

std::int64_t Pricer::chip_hbm(const Cut& cut, std::span<const TemporalFactors* const> turns) const {
  const auto chips = static_cast<std::size_t>(fabric_.chips());
  std::int64_t most = chips == 1 ? least_hbm_ : 0;
  for (std::size_t chip = 0; chip < chips && chips > 1; ++chip) {
    const std::int64_t before = static_cast<std::int64_t>(chip) * cut.ids;
    const std::int64_t cores = std::clamp<std::int64_t>(cut.cores - before, 0, cut.ids);
    std::int64_t sum = 0;
    for (const TemporalFactors* turn : turns) {
      sum += std::min(cut.hbm[(turn->slot * chips) + chip],
                      slots_[turn->slot].hbm ? turn->space * cores : 0);
    }
    most = std::max(most, sum);
  }
  return most;
}

void Pricer::split(const Cut& cut, std::size_t slot, TableView<DimId, const std::int64_t> parts,
                   TemporalFactors& turn) const {
  const Slot& read = slots_[slot];
  const SlotPiece& held = cut.held[slot];
  turn.spins = 0;
  turn.slot = slot;
  turn.parts = 1;
  turn.elements = 1;
  turn.steps = 1;
  turn.detailed = false;
  for (DimId dim{0}; dim.index() < read.dims.size(); ++dim) {
    std::int64_t count = held.extent[dim.index()].count;
    if (!parts.empty() && parts[dim] > 1) {
      if (turn.spins == kMostSpins) {
        throw InvalidInput(text("an operand of ", op_.name, " rotates along more than ", kMostSpins,
                                " dimensions"));
      }
      const AxisId axis = read.dims[dim].axes[0];
      const std::int64_t tile = cut.tile[axis];
      const std::int64_t length = ceil_div(tile, parts[dim]);
      count = std::min(read.dims[dim].shape, length);
      turn.spin[turn.spins++] = {.axis = axis,
                                 .dim = dim,
                                 .parts = parts[dim],
                                 .length = length,
                                 .count = count,
                                 .outer = turn.elements,
                                 .once = {}};
      turn.parts *= parts[dim];
      turn.steps *= ceil_div(tile, length);
    }
    turn.elements *= count;
  }
  const std::int64_t bytes = element_bytes(turn.elements, read.bits).value;
  turn.space = aligned({bytes}).value;
  turn.received = read.hbm ? 0 : bytes;
  turn.more_bytes = read.hbm ? element_bytes(held.elements - turn.elements, read.bits).value : 0;
}

void Pricer::detail(const Cut& cut, TemporalFactors& turn) {
  turn.fragments = slots_[turn.slot].hbm ? 0 : fragments(cut, turn);
  for (std::size_t i = 0; i < turn.spins; ++i) {
    turn.spin[i].once = shift(cut, turn, turn.spin[i], turn.spin[i].length, 1);
  }
  turn.detailed = true;
}

/// Runs in which a partition arrives from everywhere.
std::int64_t Pricer::fragments(const Cut& cut, const TemporalFactors& turn) const {
  const Slot& read = slots_[turn.slot];
  std::int64_t runs = 1;
  bool whole = true;
  for (std::size_t dim = read.dims.size(); dim-- > 0;) {
    partition::Extent part = cut.held[turn.slot].extent[dim];
    for (std::size_t i = 0; i < turn.spins; ++i) {
      if (turn.spin[i].dim.index() == dim) {
        part = {.count = turn.spin[i].count, .intervals = 1};
      }
    }
    runs *= whole ? part.intervals : part.count;
    whole = whole && part.count == read.dims[id_at<DimId>(dim)].shape;
  }
  return partition::spread_fragments({.elements = turn.elements, .runs = runs}, read.unique,
                                     cores_);
}

}  // namespace elk::cost
