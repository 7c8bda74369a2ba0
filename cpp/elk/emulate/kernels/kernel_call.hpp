#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "elk/emulate/kernels/element.hpp"
#include "elk/emulate/memory/access.hpp"
#include "elk/ir/graph.hpp"

namespace elk::emulate {

/// A piece of an operand and its bytes in a core's memory.
struct PieceBytes {
  DensePiece held;
  std::byte* bytes;
  ir::DType dtype;
};

/// One call of an op's kernel on one core.
struct KernelCall {
  const ir::Graph& graph;
  const ir::Op& op;
  const std::vector<PieceBytes>& pieces;  // of each operand; those of results are not looked at
  const Ranges& ranges;                   // of every axis
};

/// Why no kernel computes `op`; empty if one does.
[[nodiscard]] std::string no_kernel(const ir::Graph& graph, const ir::Op& op);

/// Whether what the op computes over parts of an axis that is not parallel can be combined.
[[nodiscard]] bool sums(const ir::Op& op);
[[nodiscard]] bool works_on_rows(const ir::Op& op);

/// The numbers that a tile adds to its result: a sum, a largest element, a product, over the ranges
/// of the reduction axes. One for each point of the first result.
///
/// A Gemm's factor alpha is in them; its beta and bias are in those of the tile in which all
/// reduction axes begin.
[[nodiscard]] Numbers partial(const KernelCall& tile);
/// `into` and `more` of the same points over other ranges of the reduction axes.
void combine(const ir::Op& op, const Numbers& more, Numbers& into);
/// Whether `finish` changes the partial results of an op.
[[nodiscard]] bool finishes(const ir::Op& op);
/// What is left to do once with a complete partial result: the factor of a mean, a root.
void finish(const KernelCall& tile, Numbers& numbers);

/// Values of each row that its elements are told by: of a softmax the largest, then the sum of
/// exponentials; of a norm the mean and the mean square (of a layernorm: about that mean).
struct RowValues {
  AxisRanges rows;                          // one point for each row
  std::vector<std::vector<double>> values;  // of each row, one array for each value
  double count;                             // elements of a row that the values are of
};
/// How many times cores that share a row exchange values of it.
[[nodiscard]] int rounds(const ir::Op& op);
/// The values of one round over the part of the rows in `tile`; `known` has those of the rounds
/// before, combined.
[[nodiscard]] RowValues row_state(const KernelCall& tile, int round, const RowValues& known);
void combine(const ir::Op& op, int round, const RowValues& more, RowValues& into);

/// The results of a tile whose reduction axes are whole, or, of a row op, whose rows are told by
/// `state`. One array of numbers for each result.
[[nodiscard]] std::vector<Numbers> results(const KernelCall& tile);
[[nodiscard]] Numbers row_results(const KernelCall& tile, const RowValues& state);

/// Writes numbers over the points of result `operand` into its piece, rounded to `piece.dtype`.
void write(const KernelCall& tile, std::size_t operand, const Numbers& numbers,
           const PieceBytes& piece);
/// The numbers that a piece of result `operand` holds at its points: partial results.
[[nodiscard]] Numbers read(const KernelCall& tile, std::size_t operand, const PieceBytes& piece);

/// The operands that the op writes.
[[nodiscard]] std::vector<std::size_t> result_operands(const ir::Op& op);

}  // namespace elk::emulate
