#pragma once

#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/schedule/timing/evaluate.hpp"

namespace elk::schedule {

/// A policy's choices with the limits under which its preloads are issued.
struct Proposal {
  Table<OpId, Choice> choices;
  PreloadLimits space;
  // Of preloads; empty: that of their executes. GCC wants the initializer.
  std::vector<OpId> order = {};  // NOLINT(readability-redundant-member-init)
};

}  // namespace elk::schedule
