#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/program/expand/groups.hpp"

namespace elk::program {

/// Who sends what to whom among groups of cores.
enum class Pattern : std::uint8_t {
  Fetch,    // every core of `to` that is not in `from` receives one box from some core of `from`
  Spread,   // every core of `to` receives one box that lies in equal shares on all cores
  Share,    // every core of `to` receives the parts of all others
  Pass,     // every core of `to` hands one part to the core before it, the first to the last
  Scatter,  // every core of `to` receives its own part from all others
  Pair,     // core number i of `to` and number i ^ `level` exchange one part
};

/// One movement of data among the cores of a group, all alike.
///
/// What is dealt out has `extent` indices of `unit` bytes; part number i is the indices
/// [i * chunk, (i + 1) * chunk) that exist. Of Fetch and Spread there is one part: the box. Where
/// the pieces of receivers overlap, these have either bytes, of a box that all receivers need, or
/// the runs of a whole piece.
struct Transfer {
  Pattern pattern;
  std::int32_t operand;  // whose data they are
  std::int32_t from;     // in Exchange::groups; -1 except of Fetch
  std::int32_t to;       // in Exchange::groups
  std::int64_t unit;
  std::int64_t extent;
  std::int64_t chunk;
  std::int64_t runs;   // contiguous runs of a part at its receiver
  std::int64_t level;  // of Pair
};

/// What moves between two synchronisations.
struct Exchange {
  std::vector<Cores> groups;
  std::vector<Transfer> transfers;
  std::int64_t even_bytes = 0;  // of Spread: what all cores together send, each an equal share
};

/// Bytes of part number `i`.
[[nodiscard]] std::int64_t part_bytes(const Transfer& transfer, std::int64_t i);

/// One core's sending of one part: to all receivers at once where the chip multicasts.
struct Send {
  std::int32_t operand;
  std::int32_t core;  // -1: an equal share of it lies on every core
  std::span<const std::int32_t> receivers;
  std::int64_t bytes;
  std::int64_t runs;
};

/// Calls `visit` for every send of an exchange, in a fixed order. Where the chip does not multicast
/// there is one receiver a send.
///
/// A box that several cores hold comes from one on the receiver's own chip if there is one; those
/// that could send take turns.
void for_each_send(const Exchange& exchange, const chip::Chip& chip,
                   const std::function<void(const Send&)>& visit);

/// The cores that a send comes from on a grid, equal parts from each: its own, or of a box that
/// lies in equal shares on all of `cores` up to 32 of them in turn, one for each run; more would
/// change no link's load by much. `turn` counts them over the sends of an exchange.
void sources(const Send& send, std::int64_t cores, std::int64_t& turn, Cores& out);

/// What an exchange puts on the ports of cores and chips.
struct PortTraffic {
  std::vector<std::int64_t> received;   // bytes, of every core of the machine
  std::vector<std::int64_t> sent;       // bytes
  std::vector<std::int64_t> fragments;  // contiguous runs that a core receives
  std::vector<std::int64_t> chip_in;    // bytes, of every chip; a part once for each chip
  std::vector<std::int64_t> chip_out;
};
[[nodiscard]] PortTraffic traffic(const Exchange& exchange, const chip::Chip& chip);

/// The traffic before any send: what lies in equal shares everywhere is sent from there.
[[nodiscard]] PortTraffic no_sends(const Exchange& exchange, const chip::Chip& chip);
/// Adds one send, and calls `visit` with its receivers, those of one chip after those of another.
using VisitReceivers = std::function<void(std::int64_t chip, std::span<const std::int32_t> cores)>;
void add_send(const Send& send, const chip::Chip& chip, const VisitReceivers& visit,
              PortTraffic& sum);

/// The bytes of the busiest core: the larger of received and sent.
[[nodiscard]] std::int64_t busiest(const PortTraffic& traffic);

}  // namespace elk::program
