#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/floor/activation_floor.hpp"
#include "elk/cost/floor/floor.hpp"
#include "elk/cost/price/pricer.hpp"
#include "elk/cost/price/temporal_factors.hpp"
#include "elk/tile/rate.hpp"

namespace elk::cost {

/// Bytes of its HBM operands that a core needs under a cut, without those that it reads by boxes of
/// an index map or picks.
[[nodiscard]] std::int64_t held_from_hbm(const Pricer& pricer, const Cut& cut);

/// Collects what no plan can undercut, cut by cut (design 6.5).
///
/// A cut counts with the cheapest sub-task that any rotation of its operands could lead to, each
/// axis at each of its paces, whether one plan can have them together or not, if a core has room
/// for what it reads and the results; with its reductions; with the bytes that all cores receive
/// from HBM and in reductions; and with what its activations move at least (`ActivationFloor`).
/// What it leaves of the ports to preloads counts the same.
class FloorSearch {
 public:
  /// `coarse`: what ports receive of HBM operands is not told apart, but counts once for all cuts.
  FloorSearch(Pricer& pricer, tile::TileRates& rates, std::int64_t cores, bool coarse);

  /// Whether a cut changes nothing whose tiles take at least `least`. Of the cut, its factors,
  /// sharers, reductions and HBM bytes must be known, or no more than they are.
  [[nodiscard]] bool skips(const Cut& cut, double least) const;
  /// Counts a cut, and all that cut its tiles further, with no more than that its tiles take
  /// `least`.
  void assume(const Cut& cut, double least) {
    keep(corner(cut, least, cores_));
    keep(port_use(cut, least));
  }
  /// False if a tile undercut the rates. `whole`: the cut's tile.
  [[nodiscard]] bool add(const Cut& cut, const tile::TileTime& whole, TemporalFactorLists& turns);

  /// What an execute of a cut takes at least, all in all and with its exchanges spread over all
  /// ports (`PortUse`). The latter is no more; `limit` or more if it is not less.
  struct LeastTime {
    double execute;
    double whole;  // `execute` in one step
    TimeOfSteps turned{};
    double ports;
    bool sound;  // false if a tile undercut the rates
  };
  /// `steps`: whether times of several steps are asked for; no more than `limit`.
  [[nodiscard]] LeastTime least(const Cut& cut, const tile::TileTime& whole,
                                TemporalFactorLists& turns, double limit, bool steps);
  /// The latter if the tiles take `compute`; of the cut is known what `skips` needs.
  [[nodiscard]] double ports(const Cut& cut, double compute) const;
  [[nodiscard]] Floor result() const;

 private:
  [[nodiscard]] Corner corner(const Cut& cut, double compute, std::int64_t cores) const;
  [[nodiscard]] PortUse port_use(const Cut& cut, double compute) const;
  [[nodiscard]] std::int64_t loaded(const Cut& cut) const;
  [[nodiscard]] std::int64_t partials(const Slot& slot, std::int64_t parts) const;
  void keep(const Corner& corner);
  void keep(const PortUse& use);
  void time_tiles(const Cut& cut, const tile::TileTime& whole, TemporalFactorLists& turns,
                  double limit);
  void list_lengths(const Cut& cut, TemporalFactorLists& turns);
  void list_paces(const Cut& cut, TemporalFactorLists& turns);
  [[nodiscard]] double limit(const Cut& cut, std::int64_t cores, double shifted) const;
  struct StepTotals {
    double count;
    double volume;  // of all of them
    double rate;    // least, of a unit of it
  };
  void split(std::size_t at, const StepTotals& steps, double limit, const Cut& cut);
  void take(double steps, double time);
  [[nodiscard]] bool fits(const Cut& cut, TableView<AxisId, const std::int64_t> size) const;
  [[nodiscard]] std::int64_t overflow(const Cut& cut) const;
  [[nodiscard]] std::int64_t least_extent(const Cut& cut, std::size_t slot, DimId dim,
                                          TableView<AxisId, const std::int64_t> size) const;

  Pricer& pricer_;
  tile::TileRates& rates_;
  std::int64_t cores_;
  std::int64_t room_;
  bool coarse_;
  ActivationFloor activation_floor_;
  double compute_;
  std::vector<Corner> corners_;
  std::vector<PortUse> port_uses_;
  /// Lengths of the sub-tasks along an axis.
  struct Pace {
    std::int64_t length;
    double count;   // of steps
    double growth;  // of the volume
    double rate;    // least, of tiles no longer
  };
  struct Paces {
    AxisId axis;
    std::vector<Pace> paces;
  };
  Table<AxisId, std::vector<std::int64_t>> lengths_;  // of each axis
  std::vector<Paces> paces_;                          // of the axes that have a choice
  Table<AxisId, std::int64_t> size_;                  // of the sub-task in hand
  double best_;                                       // of the cut in hand
  TimeOfSteps by_steps_{};                            // of its tiles, shifts included
  bool tells_steps_ = false;                          // whether these are asked for
  bool roomy_ = false;                                // whether all its sub-tasks have room
};

}  // namespace elk::cost
