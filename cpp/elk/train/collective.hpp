#pragma once

#include <cstddef>
#include <cstdint>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/train/split.hpp"

namespace elk::train {

/// How a tensor gets from one form to another. A whole tensor is every part of itself: no exchange.
enum class Exchange : std::uint8_t { None, AllReduce, ReduceScatter, AllGather, AllToAll };
inline constexpr std::size_t kExchanges = 5;

/// What turns `from` into `to`. Nothing turns into addends.
[[nodiscard]] Exchange exchange(Form from, Form to);
[[nodiscard]] const char* name(Exchange exchange);
/// The kind of the op that does it; there is none for `None`.
[[nodiscard]] ir::OpKind kind(Exchange exchange);

struct CollectiveCost {
  Seconds time;
  Bytes sent;  // by each chip
};

/// Of a collective over all chips on a tensor of `whole` bytes: gathered to the port cores, sent
/// between chips in a ring or directly, whichever takes less (`cost::link_phase`), and scattered
/// again (design 2.6). Adds are left to the plan.
///
/// A chip sends (C - 1) / C of the tensor in a reduce-scatter or an all-gather, twice that in an
/// all-reduce, and (C - 1) / C of its own part in an all-to-all.
[[nodiscard]] CollectiveCost cost(Exchange exchange, Bytes whole, const chip::Chip& chip);

}  // namespace elk::train
