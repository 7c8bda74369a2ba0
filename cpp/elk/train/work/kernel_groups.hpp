#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/ir/graph.hpp"
#include "elk/train/work/tensor_parallel.hpp"

namespace elk::train {

/// What becomes of ops that one kernel computes.
enum class GroupKind : std::uint8_t {
  Products,     // one product, or several of one activation, each with a weight of its own
  Elementwise,  // over equally many elements, one after another
  Other,        // one op
};

/// Ops that one kernel computes, as frameworks fuse them.
struct KernelGroup {
  std::vector<OpId> ops;
  GroupKind kind;
};

/// Whether an op computes each element of its result from elements, or draws it.
[[nodiscard]] bool is_elementwise(const ir::Op& op);

/// The function of an op without what says how its operands lie: "mul" of "mul/scalar".
[[nodiscard]] std::string_view kernel_of(const ir::Op& op);

/// Operands that an op reads.
[[nodiscard]] std::int64_t reads_of(const ir::Op& op);

/// Whether gradients pass an elementwise op without any of its values and without a change.
[[nodiscard]] bool passes_gradients(const ir::Op& op);

/// Whether gradients of an elementwise op need none of its values: sums, and products with a
/// number.
[[nodiscard]] bool is_linear(const ir::Op& op);

/// `ops`, in order, as kernels. Products that share an activation stand where the first of them
/// did.
[[nodiscard]] std::vector<KernelGroup> kernel_groups(const ir::Graph& graph,
                                                     const TensorParallel& cuts,
                                                     std::span<const OpId> ops);

}  // namespace elk::train
