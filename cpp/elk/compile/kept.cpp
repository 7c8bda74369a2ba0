#include "elk/compile/kept.hpp"

#include <algorithm>
#include <bit>

#include "elk/base/ids.hpp"
#include "elk/cost/price.hpp"
#include "elk/cost/pricer.hpp"
#include "elk/cost/resting.hpp"
#include "elk/ir/op_key.hpp"
#include "elk/partition/plan.hpp"

namespace elk::compile {
namespace {

class ChipKey {
 public:
  void add(double value) { add_bits(std::bit_cast<std::uint64_t>(value)); }
  template <class Unit>
  void add(Quantity<Unit, double> value) {
    add(value.value);
  }
  template <class Unit>
  void add(Quantity<Unit, std::int64_t> value) {
    add(value.value);
  }
  template <class Integer>
    requires std::is_integral_v<Integer> || std::is_enum_v<Integer>
  void add(Integer value) {
    add_bits(static_cast<std::uint64_t>(value));
  }
  void add(const std::string& word) {
    add(static_cast<std::int64_t>(word.size()));
    key_ += word;
  }
  template <class... Values>
  void all(const Values&... values) {
    (add(values), ...);
  }
  [[nodiscard]] std::string key() && { return std::move(key_); }

 private:
  void add_bits(std::uint64_t bits) {
    for (unsigned at = 0; at < 64U; at += 8U) {
      key_.push_back(static_cast<char>((bits >> at) & 0xffU));
    }
  }

  std::string key_;
};

/// What executes depend on: everything but the HBM, the host, energy and names.
void add_cores(const chip::Chip& chip, ChipKey& out) {
  const auto& [name, chips, core, links, hbm, inter_chip, host_rate, energy] = chip;
  out.all(chips, core.count, core.rows, core.cols, core.sram, core.reserved, core.clock_hz,
          core.sram_rate, core.remote_access_blocks, core.tile_model);
  out.all(links.topology, links.link_rate, links.hop_latency, links.sync_latency,
          links.fragment_latency, links.multicast, links.overlaps_compute, links.native_shift);
  out.all(hbm.has_value(), inter_chip.has_value());
  if (inter_chip) {
    out.all(inter_chip->rate, inter_chip->latency, inter_chip->sync_latency, inter_chip->port_cores,
            inter_chip->topology);
  }
}

/// What of the HBM counts in a key.
enum class HbmKey : std::uint8_t { Rates, NoRates };

void add_hbm(const chip::Chip& chip, HbmKey what, ChipKey& out) {
  if (chip.hbm) {
    const auto& [modules, rate, port_rate, latency, channels, refresh_interval, refresh_stall,
                 outstanding, capacity, position] = *chip.hbm;
    out.all(modules, latency, channels, refresh_interval, refresh_stall, outstanding, capacity,
            position);
    if (what == HbmKey::Rates) {
      out.all(rate, port_rate);
    }
  }
}

bool reads_hbm(const ir::Graph& graph, const ir::Op& op) {
  return std::any_of(op.operands.begin(), op.operands.end(), [&](const ir::Operand& operand) {
    return partition::from_hbm(graph, operand);
  });
}

std::string cores_key(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip) {
  ChipKey out;
  add_cores(chip, out);
  return ir::op_key(graph, op) + std::move(out).key();
}

std::string front_key(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                      const cost::Constraints& constraints, HbmKey what) {
  ChipKey out;
  add_cores(chip, out);
  const auto& [min_core_share, max_padding, thinning, looks] = constraints;
  out.all(min_core_share, max_padding, thinning, looks);
  for (const bool once : cost::rest_once(graph, op)) {
    out.add(once ? 1 : 0);
  }
  if (reads_hbm(graph, op)) {
    add_hbm(chip, what, out);
  }
  return ir::op_key(graph, op) + std::move(out).key();
}

/// The tensors of a footprint, by their numbers in `op`'s graph.
std::vector<std::int32_t> tensors_of(const ir::Op& op) {
  std::vector<std::int32_t> result;
  for (const ir::Operand& operand : op.operands) {
    if (std::find(result.begin(), result.end(), operand.tensor) == result.end()) {
      result.push_back(operand.tensor);
    }
  }
  return result;
}

void set_tensors(const ir::Op& op, cost::Front& front) {
  const std::vector<std::int32_t> tensors = tensors_of(op);
  for (cost::PlanOption& option : front.options) {
    option.footprint.tensors = tensors;
  }
}

}  // namespace

cost::Front Kept::front(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                        const cost::TileModel& tiles, const cost::Constraints& constraints) {
  const std::string key = front_key(graph, op, chip, constraints, HbmKey::Rates);
  if (std::optional<cost::Front> known = fronts_.find(key)) {
    set_tensors(op, *known);
    return std::move(*known);
  }
  cost::Front result = ir::is_collective(op.kind) ? cost::front(graph, op, chip, tiles, constraints)
                                                  : searched(graph, op, chip, tiles, constraints);
  fronts_.put(key, result);
  return result;
}

/// By what searches at other rates of the HBM left, and with what this one leaves.
cost::Front Kept::searched(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                           const cost::TileModel& tiles, const cost::Constraints& constraints) {
  cost::Pricer pricer(graph, op, chip, tiles);
  const std::string rates_key = cores_key(graph, op, chip);
  std::optional<cost::Rates> rates = rates_.find(rates_key);
  if (!rates) {
    rates.emplace(op, pricer.tiles());
    rates_.put(rates_key, *rates);
  }
  if (!reads_hbm(graph, op)) {
    return cost::front(pricer, std::move(*rates), constraints, nullptr, nullptr);
  }
  const std::string key = front_key(graph, op, chip, constraints, HbmKey::NoRates);
  if (const auto before = searches_.find(key)) {
    cost::Front result =
        cost::front(pricer, std::move(*rates), constraints, before->get(), nullptr);
    set_tensors(op, result);
    return result;
  }
  const auto left = std::make_shared<cost::Searched>();
  cost::Front result = cost::front(pricer, std::move(*rates), constraints, nullptr, left.get());
  searches_.put(key, left);
  return result;
}

train::ExecuteTime Kept::recalled(const ir::Graph& graph, const chip::Chip& pod,
                                  train::ExecuteTime execute) {
  return [this, &graph, &pod, execute = std::move(execute)](const ir::Op& op) {
    const std::string key = cores_key(graph, op, pod);
    if (const std::optional<train::Execute> known = executes_.find(key)) {
      return *known;
    }
    const train::Execute found = execute(op);
    executes_.put(key, found);
    return found;
  };
}

std::vector<std::pair<std::string, Reuse>> Kept::reuse() const {
  return {{"fronts", fronts_.reuse()},       {"searches", searches_.reuse()},
          {"rates", rates_.reuse()},         {"executes", executes_.reuse()},
          {"handovers", handovers_.reuse()}, {"bounds", known_together_.reuse()}};
}

}  // namespace elk::compile
