#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/plan.hpp"

namespace elk::partition {

/// One dimension along which an operand rotates: the cores of a ring that differ only in this digit
/// of their numbers hand partitions around a circle.
struct Circle {
  std::size_t dim;
  std::int32_t axis;
  std::int64_t parts;   // f_t: cores of a circle
  std::int64_t stride;  // from one of them to the next, in numbers
  bool folds;

  friend bool operator==(const Circle&, const Circle&) = default;
};

/// How the cores that share a sub-tensor of an operand hand its partitions around (T10 4.1): one
/// rule for planner, program and simulator.
///
/// The sharers are numbered in the order of their core ids; on a grid in the order of a snake
/// through their rows, so that neighbours by number are neighbours on the grid. Each run of `ring`
/// numbers forms a ring: along one dimension one circle, along several a grid with a digit for each
/// of them, the one whose loop is innermost, which turns most often, counting fastest. Places
/// 0, 1, 2, ... along a dimension are its digits in this order where the last core is a neighbour
/// of the first: on all-to-all, and where circles go once around a torus. Elsewhere a circle is
/// folded: over the digits 0, 2, 4, ... and back over ..., 5, 3, 1. Then no step is longer than
/// two strides, and every link on the way carries a partition of each of `stride` circles in each
/// direction.
///
/// A core at place `p` of a circle receives from the one at place `p + 1`, and the last from the
/// first. So the cores of a ring hold all partitions at all times, each a different one.
struct Rotation {
  std::vector<std::int32_t> axes;     // cut axes that the operand does not contain, outermost first
  std::vector<std::int64_t> factors;  // of `axes`
  std::int64_t ring;                  // cores of a ring: the product of the temporal factors
  bool snakes;
  std::vector<Circle> circles;  // by dimension

  friend bool operator==(const Rotation&, const Rotation&) = default;
};
/// Throws InvalidInput where the sharers make no rings, or no loop turns them.
[[nodiscard]] Rotation rotation(const ir::Op& op, std::size_t operand, const ExecutePlan& plan,
                                const chip::Chip& chip);

/// The place in its ring of the core with these digits, one for each axis of the op: its places in
/// the circles, each times its stride.
[[nodiscard]] std::int64_t place(const Rotation& rotation, std::span<const std::int64_t> digits);

/// The place of member number `member`.
[[nodiscard]] std::int64_t place(const Rotation& rotation, std::int64_t member);

/// Whether a core's place is its number in the ring.
[[nodiscard]] bool in_order(const Rotation& rotation);

/// The sharers ring after ring, each in the order of its places: of the numbers that count through
/// `axes`, the last one fastest.
[[nodiscard]] std::vector<std::int64_t> in_rings(const Rotation& rotation);

/// Hops of the longest step around a ring of `cores` neighbours.
[[nodiscard]] std::int64_t ring_hops(std::int64_t cores, bool folds);

/// Whether `cores` neighbours along `factor` places of mesh dimension `dim` go once around it: the
/// last is then a neighbour of the first.
[[nodiscard]] bool goes_around(const chip::Chip& chip, std::int32_t dim, std::int64_t factor,
                               std::int64_t cores);

/// How an operand turns along an axis: the cores that take part, and their steps.
struct Beat {
  std::uint64_t axes;   // a bit for each cut axis that the operand does not contain: its sharers
  std::int64_t parts;   // of the circle along the axis
  std::int64_t stride;  // from a core of that circle to the next, in numbers

  friend bool operator==(const Beat&, const Beat&) = default;
};

/// Whether two operands that rotate along one axis can keep in step: on every core, and so that
/// every ring holds all partitions. They can where no ring of one sees two places of the other,
/// and where they turn in the same circles.
[[nodiscard]] inline bool in_step(const Beat& one, const Beat& other) {
  return (one.axes & other.axes) == 0 || one == other;
}

/// The index of `axis`, within its tile, at which the first sub-task of a core begins. Operands
/// that rotate along the same axis start apart by their own places, so that a core holds the same
/// indices of all of them at every step (T10 4.4, Figure 10).
[[nodiscard]] std::int64_t first_index(const ir::Op& op, const ExecutePlan& plan,
                                       const chip::Chip& chip, std::int32_t axis,
                                       std::span<const std::int64_t> digits);

/// An operand that rotates along an axis, in partitions of `length` indices of it.
struct OperandRotation {
  Rotation rotation;
  Circle circle;  // the one along the axis
  std::int64_t length;

  friend bool operator==(const OperandRotation&, const OperandRotation&) = default;
};
/// Indices by which a core's first sub-task begins later than that of the first core of the ring.
[[nodiscard]] std::int64_t delay(const OperandRotation& turning,
                                 std::span<const std::int64_t> digits);

/// The operands whose places say where along `axis` a core begins: one of those that turn together.
[[nodiscard]] std::vector<OperandRotation> turning(const ir::Op& op, const ExecutePlan& plan,
                                                   const chip::Chip& chip, std::int32_t axis);

}  // namespace elk::partition
