#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"

namespace elk::tile {
class TileRates;
}

namespace elk::cost {

class Pricer;
struct Floor;

/// Numbers of steps from which on times are told apart, and the seconds that an execute takes at
/// least in so many or more.
inline constexpr std::array<std::int64_t, 5> kStepsTold = {2, 3, 5, 9, 17};
using TimeOfSteps = std::array<double, kStepsTold.size()>;
inline constexpr TimeOfSteps kNotTurned = [] {
  TimeOfSteps times{};
  times.fill(std::numeric_limits<double>::infinity());
  return times;
}();

/// Cuts of an op for which an activation must lie alike if nothing is to move.
///
/// Take an operand that rests once (`ActivationFloor`), is read whole, and each element of which
/// the cut needs on one core. Nothing of it moves only where every core already holds all that it
/// needs. What is needed makes up the tensor, and so does what is held: each core then holds just
/// what it needs, so that the most indices of a dimension that any core needs are the most that any
/// holds.
struct LayoutCut {
  std::vector<std::int64_t> read;  // most indices needed, by dimension; 0: not told; empty: of none
  std::vector<std::int64_t> written;  // most indices held of the result as it comes to rest
  bool moves;                         // whether it has an exchange of activations in any case
  Seconds execute;                    // at least
  Seconds whole;                      // `execute` where all that a core needs is fetched at once
  TimeOfSteps turned;                 // `execute` where the operand may rotate
  Seconds ports;                      // as `execute`, with its exchanges spread over all ports

  friend bool operator==(const LayoutCut&, const LayoutCut&) = default;
};

/// What an op needs at least by how an activation lies and its result comes to rest.
struct LayoutFloor {
  OperandId operand = OperandId::none;  // of the op; -1: nothing is known
  std::int64_t elements = 0;            // of the operand
  double element_time = 0.0;            // seconds in which all cores together receive one
  Seconds exchange{0.0};                // of one that moves anything: before and after its data
  Seconds fragment{0.0};        // of an exchange: the first, and one more for each further sender
  Seconds fetch{0.0};           // in which it is fetched, whatever lies where, with much to spare
  std::vector<LayoutCut> cuts;  // by `read`; the last stands for all that are left out

  friend bool operator==(const LayoutFloor&, const LayoutFloor&) = default;
};

/// The cuts of an op that has not too many, by their shapes, up to the time at which it had better
/// fetch what it reads and have its result fetched, and longer where less copies of HBM data may
/// make up for that. Nothing on grids, and where exchanges hide behind compute. `floor`: the op's.
[[nodiscard]] LayoutFloor layout_floor(Pricer& pricer, tile::TileRates& rates, const Floor& floor);

}  // namespace elk::cost
