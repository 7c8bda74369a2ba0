#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/emulate/machine/element_positions.hpp"
#include "elk/emulate/machine/machine.hpp"
#include "elk/emulate/machine/operand_addresses.hpp"
#include "elk/emulate/machine/site.hpp"
#include "elk/emulate/memory/boxes.hpp"
#include "elk/program/expand/groups.hpp"

namespace elk::emulate {

/// A dense piece of a tensor, with the cores that hold it.
struct PieceHolders {
  DensePiece held;
  std::vector<CoreId> cores;
};
/// The distinct pieces of the layout in which a tensor lies.
class LayoutPieces {
 public:
  explicit LayoutPieces(const partition::Layout& layout);

  [[nodiscard]] const std::vector<PieceHolders>& all() const { return all_; }
  /// Calls `visit` for each piece that has an element in common with `held`, in order.
  void for_each_that_meets(const DensePiece& held,
                           const std::function<void(const PieceHolders&)>& visit) const;

 private:
  /// The groups whose set meets what is looked for along the dimension that leaves the fewest, in
  /// order.
  [[nodiscard]] std::vector<std::size_t> candidates(
      const Table<DimId, std::vector<char>>& meets) const;

  partition::Pieces pieces_;
  std::vector<program::PieceGroup> groups_;
  std::vector<PieceHolders> all_;                               // like `groups_`
  Table<DimId, std::vector<std::vector<std::size_t>>> of_set_;  // groups by dimension and set
};

/// Whether the rows that indices pick are known yet.
enum class Picks : std::uint8_t { Known, Unknown };

/// The operands of one op in the memories of its cores.
class Operands {
 public:
  Operands(ChipState& machine, OpId op, Picks picks = Picks::Known);

  [[nodiscard]] ChipState& machine() const { return machine_; }
  [[nodiscard]] OpId id() const { return id_; }
  [[nodiscard]] const Site& site() const { return site_; }

  /// Whether a core has part of operand `k` ahead of the execute.
  [[nodiscard]] bool is_preloaded(OperandId k) const { return places_.is_preloaded(k); }
  /// Whether it is gathered: it lies elsewhere.
  [[nodiscard]] bool is_gathered(OperandId k) const { return places_.is_gathered(k); }

  [[nodiscard]] DensePiece held(OperandId k, std::size_t worker, const Shifts& shifts) const;
  /// What a worker holds before the first shift, known once and for all.
  [[nodiscard]] const DensePiece& first_held(OperandId k, std::size_t worker) const {
    return first_held_[k][worker];
  }
  /// Where a worker keeps its piece of a read operand; of a result, its partial tile and the room
  /// to receive others'.
  [[nodiscard]] const Storage& storage(OperandId k, std::size_t worker) const {
    return storage_[k][worker];
  }
  /// Where the final piece of a result rests.
  [[nodiscard]] Storage rest(OperandId k) const { return {places_.rest(k)}; }

  /// A worker's piece, to be read and written in elements of `bits`.
  [[nodiscard]] View view(OperandId k, std::size_t worker, std::int64_t bits) const;

  /// The slices of a preloaded piece: bytes [begin, end) of it for each of the peers.
  struct Slices {
    std::vector<Segment> parts;
    std::size_t own;
  };
  [[nodiscard]] Slices slices(OperandId k, std::size_t worker) const;
  /// The worker that received slice `slice` of the same piece at preload.
  [[nodiscard]] std::size_t peer(OperandId k, std::size_t worker, std::size_t slice) const;

  /// A piece where it lies, if that is in ascending order of its indices and in one segment; else
  /// null. Kernels do not write what an op reads.
  [[nodiscard]] std::byte* in_place(OperandId k, std::size_t worker) const;
  /// A piece in ascending order of its indices, and back: rotating ones lie in a circle.
  [[nodiscard]] std::vector<std::byte> load(OperandId k, std::size_t worker,
                                            const Shifts& shifts) const;
  [[nodiscard]] std::vector<std::byte> in_place_order(OperandId k, std::size_t worker,
                                                      std::vector<std::byte> piece) const;
  /// Dimensions [begin, end) of a tensor.
  using DimRange = Interval<DimId>;
  /// Where the elements of a piece lie, of some of its dimensions.
  [[nodiscard]] ElementPositions positions(OperandId k, std::size_t worker, const Shifts& shifts,
                                           DimRange dims) const;
  /// From the ascending order of a piece to where its elements lie.
  [[nodiscard]] std::vector<OverlapRange> circle_runs(OperandId k, std::size_t worker,
                                                      const Shifts& shifts) const;

  /// Notes what a worker received. `moved.op` is filled in.
  void note(std::size_t worker, Receipt moved) const;

  /// Calls `body(worker)` for all workers in parallel, with op, core and step in what it throws.
  void for_each_worker(std::int64_t step, const std::function<void(std::size_t)>& body) const;

 private:
  /// The places of the indices that a worker holds of one dimension along which an operand rotates.
  [[nodiscard]] ElementPositions circle(const RotationDim& spin, std::size_t worker,
                                        std::int64_t shifts, const partition::Indices& set) const;
  void find_picks(OperandId k);
  [[nodiscard]] Storage find_storage(OperandId k, std::size_t worker,
                                     const std::vector<Segment>& space) const;

  ChipState& machine_;
  OpId id_;
  program::PlacedOp placed_;
  Site site_;
  OperandAddresses places_;
  Table<OperandId, std::vector<partition::Indices>> picks_;  // of indirect operands, by worker
  Table<OperandId, std::vector<DensePiece>> first_held_;     // by operand and worker
  Table<OperandId, std::vector<Storage>> storage_;
};

}  // namespace elk::emulate
