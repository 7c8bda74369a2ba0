#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/plan.hpp"

namespace elk::partition {

/// How the cores that share a sub-tensor of an operand hand its partitions around (T10 4.1): one
/// rule for planner, program and simulator.
///
/// The sharers are numbered in the order of their core ids; on a grid in the order of a snake
/// through their rows, so that neighbours by number are neighbours on the grid. Each run of `ring`
/// numbers forms a ring. Its places 0, 1, 2, ... are its members in this order where the last is a
/// neighbour of the first: on all-to-all, and where the ring goes once around a torus. Elsewhere
/// the ring is folded: over the members 0, 2, 4, ... and back over ..., 5, 3, 1. Then no step is
/// longer than two hops, and every link on the way carries one partition in each direction.
///
/// A core at place `p` receives from the one at place `p + 1`, and the last from the first.
struct Rotation {
  std::vector<std::int32_t> axes;     // cut axes that the operand does not contain, outermost first
  std::vector<std::int64_t> factors;  // of these
  std::int64_t ring;                  // cores of a ring: the product of the temporal factors
  bool snakes;
  bool folds;

  friend bool operator==(const Rotation&, const Rotation&) = default;
};
[[nodiscard]] Rotation rotation(const ir::Op& op, std::size_t operand, const ExecutePlan& plan,
                                const chip::Chip& chip);

/// The place in its ring of the core with these digits, one for each axis of the op.
[[nodiscard]] std::int64_t place(const Rotation& rotation, std::span<const std::int64_t> digits);

/// The place of member number `member`.
[[nodiscard]] std::int64_t place(const Rotation& rotation, std::int64_t member);

/// The sharers ring after ring, each in the order of its places: of the numbers that count through
/// `axes`, the last one fastest.
[[nodiscard]] std::vector<std::int64_t> in_rings(const Rotation& rotation);

/// Hops of the longest step around a ring of `cores` neighbours.
[[nodiscard]] std::int64_t ring_hops(std::int64_t cores, bool folds);

/// Whether `cores` neighbours along `factor` places of mesh dimension `dim` go once around it: the
/// last is then a neighbour of the first.
[[nodiscard]] bool goes_around(const chip::Chip& chip, std::int32_t dim, std::int64_t factor,
                               std::int64_t cores);

/// The index of `axis`, within its tile, at which the first sub-task of a core begins. Operands
/// that rotate along the same axis start apart by their own places, so that a core holds the same
/// indices of all of them at every step (T10 4.4, Figure 10).
[[nodiscard]] std::int64_t first_index(const ir::Op& op, const ExecutePlan& plan,
                                       const chip::Chip& chip, std::int32_t axis,
                                       std::span<const std::int64_t> digits);

/// An operand that rotates along an axis, in partitions of `length` indices of it.
struct Turning {
  Rotation rotation;
  std::int64_t length;

  friend bool operator==(const Turning&, const Turning&) = default;
};
/// The operands whose places say where along `axis` a core begins. Of several that the same cores
/// share, the one in most parts: they turn together, at its places. (If another's parts are fewer,
/// its rings are cores as far apart in these places as one of its parts is long, not neighbours.)
[[nodiscard]] std::vector<Turning> turning(const ir::Op& op, const ExecutePlan& plan,
                                           const chip::Chip& chip, std::int32_t axis);

}  // namespace elk::partition
