#pragma once

#include <cstdint>
#include <string>

#include "elk/base/key_writer.hpp"
#include "elk/base/shelf.hpp"
#include "elk/chip/chip.hpp"
#include "elk/cost/exchange/exchange.hpp"
#include "elk/cost/exchange/link_use.hpp"
#include "elk/partition/layout/layout.hpp"
#include "elk/partition/plan.hpp"

namespace elk::schedule {

/// What an exchange puts on the busiest core, link and chip of grids, and on links elsewhere.
struct LinkCount {
  cost::Traffic traffic;
  cost::LinkUse use;
};

/// What a preload puts on the busiest link of grids, and on the busiest way in from a module; none:
/// nothing is preloaded.
struct PreloadCount {
  bool any = false;
  std::int64_t link = 0;
  std::int64_t entry = 0;
  cost::LinkUse use = cost::kEverywhere;
};

/// How many cores a chip has, where they lie, who sends to whom: what such counts depend on of it,
/// however fast its links are.
void add_network(const chip::Chip& chip, KeyWriter& key);
void add_layout(const partition::Layout& layout, KeyWriter& key);

/// Kept from one compile to the next.
using LinkCounts = Shelf<std::string, LinkCount>;
using PreloadCounts = Shelf<std::string, PreloadCount>;

}  // namespace elk::schedule
