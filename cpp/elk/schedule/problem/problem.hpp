#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/cost/forecast.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/cost/option.hpp"
#include "elk/cost/price/price.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/program.hpp"
#include "elk/schedule/problem/grid.hpp"
#include "elk/schedule/problem/handover_table.hpp"
#include "elk/schedule/problem/key.hpp"
#include "elk/schedule/problem/known.hpp"
#include "elk/schedule/problem/neighbour_sums.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"
#include "elk/tile/tile.hpp"

namespace elk::schedule {

/// What a choice costs between its real neighbours.
struct InPlaceCost {
  cost::ExchangeCost gather;  // of activations, for the true pair of layouts
  Bytes copies;               // own copies of activations and room for partial results
};

/// How what passes links of grids is counted, and what is known before.
struct LinkCountOptions {
  int threads = 1;
  std::int64_t most_cores = tuning::kMostCounted;  // on larger grids only what is recounted
  ProblemShelves* known = nullptr;                 // what other problems left; null: nothing
};

/// Fronts of distinct ops, and the number of that of each op.
struct FrontOfOps {
  std::vector<cost::Front> all;
  Table<OpId, std::int32_t> of;
};

/// A model on a chip with the fronts of its distinct ops: what every policy decides upon.
///
/// Options added by `add` and the memo of `in_place` grow while a policy searches; both depend only
/// on what was asked before, so a search in one thread is deterministic.
class Problem {
 public:
  Problem(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles,
          std::vector<cost::Front> fronts, Table<OpId, std::int32_t> front_of)
      : Problem(graph, chip, tiles, {.all = std::move(fronts), .of = std::move(front_of)},
                LinkCountOptions{}) {}
  Problem(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles,
          FrontOfOps fronts, const LinkCountOptions& counting);

  /// Null: nothing is kept.
  [[nodiscard]] ProblemShelves* known() const { return known_; }

  [[nodiscard]] const ir::Graph& graph() const { return graph_; }
  [[nodiscard]] const chip::Chip& chip() const { return chip_; }
  [[nodiscard]] const program::Lifetimes& lives() const { return lives_; }
  [[nodiscard]] const std::vector<cost::Front>& fronts() const { return fronts_; }
  [[nodiscard]] const Table<OpId, std::int32_t>& front_of() const { return front_of_; }
  [[nodiscard]] std::int32_t op_count() const {
    return static_cast<std::int32_t>(front_of_.size());
  }
  [[nodiscard]] const cost::Front& front(OpId op) const;
  [[nodiscard]] const cost::PlanOption& option(OpId op, const Choice& choice) const {
    return front(op).options[static_cast<std::size_t>(choice.option)];
  }
  [[nodiscard]] const cost::PreloadState& state(OpId op, const Choice& choice) const {
    return option(op, choice).states[static_cast<std::size_t>(choice.state)];
  }

  /// Ops with HBM data to preload, in execution order.
  [[nodiscard]] const std::vector<OpId>& loaded() const { return loaded_; }
  /// Place of `op` in `loaded()`, or of the first loaded op after it.
  [[nodiscard]] std::int32_t rank(OpId op) const { return rank_[op]; }
  [[nodiscard]] bool is_loaded(OpId op) const;
  /// Whether the op reads weights or states, be they preloaded or kept on chip.
  [[nodiscard]] bool waits(OpId op) const { return waits_[op] != 0; }
  /// The first op before whose execute the preload of `op` may be issued: an indirect operand waits
  /// for the op that makes its index, what is stored before for the op that makes it (design 7).
  [[nodiscard]] OpId not_before(OpId op) const { return not_before_[op]; }

  /// Ops that read what `op` writes, in order.
  [[nodiscard]] const std::vector<OpId>& readers(OpId op) const { return readers_[op]; }

  /// Costs of `op` under `choices` of itself and of the ops that feed it.
  [[nodiscard]] const InPlaceCost& in_place(OpId op, const Table<OpId, Choice>& choices);

  /// Works out, side by side, what `in_place` will be asked when any one of `variants` changes
  /// `choices`: of the ops that change and, if asked for, of their readers. Tells how many costs
  /// were new.
  std::size_t foresee(const std::vector<Variant>& variants, Table<OpId, Choice> choices,
                      bool with_readers, int threads);

  /// Whether this is a grid too large to count whatever a search looks at, so that choices have to
  /// be recounted.
  [[nodiscard]] bool recounts() const { return recounts_; }
  /// From now on prices link by link what `choices` gather and preload.
  void recount(const Table<OpId, Choice>& choices, int threads);
  /// Translates `choices` of `other`, which is a copy or was copied, to choices here. Adds their
  /// plans to the fronts where they are missing, and takes over what the other has recounted of
  /// them.
  [[nodiscard]] Table<OpId, Choice> take(const Problem& other, const Table<OpId, Choice>& choices);

  /// The work of counting gathers link by link so far, as on grids, in ops of a forecast.
  [[nodiscard]] std::int64_t counting_work() const;

  /// The layout in which `tensor` rests, null where no op of the graph makes it.
  [[nodiscard]] const partition::Layout* resting(TensorId tensor,
                                                 const Table<OpId, Choice>& choices);

  /// The operand by which the op that makes `tensor` writes it.
  [[nodiscard]] OperandId write_slot(TensorId tensor) const { return write_slot_[tensor]; }

  /// Prices `plan` and adds it to the front of `op` unless it is there; tells where it is. Empty
  /// where the plans of the op were handed in and it is none of them.
  std::optional<std::int32_t> add(OpId op, const partition::ExecutePlan& plan);

  [[nodiscard]] const tile::TileModel& tiles() const { return tiles_; }

 private:
  /// All that the costs of an op in place depend on.
  struct InPlaceKey {
    OpId op;
    std::int32_t option;
    const cost::PlanOption* plan;
    Table<OperandId, std::optional<HandoverTable::LayoutPair>>
        moves;  // of each operand; empty: from everywhere
  };

  /// What an op reads that does not come from HBM: who makes it, -1: no op, by which operand.
  struct Feed {
    OpId maker;
    std::int32_t front;
    OperandId slot;
  };

  void settle_feeds();
  [[nodiscard]] OpId first_issue(const ir::Op& op) const;
  /// How many numbers tell what the costs of an op in place depend on, and these numbers.
  [[nodiscard]] std::size_t context_size(OpId op) const;
  void write_context(OpId op, const Table<OpId, Choice>& choices,
                     std::span<std::int32_t> out) const;
  [[nodiscard]] Key context(OpId op, const Table<OpId, Choice>& choices) const;
  [[nodiscard]] std::int32_t resting_number(TensorId tensor, const Table<OpId, Choice>& choices);
  void learn(const std::vector<const InPlaceKey*>& places, int threads);
  [[nodiscard]] InPlaceKey place(OpId op, const Table<OpId, Choice>& choices);
  void settle_links(int threads);
  void settle_links(const ir::Op& op, cost::PlanOption& option, Deliveries& deliveries) const;
  void settle_readers();
  void count_gathers(const std::vector<const InPlaceKey*>& places, int threads);
  void recount_gathers(const Table<OpId, Choice>& choices, int threads);
  void recount_preloads(const Table<OpId, Choice>& choices, int threads);
  [[nodiscard]] Key gather_key(const InPlaceKey& place) const;
  [[nodiscard]] std::string kept_key(const Key& key, const InPlaceKey& place) const;
  [[nodiscard]] LinkCount counted(const Key& key, const InPlaceKey& place) const;
  [[nodiscard]] cost::ExchangeCost gather(
      const InPlaceKey& place,
      TableView<OperandId, const partition::Transition* const> moved) const;
  [[nodiscard]] InPlaceCost price(const InPlaceKey& place) const;

  const ir::Graph& graph_;
  const chip::Chip& chip_;
  const tile::TileModel& tiles_;
  ProblemShelves* known_ = nullptr;
  HandoverTable moves_;
  Deliveries deliveries_;
  bool counts_;    // gathers and preloads link by link
  bool recounts_;  // only those of choices that it is asked about
  std::vector<cost::Front> fronts_;
  Table<OpId, std::int32_t> front_of_;
  program::Lifetimes lives_;
  Table<TensorId, OpId> filled_by_;  // by stores
  std::vector<OpId> loaded_;
  Table<OpId, std::int32_t> rank_;
  Table<OpId, OpId> not_before_;
  Table<OpId, std::int8_t> waits_;
  Table<OpId, std::vector<OpId>> readers_;
  Table<TensorId, OperandId> write_slot_;  // of each tensor: operand of its producer
  Table<OpId, std::vector<Feed>> feeds_;   // of each op
  std::unordered_map<Key, InPlaceCost, KeyHash, KeyEqual> in_place_;
  std::unordered_map<Key, cost::ExchangeCost, KeyHash> gathers_;  // on grids, by `gather_key`
  std::set<Key> recounted_;                                       // contexts
  std::set<Key> settled_;                                         // fronts, options and states
  std::unordered_map<Key, std::int32_t, KeyHash> layouts_;        // numbers, of results at rest
};

/// An op's execute and preload as the forecast takes them.
[[nodiscard]] cost::ExchangeSeries moving(const cost::ExchangeCost& exchange);

[[nodiscard]] cost::ExecuteCost work(const cost::PlanOption& option,
                                     const cost::PreloadState& state,
                                     const cost::ExchangeCost& gather);
[[nodiscard]] cost::PreloadCost load(const cost::PreloadState& state, const chip::Chip& chip);

/// What contention costs on `chip`.
[[nodiscard]] cost::ContentionRules sharing(const chip::Chip& chip);

}  // namespace elk::schedule
