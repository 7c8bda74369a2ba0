#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/cost/floor/layout_floor.hpp"
#include "elk/cost/floor/sram_floor.hpp"

namespace elk::cost {

/// What one cut of the op needs at least, however its operands lie or rotate (design 6.5).
struct Corner {
  Seconds execute;         // tiles and reductions, gathers and shifts free
  Bytes link;              // received by all cores, HBM operands at execute size, over all cores
  std::int64_t hbm_bytes;  // of the busiest chip

  friend bool operator==(const Corner&, const Corner&) = default;
};

/// How one cut uses the cores' ports at least. Bytes are received by all cores, over all cores.
struct PortUse {
  Seconds idle;   // of the execute, in which none of its exchanges carries data
  Bytes carried;  // by its exchanges
  Bytes loaded;   // HBM operands at execute size, preloaded or fetched

  friend bool operator==(const PortUse&, const PortUse&) = default;
};

/// The least that any plan of the unfiltered space needs, in each corner (design 6.5).
struct Floor {
  Seconds execute;  // min of tiles and reductions; gathers, shifts and distribution free
  Seconds compute;  // min of the tile time alone
  Bytes link;       // min over plans of bytes received by one core with HBM operands whole
  std::int64_t hbm_bytes = 0;      // of the busiest chip, min over plans
  std::vector<Corner> corners;     // the Pareto front: min of a e + b r + c h for any a, b, c
  std::vector<PortUse> port_uses;  // the Pareto front of how cuts use ports
  std::shared_ptr<const LayoutFloor>
      layout_floor;  // by how its activations lie; null: nothing is known
  std::vector<SramFloor>
      sram_floors;  // what it needs of SRAM, the faster the more; may not be known
};

}  // namespace elk::cost
