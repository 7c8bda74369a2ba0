#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/text.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/layout/layout.hpp"
#include "elk/partition/layout/piece.hpp"

/// One op with its tensors, written in a line or two.
namespace elk::test {

inline ir::Axis parallel(std::string name, std::int64_t size, ir::TileDim dim) {
  return {.name = std::move(name), .size = size, .role = ir::AxisRole::Parallel, .tile_dim = dim};
}

inline ir::Axis reduction(std::string name, std::int64_t size, ir::TileDim dim) {
  return {.name = std::move(name), .size = size, .role = ir::AxisRole::Reduction, .tile_dim = dim};
}

inline ir::Axis row(std::string name, std::int64_t size, ir::TileDim dim) {
  return {.name = std::move(name), .size = size, .role = ir::AxisRole::Row, .tile_dim = dim};
}

/// A dimension indexed by one axis as it is, from `offset` on.
inline ir::Dim along(AxisId axis, std::int64_t offset = 0) {
  return {.axes = {axis}, .coef = {1}, .offset = offset};
}

inline ir::Dim point() { return {.axes = {}, .coef = {}, .offset = 0}; }

inline ir::Dim mapped(std::vector<AxisId> axes, std::vector<std::int64_t> coef,
                      std::int64_t offset = 0) {
  return {.axes = std::move(axes), .coef = std::move(coef), .offset = offset};
}

/// What moves when `need` follows `have`.
inline partition::Transition transition(const partition::Layout& have,
                                        const partition::Layout& need, std::int64_t bits,
                                        const chip::Chip& chip) {
  return partition::handover(partition::Pieces(have), partition::Pieces(need), bits, chip).moved;
}

/// A graph of one op, built operand by operand.
struct OneOp {
  ir::Graph graph;

  OneOp(ir::OpKind kind, std::string function, Table<AxisId, ir::Axis> axes,
        ir::DType dtype = ir::DType::F16)
      : graph{.name = "one", .tensors = {}, .ops = {}, .stores = {}, .repeat = {}, .outputs = {}} {
    graph.ops.push_back({.name = std::string("op"),
                         .kind = kind,
                         .onnx_type = "Test",
                         .function = std::move(function),
                         .params = {},
                         .compute = dtype,
                         .accumulate = dtype,
                         .axes = std::move(axes),
                         .operands = {},
                         .flops = 1000});
  }

  [[nodiscard]] ir::Op& op() { return graph.ops.front(); }
  [[nodiscard]] const ir::Op& op() const { return graph.ops.front(); }

  OneOp& operand(ir::Access access, ir::Home home, Table<DimId, std::int64_t> shape,
                 Table<DimId, ir::Dim> dims) {
    const auto tensor = id_at<TensorId>(graph.tensors.size());
    graph.tensors.push_back({.name = text("t", tensor),
                             .dtype = op().compute,
                             .shape = std::move(shape),
                             .home = home});
    op().operands.push_back(
        {.tensor = tensor, .access = access, .dims = std::move(dims), .indirect = {}});
    return *this;
  }
  OneOp& reads(ir::Home home, Table<DimId, std::int64_t> shape, Table<DimId, ir::Dim> dims) {
    return operand(ir::Access::Read, home, std::move(shape), std::move(dims));
  }
  OneOp& writes(Table<DimId, std::int64_t> shape, Table<DimId, ir::Dim> dims) {
    return operand(ir::Access::Write, ir::Home::Activation, std::move(shape), std::move(dims));
  }
};

/// y[m, n] = x[m, k] w[k, n].
inline OneOp matmul(std::int64_t m, std::int64_t n, std::int64_t k,
                    ir::Home weights = ir::Home::Weight) {
  OneOp one(ir::OpKind::MatMul, "matmul",
            {parallel("m", m, ir::TileDim::M), parallel("n", n, ir::TileDim::N),
             reduction("k", k, ir::TileDim::K)});
  one.reads(ir::Home::Activation, {m, k}, {along(AxisId{0}), along(AxisId{2})})
      .reads(weights, {k, n}, {along(AxisId{2}), along(AxisId{1})})
      .writes({m, n}, {along(AxisId{0}), along(AxisId{1})});
  return one;
}

/// y[b, h, m, s] = q[b, h, m, d] k[b, h, s, d], where k is an old state of s - 1 rows and one new
/// row.
inline OneOp attention_scores(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
  OneOp one(ir::OpKind::MatMul, "matmul",
            {parallel("b", b, ir::TileDim::Group), parallel("h", h, ir::TileDim::Group),
             parallel("m", 1, ir::TileDim::M), parallel("s", s, ir::TileDim::N),
             reduction("d", d, ir::TileDim::K)});
  one.reads(ir::Home::Activation, {b, h, 1, d},
            {along(AxisId{0}), along(AxisId{1}), along(AxisId{2}), along(AxisId{4})})
      .reads(ir::Home::State, {b, h, s - 1, d},
             {along(AxisId{0}), along(AxisId{1}), along(AxisId{3}), along(AxisId{4})})
      .reads(ir::Home::Activation, {b, h, 1, d},
             {along(AxisId{0}), along(AxisId{1}), along(AxisId{3}, 1 - s), along(AxisId{4})})
      .writes({b, h, 1, s},
              {along(AxisId{0}), along(AxisId{1}), along(AxisId{2}), along(AxisId{3})});
  return one;
}

/// A convolution of `out` x `out` results with a k x k kernel, padded to keep the size over stride.
inline OneOp conv(std::int64_t out, std::int64_t in_ch, std::int64_t out_ch, std::int64_t k,
                  std::int64_t stride) {
  OneOp one(ir::OpKind::Conv, "conv2d",
            {parallel("oh", out, ir::TileDim::OutH), parallel("ow", out, ir::TileDim::OutW),
             parallel("co", out_ch, ir::TileDim::OutCh), reduction("ci", in_ch, ir::TileDim::InCh),
             reduction("kh", k, ir::TileDim::KernelH), reduction("kw", k, ir::TileDim::KernelW)});
  one.op().params = {stride, stride};
  const std::int64_t in = out * stride;
  one.reads(ir::Home::Activation, {in_ch, in, in},
            {along(AxisId{3}), mapped({AxisId{0}, AxisId{4}}, {stride, 1}, -(k / 2)),
             mapped({AxisId{1}, AxisId{5}}, {stride, 1}, -(k / 2))})
      .reads(ir::Home::Weight, {out_ch, in_ch, k, k},
             {along(AxisId{2}), along(AxisId{3}), along(AxisId{4}), along(AxisId{5})})
      .writes({out_ch, out, out}, {along(AxisId{2}), along(AxisId{0}), along(AxisId{1})});
  return one;
}

/// y[r, c] = x[r, c] + bias[c].
inline OneOp bias_add(std::int64_t rows, std::int64_t cols) {
  OneOp one(ir::OpKind::Elementwise, "add/col_vector",
            {parallel("r", rows, ir::TileDim::Rows), parallel("c", cols, ir::TileDim::Cols)});
  one.reads(ir::Home::Activation, {rows, cols}, {along(AxisId{0}), along(AxisId{1})})
      .reads(ir::Home::Weight, {cols}, {along(AxisId{1})})
      .writes({rows, cols}, {along(AxisId{0}), along(AxisId{1})});
  return one;
}

/// out[r, c] = x[r, c] * gain[c] + bias[c]: cores that share a piece of one share one of the other.
inline OneOp scale_and_shift(std::int64_t rows, std::int64_t cols) {
  OneOp one(ir::OpKind::Elementwise, "add/col_vector",
            {parallel("r", rows, ir::TileDim::Rows), parallel("c", cols, ir::TileDim::Cols)});
  one.reads(ir::Home::Activation, {rows, cols}, {along(AxisId{0}), along(AxisId{1})})
      .reads(ir::Home::Weight, {cols}, {along(AxisId{1})})
      .reads(ir::Home::Weight, {cols}, {along(AxisId{1})})
      .writes({rows, cols}, {along(AxisId{0}), along(AxisId{1})});
  return one;
}

/// out[p, q, c] = x[p, c] + y[c] + z[q, c]: cores share pieces of two of them, or of one.
inline OneOp spread_sum(std::int64_t p, std::int64_t q, std::int64_t cols) {
  OneOp one(ir::OpKind::Elementwise, "add/col_vector",
            {parallel("p", p, ir::TileDim::Rows), parallel("q", q, ir::TileDim::Rows),
             parallel("c", cols, ir::TileDim::Cols)});
  one.reads(ir::Home::Activation, {p, cols}, {along(AxisId{0}), along(AxisId{2})})
      .reads(ir::Home::Weight, {cols}, {along(AxisId{2})})
      .reads(ir::Home::Weight, {q, cols}, {along(AxisId{1}), along(AxisId{2})})
      .writes({p, q, cols}, {along(AxisId{0}), along(AxisId{1}), along(AxisId{2})});
  return one;
}

inline OneOp softmax(std::int64_t rows, std::int64_t cols) {
  OneOp one(ir::OpKind::Softmax, "softmax",
            {parallel("r", rows, ir::TileDim::Rows), row("c", cols, ir::TileDim::Cols)});
  one.reads(ir::Home::Activation, {rows, cols}, {along(AxisId{0}), along(AxisId{1})})
      .writes({rows, cols}, {along(AxisId{0}), along(AxisId{1})});
  return one;
}

inline OneOp row_sum(std::int64_t rows, std::int64_t cols) {
  OneOp one(ir::OpKind::Reduce, "sum/inner",
            {parallel("r", rows, ir::TileDim::Rows), reduction("c", cols, ir::TileDim::Cols)});
  one.reads(ir::Home::Activation, {rows, cols}, {along(AxisId{0}), along(AxisId{1})})
      .writes({rows}, {along(AxisId{0})});
  return one;
}

/// Rows of a table in HBM, picked by an index.
inline OneOp embedding(std::int64_t picks, std::int64_t table, std::int64_t width) {
  OneOp one(ir::OpKind::Gather, "gather",
            {parallel("p", picks, ir::TileDim::Slices),
             parallel("c", width, ir::TileDim::SliceElements)});
  one.reads(ir::Home::Weight, {table, width}, {point(), along(AxisId{1})})
      .reads(ir::Home::Activation, {picks}, {along(AxisId{0})})
      .writes({picks, width}, {along(AxisId{0}), along(AxisId{1})});
  one.op().operands[OperandId{0}].indirect =
      ir::Indirect{.index = TensorId{1},
                   .dim = DimId{0},
                   .axes = {AxisId{0}},
                   .expected_picks = 0.75 * static_cast<double>(picks)};
  return one;
}

/// A transposing copy into a slice of a longer tensor.
inline OneOp transposed_copy(std::int64_t rows, std::int64_t cols) {
  OneOp one(
      ir::OpKind::Copy, "slice_copy",
      {parallel("r", rows, ir::TileDim::Slices), parallel("c", cols, ir::TileDim::SliceElements)});
  one.reads(ir::Home::Activation, {cols, rows}, {along(AxisId{1}), along(AxisId{0})})
      .writes({rows + 3, cols}, {along(AxisId{0}, 3), along(AxisId{1})});
  return one;
}

inline chip::Chip small_chip(std::int64_t cores, std::int64_t sram = 1 << 20) {
  return {.name = "small",
          .chips = 1,
          .core = {.count = cores,
                   .rows = 0,
                   .cols = 0,
                   .depth = 0,
                   .sram = {sram},
                   .reserved = {8192},
                   .clock_hz = 1e9,
                   .sram_rate = 16e9,
                   .remote_access_blocks = false,
                   .tile_model = "test"},
          .interconnect = {.topology = chip::Topology::AllToAll,
                           .link_rate = 5e9,
                           .hop_latency = {2e-9},
                           .sync_latency = {90e-9},
                           .fragment_latency = {2e-9},
                           .multicast = true,
                           .overlaps_compute = false,
                           .native_shift = false},
          .hbm = chip::Hbm{.modules = 1,
                           .rate = 64e9,
                           .port_rate = 64e9,
                           .latency = {100e-9},
                           .channels = 16,
                           .refresh_interval = {0.0},
                           .refresh_stall = {0.0},
                           .outstanding = {16384},
                           .capacity = {std::int64_t{1} << 34},
                           .position = chip::HbmPosition::EdgesAll},
          .inter_chip = {},
          .host_rate = 1e9,
          .energy = {}};
}

/// Two chips of `cores` each.
inline chip::Chip two_chips(std::int64_t cores, std::int64_t sram = 1 << 20) {
  chip::Chip chip = small_chip(cores, sram);
  chip.chips = 2;
  chip.inter_chip = chip::InterChip{.rate = 20e9,
                                    .latency = {500e-9},
                                    .sync_latency = {110e-9},
                                    .port_cores = cores,
                                    .topology = chip::Topology::AllToAll};
  return chip;
}

}  // namespace elk::test
