#include "elk/compile/compile.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/mechanisms.hpp"
#include "elk/base/table.hpp"
#include "elk/compile/aim.hpp"
#include "elk/compile/bounds_book.hpp"
#include "elk/compile/compile_tuning.hpp"
#include "elk/compile/fronts.hpp"
#include "elk/compile/judge.hpp"
#include "elk/compile/passes.hpp"
#include "elk/compile/shortest.hpp"
#include "elk/compile/vgm.hpp"
#include "elk/compile/waves.hpp"
#include "elk/schedule/bound/bounds.hpp"
#include "elk/shard/pooled.hpp"
#include "elk/shard/propose.hpp"

namespace elk::compile {
namespace {

constexpr Seconds kNoPlan{std::numeric_limits<double>::infinity()};

/// How small waves become: until a graph fits, or as long as that gains.
enum class Waves : std::uint8_t { UntilFit, WhileGaining };

/// The plans of one model, as it is and in waves, for one machine.
class Versions {
 public:
  Versions(const PlanRequest& whole, const chip::Chip& chip, const tile::TileModel& tiles,
           const Options& options, BoundsBook& spaces)
      : whole_(whole), chip_(chip), tiles_(tiles), options_(options), spaces_(spaces) {}

  /// Plans the model in these waves, or as it is: by repeating what is found for `slice`, if one is
  /// given. Whether it fits under each policy that the asked one stands for.
  bool enter(const ir::WaveGraph* waves, const RepeatedSlice* slice = nullptr) {
    try {
      const ir::Graph& graph = waves != nullptr ? waves->graph : whole_.graph;
      PlanAndIdeal made =
          compiled_on({.graph = graph, .slice = slice}, chip_, tiles_, options_, spaces_);
      const bool fits = !lacks(made.plan.least);
      take_least(made.plan);
      run_as(whole_, waves, made.plan);
      take_ideal(made, waves);
      if (!best_ || beats(rival(*best_), rival(made.plan), tiles_, options_)) {
        best_ = std::move(made.plan);
      }
      return fits;
    } catch (const Error& error) {
      if (!is_of_one_way(error)) {
        throw;
      }
      why_ = why_ ? why_ : std::current_exception();
      return false;
    }
  }

  /// Plans the model in 2, 4, 8 ... slices of its batch: where a policy has no plan until two of
  /// these fit, and where ops fill much of SRAM as long as that gains, whatever is read again.
  void enter_slices() {
    budget_ = tuning::kMostOpsTried;
    const bool crowded = is_crowded(whole_.graph, chip_);
    int fitting = 0;
    bool gained = true;
    for (std::int64_t slices = 2; fitting < tuning::kSlicesTried && gained; slices *= 2) {
      const bool wanted = may_go_on() && (lacks() || (crowded && may_gain(slices)));
      const auto sliced = wanted ? in_slices(whole_.graph, chip_, slices) : std::nullopt;
      if (!sliced) {
        break;
      }
      const std::vector<Seconds> before = least_;
      const bool fits = enter_sliced(*sliced);
      gained = lacks() || !fits || least_ != before;
      fitting += fits ? 1 : 0;
    }
  }

  /// Plans the whole model with ops in waves and activations spilled: whatever it takes where
  /// nothing else fits.
  void enter_waves() {
    budget_ = lacks() ? std::numeric_limits<std::size_t>::max() : tuning::kMostOpsTried;
    enter_fitted(ir::in_no_waves(whole_.graph), Waves::WhileGaining);
  }

  /// Throws why the first did not fit if none did.
  [[nodiscard]] Plan best() && {
    if (!best_) {
      std::rethrow_exception(why_);
    }
    best_->least = std::move(least_);
    return std::move(*best_);
  }

 private:
  /// Plans the model with ops of `parts` in waves and activations spilled: in smaller waves as long
  /// as a policy has no plan, nothing is cut yet or, if so asked, that gains. A policy goes on
  /// where one below it would, so that it is never worse.
  void enter_fitted(const ir::WaveGraph& parts, Waves waves) {
    ir::WaveGraph last = parts;
    for (const double share : tuning::kOpShares) {
      const std::vector<Seconds> before = least_;
      const std::optional<bool> cut = enter_share(parts, share, last);
      const bool done = !lacks() && (waves == Waves::UntilFit || least_ == before);
      if (!cut || (*cut && done)) {
        return;  // Smaller waves would be more, or no better.
      }
    }
  }

  /// Plans the model with ops of `parts` in waves that touch at most this share of SRAM, unless
  /// that is `last`, the graph planned before. Whether it fits with ops cut; none: they are too
  /// many.
  std::optional<bool> enter_share(const ir::WaveGraph& parts, double share, ir::WaveGraph& last) {
    bool entered = false;
    for (const double rest : tuning::kRestShares) {
      const SramShares shares{.op = share, .rest = rest};
      auto found = may_go_on() ? fitted(parts, chip_, shares, most_ops()) : std::nullopt;
      if (!found) {
        return std::nullopt;
      }
      if (!same(found->graph, last.graph)) {
        const bool cuts = found->graph.ops.size() > parts.graph.ops.size();
        shares_ = shares;
        entered = (enter_within(*found) && cuts) || entered;
        last = std::move(*found);
      }
    }
    return entered;
  }

  /// Plans the model in these slices: one is planned as any graph, and the graphs that are fastest
  /// for it, under some policy, are repeated. Whether a slice fits without waves.
  bool enter_sliced(const ir::WaveGraph& sliced) {
    const auto slice = options_.plans.empty() ? ir::last_slice(sliced) : std::nullopt;
    if (!slice) {
      const bool fits = enter_within(sliced);
      if (!fits) {
        enter_fitted(sliced, Waves::UntilFit);
      }
      return fits;
    }
    BoundsBook own{.bounds = {}, .wants_ideal = false, .least = {}, .ideal = {}};
    const PlanRequest request{.graph = slice->graph, .one = nullptr};
    Versions alone(request, chip_, tiles_, options_, own);
    alone.budget_ = budget_;
    const bool fits = alone.enter(nullptr);
    alone.enter_fitted(ir::in_no_waves(slice->graph), Waves::WhileGaining);
    budget_ = alone.budget_;
    std::vector<std::optional<SramShares>> tried;
    for (const std::optional<SramShares>& shares : alone.fastest_) {
      if (std::ranges::find(tried, shares) == tried.end()) {
        tried.push_back(shares);
        enter_repeated(*slice, sliced, shares);
      }
    }
    return fits;
  }

  /// Plans the model in slices that repeat one, ops in such waves; none: without.
  void enter_repeated(const ir::WaveGraph& slice, const ir::WaveGraph& sliced,
                      const std::optional<SramShares>& shares) {
    const auto in_shares = [&](const ir::WaveGraph& parts) {
      return shares ? fitted(parts, chip_, *shares, most_ops()) : std::optional(parts);
    };
    const std::optional<ir::WaveGraph> all = in_shares(sliced);
    const std::optional<ir::WaveGraph> one = in_shares(slice);
    if (all && one) {
      enter_within(*all, &*one);
    }
  }

  /// Of a graph in parts.
  [[nodiscard]] std::size_t most_ops() const {
    return std::min(lacks() ? tuning::kMostOpsAtAll : tuning::kMostOpsInParts, budget_);
  }

  /// Plans the model in these parts, which repeat `slice` if it is given, within what may be tried.
  /// Whether it fits.
  bool enter_within(const ir::WaveGraph& parts, const ir::WaveGraph* slice = nullptr) {
    budget_ -= std::min(budget_, parts.graph.ops.size());
    if (overflows(parts.graph, chip_)) {
      return false;
    }
    const auto slice_op = slice != nullptr ? ir::repeats_of(*slice, parts) : std::nullopt;
    if (!slice_op) {
      return enter(&parts);
    }
    const RepeatedSlice one{.graph = slice->graph, .op_of = *slice_op};
    return enter(&parts, &one);
  }

  /// Whether there is HBM for parts, work to be done in them, and nobody stops the search.
  [[nodiscard]] bool may_go_on() const {
    return chip_.hbm && budget_ > 0 && (!best_ || !Watch::stops(options_.watch));
  }

  /// Whether `least` is infinite of a policy that the asked one stands for: it has no plan.
  [[nodiscard]] bool lacks(const std::vector<Seconds>& least) const {
    const std::vector<schedule::Policy> policies = policies_from(options_);
    return std::any_of(policies.begin(), policies.end(), [&](schedule::Policy policy) {
      const std::size_t at = schedule::step(policy);
      return at < least.size() && std::isinf(least[at].value);
    });
  }

  /// Whether there is none so far.
  [[nodiscard]] bool lacks() const { return !best_ || lacks(least_); }

  static bool same(const ir::Graph& a, const ir::Graph& b) {
    return a.ops == b.ops && a.tensors == b.tensors;
  }

  /// Whether the HBM could read all as often as so many slices do in less time than the best plan.
  [[nodiscard]] bool may_gain(std::int64_t slices) const {
    return least_in_slices(whole_.graph, chip_, slices) < to_seconds(best_->predicted.total);
  }

  [[nodiscard]] Rival rival(Plan& plan) const {
    return {.graph = plan.shard ? plan.shard->graph : whole_.graph, .chip = chip_, .plan = plan};
  }

  /// Keeps the ideal if it is the least of all spaces.
  void take_ideal(const PlanAndIdeal& made, const ir::WaveGraph* waves) {
    if (spaces_.least && !(made.plan.bounds.ideal < *spaces_.least)) {
      return;
    }
    spaces_.least = made.plan.bounds.ideal;
    if (spaces_.wants_ideal) {
      spaces_.ideal = *made.ideal;
      run_as(whole_, waves, *spaces_.ideal);
    }
  }

  void take_least(const Plan& plan) {
    least_.resize(std::max(least_.size(), plan.least.size()), kNoPlan);
    fastest_.resize(least_.size());
    for (std::size_t i = 0; i < plan.least.size(); ++i) {
      if (plan.least[i] < least_[i]) {
        least_[i] = plan.least[i];
        fastest_[i] = shares_;
      }
    }
  }

  const PlanRequest& whole_;
  const chip::Chip& chip_;
  const tile::TileModel& tiles_;
  const Options& options_;
  BoundsBook& spaces_;  // whose bounds have to hold for all of these
  std::size_t budget_ = tuning::kMostOpsTried;
  std::optional<SramShares> shares_;                // of the waves that are planned; none: without
  std::vector<Seconds> least_;                      // of each policy
  std::vector<std::optional<SramShares>> fastest_;  // whose plan that is
  std::optional<Plan> best_;
  std::exception_ptr why_;
};

/// The plan of a graph as it is, or in waves, slices and with spills where that takes less. Adds
/// the bounds of all of these to `spaces`.
Plan compile_best(const PlanRequest& whole, const chip::Chip& chip, const tile::TileModel& tiles,
                  const Options& options, BoundsBook& spaces) {
  Versions versions(whole, chip, tiles, options, spaces);
  versions.enter(nullptr);
  if (mechanisms().waves && options.waves && may_fit_in_waves(whole.graph, chip)) {
    versions.enter_slices();
    versions.enter_waves();
  }
  return std::move(versions).best();
}

/// The plan of all chips' cores as one machine, or of the one chip there is.
Plan compile_whole(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles,
                   const Options& options, BoundsBook& spaces) {
  return compile_best({.graph = graph, .one = nullptr}, chip, tiles, options, spaces);
}

/// All chips' cores as one machine. Where any axes of an op may be cut, a chip uses as many of its
/// cores for its part as it would for the whole op: only on grids and rings, where few may, one
/// machine of more cores is worth an estimate.
PooledPlan pooled(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles,
                  const Options& options, BoundsBook& spaces) {
  const bool few_axes = mechanisms().pooled && chip::routed(chip);
  constexpr Picoseconds kNever{std::numeric_limits<std::int64_t>::max()};
  return {.about = few_axes ? shard::pooled_time(graph, chip, tiles, options.threads) : kNever,
          .plan = [&](schedule::Policy policy) {
            Options asked = options;
            asked.policy = policy;
            return compile_whole(graph, chip, tiles, asked, spaces);
          }};
}

/// The plan of chips that share the model, or of them as one machine where that is better.
Plan compile_pod(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles,
                 const Options& options, BoundsBook& spaces) {
  shard::ExecuteTime execute = shard::by_cuts(graph, chip, tiles);
  if (options.kept != nullptr) {
    execute = options.kept->recalled(graph, chip, std::move(execute));
  }
  const PooledPlan as_one = pooled(graph, chip, tiles, options, spaces);
  const std::vector<shard::Sharding> proposals =
      shard::proposals(graph, chip, execute, options.threads);
  const auto plan_of = [&](const shard::Sharding& sharding, schedule::Policy policy) {
    Options asked = options;
    asked.policy = policy;
    const shard::OneChip one = shard::one_chip(graph, sharding, chip.chips);
    Plan plan =
        compile_best({.graph = one.graph, .one = &one}, chip::one_of(chip), tiles, asked, spaces);
    count_chips(chip.chips, plan.aimed);
    return plan;
  };
  return shortest(
      {.proposals = proposals,
       .resort = [&] { return shard::leanest(graph, chip, execute, options.threads); },
       .plan_of = plan_of,
       .pooled = as_one,
       .beats = [&](Plan& best,
                    Plan& plan) { return beats(graph, chip, tiles, options, best, plan); }},
      policies_from(options), options.watch);
}

/// The forecast of vgm, beside the bounds of programs on the same cores.
Plan compile_vgm(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles,
                 const Options& options, BoundsBook& spaces) {
  Plan plan = vgm(graph, chip, tiles, options);
  Options lowest = options;
  lowest.policy = schedule::policies().front().policy;
  try {
    static_cast<void>(compile_whole(graph, chip, tiles, lowest, spaces));
  } catch (const Infeasible&) {
    if (spaces.bounds.empty()) {
      throw;
    }
  }
  plan.bounds = schedule::least_bounds(spaces.bounds);
  plan.bounds.ideal = std::min(to_seconds(plan.predicted.total), spaces.least.value_or(kNoPlan));
  return plan;
}

void check_input(const ir::Graph& graph, const chip::Chip& chip) {
  ir::validate(graph);
  chip::validate(chip);
  check_products(graph, chip);
}

}  // namespace

shard::Sharding shard(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles,
                      int threads) {
  check_input(graph, chip);
  return shard::shard(graph, chip, shard::by_cuts(graph, chip, tiles), threads);
}

Plan compile(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles,
             const Options& options) {
  check_objective(chip, options);
  check_input(graph, chip);
  BoundsBook spaces{.bounds = {},
                    .wants_ideal = options.policy == schedule::Policy::Ideal,
                    .least = {},
                    .ideal = {}};
  if (options.policy == schedule::Policy::Vgm) {
    return compile_vgm(graph, chip, tiles, options, spaces);
  }
  Options asked = options;
  asked.policy = spaces.wants_ideal ? schedule::highest() : options.policy;
  Plan plan = options.pod == Pod::Pooled || chip.chips == 1
                  ? compile_whole(graph, chip, tiles, asked, spaces)
                  : compile_pod(graph, chip, tiles, asked, spaces);
  plan.policy = asked.policy;
  return concluded(graph, chip, tiles, std::move(plan), std::move(spaces), options.kept);
}

}  // namespace elk::compile
