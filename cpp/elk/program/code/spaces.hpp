#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/program/code/space.hpp"

namespace elk::program {

/// What an op holds under its cut, divisors aside.
struct OpBytes {
  Table<OperandId, Bytes> operand;  // of each operand, as in partition::Footprint
  Table<OperandId, Bytes> rest;     // of each operand that is a result
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
[[nodiscard]] std::vector<ExecuteSpace> execute_space(
    const PlacedOp& placed, const OpBytes& sizes, const Table<OperandId, std::int8_t>& in_place);
[[nodiscard]] std::vector<ExecuteSpace> preload_space(const PlacedOp& placed, const OpBytes& sizes);

/// The operand by which `op` makes `tensor`.
[[nodiscard]] std::size_t result_operand(const ir::Op& op, TensorId tensor);

/// Whether operand `k` is split over the cores that share it, so that its pieces rotate.
[[nodiscard]] bool rotates(const partition::ExecutePlan& plan, OperandId k);

/// For each op the number of the first with the same structure and cut.
[[nodiscard]] Table<OpId, std::int32_t> plan_classes(const ir::Graph& graph,
                                                     const Table<OpId, OpPlan>& ops);

/// The classes of every op of several programs, whose ops are numbered one program after another.
[[nodiscard]] std::vector<Table<OpId, std::int32_t>> plan_classes(
    const ir::Graph& graph, std::span<const Program* const> programs);

/// The spaces of a whole program. Equal ops under equal plans are worked out once.
class Spaces {
 public:
  Spaces(const ir::Graph& graph, const chip::Chip& chip, const Table<OpId, OpPlan>& ops);

  [[nodiscard]] const Lifetimes& lives() const { return lives_; }
  [[nodiscard]] const OpBytes& sizes(OpId op);
  /// Whether operand `k` lies, in place, where the op needs it.
  [[nodiscard]] bool in_place(OpId op, OperandId k);
  [[nodiscard]] std::vector<ExecuteSpace> execute(OpId op);
  [[nodiscard]] std::vector<ExecuteSpace> preload(OpId op);
  /// Bytes of a tensor at rest on every core: what its producer leaves, or an even spread of an
  /// input; none for what lives in HBM.
  [[nodiscard]] Bytes rest(TensorId tensor);

 private:
  const ir::Graph& graph_;
  const chip::Chip& chip_;
  const Table<OpId, OpPlan>& ops_;
  Lifetimes lives_;
  Table<OpId, std::int32_t> class_of_;         // of each op, the first like it
  std::vector<std::optional<OpBytes>> sizes_;  // of the first ops of classes
  /// By the classes of producer and reader, and the operands that are the tensor.
  std::map<std::array<std::int32_t, 4>, bool> in_place_;
};

}  // namespace elk::program
