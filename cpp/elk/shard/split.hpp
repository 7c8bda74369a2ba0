#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "elk/ir/graph.hpp"
#include "elk/shard/lengths.hpp"

namespace elk::shard {

/// How the chips of a pod hold a tensor: each all of it, each a part along one dimension, or each
/// an addend of its values.
struct Form {
  enum class Kind : std::uint8_t { Whole, Cut, Partial };
  Kind kind;
  std::int32_t dim;  // which is cut; -1 for the other kinds

  friend auto operator<=>(const Form&, const Form&) = default;
};

[[nodiscard]] constexpr Form whole() { return {.kind = Form::Kind::Whole, .dim = -1}; }
[[nodiscard]] constexpr Form cut(std::int32_t dim) { return {.kind = Form::Kind::Cut, .dim = dim}; }
[[nodiscard]] constexpr Form partial() { return {.kind = Form::Kind::Partial, .dim = -1}; }

/// One way to have an op computed by several chips: each takes a part of one axis, or, with no
/// axis, all of the op. Parts are equal, but the last may be shorter, and chips behind it idle.
struct Split {
  std::int32_t axis;        // -1: every chip computes all of it
  std::int64_t part;        // of the axis, on the first chip; 0 with no axis
  std::vector<Form> forms;  // of each operand: what it must be read in, what it is written in

  friend bool operator==(const Split&, const Split&) = default;
};

/// Every chip computes all of `op`.
[[nodiscard]] Split unsplit(const ir::Op& op);

/// The ways to have `op` computed by several chips, that on every chip first.
///
/// An axis can be split if each operand that it indexes falls into as many contiguous blocks along
/// one dimension (`block_length`), and if the parts of what ops make are as long as `lengths` has
/// them. That rules out halos (the height of a convolution), the rows appended to a cache, and rows
/// that are normalised. Where a reduction is split, the results are partial.
[[nodiscard]] std::vector<Split> splits(const ir::Graph& graph, const ir::Op& op,
                                        const PartLengths& lengths);

/// `op` as the first chip computes it under `split`.
[[nodiscard]] ir::Op on_one_chip(const ir::Op& op, const Split& split);

/// How long the first chip's part of the operand at `place` is, along the dimension that `split`
/// cuts.
[[nodiscard]] std::int64_t part_length(const ir::Op& op, const Split& split, std::size_t place);

}  // namespace elk::shard
