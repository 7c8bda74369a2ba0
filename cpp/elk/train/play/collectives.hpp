#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/sim/tasks/plain_transfers.hpp"

namespace elk::train {

/// What members of a group do together. Rings: reduce-scatter, all-gather, and both, all-reduce.
/// Steps to each distance: all-to-all. Binomial trees: reduce to the first member, broadcast from
/// it. Reads and writes: each member its part, at the memory nearest to it.
enum class CollectiveKind : std::uint8_t {
  ReduceScatter,
  AllGather,
  AllReduce,
  AllToAll,
  Reduce,
  Broadcast,
  Read,
  Write,
};

/// A collective over `bytes`, the whole tensor, among devices in order.
struct PlainCollective {
  CollectiveKind kind;
  std::vector<CoreId> members;
  Bytes bytes;
};

/// When each collective is over; all begin at once. A step begins with the time to synchronise, and
/// ends with its last transfer.
///
/// Throws InvalidInput, naming the collective, for a device that the machine does not have or that
/// is named twice, for none at all, for bytes below zero or more than one send may have, and for
/// reads and writes on a chip without memory.
[[nodiscard]] std::vector<Picoseconds> play_collectives(const chip::Chip& chip,
                                                        std::span<const PlainCollective> rows,
                                                        sim::Links links);

}  // namespace elk::train
