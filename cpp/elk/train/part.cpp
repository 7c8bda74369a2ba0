#include "elk/train/part.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "elk/chip/delivery.hpp"
#include "elk/cost/rate.hpp"
#include "elk/cost/tile_times.hpp"
#include "elk/train/position.hpp"

namespace elk::train {
namespace {

/// Seconds of reading what a chip reads of weights and states.
double hbm_seconds(const chip::Chip& chip, std::int64_t bytes) {
  return chip.hbm ? chip::hbm_time(chip, static_cast<double>(bytes), false).value : 0.0;
}

bool is_loaded(const ir::Tensor& tensor) {
  return tensor.home == ir::Home::Weight || tensor.home == ir::Home::State;
}

/// Bytes of weights and states that one chip reads for an op.
std::int64_t hbm_bytes(const ir::Graph& graph, const ir::Op& op, const Split& split,
                       std::int64_t chips) {
  std::map<std::int32_t, double> read;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const ir::Operand& operand = op.operands[i];
    const ir::Tensor& tensor = graph.tensors[index(operand.tensor)];
    if (operand.access != ir::Access::Read || !is_loaded(tensor)) {
      continue;
    }
    auto bytes = static_cast<double>(ir::bytes(tensor).value);
    if (operand.indirect) {
      bytes *= std::min(1.0, operand.indirect->expected_picks /
                                 static_cast<double>(tensor.shape[index(operand.indirect->dim)]));
    }
    if (split.forms[i].kind == Form::Kind::Cut) {
      bytes /= static_cast<double>(chips);
    }
    read[operand.tensor] = std::max(read[operand.tensor], bytes);
  }
  double sum = 0.0;
  for (const auto& [tensor, bytes] : read) {
    sum += std::ceil(bytes);
  }
  return static_cast<std::int64_t>(sum);
}

}  // namespace

ExecuteTime best_rate(const ir::Graph& graph, const chip::Chip& chip,
                      const cost::TileModel& tiles) {
  return [&](const ir::Op& op) -> Seconds {
    cost::TileTimes times(graph, op, chip, tiles);
    const cost::Rates rates(op, times);
    std::vector<std::int64_t> sizes;
    sizes.reserve(op.axes.size());
    for (const ir::Axis& axis : op.axes) {
      sizes.push_back(axis.size);
    }
    return {rates.least(sizes) / static_cast<double>(chip.core.count)};
  };
}

std::vector<Part> parts(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                        const ExecuteTime& execute) {
  std::vector<Part> result;
  for (Split& split : splits(graph, op, chip.chips)) {
    const std::int64_t hbm = hbm_bytes(graph, op, split, chip.chips);
    const double run = execute(on_one_chip(op, split, chip.chips)).value;
    const Picoseconds time = to_picoseconds({std::max(run, hbm_seconds(chip, hbm))});
    result.push_back({.split = std::move(split), .time = time, .hbm = {hbm}});
  }
  return result;
}

}  // namespace elk::train
