#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/ir/graph.hpp"
#include "elk/train/work/core_calls.hpp"
#include "elk/train/work/kernel_groups.hpp"
#include "elk/train/work/tensor_parallel.hpp"

namespace elk::train {

/// `groups` products of an m x k by a k x n matrix.
struct ProductSize {
  std::int64_t groups;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;

  friend auto operator<=>(const ProductSize&, const ProductSize&) = default;
};

/// One kernel on one device.
struct DeviceKernel {
  std::optional<ProductSize> product;  // else what it reads and writes is all that counts
  Bytes input;
  Bytes weight;  // of a product its second operand
  Bytes output;
  Seconds on_core;   // of tile calls; 0 where devices are no cores
  bool accumulates;  // adds its result to the gradient of a weight

  friend auto operator<=>(const DeviceKernel&, const DeviceKernel&) = default;
};

/// A kernel that reads and writes, and computes no product.
[[nodiscard]] inline DeviceKernel pass_kernel(Bytes input, Bytes output, Seconds on_core) {
  return {.product = std::nullopt,
          .input = input,
          .weight = {0},
          .output = output,
          .on_core = on_core,
          .accumulates = false};
}

/// What devices of a ring do with a tensor.
enum class RingKind : std::uint8_t { AllReduce, AllGather };

/// A collective among the devices of each group that differ in one cut alone.
struct GroupExchange {
  RingKind kind;
  GroupCut cut;
  Bytes bytes;  // of the whole tensor on each device: afterwards, or before and afterwards

  friend auto operator<=>(const GroupExchange&, const GroupExchange&) = default;
};

/// A kernel, or a collective.
struct WorkStep {
  std::optional<DeviceKernel> kernel;
  std::optional<GroupExchange> exchange;

  friend auto operator<=>(const WorkStep&, const WorkStep&) = default;
};

/// A weight as one device holds it.
struct HeldWeight {
  std::int64_t elements;
  Bytes bytes;
  std::vector<GroupCut> sums;  // over which its gradient is a sum in the end
};

/// What one device does for some ops, of one micro-batch.
struct Work {
  std::vector<WorkStep> forward;
  std::vector<WorkStep> backward;
  std::map<TensorId, Bytes> saved;  // for the backward pass
  std::map<TensorId, HeldWeight> weights;
  Bytes largest{0};  // what its largest kernel reads and writes of activations
};

struct WorkFacts;

/// What ops of a graph do on each device of a group.
///
/// There is no graph of gradients: the gradient of a tensor has its shape. A product has a product
/// for each operand with a gradient, in which axes exchange their roles; what is elementwise, a
/// softmax or a norm has a pass over the gradient of its result, what it saved and the gradient
/// that it makes. A tensor that several kernels read has its gradients added up before they are
/// reduced.
class WorkOfOps {
 public:
  /// `calls`: times of tile calls, where devices are cores; they, `graph` and `cuts` must outlive
  /// this.
  WorkOfOps(const ir::Graph& graph, const TensorParallel& cuts, CoreCalls* calls);
  ~WorkOfOps();
  WorkOfOps(const WorkOfOps&) = delete;
  WorkOfOps& operator=(const WorkOfOps&) = delete;
  WorkOfOps(WorkOfOps&&) = delete;
  WorkOfOps& operator=(WorkOfOps&&) = delete;

  [[nodiscard]] Work of(std::span<const OpId> ops, bool trains) const;

  [[nodiscard]] bool has_gradient(TensorId tensor) const;
  /// Bytes of a tensor on one device, as the op that makes it leaves it; of an input, all.
  [[nodiscard]] Bytes held(TensorId tensor) const;

 private:
  std::unique_ptr<WorkFacts> facts_;
};

}  // namespace elk::train
