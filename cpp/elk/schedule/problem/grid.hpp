#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/chip/chip.hpp"
#include "elk/cost/exchange/exchange.hpp"
#include "elk/cost/option.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/layout/layout.hpp"
#include "elk/program/expand/groups.hpp"
#include "elk/program/expand/transfers.hpp"
#include "elk/schedule/problem/key.hpp"
#include "elk/schedule/problem/link_counts.hpp"

namespace elk::schedule {

/// Cores beyond which counting every exchange link by link would take a compile minutes.
inline constexpr std::int64_t kMostCounted = 8192;

/// Whether links of the chips' grids are counted one by one, `most` cores at most.
[[nodiscard]] bool counts_links(const chip::Chip& chip, std::int64_t most = kMostCounted);

/// An exchange on such a grid. Each send loads the links of its tree, and the busiest link sets the
/// time. `wide`: whether cores of several chips take part.
[[nodiscard]] cost::ExchangeCost exchange_on_grid(const program::Exchange& exchange,
                                                  const chip::Chip& chip, bool wide);

/// What the gather of an op puts on such a grid. Who sends what to whom is the program's. `have[k]`
/// as for `program::expand`.
[[nodiscard]] LinkCount count_gather(const ir::Graph& graph, const ir::Op& op,
                                     const partition::ExecutePlan& plan,
                                     std::span<const partition::Layout* const> have,
                                     const chip::Chip& chip);

/// What takes so much.
[[nodiscard]] cost::ExchangeCost exchange_of(const LinkCount& count, const chip::Chip& chip,
                                             bool wide);

/// Times of preloads on the grids of all chips: a link carries what passes it on the ways that
/// `chip/ways.hpp` gives data from HBM. How many slices those are depends on the cut, the divisor
/// and the ring alone, and is counted once for each. The busiest link need not be on the first
/// chip: fewer nodes lie beside the few rows that a plan may take of the last.
class Deliveries {
 public:
  /// `kept`: of other deliveries; null: nothing.
  explicit Deliveries(const chip::Chip& chip, PreloadCounts* kept = nullptr);

  /// Sets what the preload states of a plan take, or one of them.
  void settle(const ir::Graph& graph, const ir::Op& op, cost::PlanOption& option);
  void settle(const ir::Graph& graph, const ir::Op& op, const cost::PlanOption& option,
              cost::PreloadState& state);

 private:
  using GridLoads = std::shared_ptr<const std::vector<std::int32_t>>;

  [[nodiscard]] GridLoads loads(const ir::Graph& graph, const ir::Op& op, std::size_t operand,
                                const cost::PlanOption& option, std::int64_t divisor);
  [[nodiscard]] std::vector<std::int32_t> on_one_chip(
      const std::vector<program::Cores>& slices) const;
  /// What a preload carries chip by chip over every link, then out of every node of its modules;
  /// empty where nothing is preloaded.
  [[nodiscard]] std::vector<std::int64_t> bytes_on_links(const ir::Graph& graph, const ir::Op& op,
                                                         const cost::PlanOption& option,
                                                         const cost::PreloadState& state);
  [[nodiscard]] PreloadCount counted(const ir::Graph& graph, const ir::Op& op,
                                     const cost::PlanOption& option,
                                     const cost::PreloadState& state);
  /// From what is kept, if anything is.
  [[nodiscard]] PreloadCount recalled(const ir::Graph& graph, const ir::Op& op,
                                      const cost::PlanOption& option,
                                      const cost::PreloadState& state);

  const chip::Chip& chip_;
  chip::Chip one_;  // of its chips
  PreloadCounts* kept_;
  std::vector<std::vector<CoreId>> attached_;
  std::map<Key, GridLoads> known_;  // slices through every link of the grids and of the modules
};

}  // namespace elk::schedule
