#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/cost/floor/floor.hpp"
#include "elk/cost/option.hpp"
#include "elk/ir/graph.hpp"
#include "elk/tile/tile.hpp"

namespace elk::tile {
class TileRates;
}

namespace elk::cost {

class Pricer;

struct Constraints {
  double min_core_share = 0.0;  // of the chip's cores; 0: free
  double max_padding = 0.0;     // padded / original of any tensor; 0: free
  /// Where an op has thousands of cuts, a plan is left out of its front when a kept one needs at
  /// most this share more in space, exchange and time, and no more HBM bytes; 0: never. The fastest
  /// plan and the floor are those of the whole space all the same.
  double thinning = 0.005;
  /// Cuts of a vast space that the floor and the fastest plan look at closely; what lies beyond
  /// counts with the best rates of tiles.
  std::int64_t looks = 13'000;
  /// Under a virtual global memory (T10 2.2), in which every tensor lies evenly over all cores:
  /// nothing rotates, and results go back there once in so many executes, of each of which that
  /// part of the store counts, and of what adds them up; 0: they rest where they are made.
  std::int64_t stores_every = 0;
};

struct Counts {
  std::int64_t complete;  // F_op x f_t
  std::int64_t filtered;  // plans that pass the constraints and fit SRAM
  std::int64_t pareto;
};

/// The Pareto front of an op in (space, time, exchange bytes, HBM bytes), `have` empty.
struct Front {
  std::vector<PlanOption> options;  // first the Pareto plans, then others worth having; each by
                                    // time, then space, then factors
  Counts counts;
  std::int32_t fastest;  // ideal's plan: fastest of the unfiltered space that fits SRAM
  Floor floor;
  Bytes smallest;      // least space of any plan, whether it fits or not
  bool given = false;  // whether the plans were handed in: none is added
};
[[nodiscard]] Front front(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                          const tile::TileModel& tiles, const Constraints& constraints);

/// The front of an op that is no collective, with the memos of `pricer` and the rates of its tiles.
[[nodiscard]] Front front(Pricer& pricer, tile::TileRates rates, const Constraints& constraints);

/// Has preloads take as long as at the HBM rate of `chip`, on which nothing else of a front
/// depends.
void retime(Front& front, const chip::Chip& chip);

/// Whether an op has more cuts than a search looks at one by one.
[[nodiscard]] bool is_vast(const ir::Op& op, const chip::Chip& chip);

}  // namespace elk::cost
