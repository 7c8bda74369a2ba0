#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elk/schedule/allocate.hpp"
#include "elk/schedule/evaluate.hpp"
#include "elk/schedule/problem.hpp"
#include "elk/schedule/schedule.hpp"

namespace elk::schedule {

/// A policy's choices with the limits under which its preloads are issued.
struct Proposal {
  std::vector<Choice> choices;
  Space space;
  // Of preloads; empty: that of their executes. GCC wants the initializer.
  std::vector<std::int32_t> order = {};  // NOLINT(readability-redundant-member-init)
};

/// ELK 6.1 `Basic`: the fastest plan that fits beside the live activations; the next op with HBM
/// data preloads during an execute, in the largest state that fits in what is left.
[[nodiscard]] Proposal basic(Problem& problem, const Contention& contention, Bytes room);

/// ELK 6.1 `Static`: one split of SRAM for the whole model, the best by forecast of 64 steps, with
/// all preloads in their largest state or all in their smallest. Best first; never more than
/// `count`.
[[nodiscard]] std::vector<Proposal> fixed_splits(const Problem& problem,
                                                 const Contention& contention, Bytes room,
                                                 std::size_t count, int threads);

}  // namespace elk::schedule
