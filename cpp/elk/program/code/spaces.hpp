#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "elk/program/code/space.hpp"

namespace elk::program {

/// What an op holds under its cut, divisors aside.
struct OpBytes {
  std::vector<Bytes> operand;  // of each operand, as in partition::Footprint
  std::vector<Bytes> rest;     // of each operand that is a result
};

[[nodiscard]] OpBytes sizes_of(const ir::Graph& graph, const ir::Op& op,
                               const partition::ExecutePlan& plan, const chip::Chip& chip);

/// One op of a program.
struct PlacedOp {
  const ir::Graph& graph;
  const ir::Op& op;
  const OpPlan& plan;
  const chip::Chip& chip;
};

/// Buffers that live for the op's execute only, where operand `k` lies ready if `in_place[k]`.
[[nodiscard]] std::vector<ExecuteSpace> execute_space(const PlacedOp& placed, const OpBytes& sizes,
                                                      const std::vector<std::int8_t>& in_place);
[[nodiscard]] std::vector<ExecuteSpace> preload_space(const PlacedOp& placed, const OpBytes& sizes);

/// The operand by which `op` makes `tensor`.
[[nodiscard]] std::size_t result_operand(const ir::Op& op, std::int32_t tensor);

/// Whether operand `k` is split over the cores that share it, so that its pieces rotate.
[[nodiscard]] bool rotates(const partition::ExecutePlan& plan, std::size_t k);

/// Bytes of a graph input on every core, spread evenly over all of them, in eights.
[[nodiscard]] Bytes input_space(const ir::Tensor& tensor, const chip::Chip& chip);

/// For each op the number of the first with the same structure and cut.
[[nodiscard]] std::vector<std::int32_t> plan_classes(const ir::Graph& graph,
                                                     const std::vector<OpPlan>& ops);

/// The classes of every op of several programs, whose ops are numbered one program after another.
[[nodiscard]] std::vector<std::vector<std::int32_t>> plan_classes(
    const ir::Graph& graph, std::span<const Program* const> programs);

/// The spaces of a whole program. Equal ops under equal plans are worked out once.
class Spaces {
 public:
  Spaces(const ir::Graph& graph, const chip::Chip& chip, const std::vector<OpPlan>& ops);

  [[nodiscard]] const Lifetimes& lives() const { return lives_; }
  [[nodiscard]] const OpBytes& sizes(std::int32_t op);
  /// Whether operand `k` lies, in place, where the op needs it.
  [[nodiscard]] bool in_place(std::int32_t op, std::size_t k);
  [[nodiscard]] std::vector<ExecuteSpace> execute(std::int32_t op);
  [[nodiscard]] std::vector<ExecuteSpace> preload(std::int32_t op);
  /// Bytes of a tensor at rest on every core: what its producer leaves, or an even spread of an
  /// input; none for what lives in HBM.
  [[nodiscard]] Bytes rest(std::int32_t tensor);

 private:
  const ir::Graph& graph_;
  const chip::Chip& chip_;
  const std::vector<OpPlan>& ops_;
  Lifetimes lives_;
  std::vector<std::int32_t> class_of_;         // of each op, the first like it
  std::vector<std::optional<OpBytes>> sizes_;  // of the first ops of classes
  /// By the classes of producer and reader, and the operands that are the tensor.
  std::map<std::array<std::int32_t, 4>, bool> in_place_;
};

}  // namespace elk::program
