#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/chip.hpp"
#include "elk/cost/exchange/busiest_link.hpp"
#include "elk/cost/exchange/exchange.hpp"
#include "elk/cost/exchange/slots.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/plan.hpp"
#include "elk/tile/tile.hpp"
#include "elk/tile/times.hpp"

namespace elk::cost {

/// What a core holds of one slot under a cut, not split over time.
struct SlotPiece {
  std::array<partition::Extent, kMostRank> extent;  // of each dimension
  std::int64_t elements;
  std::int64_t sharers;  // cores that need the same sub-tensor
  std::int64_t chip_in;  // bytes that the busiest chip lacks if the tensor lies evenly everywhere
  std::int64_t straddling;     // sub-tensors that cores of neighbouring chips share, at most
  partition::Scatter scatter;  // of a result
};

/// An op cut by one F_op: everything that does not depend on how operands are split over time.
struct Cut {
  Table<AxisId, std::int64_t> factor;
  Table<AxisId, std::int64_t> tile;
  std::vector<AxisId> order;              // cut axes, outermost first
  Table<AxisId, std::int32_t> mesh_dims;  // empty off a grid
  std::vector<SlotPiece> held;            // of each slot
  std::int64_t cores;
  std::int64_t result;       // bytes of the results' tiles and the room to receive partial ones
  std::int64_t result_wide;  // `result` where a reduction axis is rotated along
  ExchangeCost reduce;
  bool tree;
  bool wide;                      // whether cores of several chips take part
  std::int64_t ids;               // of core numbers, one chip after another
  std::vector<std::int64_t> hbm;  // bytes that each chip needs of each slot from HBM
};

/// An op of `axes` axes before it is cut.
[[nodiscard]] Cut uncut(std::size_t axes);

/// One dimension of a slot that is split over time.
struct TemporalDim {
  AxisId axis{0};
  DimId dim{0};
  std::int64_t parts = 0;   // f_t
  std::int64_t length = 0;  // of a partition, in indices of the axis
  std::int64_t count = 0;   // of a partition, in indices of the dimension
  std::int64_t outer = 0;   // indices of the dimensions around it
  ExchangeCost once;        // a shift by a whole partition
};

inline constexpr std::size_t kMostSpins = 4;

/// One way to split a slot over time.
struct TemporalFactors {
  std::array<TemporalDim, kMostSpins> spin{};  // the first `spins` of them
  std::size_t spins = 0;                       // 0: whole
  std::size_t slot = 0;
  std::int64_t parts = 0;     // prod(f_t)
  std::int64_t elements = 0;  // of a partition
  std::int64_t space = 0;
  std::int64_t received = 0;   // bytes gathered before the first step, 0 of HBM operands
  std::int64_t fragments = 0;  // known once it is `detailed`, as is what its shifts cost
  bool detailed = false;
  std::int64_t steps = 0;       // of its loops, if nothing else rotates
  std::int64_t more_bytes = 0;  // exchanged at least beyond the gather of the whole slot
};

/// Loops chosen by a plan; by the rules of design 3.1 where empty.
struct LoopOrder {
  TableView<AxisId, const std::int64_t> pace;
  std::span<const AxisId> order;
};

/// What rotates along one loop: a shift after each of some steps, after which all that rotates
/// along the loops within it shifts, too.
struct LoopShifts {
  std::int64_t steps = 0;
  double once = 0.0;  // seconds
};

/// What an execute moves and holds, and the sub-task it repeats.
struct Motion {
  std::array<std::int64_t, kMostAxes> sub_task{};
  std::int64_t steps = 0;
  std::int64_t space = 0;
  ExchangeCost gather;
  ExchangeCost shift;                          // not yet hidden behind compute
  std::array<LoopShifts, kMostAxes> rounds{};  // of each loop, outermost first: `loops` of them
  std::size_t loops = 0;
  std::int64_t exchange = 0;
};

/// Takes off shifts what the steps of `compute` seconds in all hide, where the chip can.
void hide_shifts(const chip::Chip& chip, double compute, Motion& motion);

/// Prices plans of one op: the one place where the equations of design 3.2 and 3.3 stand, for one
/// plan (`price`) and for the search through all (`front`). Not shared between threads.
class Pricer {
 public:
  /// `stores_every`: as in `Constraints`.
  Pricer(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
         const tile::TileModel& tiles, std::int64_t stores_every = 0);

  /// Sets `order` and `mesh_dims`; false where the cut does not fit the chip's grid.
  [[nodiscard]] bool arrange(Cut& cut) const;
  /// Fills `held`, `cores` and the results' space from `factor` and `tile`.
  void measure(Cut& cut);
  /// The sharers alone of what a core holds.
  void count_sharers(Cut& cut) const;
  /// Fills what only concerns several chips: a plan on one has it for free.
  void cross(Cut& cut) const;
  /// HBM bytes that the busiest chip reads, once `cross` is known: what its cores need, and no more
  /// than the turns have them take in, for shifts bring the rest.
  [[nodiscard]] std::int64_t chip_hbm(const Cut& cut,
                                      std::span<const TemporalFactors* const> turns) const;
  /// Fills `reduce` and `tree`; before `cross` with nothing between chips, the least of any order.
  void reduce(Cut& cut);

  /// Slot number `slot`, split over time into `parts[dim]` along each dimension; empty: whole.
  void split(const Cut& cut, std::size_t slot, TableView<DimId, const std::int64_t> parts,
             TemporalFactors& turn) const;
  /// What is needed to weigh a turn, and not to tell that it is hopeless.
  void detail(const Cut& cut, TemporalFactors& turn);
  /// `turns` holds one turn for each slot that is read.
  void move(const Cut& cut, std::span<const TemporalFactors* const> turns, const LoopOrder& loops,
            Motion& motion);
  [[nodiscard]] double compute(const Motion& motion);
  /// The time of all phases. Hides shifts behind compute where the chip can, step by step.
  [[nodiscard]] double time(const Cut& cut, Motion& motion, double compute) const;

  [[nodiscard]] const ir::Graph& graph() const { return graph_; }
  [[nodiscard]] const ir::Op& op() const { return op_; }
  [[nodiscard]] const chip::Chip& chip() const { return chip_; }
  [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }
  /// Parts that the partial results of a slot are reduced and scattered to.
  [[nodiscard]] std::int64_t parts_of(const Cut& cut, const Slot& slot) const;
  /// Slots that are read come first: how many there are.
  [[nodiscard]] std::size_t reads() const { return reads_; }
  [[nodiscard]] const Fabric& fabric() const { return fabric_; }
  [[nodiscard]] tile::TileTimes& tiles() { return tiles_; }
  [[nodiscard]] TableView<AxisId, const std::int64_t> size() const { return size_; }
  [[nodiscard]] std::uint64_t summed() const { return summed_; }
  /// Bytes of a slot that the HBM must read, each once over all chips; of what an index picks, as
  /// many as are expected. 0: it lies on chip.
  [[nodiscard]] std::int64_t read_bytes(std::size_t slot) const { return read_bytes_[slot]; }
  /// HBM bytes of the busiest chip at least: every byte is read once, evenly by all chips.
  [[nodiscard]] std::int64_t least_hbm() const { return least_hbm_; }

 private:
  [[nodiscard]] partition::Extent extent(std::size_t slot, DimId dim, const Cut& cut);
  void measure_result(Cut& cut, std::size_t slot) const;
  [[nodiscard]] chip::PerDim box(const Cut& cut, std::uint64_t along) const;
  void scatter_on_grid(const partition::Scatter& pieces, std::int64_t bits,
                       const chip::PerDim& cores, Traffic& traffic);
  [[nodiscard]] bool goes_around(const Cut& cut, std::uint64_t along, std::int64_t cores) const;
  [[nodiscard]] bool by_ports(const Cut& cut, std::uint64_t along) const;
  [[nodiscard]] ExchangeCost partials(const Cut& cut, std::size_t slot);
  void reduce_rows(Cut& cut);
  [[nodiscard]] ExchangeCost store(const Cut& cut) const;
  [[nodiscard]] ExchangeCost gather(const Cut& cut,
                                    std::span<const TemporalFactors* const> turns) const;
  [[nodiscard]] std::int64_t rings_across(const Cut& cut, const TemporalFactors& turn) const;
  [[nodiscard]] ExchangeCost shift(const Cut& cut, const TemporalFactors& turn,
                                   const TemporalDim& spin, std::int64_t pace, std::int64_t apart);
  [[nodiscard]] std::int64_t fragments(const Cut& cut, const TemporalFactors& turn) const;

  const ir::Graph& graph_;
  const ir::Op& op_;
  const chip::Chip& chip_;
  std::vector<Slot> slots_;
  std::size_t reads_;
  Fabric fabric_;
  BusiestLink busiest_;
  tile::TileTimes tiles_;
  Table<AxisId, std::int64_t> size_;
  std::vector<AxisId> axis_order_;
  std::vector<Memo<partition::Extent>> mapped_;  // extents of mapped dimensions, by slot and dim
  std::uint64_t summed_;                         // a bit for each reduction axis
  std::int64_t wide_bits_;                       // of a partial sum
  std::vector<std::int64_t> read_bytes_;
  std::int64_t least_hbm_;
  std::int64_t cores_;  // of the machine
  std::int64_t stores_every_;
};

}  // namespace elk::cost
