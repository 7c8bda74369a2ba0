#include "elk/schedule/policies/elk_full.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "elk/base/parallel.hpp"
#include "elk/schedule/improve/anneal.hpp"
#include "elk/schedule/improve/sketch.hpp"
#include "elk/schedule/improve/suggested.hpp"
#include "elk/schedule/policies/placement.hpp"
#include "elk/schedule/policies/registry.hpp"
#include "elk/schedule/policies/searcher.hpp"

namespace elk::schedule {
namespace {

/// Parts of the room that chains from the best start leave unused: buffers in whole ranges of
/// addresses need more than their sum.
constexpr std::array<std::int64_t, 3> kLeftFree = {0, 3, 7};

/// What moves may cost at first: every second chain crosses more, where places have moves enough
/// to settle again; a part of it where the bound suggests what lies behind.
constexpr double kWarm = 0.1;
constexpr double kHot = 0.5;
constexpr double kKnowing = 0.25;
constexpr std::int64_t kMovesToSettle = 50;

/// Work (ops in a forecast) by effort.
struct Budget {
  std::size_t starts;
  std::int64_t orders;
  std::int64_t anneal;
  std::int64_t knowing;  // as `anneal`, where the bound suggests plans
  std::int64_t moves;    // of each place, at most: small models need no more
};

Budget budget(Effort effort) {
  switch (effort) {
    case Effort::Fast:
      return {
          .starts = 1, .orders = 200'000, .anneal = 1'000'000, .knowing = 1'000'000, .moves = 100};
    case Effort::Default:
      return {.starts = 2,
              .orders = 600'000,
              .anneal = 3'500'000,
              .knowing = 2'000'000,
              .moves = 1'500};
    case Effort::Max:
      return {.starts = 4,
              .orders = 10'000'000,
              .anneal = 100'000'000,
              .knowing = 100'000'000,
              .moves = 8'000};
  }
  return {.starts = 1, .orders = 0, .anneal = 0, .knowing = 0, .moves = 0};
}

/// A proposal with plans that the problem may not know yet.
struct Rewritten {
  Proposal proposal;
  std::vector<std::pair<std::int32_t, partition::ExecutePlan>> added;  // of ops
};

/// One chain of changes.
struct AnnealingStart {
  Proposal start;
  Arrangement arrangement;
};

Rewritten annealed(const Problem& problem, const AnnealingStart& chain,
                   const Contention& contention, const Budget& limits, AnnealingOptions options) {
  Problem own(problem);
  Sketch sketch(own, chain.start);
  const auto places = static_cast<std::int64_t>(sketch.places().all().size());
  const bool knows =
      std::any_of(options.suggested.begin(), options.suggested.end(),
                  [](const std::vector<Choice>& suggested) { return !suggested.empty(); });
  options.most =
      std::min(knows ? limits.knowing : options.most, limits.moves * places * sketch.work());
  if (options.most < kMovesToSettle * places * sketch.work()) {
    options.hot = kWarm;
  }
  options.hot *= knows ? kKnowing : 1.0;
  Watch::expect(options.watch, options.most);
  const AnnealingResult found = anneal(own, sketch, chain.arrangement, contention, options);
  Rewritten result{.proposal = sketch.proposal(found.arrangement), .added = {}};
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    const Choice& choice = result.proposal.choices[static_cast<std::size_t>(op)];
    if (static_cast<std::size_t>(choice.option) >= problem.front(op).options.size()) {
      result.added.emplace_back(op, own.option(op, choice).plan);
    }
  }
  return result;
}

Proposal with_plans(Problem& problem, const Rewritten& one) {
  Proposal result = one.proposal;
  for (const auto& [op, plan] : one.added) {
    result.choices[static_cast<std::size_t>(op)].option = problem.add(op, plan);
  }
  return result;
}

}  // namespace

std::size_t starts_of(Effort effort) { return budget(effort).starts; }

std::vector<Proposal> improve(Problem& problem, const std::vector<Proposal>& starts,
                              const Contention& contention, const FullOptions& options,
                              OrderSearch& search) {
  const Budget limits = budget(options.effort);
  std::vector<AnnealingStart> chains;
  std::vector<Proposal> result;
  for (const Proposal& start : starts) {
    AnnealingStart chain{
        .start = {.choices = start.choices,
                  .space = {.room = options.room, .preload_room = options.room, .not_before = {}}},
        .arrangement = {}};
    const Sketch sketch(problem, chain.start);
    chain.arrangement = best_order(problem, sketch, limits.orders, options.threads, search);
    result.push_back(sketch.proposal(chain.arrangement));
    chains.push_back(std::move(chain));
  }
  for (std::size_t i = 1; i < kLeftFree.size() && !starts.empty(); ++i) {
    AnnealingStart& chain = chains.emplace_back(chains.front());
    chain.start.space.room -= Bytes{options.room.value / kPartsOfRoom * kLeftFree[i]};
  }
  std::vector<std::size_t> seeds(chains.size());
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    seeds[i] = i;
  }
  const std::vector<std::vector<Choice>> suggestions = suggested(problem, options.room);
  const std::vector<Rewritten> found = parallel_map(
      seeds,
      [&](std::size_t i) {
        return annealed(problem, chains[i], contention, limits,
                        {.most = limits.anneal,
                         .seed = i,
                         .hot = i % 2 == 0 ? kWarm : kHot,
                         .watch = options.watch,
                         .suggested = suggestions});
      },
      options.threads);
  for (const Rewritten& one : found) {
    result.push_back(with_plans(problem, one));
  }
  return result;
}

template <>
void propose<Policy::ElkFull>(Searcher& search) {
  if (!search.problem().chip().hbm || search.stopped()) {
    return;
  }
  std::vector<Proposal> starts;
  for (const Contender& candidate : search.contenders()) {
    const bool known = std::any_of(starts.begin(), starts.end(), [&](const Proposal& other) {
      return other.choices == candidate.proposal.choices;
    });
    if (!known && starts.size() < starts_of(search.effort())) {
      starts.push_back(candidate.proposal);
    }
  }
  const FullOptions full{.effort = search.effort(),
                         .threads = search.threads(),
                         .room = search.room(),
                         .watch = search.watch()};
  for (Proposal& found :
       improve(search.problem(), starts, search.contention(), full, search.orders())) {
    search.keep(Policy::ElkFull, std::move(found));
  }
}

}  // namespace elk::schedule
