#include "elk/schedule/grid.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/chip/delivery.hpp"
#include "elk/chip/ways.hpp"
#include "elk/cost/link_loads.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/rotation.hpp"
#include "elk/program/gather.hpp"
#include "elk/program/loading.hpp"

namespace elk::schedule {
namespace {

/// Cores beyond which counting every exchange link by link would take a compile minutes.
constexpr std::int64_t kMostCounted = 4096;

/// Links that leave a core.
constexpr std::int64_t kDirections = 4;

/// What an exchange puts on the busiest core and on the busiest link, and the most bytes that come
/// and go at one core: more links than one lead there, which together may outrun its SRAM port.
struct Counted {
  cost::Traffic traffic;
  std::int64_t port;
};

Counted counted(const program::Exchange& exchange, const chip::Chip& chip) {
  const std::size_t cores = subscript(chip.core.count);
  std::vector<std::int64_t> received(cores, 0);
  std::vector<std::int64_t> sent(cores, ceil_div(exchange.even_bytes, chip.core.count));
  std::vector<std::int64_t> fragments(cores, 0);
  cost::LinkLoads links(chip);
  program::Cores sources;
  std::int64_t turn = 0;
  program::for_each_send(exchange, chip, [&](const program::Send& send) {
    for (const std::int32_t core : send.receivers) {
      received[subscript(core)] += send.bytes;
      fragments[subscript(core)] += send.runs;
    }
    if (send.core >= 0) {
      sent[subscript(send.core)] += send.bytes;
    }
    program::sources(send, chip.core.count, turn, sources);
    const std::int64_t bytes = ceil_div(send.bytes, static_cast<std::int64_t>(sources.size()));
    for (const std::int32_t core : sources) {
      links.add(core, send.receivers, true, bytes);
    }
  });
  Counted result{.traffic = {}, .port = 0};
  result.traffic.received = *std::max_element(received.begin(), received.end());
  result.traffic.sent = *std::max_element(sent.begin(), sent.end());
  result.traffic.fragments = *std::max_element(fragments.begin(), fragments.end());
  result.traffic.line = links.busiest();
  result.traffic.hops = links.hops();
  for (std::size_t core = 0; core < cores; ++core) {
    result.port = std::max(result.port, received[core] + sent[core]);
  }
  return result;
}

/// Cores that one slice goes to: several where the chip multicasts.
std::vector<program::Cores> slices_of(const program::Loading& loading, std::size_t operand,
                                      const chip::Chip& chip) {
  std::vector<program::Cores> result;
  for (const program::LoadPiece& piece : loading.pieces) {
    if (piece.operand != static_cast<std::int32_t>(operand)) {
      continue;
    }
    if (chip.interconnect.multicast) {
      result.push_back(piece.cores);
      continue;
    }
    for (const std::int32_t core : piece.cores) {
      result.push_back({core});
    }
  }
  return result;
}

/// Bytes of one slice: of an operand whose rows an index picks, those expected.
std::int64_t slice_bytes(const ir::Graph& graph, const ir::Op& op, std::size_t k,
                         const cost::PlanOption& option, std::int64_t divisor) {
  const ir::Operand& operand = op.operands[k];
  const std::int64_t whole = partition::preload_piece(option.footprint.operand[k], divisor).value;
  if (!operand.indirect) {
    return whole;
  }
  const std::vector<std::int64_t> tile = partition::tiling(op, option.plan).tile;
  const std::int64_t picks =
      partition::extent(graph.tensors[subscript(operand.tensor)], operand,
                        static_cast<std::size_t>(operand.indirect->dim), tile, tile)
          .count;
  const double share = operand.indirect->expected_picks / static_cast<double>(picks);
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(whole) * std::min(1.0, share)));
}

/// Where the slices of an operand go: what the plan cuts, and which of the cuts tell slices apart.
Key key_of(const ir::Op& op, std::size_t operand, const partition::ExecutePlan& plan,
           std::int64_t divisor, const chip::Chip& chip) {
  const partition::Rotation rotation = partition::rotation(op, operand, plan, chip);
  Key key{static_cast<std::int32_t>(divisor), static_cast<std::int32_t>(rotation.ring),
          rotation.snakes ? 1 : 0};
  for (const partition::Circle& circle : rotation.circles) {
    key.push_back(static_cast<std::int32_t>(circle.folds ? -circle.parts : circle.parts));
    key.push_back(static_cast<std::int32_t>(circle.stride));
  }
  key.push_back(0);
  for (const std::int32_t axis : plan.order) {
    key.push_back(static_cast<std::int32_t>(plan.factors[subscript(axis)]));
    key.push_back(plan.mesh_dims[subscript(axis)]);
    key.push_back(partition::contains(op.operands[operand], axis) ? 1 : 0);
  }
  return key;
}

}  // namespace

bool counts_links(const chip::Chip& chip) {
  return chip::is_mesh(chip) && chip.chips == 1 && chip.core.count <= kMostCounted;
}

cost::Exchange gather_on_grid(const ir::Graph& graph, const ir::Op& op,
                              const cost::PlanOption& option,
                              std::span<const partition::Layout* const> have,
                              const chip::Chip& chip) {
  const program::OpPlan plan{.execute = option.plan, .divisor = option.states.front().divisor};
  const program::Exchange exchange = program::gather({graph, op, plan, chip}, have);
  const Counted moved = counted(exchange, chip);
  cost::Exchange result = cost::Fabric(chip).exchange(moved.traffic);
  if (chip.core.remote_access_blocks && chip.core.sram_rate > 0.0) {
    const Seconds port{static_cast<double>(moved.port) / chip.core.sram_rate};
    const Seconds longer = std::max(Seconds{0.0}, port - result.wire);
    result.wire += longer;
    result.time += longer;
  }
  return result;
}

Deliveries::Deliveries(const chip::Chip& chip)
    : chip_(chip), attached_(chip::attached_cores(chip)) {}

Deliveries::Loads Deliveries::loads(const ir::Graph& graph, const ir::Op& op, std::size_t operand,
                                    const cost::PlanOption& option, std::int64_t divisor) {
  Loads& known = known_[key_of(op, operand, option.plan, divisor, chip_)];
  if (known != nullptr) {
    return known;
  }
  const program::OpPlan plan{.execute = option.plan,
                             .divisor = std::vector<std::int64_t>(op.operands.size(), divisor)};
  const std::vector<program::Cores> slices =
      slices_of(program::preload({graph, op, plan, chip_}), operand, chip_);
  std::vector<CoreId> middles;
  std::vector<CoreId> all;
  for (const program::Cores& cores : slices) {
    middles.push_back({cores[cores.size() / 2]});
    for (const std::int32_t core : cores) {
      all.push_back({core});
    }
  }
  const auto nodes = chip::entry_nodes(chip_, middles, chip::area_of(chip_, all));
  cost::LinkLoads links(chip_);
  std::vector<std::int32_t> injected;
  for (std::size_t module = 0; module < nodes.size(); ++module) {
    const std::size_t first = injected.size();
    injected.resize(first + attached_[module].size(), 0);
    for (std::size_t slice = 0; slice < slices.size(); ++slice) {
      const CoreId entry = attached_[module][subscript(nodes[module][slice])];
      ++injected[first + subscript(nodes[module][slice])];
      links.add(entry.value, slices[slice], chip::along_row_first(chip_, entry), 1);
    }
  }
  std::vector<std::int32_t> all_links;
  for (const std::int64_t count : links.loads()) {
    all_links.push_back(static_cast<std::int32_t>(count));
  }
  all_links.insert(all_links.end(), injected.begin(), injected.end());
  known = std::make_shared<const std::vector<std::int32_t>>(std::move(all_links));
  return known;
}

std::vector<std::int64_t> Deliveries::bytes_on_links(const ir::Graph& graph, const ir::Op& op,
                                                     const cost::PlanOption& option,
                                                     const cost::PreloadState& state) {
  const auto modules = static_cast<std::int64_t>(attached_.size());
  std::vector<std::int64_t> sum;
  for (std::size_t k = 0; k < op.operands.size(); ++k) {
    if (!partition::from_hbm(graph, op.operands[k]) || partition::first_like(op, k) != k) {
      continue;
    }
    const std::int64_t bytes =
        ceil_div(slice_bytes(graph, op, k, option, state.divisor[k]), modules);
    const Loads slices = loads(graph, op, k, option, state.divisor[k]);
    sum.resize(slices->size(), 0);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += bytes * (*slices)[i];
    }
  }
  return sum;
}

void Deliveries::settle(const ir::Graph& graph, const ir::Op& op, cost::PlanOption& option) {
  if (!chip_.hbm || !counts_links(chip_)) {
    return;
  }
  const double link = chip_.interconnect.link_rate;
  for (cost::PreloadState& state : option.states) {
    const std::vector<std::int64_t> sum = bytes_on_links(graph, op, option, state);
    if (sum.empty()) {
      continue;
    }
    const auto grid = sum.begin() + (kDirections * chip_.core.count);  // then come the modules'
    const auto amount = static_cast<double>(state.hbm_bytes);
    const auto port = static_cast<double>(state.link.value);
    state.wire = {static_cast<double>(*std::max_element(sum.begin(), grid)) / link};
    const Seconds entry{static_cast<double>(*std::max_element(grid, sum.end())) / link};
    state.hbm_time = chip::hbm_time(chip_, amount, false);
    state.time = std::max({state.hbm_time, state.wire, entry});
    if (chip_.core.remote_access_blocks && chip_.core.sram_rate > 0.0) {
      state.time = std::max(state.time, Seconds{port / chip_.core.sram_rate});
    }
  }
}

}  // namespace elk::schedule
