#include "elk/shard/lengths.hpp"

#include <numeric>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"

namespace elk::shard {
namespace {

/// Whether blocks of `grain` keep at least three quarters of the chips at work.
bool keeps_busy(std::int64_t shape, std::int64_t grain, std::int64_t chips) {
  const std::int64_t blocks = shape / grain;
  return 4 * blocks >= 3 * chips * ceil_div(blocks, chips);
}

void add_grain(std::int64_t block, std::int64_t shape, std::int64_t chips, std::int64_t& grain) {
  const std::int64_t both = std::lcm(grain, block);
  if (both > 0 && both <= shape && shape % both == 0 && keeps_busy(shape, both, chips)) {
    grain = both;
  }
}

/// Adds the grains that an op needs of an operand, in every dimension.
void add_grains(const ir::Op& op, const ir::Operand& operand,
                const std::vector<std::int64_t>& shape, std::int64_t chips,
                std::vector<std::int64_t>& grains) {
  for (std::size_t d = 0; d < operand.dims.size(); ++d) {
    const ir::Dim& dim = operand.dims[d];
    const std::int32_t outer = dim.axes.empty() ? -1 : dim.axes.front();
    if (const auto block = block_length(op, dim, shape[d], outer)) {
      add_grain(*block, shape[d], chips, grains[d]);
    }
  }
}

/// For each tensor the one that stands in the first of equal layers where it stands in its own.
std::vector<std::int32_t> first_alike(const ir::Graph& graph) {
  std::vector<std::int32_t> result(graph.tensors.size());
  std::iota(result.begin(), result.end(), 0);
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    const ir::Op& node = graph.ops[op];
    const ir::Op& first =
        graph.ops[subscript(ir::first_like(graph, static_cast<std::int32_t>(op)))];
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      if (node.operands[i].access == ir::Access::Write) {
        result[subscript(node.operands[i].tensor)] = first.operands[i].tensor;
      }
    }
  }
  return result;
}

}  // namespace

std::optional<std::int64_t> block_length(const ir::Op& op, const ir::Dim& dim, std::int64_t shape,
                                         std::int32_t axis) {
  if (dim.axes.empty() || dim.axes.front() != axis || dim.coef.front() <= 0) {
    return std::nullopt;
  }
  const std::int64_t block = dim.coef.front();
  std::int64_t last = dim.offset;  // the last index that the inner axes reach
  for (std::size_t i = 1; i < dim.axes.size(); ++i) {
    const std::int64_t size = op.axes[subscript(dim.axes[i])].size;
    last += dim.coef[i] * (size - 1);
    if (dim.coef[i] < 0) {
      return std::nullopt;
    }
  }
  const bool equal = block * op.axes[subscript(axis)].size == shape;
  return dim.offset >= 0 && last < block && equal ? std::optional(block) : std::nullopt;
}

PartLengths::PartLengths(const ir::Graph& graph, std::int64_t chips) : chips_(chips) {
  std::vector<std::vector<std::int64_t>> grains;
  grains.reserve(graph.tensors.size());
  for (const ir::Tensor& tensor : graph.tensors) {
    grains.emplace_back(tensor.shape.size(), 1);
  }
  const std::vector<std::int32_t> like = first_alike(graph);
  for (const ir::Op& op : graph.ops) {
    for (const ir::Operand& operand : op.operands) {
      add_grains(op, operand, graph.tensors[subscript(operand.tensor)].shape, chips,
                 grains[subscript(like[subscript(operand.tensor)])]);
    }
  }
  lengths_ = grains;
  for (std::size_t tensor = 0; tensor < graph.tensors.size(); ++tensor) {
    for (std::size_t d = 0; d < lengths_[tensor].size(); ++d) {
      const std::int64_t grain = grains[subscript(like[tensor])][d];
      lengths_[tensor][d] = grain * ceil_div(graph.tensors[tensor].shape[d], grain * chips);
    }
  }
}

}  // namespace elk::shard
