#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "elk/ir/graph.hpp"

namespace elk::train {

/// How the chips of a pod hold a tensor: each all of it, each an equal part along one dimension, or
/// each an addend of its values.
struct Form {
  enum class Kind : std::uint8_t { Whole, Cut, Partial };
  Kind kind;
  std::int32_t dim;  // that is cut; -1 for the other kinds

  friend auto operator<=>(const Form&, const Form&) = default;
};

[[nodiscard]] constexpr Form whole() { return {.kind = Form::Kind::Whole, .dim = -1}; }
[[nodiscard]] constexpr Form cut(std::int32_t dim) { return {.kind = Form::Kind::Cut, .dim = dim}; }
[[nodiscard]] constexpr Form partial() { return {.kind = Form::Kind::Partial, .dim = -1}; }

/// One way to have an op computed by several chips: each takes an equal part of one axis, or, with
/// no axis, all of the op.
struct Split {
  std::int32_t axis;        // -1: every chip computes all of it
  std::vector<Form> forms;  // of each operand: what it must be read in, what it is written in

  friend bool operator==(const Split&, const Split&) = default;
};

/// The ways to have `op` computed by `chips` chips, that on every chip first.
///
/// An axis can be split if its size is a multiple of the chips and if each operand that it indexes
/// then falls into as many contiguous parts along one dimension: the axis is the outermost that
/// indexes it, and what the inner axes and the offset add never reaches the next part. That rules
/// out halos (the height of a convolution), the rows appended to a cache, and rows that are
/// normalised. Where a reduction is split, the results are partial.
[[nodiscard]] std::vector<Split> splits(const ir::Graph& graph, const ir::Op& op,
                                        std::int64_t chips);

/// `op` as one of `chips` chips computes it under `split`.
[[nodiscard]] ir::Op on_one_chip(const ir::Op& op, const Split& split, std::int64_t chips);

}  // namespace elk::train
