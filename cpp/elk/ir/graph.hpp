#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"

namespace elk::ir {

enum class DType : std::uint8_t {
  F64,
  F32,
  F16,
  BF16,
  F8,
  I64,
  I32,
  I16,
  I8,
  I4,
  U64,
  U32,
  U16,
  U8,
  U4,
  Bool,
};

/// Bits of one element.
[[nodiscard]] std::int64_t bits(DType dtype);
/// The name of `dtype` in files: "f16".
[[nodiscard]] const char* name(DType dtype);

/// Where a tensor lives between runs of the ops that touch it (design 2.4). `Spilled` lies in HBM,
/// where stores put it (`Store::into`); one that no store fills is a graph input that starts there.
enum class Home : std::uint8_t { Weight, State, Input, Output, Activation, Spilled };

enum class Access : std::uint8_t { Read, Write };

/// `Row` marks the axis along which a row op (softmax, norm) normalises; it is neither independent
/// nor summed away.
enum class AxisRole : std::uint8_t { Parallel, Reduction, Row };

/// The place of an axis in the call of a tile kernel: the sizes of all axes with one tag multiply.
enum class TileDim : std::uint8_t {
  None,   // no influence on the call (an axis of size one)
  Group,  // g: independent products, conv groups
  M,
  N,
  K,  // matmul
  Batch,
  OutH,
  OutW,
  InCh,
  OutCh,
  KernelH,
  KernelW,  // conv, pool, depthwise (channels: OutCh)
  Rows,
  Cols,      // row ops, reductions, broadcasts: [Rows, Cols]
  Elements,  // elementwise, cast, opaque
  Slices,
  SliceElements,  // gather, copy: contiguous runs and their length
};

struct Axis {
  std::string name;
  std::int64_t size;
  AxisRole role;
  TileDim tile_dim;

  friend bool operator==(const Axis&, const Axis&) = default;
};

/// How the axes of an op index one dimension of a stored tensor:
///
///     index = offset + sum_i coef[i] * axis[axes[i]],    kept where 0 <= index < shape
///
/// `axes` are positions in `Op::axes`, outermost first. No axes: one element, at `offset` (or
/// where an index tensor says, `Operand::indirect`). A dimension of size one with an axis is a
/// guard: the operand is read only where the axis has the value that makes the index zero.
struct Dim {
  std::vector<AxisId> axes;
  std::vector<std::int64_t> coef;
  std::int64_t offset;

  friend bool operator==(const Dim&, const Dim&) = default;
};

/// A dimension picked by the values of another tensor: `count` axes say how many picks there are.
struct Indirect {
  TensorId index;            // position in Graph::tensors
  DimId dim;                 // which dimension of the operand is picked
  std::vector<AxisId> axes;  // product of their sizes = picks (capped by the dimension)
  double expected_picks;     // expected distinct picks over the whole op

  friend bool operator==(const Indirect&, const Indirect&) = default;
};

struct Operand {
  TensorId tensor;  // position in Graph::tensors
  Access access;
  Table<DimId, Dim> dims;  // one for each dimension of the stored tensor
  std::optional<Indirect> indirect;
  std::int32_t input = -1;  // which ONNX input or output: parts of one value share it (a state and
                            // the rows appended to it); -1 where no node stands behind the op
  bool covers = false;      // has elements only where the next operand, a mask, is true; there they
                            // take the place of those of earlier operands of the same input

  friend bool operator==(const Operand&, const Operand&) = default;
};

struct Tensor {
  std::string name;
  DType dtype;
  Table<DimId, std::int64_t> shape;
  Home home;

  friend bool operator==(const Tensor&, const Tensor&) = default;
};

/// Whether ops read a tensor from HBM.
[[nodiscard]] bool in_hbm(const Tensor& tensor);
/// Elements of the whole tensor.
[[nodiscard]] std::int64_t elements(const Tensor& tensor);
/// Elements of the whole tensor times the bits of one, rounded up to bytes.
[[nodiscard]] Bytes bytes(const Tensor& tensor);

enum class OpKind : std::uint8_t {
  MatMul,
  Conv,
  DepthwiseConv,
  Pool,
  Elementwise,
  Reduce,
  Softmax,
  Norm,
  Gather,
  Copy,
  Opaque,
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
};

[[nodiscard]] const char* name(OpKind kind);

/// Whether the op is an exchange between the chips of a pod: the last four kinds. It stands in the
/// graph of one chip, reads what that chip holds of a tensor and writes what it holds afterwards;
/// `params` are the chips that take part. The axis of the chips, where it has one, indexes only the
/// operand that spans all chips' parts.
[[nodiscard]] bool is_collective(OpKind kind);

/// One node of the planned graph: a tensor expression over named axes.
///
/// `function` is the tile kernel in the words of the profile: "matmul", "conv2d", "exp", "add",
/// "add/col_vector", "sum/inner", "softmax", "layernorm", "gather", "slice_copy". `params` are what
/// the kernel needs besides sizes (conv, pool: stride h, stride w; gather: rows of the table; an
/// opaque one: 0, and 1 for a sort). `onnx_type` is empty where no node stands behind the op.
/// `compute` is the dtype it computes in; `accumulate` that of its partial sums.
/// `scalars` are the numbers that the op computes with besides its operands: those of attributes
/// (epsilon of a norm, the factor of a mean, alpha and beta of a Gemm), then its constant inputs,
/// whose ONNX positions are `constants`. No time or space depends on them.
struct Op {
  std::string name;
  OpKind kind;
  std::string onnx_type;
  std::string function;
  std::vector<std::int64_t> params;
  DType compute;
  DType accumulate;
  Table<AxisId, Axis> axes;
  Table<OperandId, Operand> operands;  // reads first, then exactly one or more writes
  std::int64_t flops;                  // of the whole op
  // NOLINTBEGIN(readability-redundant-member-init): GCC wants it where they are left out.
  std::vector<double> scalars{};
  std::vector<std::int32_t> constants{};
  // NOLINTEND(readability-redundant-member-init)

  friend bool operator==(const Op&, const Op&) = default;
};

/// The distinct tensors of an op, in the order in which its operands first name them.
[[nodiscard]] std::vector<TensorId> tensors_of(const Op& op);

/// What is written to HBM after the execute of `op`: new rows of a KV cache (design 2.4), or a part
/// of a spilled tensor.
struct Store {
  TensorId tensor;  // whose bytes are written
  OpId op;          // the op that makes it
  Bytes run;        // contiguous bytes at the destination
  // NOLINTBEGIN(readability-redundant-member-init): GCC wants it where they are left out.
  TensorId into = TensorId::none;         // the spilled tensor of which this is a part, or none
  Table<DimId, std::int64_t> begin = {};  // where the part begins there, by dimension
  // NOLINTEND(readability-redundant-member-init)

  friend bool operator==(const Store&, const Store&) = default;
};

/// Ops [begin, begin + period * count) are `count` times the same `period` ops (design 2.5).
struct Repeat {
  OpId begin;
  std::int32_t period;
  std::int32_t count;

  /// The op of the first period that stands where `op` does, or `op` itself if it stands outside.
  [[nodiscard]] OpId first_like(OpId op) const {
    const bool repeated = op >= begin && op < begin + (period * count);
    return repeated ? begin + ((op - begin) % period) : op;
  }

  friend bool operator==(const Repeat&, const Repeat&) = default;
};

struct Graph {
  std::string name;
  Table<TensorId, Tensor> tensors;
  Table<OpId, Op> ops;  // in execution order
  std::vector<Store> stores;
  std::optional<Repeat> repeat;
  std::vector<TensorId> outputs;  // tensors that leave the graph
};

/// Refuses a graph that later layers could not trust: positions out of range, dims that do not
/// match shapes, an operand read before it is written, overflowing products.
void validate(const Graph& graph);

/// `pattern` as an op called `name`: its operand and index positions, which count from zero in
/// `tensors`, become the tensors found there. Models repeat few patterns many times.
[[nodiscard]] Op instantiate(const Op& pattern, std::string name,
                             TableView<TensorId, const TensorId> tensors);

/// The longest periodic run of structurally equal ops, by signature and by how tensors connect
/// them, never by name. Empty if nothing repeats at least twice.
[[nodiscard]] std::optional<Repeat> find_repeat(const Graph& graph);
/// The longest periodic run in which only ops of one of `kinds` may be like each other: a number
/// for each op, equal for none but equal ops.
[[nodiscard]] std::optional<Repeat> find_repeat(const Graph& graph,
                                                const Table<OpId, std::int32_t>& kinds);

/// The op of the first equal layer that stands where `op` does in its own, or `op` itself.
[[nodiscard]] inline OpId first_like(const Graph& graph, OpId op) {
  return graph.repeat ? graph.repeat->first_like(op) : op;
}

/// For each op the first op with the same axes, expressions, dtypes, shapes and homes.
[[nodiscard]] Table<OpId, OpId> equal_ops(const Graph& graph);

}  // namespace elk::ir
