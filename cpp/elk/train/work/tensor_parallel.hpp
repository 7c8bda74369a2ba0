#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"
#include "elk/train/strategy.hpp"

namespace elk::train {

/// What a group of devices is cut into: device i has part `i / stride % parts`.
struct GroupCut {
  std::int64_t parts;
  std::int64_t stride;

  [[nodiscard]] bool whole() const { return parts == 1; }

  friend auto operator<=>(const GroupCut&, const GroupCut&) = default;
};

inline constexpr GroupCut kWhole = {.parts = 1, .stride = 1};

/// How devices hold a tensor: parts along these dimensions; none: each all of it.
struct DimCut {
  DimId dim;
  GroupCut cut;

  friend auto operator<=>(const DimCut&, const DimCut&) = default;
};
using TensorCuts = std::vector<DimCut>;

/// How the devices of a group share an op.
struct OpCut {
  Table<AxisId, GroupCut> axes;
  GroupCut picked;                 // of the dimension from which it picks
  std::vector<TensorId> gathered;  // what it reads whole that is held in parts

  friend bool operator==(const OpCut&, const OpCut&) = default;
};

/// What an op is made of: weights or what they lead to, the graph's inputs alone (masks,
/// positions), or nothing (random numbers).
enum class Origin : std::uint8_t { Weights, Inputs, Nothing };
[[nodiscard]] Table<OpId, Origin> origins(const ir::Graph& graph);

/// The tensors that an op writes.
[[nodiscard]] std::vector<TensorId> written_by(const ir::Op& op);

/// Whether a weight of this type is trained.
[[nodiscard]] bool is_float(ir::DType dtype);

/// How groups of `tp` devices share every op, and hold every tensor.
struct TensorParallel {
  Table<OpId, OpCut> ops;
  Table<TensorId, TensorCuts> held;
};

/// Cuts every op of a graph over `tp` devices, as Megatron does (Shoeybi et al. 2019): a product
/// with a weight by columns, or by its reduction where its input is cut along that; a gather from a
/// weight, or along a cut dimension, by the rows that it picks from; any other op along the axes in
/// which its inputs are cut. What an op cannot read in parts is gathered first. `degrees` come
/// before these rules.
///
/// Throws InvalidInput for degrees of an op, or of an axis, that the graph does not have, and for
/// an axis that is shorter than its degree.
[[nodiscard]] TensorParallel cut_over(const ir::Graph& graph, std::int64_t tp,
                                      const std::vector<OpDegrees>& degrees);

/// Sizes of an op's axes on one device.
[[nodiscard]] Table<AxisId, std::int64_t> local_sizes(const ir::Op& op, const OpCut& cut);

/// Over which cuts of an op an operand is a sum, or has a gradient that is one: those of axes that
/// do not index it.
[[nodiscard]] std::vector<GroupCut> sums_over(const ir::Op& op, const OpCut& cut,
                                              const ir::Operand& operand);

}  // namespace elk::train
