#pragma once

#include <cstdint>
#include <vector>

#include "elk/program/space.hpp"

namespace elk::program {

/// An op under its plan, with what it holds worked out once.
struct SizedOp {
  const ir::Graph& graph;
  const ir::Op& op;
  const OpPlan& plan;
  const chip::Chip& chip;
  partition::Footprint footprint;
};
[[nodiscard]] SizedOp sized_op(const ir::Graph& graph, const ir::Op& op, const OpPlan& plan,
                               const chip::Chip& chip);

[[nodiscard]] std::vector<ExecuteSpace> execute_space(
    const SizedOp& sized, const std::vector<const partition::Layout*>& have);
[[nodiscard]] std::vector<ExecuteSpace> preload_space(const SizedOp& sized);

/// Whether operand `k` is split over the cores that share it, so that its pieces rotate.
[[nodiscard]] bool rotates(const partition::ExecutePlan& plan, std::size_t k);

/// Bytes of a result of the op as it rests afterwards.
[[nodiscard]] Bytes rest_of(const SizedOp& sized, std::int32_t tensor);

/// Bytes of a graph input on every core, spread evenly over all of them, in eights.
[[nodiscard]] Bytes input_space(const ir::Tensor& tensor, const chip::Chip& chip);

}  // namespace elk::program
