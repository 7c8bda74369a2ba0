#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "elk/emulate/kernels/kernel_call.hpp"
#include "elk/emulate/memory/access.hpp"
#include "elk/partition/layout/layout.hpp"
#include "elk/partition/layout/piece.hpp"
#include "elk/program/code/spaces.hpp"

namespace elk::emulate {

/// A core that runs a part of an op.
struct Worker {
  std::int32_t core;
  std::vector<std::int64_t> digit;  // along every axis
  Ranges tile;
};

/// One dimension along which an operand rotates, on one axis.
struct RotationDim {
  std::size_t dim;
  std::size_t axis;
  std::int64_t parts;   // f_t
  std::int64_t stride;  // from a core of the circle to the next, in numbers
  std::int64_t chunk;   // indices of a part
};

/// How often an operand was shifted along each of its spins.
using Shifts = std::vector<std::int64_t>;

/// A core among those that share a sub-tensor of an operand.
struct Member {
  std::size_t group;
  std::int64_t number;
};

/// Where a rotating piece begins: position `start` of a tile of `length`, `held` of them in turn.
struct CircleRange {
  std::int64_t start;
  std::int64_t length;
  std::int64_t held;
};

/// The work of one op, core by core: who computes what, and which piece of every operand it holds.
///
/// The sharers of a piece are numbered ring after ring, and where a core starts along an axis that
/// tensors rotate along follows from its places in their rings (partition/rotation.hpp).
class Site {
 public:
  explicit Site(const program::PlacedOp& placed);

  [[nodiscard]] const program::PlacedOp& placed() const { return placed_; }
  [[nodiscard]] const ir::Op& op() const { return placed_.op; }
  [[nodiscard]] const std::vector<Worker>& workers() const { return workers_; }
  [[nodiscard]] const partition::Tiling& tiling() const { return tiling_; }
  [[nodiscard]] const ir::Tensor& tensor(std::size_t operand) const;
  [[nodiscard]] std::int64_t bits(std::size_t operand) const;

  /// The dimensions along which an operand rotates.
  [[nodiscard]] const std::vector<RotationDim>& spins(std::size_t operand) const {
    return spins_[operand];
  }
  [[nodiscard]] bool rotates(std::size_t operand) const { return !spins_[operand].empty(); }
  /// Cores of a rotation ring; 1 of an operand that does not rotate.
  [[nodiscard]] std::int64_t ring(std::size_t operand) const;
  [[nodiscard]] const Member& member(std::size_t operand, std::size_t worker) const {
    return members_[operand][worker];
  }
  /// The workers of a group, by their numbers.
  [[nodiscard]] const std::vector<std::size_t>& group(std::size_t operand,
                                                      std::size_t group) const {
    return groups_[operand][group];
  }
  [[nodiscard]] CircleRange window(const RotationDim& spin, std::size_t worker) const;

  /// The piece of an operand that a worker holds after these shifts; of a result its tile.
  [[nodiscard]] DensePiece held(std::size_t operand, std::size_t worker,
                                const Shifts& shifts) const;

  /// Shifts along `axis` of what rotates there before step `step`.
  [[nodiscard]] std::int64_t turns(std::size_t axis, std::int64_t step) const;
  /// Shifts of an operand before step `step`.
  [[nodiscard]] Shifts shifts(std::size_t operand, std::int64_t step) const;
  /// What a worker computes in a step: ranges of all axes, in parts where a window wraps around.
  /// Empty where others' tiles are longer than its own.
  [[nodiscard]] std::vector<Ranges> sub_task(std::size_t worker, std::int64_t step) const;
  /// Whether a step is the first along every reduction axis that is looped over.
  [[nodiscard]] bool begins_sums(std::int64_t step) const;

  /// Whether partial results grow over cores or steps, at accumulate width.
  [[nodiscard]] bool accumulates() const { return accumulates_; }
  /// The workers that share the tile of the result, or, of a row op, its rows.
  [[nodiscard]] std::vector<std::vector<std::size_t>> partners() const;

 private:
  void add_spins(std::size_t operand);
  void add_groups(std::size_t operand);
  void add_starts(std::size_t axis);
  [[nodiscard]] std::int64_t start(std::size_t axis, std::size_t worker) const;
  [[nodiscard]] std::int64_t trip(std::size_t axis, std::int64_t step) const;

  const program::PlacedOp& placed_;
  partition::Tiling tiling_;
  std::vector<Worker> workers_;
  std::vector<std::vector<RotationDim>> spins_;
  std::vector<std::vector<Member>> members_;
  std::vector<std::vector<std::vector<std::size_t>>> groups_;
  std::map<std::int32_t, std::size_t> worker_of_;  // by core
  std::vector<std::vector<std::int64_t>> starts_;  // of every axis that is looped over, by worker
  std::vector<std::unique_ptr<partition::Layout>> layouts_;
  std::vector<std::unique_ptr<partition::Pieces>> pieces_;
  bool accumulates_ = false;
};

/// The sets of a piece of a layout at one place.
[[nodiscard]] DensePiece held_at(const partition::Pieces& pieces, std::size_t place);

}  // namespace elk::emulate
