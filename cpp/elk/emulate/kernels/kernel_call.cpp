#include "elk/emulate/kernels/kernel_call.hpp"

#include <utility>

#include "elk/base/errors.hpp"
#include "elk/emulate/kernels/elementwise.hpp"
#include "elk/emulate/kernels/pack.hpp"
#include "elk/emulate/kernels/product.hpp"
#include "elk/emulate/kernels/reduce.hpp"
#include "elk/emulate/kernels/rows.hpp"
#include "elk/emulate/kernels/width.hpp"

namespace elk::emulate {
namespace {

/// A type without a sign as wide as `dtype`: its bits alone.
ir::DType bits_of(ir::DType dtype) {
  switch (ir::bits(dtype)) {
    case 64:
      return ir::DType::U64;
    case 32:
      return ir::DType::U32;
    case 16:
      return ir::DType::U16;
    case 4:
      return ir::DType::U4;
    default:
      return ir::DType::U8;
  }
}

/// All inputs put together: each point has at most one of them, or what surrounds a padded box.
template <class Wide>
std::vector<Wide> moved(const KernelCall& tile) {
  const ir::Op& op = tile.op;
  const AxisRanges points = result_points(tile);
  const bool padded = op.kind == ir::OpKind::Copy && !op.scalars.empty();
  std::vector<Wide> result(static_cast<std::size_t>(points.count()),
                           padded ? static_cast<Wide>(op.scalars[0]) : Wide{0});
  const std::vector<std::int32_t> slots =
      op.kind == ir::OpKind::Gather ? std::vector<std::int32_t>{0} : inputs(op);
  for (const std::int32_t input : slots) {
    InputValues<Wide> packed = pack<Wide>(tile, input, points);
    if (packed.inside.empty()) {
      return std::move(packed.value);
    }
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = packed.inside[i] != 0 ? packed.value[i] : result[i];
    }
  }
  return result;
}

/// The bits of the input as numbers of the result's type.
Numbers recast(const KernelCall& tile) {
  std::vector<PieceBytes> pieces = tile.pieces;
  for (PieceBytes& piece : pieces) {
    piece.dtype = bits_of(piece.dtype);
  }
  const std::vector<std::uint64_t> bits =
      moved<std::uint64_t>({tile.graph, tile.op, pieces, tile.ranges});
  const ir::DType dtype = tile.pieces[result_operands(tile.op).front()].dtype;
  std::vector<std::byte> bytes((bits.size() * 8) + 8);
  const ElementSequence run{.first = 0, .step = 1, .count = static_cast<std::int64_t>(bits.size())};
  save(bits.data(), run, {.data = bytes.data(), .dtype = bits_of(dtype)});
  return with_width(tile, [&](auto wide) {
    std::vector<decltype(wide)> numbers(bits.size());
    load(Elements{.data = bytes.data(), .dtype = dtype}, run, numbers.data());
    return Numbers(std::move(numbers));
  });
}

/// The rows of a tile that holds them whole.
RowValues whole_rows(const KernelCall& tile) {
  RowValues known{.rows = {}, .values = {}, .count = 0};
  for (int round = 0; round < rounds(tile.op); ++round) {
    RowValues next = row_state(tile, round, known);
    known.rows = std::move(next.rows);
    known.count = next.count;
    for (std::vector<double>& values : next.values) {
      known.values.push_back(std::move(values));
    }
  }
  return known;
}

bool is_scan(const ir::Op& op) { return op.function == "cumsum" || op.function == "cumprod"; }

/// Why an op of a kind that has kernels has none for its function.
std::string no_function(const ir::Graph& graph, const ir::Op& op) {
  bool known = true;
  switch (op.kind) {
    case ir::OpKind::Elementwise:
      known = has_function(graph, op);
      break;
    case ir::OpKind::Reduce:
    case ir::OpKind::Pool:
      known = has_reduction(op);
      break;
    case ir::OpKind::Softmax:
    case ir::OpKind::Norm:
      known = has_row_function(op);
      break;
    case ir::OpKind::Opaque:
      known = is_scan(op) || op.function == "topk";
      break;
    case ir::OpKind::AllReduce:
    case ir::OpKind::AllGather:
    case ir::OpKind::ReduceScatter:
    case ir::OpKind::AllToAll:
      known = false;  // Collectives compute nothing on a core.
      break;
    case ir::OpKind::MatMul:
    case ir::OpKind::Conv:
    case ir::OpKind::DepthwiseConv:
    case ir::OpKind::Gather:
    case ir::OpKind::Copy:
      break;
  }
  return known ? "" : text("no kernel for '", op.function, "'");
}

}  // namespace

Width width(const ir::Graph& graph, const ir::Op& op) {
  bool has_unsigned = false;
  for (const ir::Operand& operand : op.operands) {
    const bool picks = op.kind == ir::OpKind::Gather && operand.input == 1;
    if (picks || (operand.access == ir::Access::Read && operand.input < 0)) {
      continue;  // An index.
    }
    const ir::DType dtype = graph.tensors[static_cast<std::size_t>(operand.tensor)].dtype;
    if (is_real(dtype)) {
      return Width::Real;
    }
    has_unsigned = has_unsigned || dtype == ir::DType::U64;
  }
  return has_unsigned ? Width::Unsigned : Width::Signed;
}

std::string no_kernel(const ir::Graph& graph, const ir::Op& op) {
  for (const ir::Operand& operand : op.operands) {
    const ir::DType dtype = graph.tensors[static_cast<std::size_t>(operand.tensor)].dtype;
    if (!is_known(dtype)) {
      return text("elements of ", ir::name(dtype), ": which of its kinds is not in the graph");
    }
  }
  return no_function(graph, op);
}

bool sums(const ir::Op& op) {
  switch (op.kind) {
    case ir::OpKind::MatMul:
    case ir::OpKind::Conv:
    case ir::OpKind::DepthwiseConv:
    case ir::OpKind::Reduce:
    case ir::OpKind::Pool:
      return true;
    case ir::OpKind::Elementwise:
    case ir::OpKind::Softmax:
    case ir::OpKind::Norm:
    case ir::OpKind::Gather:
    case ir::OpKind::Copy:
    case ir::OpKind::Opaque:
    case ir::OpKind::AllReduce:
    case ir::OpKind::AllGather:
    case ir::OpKind::ReduceScatter:
    case ir::OpKind::AllToAll:
      break;
  }
  return false;
}

bool works_on_rows(const ir::Op& op) {
  return op.kind == ir::OpKind::Softmax || op.kind == ir::OpKind::Norm;
}

Numbers partial(const KernelCall& tile) {
  return tile.op.kind == ir::OpKind::Reduce || tile.op.kind == ir::OpKind::Pool ? reduced(tile)
                                                                                : product(tile);
}

std::vector<Numbers> results(const KernelCall& tile) {
  const ir::Op& op = tile.op;
  if (sums(op)) {
    Numbers numbers = partial(tile);
    finish(tile, numbers);
    return {std::move(numbers)};
  }
  if (works_on_rows(op)) {
    return {row_results(tile, whole_rows(tile))};
  }
  if (op.kind == ir::OpKind::Elementwise) {
    return {elementwise(tile)};
  }
  if (op.kind == ir::OpKind::Opaque) {
    return is_scan(op) ? std::vector<Numbers>{scanned(tile)} : top_k(tile);
  }
  if (op.onnx_type == "BitCast") {
    return {recast(tile)};
  }
  return {with_width(tile, [&](auto wide) { return Numbers(moved<decltype(wide)>(tile)); })};
}

}  // namespace elk::emulate
