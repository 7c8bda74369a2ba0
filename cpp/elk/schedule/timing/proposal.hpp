#pragma once

#include <cstdint>
#include <vector>

#include "elk/schedule/problem/schedule.hpp"
#include "elk/schedule/timing/evaluate.hpp"

namespace elk::schedule {

/// A policy's choices with the limits under which its preloads are issued.
struct Proposal {
  std::vector<Choice> choices;
  PreloadLimits space;
  // Of preloads; empty: that of their executes. GCC wants the initializer.
  std::vector<std::int32_t> order = {};  // NOLINT(readability-redundant-member-init)
};

}  // namespace elk::schedule
