#pragma once

#include <map>
#include <set>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/ir/graph.hpp"
#include "elk/train/work/core_calls.hpp"
#include "elk/train/work/kernel_groups.hpp"
#include "elk/train/work/work.hpp"

namespace elk::train {

/// Over which cuts the gradient of a tensor is a sum.
using GradientSums = std::map<TensorId, std::set<GroupCut>>;

/// What is known of a graph before its work is written down.
struct WorkFacts {
  const ir::Graph& graph;
  const TensorParallel& cuts;
  CoreCalls* calls;                 // absent where devices are no cores
  Table<TensorId, char> gradient;   // whether a tensor has one
  Table<TensorId, char> transient;  // only inputs make it: it is made anew, never saved
  Table<TensorId, Bytes> held;      // on one device
  Table<TensorId, std::vector<OpId>> readers;
  Table<TensorId, OpId> last_reader;  // the last op that takes part in its gradient
};

/// Adds what one group of ops does to `work`, and returns its steps of the backward pass. `sums`:
/// over what gradients are sums that nobody has reduced yet; those of what the group reads are, and
/// leave it.
[[nodiscard]] std::vector<WorkStep> add_group(const WorkFacts& facts, const KernelGroup& group,
                                              bool trains, GradientSums& sums, Work& work);

}  // namespace elk::train
