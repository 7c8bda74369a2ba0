#include "elk/shard/sharding_costs.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/parallel.hpp"
#include "elk/base/rounding.hpp"

namespace elk::shard {
namespace {

/// What a collective costs beside itself: before it and after it, all chips wait for the slowest.
double waiting(const chip::Chip& chip) {
  return chip.inter_chip
             ? 2.0 * (chip.inter_chip->sync_latency.value + chip.inter_chip->latency.value)
             : 0.0;
}

/// The splits of which the SRAM of a chip holds what the op touches; all if it holds none.
std::vector<SplitCost> fitting(std::vector<SplitCost> parts, const chip::Chip& chip) {
  const std::int64_t room = chip::room(chip).value * chip.core.count;
  const auto fits = [room](const SplitCost& part) { return part.working.value <= room; };
  if (std::any_of(parts.begin(), parts.end(), fits)) {
    parts.erase(std::remove_if(parts.begin(), parts.end(),
                               [&](const SplitCost& part) { return !fits(part); }),
                parts.end());
  }
  return parts;
}

/// Of all tensors of an op.
std::vector<std::int64_t> part_lengths(const ir::Graph& graph, const ir::Op& op,
                                       const PartLengths& lengths) {
  std::vector<std::int64_t> result;
  for (const ir::Operand& operand : op.operands) {
    const std::size_t rank = graph.tensors[subscript(operand.tensor)].shape.size();
    for (std::size_t dim = 0; dim < rank; ++dim) {
      result.push_back(lengths.of(operand.tensor, static_cast<std::int32_t>(dim)));
    }
  }
  return result;
}

}  // namespace

ShardingCosts::ShardingCosts(const ir::Graph& graph, const chip::Chip& chip,
                             const ExecuteTime& execute, int threads)
    : graph_(graph),
      chip_(chip),
      loading_(chip),
      lengths_(graph, chip.chips),
      of_(graph.ops.size(), -1),
      addend_bits_(graph.tensors.size(), 0) {
  const std::vector<std::int32_t> equal = ir::equal_ops(graph);
  std::map<std::pair<std::int32_t, std::vector<std::int64_t>>, std::int32_t> known;
  std::vector<std::int32_t> distinct;
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    const ir::Op& node = graph.ops[op];
    const auto next = static_cast<std::int32_t>(distinct.size());
    of_[op] =
        known.try_emplace({equal[op], part_lengths(graph, node, lengths_)}, next).first->second;
    if (of_[op] == next) {
      distinct.push_back(static_cast<std::int32_t>(op));
    }
    for (const ir::Operand& operand : node.operands) {
      if (operand.access == ir::Access::Write) {
        addend_bits_[subscript(operand.tensor)] = ir::bits(node.accumulate);
      }
    }
  }
  parts_ = parallel_map(
      distinct,
      [&](std::int32_t op) {
        return shard::parts(graph, graph.ops[subscript(op)], loading_, lengths_, execute);
      },
      threads);
  for (std::vector<SplitCost>& parts : parts_) {
    whole_.push_back(parts.front());
    parts = fitting(std::move(parts), chip);
  }
}

Bytes ShardingCosts::held(std::int32_t tensor, Form form) const {
  const ir::Tensor& held = graph_.tensors[subscript(tensor)];
  const std::int64_t stored = ir::bits(held.dtype);
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < held.shape.size(); ++dim) {
    const bool is_cut = form == cut(static_cast<std::int32_t>(dim));
    elements *= is_cut ? lengths_.of(tensor, form.dim) : held.shape[dim];
  }
  const std::int64_t bits =
      form == partial() ? std::max(stored, addend_bits_[subscript(tensor)]) : stored;
  return {ceil_div(elements * bits, 8)};
}

FormChange ShardingCosts::passing(std::int32_t tensor, Form from, Form to) const {
  return {.exchange = exchange(from, to), .before = held(tensor, from), .after = held(tensor, to)};
}

Picoseconds ShardingCosts::time(std::int32_t tensor, Form from, Form to) const {
  const FormChange moved = passing(tensor, from, to);
  const double alone = cost(moved, chip_).time.value;
  return to_picoseconds({moved.exchange == Conversion::None ? alone : alone + waiting(chip_)});
}

}  // namespace elk::shard
