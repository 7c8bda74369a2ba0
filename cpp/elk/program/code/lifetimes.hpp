#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"

namespace elk::program {

/// When tensors are made and used: the liveness every other rule rests on. Positions in
/// Graph::ops; -1 where there is none. A spilled operand reads HBM and not the tensor at rest, so
/// it is no reader here.
struct Lifetimes {
  Table<TensorId, OpId> producer;  // of each tensor
  Table<TensorId, OpId> first_reader;
  Table<TensorId, OpId> last_reader;
  Table<TensorId, std::int8_t> stored;  // whether a Store names the tensor
};
[[nodiscard]] Lifetimes lifetimes(const ir::Graph& graph);

/// Whether the op has data to preload on a chip with HBM.
[[nodiscard]] bool has_hbm_data(const ir::Graph& graph, const ir::Op& op);

}  // namespace elk::program
