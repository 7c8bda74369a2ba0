#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"

namespace elk::emulate {

/// What a core does, in the words of the device interface (design 7). A gather is a
/// `distribute_data` from where an activation or an input rests.
enum class Action : std::uint8_t {
  Allocate,
  Preload,
  Store,
  Distribute,
  Gather,
  Compute,
  Shift,
  Reduce
};

/// Senders that are no core.
inline constexpr CoreId kEveryCore{-1};  // an input lies in equal shares on all
inline constexpr CoreId kMemory{-2};     // HBM
inline constexpr CoreId kAbroad{-3};     // another chip

/// Bytes that a core received.
struct Receipt {
  Action action;
  OpId op;
  std::int64_t step;  // of a Shift: after which
  OperandId operand;
  CoreId from;  // a core, or one of the above
  std::int64_t bytes;

  friend bool operator==(const Receipt&, const Receipt&) = default;
};

/// What every core received, in order. Values of rows that cores tell each other are left out: they
/// pass through no buffer.
using Tape = Table<CoreId, std::vector<Receipt>>;

}  // namespace elk::emulate
