#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/units.hpp"
#include "elk/ir/graph.hpp"
#include "elk/train/work/tensor_parallel.hpp"
#include "elk/train/work/work.hpp"
#include "train/models.hpp"

/// What ops do, and steps of that written in a line.
namespace elk::train {

/// Devices of a group, and the cut of an axis over all of them.
inline constexpr std::int64_t kTp = 4;
inline constexpr GroupCut kAll{.parts = kTp, .stride = 1};

/// What a kernel moves, in bytes.
struct Moved {
  std::int64_t input;
  std::int64_t weight;
  std::int64_t output;
};

inline WorkStep product(const ProductSize& size, const Moved& moved, bool accumulates = false) {
  return {.kernel = DeviceKernel{.product = size,
                                 .input = {moved.input},
                                 .weight = {moved.weight},
                                 .output = {moved.output},
                                 .on_core = {0},
                                 .accumulates = accumulates},
          .exchange = std::nullopt};
}

inline WorkStep pass(const Moved& moved, bool accumulates = false) {
  WorkStep step = product({}, moved, accumulates);
  step.kernel->product.reset();
  return step;
}

inline WorkStep all_reduce(GroupCut cut, std::int64_t bytes) {
  return {.kernel = std::nullopt,
          .exchange = GroupExchange{.kind = RingKind::AllReduce, .cut = cut, .bytes = {bytes}}};
}

inline WorkStep all_gather(GroupCut cut, std::int64_t bytes) {
  WorkStep step = all_reduce(cut, bytes);
  step.exchange->kind = RingKind::AllGather;
  return step;
}

using Steps = std::vector<WorkStep>;

/// What some ops of a graph do if they train on groups of `tp` devices.
inline Work work_of(const ir::Graph& graph, const std::vector<OpId>& ops, std::int64_t tp,
                    const std::vector<OpDegrees>& degrees = {}) {
  const TensorParallel cuts = cut_over(graph, tp, degrees);
  return WorkOfOps(graph, cuts, nullptr).of(ops, true);
}

/// The last op of a net alone.
inline Work work_of_last(const test::Net& net, std::int64_t tp,
                         const std::vector<OpDegrees>& degrees = {}) {
  return work_of(net.graph, {test::last_op(net)}, tp, degrees);
}

inline std::vector<OpId> all_ops(const ir::Graph& graph) {
  std::vector<OpId> ops;
  for (const OpId op : graph.ops.ids()) {
    ops.push_back(op);
  }
  return ops;
}

}  // namespace elk::train
