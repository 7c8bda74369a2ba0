#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/sim/record/recording.hpp"

namespace elk::sim {

/// Distinct demands of a recording.
using DemandId = Id<struct DemandKind>;

/// A recording in columns, as files hold it: what its parts share stands once, and lists of lists
/// are one list with the length of each.
struct FlatRecording {
  Trace trace;  // without loads and executions
  std::vector<RecordedResource> resources;
  std::vector<ResourceClassId> class_of;

  Table<DemandId, Demand> demands;         // without the two lists of each
  std::vector<std::int32_t> kind_of;       // of every demand, of every class
  Table<DemandId, std::int64_t> kinds_of;  // how many kinds each demand has
  std::vector<ResourceLoad> kinds;
  Table<LoadId, DemandId> loads;

  Table<ExecutionId, ExecuteRecord> executions;  // without the two lists of each
  Table<ExecutionId, std::int64_t> stages_of;    // how many stages each execution has
  std::vector<Stage> stages;                     // without what they ask
  std::vector<DemandId> asks;                    // of each stage
  Table<ExecutionId, std::int64_t> cores_of;     // how many cores compute in each execution
  std::vector<CoreId> cores;
};

[[nodiscard]] FlatRecording flatten(const Recording& recording);

/// Throws InvalidInput, which names the column and the rule, for columns that contradict each
/// other, or that hold what no player could play in whole picoseconds and 128 bits.
void validate(const FlatRecording& flat);

/// The recording that columns hold. They are validated first.
[[nodiscard]] Recording unflatten(const FlatRecording& flat);

}  // namespace elk::sim
