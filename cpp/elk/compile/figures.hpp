#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/code/code.hpp"

namespace elk::compile {

/// What follows of an op from its cut and its divisors by arithmetic: no tile is timed for it.
struct Figures {
  std::int64_t cores;
  std::int64_t steps;
  std::vector<Bytes> space;  // of each distinct tensor, in order of first operand, while it runs
  Bytes preload_space;       // of what arrives on a core
  std::int64_t hbm_bytes;    // read over all chips of `chip`
  Bytes exchange;            // received or sent by the busiest core while the op runs
  Bytes distribute;          // received or sent of preloaded pieces, besides
  Bytes sent;                // by a chip to others, of a collective
};

/// The figures of every op of a program that `program::check` finds sound.
[[nodiscard]] std::vector<Figures> figures(const ir::Graph& graph, const chip::Chip& chip,
                                           const program::Program& program);
/// Figures of a program that `program::check_unplaced` finds sound, zeros in place of what moves.
[[nodiscard]] std::vector<Figures> figures_unmoved(const ir::Graph& graph, const chip::Chip& chip,
                                                   const program::Program& program);

}  // namespace elk::compile
