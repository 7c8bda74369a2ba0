#pragma once

#include <string>

#include "elk/base/key_writer.hpp"
#include "elk/base/shelf.hpp"
#include "elk/chip/chip.hpp"
#include "elk/cost/exchange.hpp"
#include "elk/cost/link_use.hpp"
#include "elk/partition/layout.hpp"
#include "elk/partition/plan.hpp"

namespace elk::schedule {

/// What an exchange puts on the busiest core, link and chip of grids, and on links elsewhere.
struct LinkCount {
  cost::Traffic traffic;
  cost::LinkUse use;
};

/// How many cores a chip has, where they lie, who sends to whom: what such counts depend on of it,
/// however fast its links are.
void add_network(const chip::Chip& chip, KeyWriter& key);
void add_layout(const partition::Layout& layout, KeyWriter& key);
void add_plan(const partition::ExecutePlan& plan, KeyWriter& key);

/// Kept from one compile to the next.
using LinkCounts = Shelf<std::string, LinkCount>;

}  // namespace elk::schedule
