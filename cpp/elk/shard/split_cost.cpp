#include "elk/shard/split_cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/chip/delivery.hpp"
#include "elk/tile/rate.hpp"
#include "elk/tile/times.hpp"

namespace elk::shard {
namespace {

/// Bytes of the part of an operand's tensor that one chip holds.
double part_bytes(const ir::Graph& graph, const ir::Op& op, const Split& split, OperandId i) {
  const ir::Tensor& tensor = graph.tensors[op.operands[i].tensor];
  const auto bytes = static_cast<double>(ir::bytes(tensor).value);
  if (split.forms[i].kind != Form::Kind::Cut) {
    return bytes;
  }
  const std::int64_t shape = tensor.shape[split.forms[i].dim];
  return bytes * static_cast<double>(part_length(op, split, i)) / static_cast<double>(shape);
}

/// The share of its tensor that an operand touches at least.
double touched(const ir::Op& op, const ir::Tensor& tensor, const ir::Operand& operand) {
  if (operand.indirect) {
    return std::min(1.0, operand.indirect->expected_picks /
                             static_cast<double>(tensor.shape[operand.indirect->dim]));
  }
  double share = 1.0;
  for (const DimId d : operand.dims.ids()) {
    std::int64_t reach = 1;
    for (std::size_t k = 0; k < operand.dims[d].axes.size(); ++k) {
      reach += std::abs(operand.dims[d].coef[k]) * (op.axes[operand.dims[d].axes[k]].size - 1);
    }
    share *= std::min(1.0, static_cast<double>(reach) / static_cast<double>(tensor.shape[d]));
  }
  return share;
}

struct PartBytes {
  Bytes hbm;
  Bytes kept;
  Bytes working;
};

/// What an op reads from HBM, keeps there and touches, each tensor once.
PartBytes sizes(const ir::Graph& graph, const ir::Op& op, const Split& split) {
  std::map<TensorId, double> read;
  std::map<TensorId, double> kept;
  std::map<TensorId, double> working;
  const auto most = [](double& known, double bytes) { known = std::max(known, bytes); };
  for (const OperandId i : op.operands.ids()) {
    const ir::Operand& operand = op.operands[i];
    const ir::Tensor& tensor = graph.tensors[operand.tensor];
    const double bytes = part_bytes(graph, op, split, i);
    const double share = touched(op, tensor, operand);
    most(working[operand.tensor], std::floor(bytes * share));
    if (operand.access == ir::Access::Read && ir::in_hbm(tensor)) {
      most(kept[operand.tensor], std::ceil(bytes));
      most(read[operand.tensor], std::ceil(operand.indirect ? bytes * share : bytes));
    }
  }
  const auto sum = [](const std::map<TensorId, double>& all) {
    double total = 0.0;
    for (const auto& [tensor, bytes] : all) {
      total += bytes;
    }
    return Bytes{static_cast<std::int64_t>(total)};
  };
  return {.hbm = sum(read), .kept = sum(kept), .working = sum(working)};
}

}  // namespace

ExecuteTime by_cuts(const ir::Graph& graph, const chip::Chip& pod, const tile::TileModel& tiles) {
  return [&graph, &tiles, chip = chip::one_of(pod)](const ir::Op& op) -> ChipExecute {
    tile::TileTimes times(graph, op, chip, tiles);
    return {
        .about = cost::estimate(graph, op, chip, tiles),
        .least = {tile::TileRates::least_whole(op, times) / static_cast<double>(chip.core.count)}};
  };
}

HbmTimes::HbmTimes(const chip::Chip& chip) : chip_(chip) {
  if (chip.hbm) {
    const chip::Delivery delivery = chip::delivery(chip);
    rate_ = delivery.rate;
    injection_ = delivery.injection;
  }
}

Seconds HbmTimes::time(Bytes bytes) const {
  if (!chip_.hbm) {
    return {0.0};
  }
  const auto count = static_cast<double>(bytes.value);
  return {std::max(chip::hbm_time(chip_, count, false).value, count / rate_)};
}

Seconds HbmTimes::least(Bytes bytes) const {
  const auto count = static_cast<double>(bytes.value);
  return {chip_.hbm ? count / std::min(chip_.hbm->rate, injection_) : 0.0};
}

Seconds HbmTimes::beside(const cost::Estimate& execute, Bytes bytes) const {
  const Seconds longest = std::max(execute.time, time(bytes));
  if (!chip_.hbm) {
    return longest;
  }
  const double ports = static_cast<double>(chip_.core.count) * chip_.interconnect.link_rate;
  const double received = static_cast<double>(bytes.value) / ports;
  return std::max(longest, Seconds{execute.exchange.value + received});
}

Bytes loaded_bytes(const ir::Graph& graph, const ir::Op& op) {
  return sizes(graph, op, unsplit(op)).hbm;
}

std::vector<SplitCost> parts(const ir::Graph& graph, const ir::Op& op, const HbmTimes& loading,
                             const PartLengths& lengths, const ExecuteTime& execute) {
  std::vector<SplitCost> result;
  for (Split& split : splits(graph, op, lengths)) {
    const PartBytes bytes = sizes(graph, op, split);
    const ChipExecute run = execute(on_one_chip(op, split));
    result.push_back({.split = std::move(split),
                      .time = to_picoseconds(loading.beside(run.about, bytes.hbm)),
                      .least = to_picoseconds(run.least),
                      .hbm = bytes.hbm,
                      .kept = bytes.kept,
                      .working = bytes.working});
  }
  return result;
}

}  // namespace elk::shard
