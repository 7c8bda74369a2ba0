#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/units.hpp"

namespace elk::tile {
class TileRates;
}

namespace elk::cost {

class Pricer;
struct Floor;

/// What one cut of an op needs at least of a core's SRAM, and of its time.
struct SramFloor {
  Seconds execute;
  Bytes loaded;                       // HBM data that a core needs, as far as it has room for them
  Bytes beside;                       // activations and results that it holds at once
  std::vector<std::int64_t> factors;  // of the cut; empty: of several

  friend bool operator==(const SramFloor&, const SramFloor&) = default;
};

/// The Pareto corners of the cuts of a MatMul by time: the more copies of its HBM data, the shorter
/// its execute. The last stands for all cuts that take longer than those listed. Nothing where
/// there are too many cuts, on grids, where exchanges hide behind compute, and where the HBM data
/// of the fastest plan, `fastest` bytes a core, take little room. `floor`: the op's.
[[nodiscard]] std::vector<SramFloor> sram_floors(Pricer& pricer, tile::TileRates& rates,
                                                 const Floor& floor, Bytes fastest);

}  // namespace elk::cost
