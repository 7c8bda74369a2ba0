#include "elk/schedule/problem/grid.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/key_writer.hpp"
#include "elk/base/mechanisms.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/delivery.hpp"
#include "elk/chip/ways.hpp"
#include "elk/cost/exchange/link_loads.hpp"
#include "elk/cost/exchange/link_use.hpp"
#include "elk/ir/op_key.hpp"
#include "elk/partition/collective.hpp"
#include "elk/partition/core_needs.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/rotation.hpp"
#include "elk/program/expand/gather.hpp"
#include "elk/program/expand/loading.hpp"

namespace elk::schedule {
namespace {

/// The chips of a machine as cores of one chip: where they lie on a grid, messages pass the links
/// between other chips.
std::optional<cost::LinkLoads> links_between(const chip::Chip& chip) {
  if (!chip::routed_between(chip)) {
    return {};
  }
  return cost::LinkLoads(chip::network_of_chips(chip.inter_chip->topology, chip.chips), 1);
}

/// What a send to cores of another chip puts on the grids: it leaves through the port beside the
/// sender, passes links between chips, and comes in through the ports beside its receivers.
class Abroad {
 public:
  Abroad(const chip::Chip& chip, cost::LinkLoads& links)
      : cores_(chip.core.count),
        ports_(chip.inter_chip ? chip.inter_chip->port_cores : chip.core.count),
        links_(links),
        between_(links_between(chip)) {}

  void add(CoreId from, std::span<const CoreId> receivers, std::int64_t bytes) {
    if (between_) {
      const auto there = id_at<CoreId>(receivers.front().value / cores_);
      between_->add(id_at<CoreId>(from.value / cores_), {&there, 1}, chip::DimOrder::RowFirst,
                    bytes);
    }
    if (ports_ == cores_) {
      return;  // Every core has a port of its own.
    }
    const CoreId out = port(from);
    links_.add(from, {&out, 1}, chip::DimOrder::RowFirst, bytes);
    for (std::size_t i = 0; i < receivers.size();) {
      const CoreId in = port(receivers[i]);
      std::size_t end = i + 1;
      while (end < receivers.size() && port(receivers[end]) == in) {
        ++end;
      }
      links_.add(in, receivers.subspan(i, end - i), chip::DimOrder::RowFirst, bytes);
      i = end;
    }
  }

  /// Bytes over the busiest link between chips that lie on a grid or in a ring.
  [[nodiscard]] std::int64_t busiest() const { return between_ ? between_->busiest() : 0; }

 private:
  [[nodiscard]] CoreId port(CoreId core) const {
    const std::int64_t first = core.value / cores_ * cores_;
    return id_at<CoreId>(first + chip::port_core(core.value - first, cores_, ports_));
  }

  std::int64_t cores_;
  std::int64_t ports_;
  cost::LinkLoads& links_;
  std::optional<cost::LinkLoads> between_;
};

LinkCount counted(const program::Exchange& exchange, const chip::Chip& chip) {
  program::PortTraffic ports = program::no_sends(exchange, chip);
  const std::int64_t cores = chip::total_cores(chip);
  Table<CoreId, std::int64_t> out(ports.sent.size(), 0);  // of every core, what it sends
  cost::LinkLoads links(chip);
  Abroad abroad(chip, links);
  program::Cores sources;
  std::int64_t turn = 0;
  program::for_each_send(exchange, chip, [&](const program::Send& send) {
    program::sources(send, cores, turn, sources);
    const std::int64_t bytes = ceil_div(send.bytes, static_cast<std::int64_t>(sources.size()));
    for (const CoreId core : sources) {
      out[core] += bytes;
    }
    const auto add_ways = [&](std::int64_t there, std::span<const CoreId> receivers) {
      for (const CoreId core : sources) {
        if (core.value / chip.core.count == there) {
          links.add(core, receivers, chip::DimOrder::RowFirst, bytes);
        } else {
          abroad.add(core, receivers, bytes);
        }
      }
    };
    program::add_send(send, chip, std::ref(add_ways), ports);  // no copy for each send
  });
  const auto most = [](const Table<CoreId, std::int64_t>& of) {
    return *std::max_element(of.begin(), of.end());
  };
  const Table<CoreId, std::int64_t> loads = links.loads();
  cost::Traffic result{.received = most(ports.received),
                       .sent = most(ports.sent),
                       .fragments = most(ports.fragments),
                       .line = most(loads),
                       .through = 0,
                       .hops = links.hops(),
                       .chip_in = most(ports.chip_in),
                       .chip_out = std::max(most(ports.chip_out), abroad.busiest()),
                       .wide = false};
  for (const CoreId core : ports.received.ids()) {
    result.through = std::max(result.through, ports.received[core] + out[core]);
  }
  return {.traffic = result, .use = cost::link_use(loads, chip, chip.chips)};
}

/// Where the slices of an operand go on one chip.
using PreloadSlices = std::vector<program::Cores>;

/// Of each chip the cores, numbered on it, that one slice goes to: several where it multicasts.
std::vector<PreloadSlices> slices_of(const program::Loading& loading, OperandId operand,
                                     const chip::Chip& chip) {
  std::vector<PreloadSlices> result(subscript(chip.chips));
  for (const program::LoadingPiece& piece : loading.pieces) {
    if (piece.operand != operand) {
      continue;
    }
    PreloadSlices& here = result[subscript(piece.chip)];
    const auto first = static_cast<std::int32_t>(piece.chip * chip.core.count);
    for (const CoreId core : piece.cores) {
      if (core == piece.cores.front() || !chip.interconnect.multicast) {
        here.emplace_back();
      }
      here.back().push_back(core - first);
    }
  }
  return result;
}

/// Bytes of one slice: of an operand whose rows an index picks, those expected.
std::int64_t slice_bytes(const ir::Graph& graph, const ir::Op& op, OperandId k,
                         const cost::PlanOption& option, std::int64_t divisor) {
  const std::int64_t whole = partition::preload_piece(option.footprint.operand[k], divisor).value;
  const double share = partition::expected_share(graph, op, k, option.plan);
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(whole) * share));
}

/// Where the slices of an operand go: what the plan cuts, and which of the cuts tell slices apart.
Key key_of(const ir::Op& op, OperandId operand, const partition::ExecutePlan& plan,
           std::int64_t divisor, const chip::Chip& chip) {
  const partition::Rotation rotation = partition::rotation(op, operand, plan, chip);
  Key key{static_cast<std::int32_t>(divisor), static_cast<std::int32_t>(rotation.ring),
          rotation.snakes ? 1 : 0};
  for (const partition::Circle& circle : rotation.circles) {
    key.push_back(static_cast<std::int32_t>(circle.folds ? -circle.parts : circle.parts));
    key.push_back(static_cast<std::int32_t>(circle.stride));
  }
  key.push_back(0);
  for (const AxisId axis : plan.order) {
    key.push_back(static_cast<std::int32_t>(plan.factors[axis]));
    key.push_back(plan.mesh_dims[axis]);
    key.push_back(partition::contains(op.operands[operand], axis) ? 1 : 0);
  }
  return key;
}

}  // namespace

bool counts_links(const chip::Chip& chip, std::int64_t most) {
  return mechanisms().link_counts && chip::routed(chip) && chip::total_cores(chip) <= most;
}

cost::ExchangeCost exchange_on_grid(const program::Exchange& exchange, const chip::Chip& chip,
                                    bool wide) {
  return exchange_of(counted(exchange, chip), chip, wide);
}

LinkCount count_gather(const ir::Graph& graph, const ir::Op& op, const partition::ExecutePlan& plan,
                       TableView<OperandId, const partition::Layout* const> have,
                       const chip::Chip& chip) {
  const program::OpPlan placed{.execute = plan, .divisor = {}};
  return counted(program::gather({graph, op, placed, chip}, have), chip);
}

cost::ExchangeCost exchange_of(const LinkCount& count, const chip::Chip& chip, bool wide) {
  cost::Traffic traffic = count.traffic;
  traffic.wide = wide;
  cost::ExchangeCost result = cost::Fabric(chip).exchange(traffic);
  result.use = count.use;
  return result;
}

Deliveries::Deliveries(const chip::Chip& chip, PreloadCounts* kept)
    : chip_(chip), one_(chip), kept_(kept), attached_(chip::attached_cores(chip)) {
  one_.chips = 1;
}

Deliveries::GridLoads Deliveries::loads(const ir::Graph& graph, const ir::Op& op, OperandId operand,
                                        const cost::PlanOption& option, std::int64_t divisor) {
  GridLoads& known = known_[key_of(op, operand, option.plan, divisor, chip_)];
  if (known != nullptr) {
    return known;
  }
  const program::OpPlan plan{
      .execute = option.plan,
      .divisor = Table<OperandId, std::int64_t>(op.operands.size(), divisor)};
  const std::vector<PreloadSlices> slices =
      slices_of(program::preload({graph, op, plan, chip_}), operand, chip_);
  std::vector<std::int32_t> all;
  std::vector<std::int32_t> here;
  for (std::size_t chip = 0; chip < slices.size(); ++chip) {
    if (chip == 0 || slices[chip] != slices[chip - 1]) {  // Most chips take part alike.
      here = on_one_chip(slices[chip]);
    }
    all.insert(all.end(), here.begin(), here.end());
  }
  known = std::make_shared<const std::vector<std::int32_t>>(std::move(all));
  return known;
}

/// Slices through every link of a chip's grid, then out of every node of its modules.
std::vector<std::int32_t> Deliveries::on_one_chip(const std::vector<program::Cores>& slices) const {
  std::vector<CoreId> middles;
  std::vector<CoreId> all;
  for (const program::Cores& cores : slices) {
    middles.push_back(cores[cores.size() / 2]);
    for (const CoreId core : cores) {
      all.push_back(core);
    }
  }
  const auto nodes = chip::entry_nodes(chip_, middles, chip::area_of(chip_, all));
  cost::LinkLoads links(one_);
  std::vector<std::int32_t> injected;
  for (std::size_t module = 0; module < nodes.size(); ++module) {
    const std::size_t first = injected.size();
    injected.resize(first + attached_[module].size(), 0);
    std::vector<chip::DimOrder> turns;
    turns.reserve(attached_[module].size());
    for (const CoreId entry : attached_[module]) {
      turns.push_back(chip::turn_at(chip_, entry));
    }
    for (std::size_t slice = 0; slice < slices.size(); ++slice) {
      const CoreId entry = attached_[module][subscript(nodes[module][slice])];
      ++injected[first + subscript(nodes[module][slice])];
      links.add(entry, slices[slice], turns[subscript(nodes[module][slice])], 1);
    }
  }
  std::vector<std::int32_t> result;
  for (const std::int64_t count : links.loads()) {
    result.push_back(static_cast<std::int32_t>(count));
  }
  result.insert(result.end(), injected.begin(), injected.end());
  return result;
}

std::vector<std::int64_t> Deliveries::bytes_on_links(const ir::Graph& graph, const ir::Op& op,
                                                     const cost::PlanOption& option,
                                                     const cost::PreloadState& state) {
  const auto modules = static_cast<std::int64_t>(attached_.size());
  std::vector<std::int64_t> sum;
  for (const OperandId k : op.operands.ids()) {
    if (!partition::from_hbm(graph, op.operands[k]) || partition::first_like(op, k) != k) {
      continue;
    }
    const std::int64_t bytes =
        ceil_div(slice_bytes(graph, op, k, option, state.divisor[k]), modules);
    const GridLoads slices = loads(graph, op, k, option, state.divisor[k]);
    sum.resize(slices->size(), 0);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += bytes * (*slices)[i];
    }
  }
  return sum;
}

void Deliveries::settle(const ir::Graph& graph, const ir::Op& op, cost::PlanOption& option) {
  for (cost::PreloadState& state : option.states) {
    settle(graph, op, option, state);
  }
}

PreloadCount Deliveries::counted(const ir::Graph& graph, const ir::Op& op,
                                 const cost::PlanOption& option, const cost::PreloadState& state) {
  const std::vector<std::int64_t> sum = bytes_on_links(graph, op, option, state);
  if (sum.empty()) {
    return {};
  }
  // Of each chip, before the links of its modules.
  const std::int64_t grid = chip::network_of(chip_).links() * chip_.core.count;
  const auto one = static_cast<std::ptrdiff_t>(sum.size()) / chip_.chips;
  PreloadCount result{.any = true};
  Table<CoreId, std::int64_t> links(subscript(grid), 0);  // the busiest of all chips
  for (auto chip = sum.begin(); chip != sum.end(); chip += one) {
    result.link = std::max(result.link, *std::max_element(chip, chip + grid));
    result.entry = std::max(result.entry, *std::max_element(chip + grid, chip + one));
    std::transform(links.begin(), links.end(), chip, links.begin(),
                   [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
  }
  result.use = cost::link_use(links, chip_, 1);
  return result;
}

PreloadCount Deliveries::recalled(const ir::Graph& graph, const ir::Op& op,
                                  const cost::PlanOption& option, const cost::PreloadState& state) {
  if (kept_ == nullptr) {
    return counted(graph, op, option, state);
  }
  KeyWriter out;
  add_network(chip_, out);
  out.all(chip_.hbm->modules, chip_.hbm->position, ir::op_key(graph, op), state.divisor);
  partition::add_plan(option.plan, out);
  return kept_->find_or_make(
      std::move(out).key(), [&] { return counted(graph, op, option, state); },
      [](const PreloadCount& made) { return sizeof(made); });
}

void Deliveries::settle(const ir::Graph& graph, const ir::Op& op, const cost::PlanOption& option,
                        cost::PreloadState& state) {
  if (!chip_.hbm) {
    return;
  }
  const PreloadCount count = recalled(graph, op, option, state);
  if (!count.any) {
    return;
  }
  const double link = chip_.interconnect.link_rate;
  state.wire = {static_cast<double>(count.link) / link};
  state.use = count.use;
  state.hbm_time = chip::hbm_time(chip_, static_cast<double>(state.chip_hbm_bytes), false);
  const Seconds entry{static_cast<double>(count.entry) / link};
  state.time = std::max({state.hbm_time, state.wire, entry});
  if (chip_.core.remote_access_blocks && chip_.core.sram_rate > 0.0) {
    const auto port = static_cast<double>(state.link.value);
    state.time = std::max(state.time, Seconds{port / chip_.core.sram_rate});
  }
}

}  // namespace elk::schedule
