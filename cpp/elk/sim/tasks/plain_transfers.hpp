#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/sim/network/machine_network.hpp"

namespace elk::sim {

/// How sends meet on a link: they share it max-min fairly, or it serves one after another in the
/// order of asking.
enum class Links : std::uint8_t { Shared, Exclusive };

/// Of every resource of a network, whether `links` lets it serve one send after another: links and
/// ports of the network do, memories if they are named, and ports of SRAM never. Empty: none does.
[[nodiscard]] std::vector<std::uint8_t> exclusive_resources(const MachineNetwork& network,
                                                            const chip::Chip& chip, Links links,
                                                            bool memories = false);

/// Bytes from one core of a machine to another.
struct PlainTransfer {
  CoreId source;
  CoreId destination;
  Bytes bytes;
  Seconds start;
};

/// When each transfer is over, in the order of `rows`. Only links and hop latency cost: nobody
/// synchronises, no SRAM port is held up, and what a core sends itself is over at its start.
/// Exclusive links take rows that start at one time in their order.
///
/// Throws InvalidInput, with the number of the row, for a core that the machine does not have, for
/// bytes below zero or above `kMostFlowBytes`, and for a start that lies below zero or beyond
/// simulated time.
[[nodiscard]] std::vector<Picoseconds> play_transfers(const chip::Chip& chip,
                                                      std::span<const PlainTransfer> rows,
                                                      Links links);

}  // namespace elk::sim
