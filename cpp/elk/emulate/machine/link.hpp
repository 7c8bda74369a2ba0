#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "elk/emulate/machine/operands.hpp"

namespace elk::emulate {

/// The operands of a collective.
inline constexpr std::size_t kBefore = 0;
inline constexpr std::size_t kAfter = 1;

/// The operands of one collective on every chip, whose workers are the same.
using ChipOperands = std::vector<std::unique_ptr<Operands>>;

/// The part of the tensor that a chip holds of one operand: where that is shorter than the other
/// along a dimension, the parts of the chips lie one after another.
[[nodiscard]] DensePiece part_of_chip(const Site& site, std::size_t k, std::size_t chip);

/// What one worker of every chip exchanges with its likes on the others, over the ports of their
/// chips, step by step in a ring or with all at once (partition/collective.hpp). `port` is the
/// worker that has the port; what passes it goes through its transfer buffer.
///
/// The answer has for every chip the bytes that the worker then holds. Sums are rounded to the
/// width of the addends where they go around a ring, else once.
[[nodiscard]] std::vector<std::vector<std::byte>> exchanged(const ChipOperands& sides,
                                                            std::size_t worker, std::size_t port);

}  // namespace elk::emulate
