#pragma once

#include <cstdint>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/shard/split.hpp"

namespace elk::shard {

/// How a tensor gets from one form to another. A whole tensor has every part: no exchange.
enum class Conversion : std::uint8_t { None, AllReduce, ReduceScatter, AllGather, AllToAll };

/// What turns `from` into `to`. Nothing turns into addends.
[[nodiscard]] Conversion exchange(Form from, Form to);
[[nodiscard]] const char* name(Conversion exchange);
/// The kind of the op that does it; there is none for `None`.
[[nodiscard]] ir::OpKind kind(Conversion exchange);

struct CollectiveCost {
  Seconds time;
  Bytes sent;  // by each chip
};

/// A tensor on its way from one form to another: what one chip holds of it.
struct FormChange {
  Conversion exchange;
  Bytes before;
  Bytes after;
};

/// Of a collective over all chips: gathered to the port cores, sent between chips in a ring or
/// directly, whichever takes less (`cost::link_phase`), and scattered again (design 2.6). A chip
/// sends (C - 1) / C of what it holds before in a reduce-scatter or an all-to-all, twice that in an
/// all-reduce, and C - 1 times what it holds in an all-gather. Without an exchange, and with less
/// after than before, it copies its part:
///
///     t = s + a / (n b) + 2 a / (n B)
///
/// with a bytes after, n cores, their links' rate b and SRAM's rate B, and the latency s of a
/// synchronisation. Sums add 3 x (C - 1) / C / (n B) of the bytes x before: two addends are read
/// and one is written.
[[nodiscard]] CollectiveCost cost(const FormChange& passing, const chip::Chip& chip);

}  // namespace elk::shard
