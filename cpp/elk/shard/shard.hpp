#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/ir/graph.hpp"
#include "elk/shard/conversion.hpp"
#include "elk/shard/sharding_costs.hpp"
#include "elk/shard/split.hpp"

namespace elk::shard {

/// A tensor brought into another form before an op reads it.
struct Collective {
  std::int32_t op;  // before which it happens; the number of ops at the end of the graph
  std::int32_t tensor;
  Form from;
  Form to;

  friend bool operator==(const Collective&, const Collective&) = default;
};

/// A model cut over the chips of a pod.
struct Sharding {
  std::vector<Split> splits;            // of each op
  std::vector<Collective> collectives;  // in the order of ops
  Picoseconds time;                     // by the estimate that chose it
  Picoseconds replicated;               // by the same, were every op computed by every chip
  Picoseconds least;  // the longer of all executes, at the best rate, and all HBM bytes
  Bytes sent;         // between chips, by each
  Bytes hbm;          // read by each chip
  Bytes kept;  // weights and states of each chip, and without HBM what its busiest op touches

  friend bool operator==(const Sharding&, const Sharding&) = default;
};

/// What is asked of a sharding beside being fast.
struct Wish {
  double price = 0.0;   // picoseconds that a byte of weights and states kept by a chip costs
  bool silent = false;  // chips exchange nothing
};

/// The fastest way to cut a graph over the chips of a pod, by an estimate: an op takes the longer
/// of its execute and its HBM bytes, a collective or a slice its own time, one after another
/// (design 2.6).
///
/// Dynamic programming over the ops in their order; a state is which forms of each live tensor are
/// at hand. Residual edges are part of it, and a form made for one reader serves the next. A state
/// is dropped where another, brought into its forms, costs no more: nothing is lost by that. Of the
/// others the 64 cheapest stay, and what is found never takes longer than replicating all. Layers
/// are solved until the states at the ends of two are equal, and the last stands for the others.
[[nodiscard]] Sharding cheapest(const ShardingCosts& ways, const Wish& wish);

/// Every op on every chip.
[[nodiscard]] Sharding replicated(const ShardingCosts& ways);

}  // namespace elk::shard
