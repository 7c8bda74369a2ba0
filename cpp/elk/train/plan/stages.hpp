#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/ir/graph.hpp"
#include "elk/train/strategy.hpp"
#include "elk/train/work/tensor_parallel.hpp"
#include "elk/train/work/work.hpp"

namespace elk::train {

/// Consecutive ops that stay on one stage: a layer, or what stands before or behind all layers.
struct Unit {
  std::vector<OpId> ops;
  bool layer;  // one of those that the graph repeats; a part without any is one
};

/// What a part of the model, a chunk of a stage, computes.
struct ModelPart {
  std::vector<Unit> units;  // the first begins with masks and positions that the part reads
};

/// The units into which a model can be cut: layers, and what is before and behind; single kernels
/// where there are fewer of those than `parts`. What only inputs make is in none.
[[nodiscard]] std::vector<Unit> units_of(const ir::Graph& graph, const TensorParallel& cuts,
                                         std::int64_t parts);

/// Cuts units with these costs into consecutive runs, as many as `parts`: the costliest costs least
/// and, among those, the sum of squares is least. Returns where each begins.
[[nodiscard]] std::vector<std::size_t> balanced(std::span<const Picoseconds> costs,
                                                std::size_t parts);

/// The parts of the model in order, as the caller gives them or balanced by `cost`.
///
/// Throws InvalidInput if there are fewer kernels than parts, and for given stages that miss an op,
/// name one twice, or read what a later part makes.
[[nodiscard]] Table<PartId, ModelPart> parts_of(
    const ir::Graph& graph, const TensorParallel& cuts, const Strategy& strategy,
    const std::function<Picoseconds(const Unit&)>& cost);

/// The tensors that each part hands to the next: what it or an earlier one makes and a later one
/// reads, but for what only inputs make. As many entries as parts; that of the last is empty.
[[nodiscard]] Table<PartId, std::set<TensorId>> handed_on(const ir::Graph& graph,
                                                          const Table<PartId, ModelPart>& parts);

}  // namespace elk::train
