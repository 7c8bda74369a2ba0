#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "elk/base/shelf.hpp"
#include "elk/chip/chip.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/ir/graph.hpp"
#include "elk/schedule/problem/known.hpp"
#include "elk/shard/split_cost.hpp"
#include "elk/sim/play/executions.hpp"
#include "elk/tile/rate.hpp"
#include "elk/tile/tile.hpp"

namespace elk::compile {

class Passes;
struct Options;
struct PassesInput;

/// An op of a graph, and what of the graph its front depends on (`cost::rest_once`).
struct KeptOp {
  const ir::Graph& graph;
  const ir::Op& op;
  const Table<TensorId, bool>& rest_once;
};

/// What compiles of a model under one tile model leave for the next: fronts of ops, rates of tiles,
/// estimated times of parts of ops, what layouts hand over or put on the links of a grid, what ops
/// take at least together, what their executions do when simulated, and how far the search of
/// policies is on a graph and a chip. The tile model must live as long. All of it takes about 370
/// MiB at most.
///
/// An entry is looked up by all that it depends on and by nothing else, so a plan is the same with
/// it as without. Rates, estimates, handovers, bounds and simulations of executes do not depend on
/// the rate of the HBM, and of fronts only how long preloads take: another HBM bandwidth leaves
/// them.
class Kept {
 public:
  [[nodiscard]] cost::Front front(const KeptOp& of, const chip::Chip& chip,
                                  const tile::TileModel& tiles,
                                  const cost::Constraints& constraints);
  /// `execute`, which must be `shard::by_cuts` of this graph and pod, asked once for each part.
  [[nodiscard]] shard::ExecuteTime recalled(const ir::Graph& graph, const chip::Chip& pod,
                                            shard::ExecuteTime execute);
  [[nodiscard]] schedule::ProblemShelves& known() { return known_; }
  /// By `machine_key` and `memory_key` of the chip.
  [[nodiscard]] sim::Executions& executions() { return executions_; }
  /// The passes on a graph and a chip, as far as any policy has brought them. Throws Infeasible
  /// where an op fits in no way.
  [[nodiscard]] std::shared_ptr<Passes> passes(const PassesInput& input, const chip::Chip& chip,
                                               const tile::TileModel& tiles,
                                               const Options& options);

  /// By what was kept.
  [[nodiscard]] std::vector<std::pair<std::string, Reuse>> reuse() const;

 private:
  /// A front afresh, with the rates of tiles that others left.
  [[nodiscard]] cost::Front searched(const ir::Graph& graph, const ir::Op& op,
                                     const chip::Chip& chip, const tile::TileModel& tiles,
                                     const cost::Constraints& constraints);

  Shelf<std::string, cost::Front> fronts_{std::size_t{48} << 20U};
  Shelf<std::string, tile::TileRates> rates_{std::size_t{8} << 20U};
  Shelf<std::string, shard::ChipExecute> executes_{std::size_t{8} << 20U};
  schedule::ProblemShelves known_;
  sim::Executions executions_;
  Shelf<std::string, std::shared_ptr<Passes>> passes_{std::size_t{96} << 20U};
};

/// All of a chip that the simulation of executes depends on: resources are numbered over modules of
/// the HBM, too, but its rates count only in what preloads and stores depend on.
[[nodiscard]] std::string machine_key(const chip::Chip& chip);
[[nodiscard]] std::string memory_key(const chip::Chip& chip);

}  // namespace elk::compile
