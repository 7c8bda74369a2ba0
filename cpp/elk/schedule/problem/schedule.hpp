#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/intervals.hpp"
#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/program.hpp"

namespace elk::schedule {

/// How much work ELK-Full does.
enum class Effort : std::uint8_t { Fast, Default, Max };

/// What is decided about one op. Options behind the front's Pareto plans are those that the search
/// added to suit a neighbour's layout.
struct Choice {
  std::int32_t option;  // in its front
  std::int32_t state;   // in the option's preload states

  friend bool operator==(const Choice&, const Choice&) = default;
  friend auto operator<=>(const Choice&, const Choice&) = default;
};

/// Choices that change together.
struct Change {
  std::int32_t op;
  Choice after;
};
using Variant = std::vector<Change>;

/// What is decided about a model: a plan for each op, the order of preloads, and how many of them
/// are issued before each execute.
struct Schedule {
  std::vector<Choice> ops;
  std::vector<std::int32_t> preload_order;
  std::vector<std::int32_t> issued_before;  // per op: preloads issued before its execute

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

struct OpTimes {
  Interval<Picoseconds> preload;  // empty at 0 for an op without HBM data
  Interval<Picoseconds> execute;
};

struct StoreTimes {
  std::int32_t tensor;
  Interval<Picoseconds> store;
};

struct Forecast {
  std::vector<OpTimes> ops;
  std::vector<StoreTimes> stores;
  Picoseconds total;
};

struct Bounds {
  Seconds ideal;
  Seconds lower_bound;
  Seconds hbm;
  Seconds execute;
  Seconds link;
};

}  // namespace elk::schedule
