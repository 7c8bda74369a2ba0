#include "elk/schedule/policies/elk_full.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/mechanisms.hpp"
#include "elk/base/parallel.hpp"
#include "elk/schedule/improve/anneal.hpp"
#include "elk/schedule/improve/sketch.hpp"
#include "elk/schedule/policies/placement.hpp"
#include "elk/schedule/policies/registry.hpp"
#include "elk/schedule/policies/searcher.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"

namespace elk::schedule {
namespace {

/// Work (ops in a forecast) by effort.
struct Budget {
  std::int64_t orders;
  std::int64_t anneal;  // of each chain
  std::int64_t moves;   // of each place, at most: small models need no more
};

Budget budget(Effort effort) {
  switch (effort) {
    case Effort::Fast:
      return {.orders = 200'000, .anneal = 1'500'000, .moves = 150};
    case Effort::Default:
      return {.orders = 600'000, .anneal = 6'000'000, .moves = 3'000};
    case Effort::Max:
      return {.orders = 10'000'000, .anneal = 200'000'000, .moves = 16'000};
  }
  return {.orders = 0, .anneal = 0, .moves = 0};
}

/// One chain of changes.
struct AnnealingStart {
  Proposal start;
  Arrangement arrangement;
};

/// A proposal with plans that the problem may not know yet.
struct Rewritten {
  Proposal proposal;
  std::vector<std::pair<OpId, partition::ExecutePlan>> added;  // of ops
};

Rewritten annealed(const Problem& problem, const AnnealingStart& chain,
                   const Contention& contention, const Budget& limits,
                   const AnnealingOptions& options) {
  Problem own(problem);
  Sketch sketch(own, chain.start);
  const auto places = static_cast<std::int64_t>(sketch.places().all().size());
  AnnealingOptions limited = options;
  limited.most = std::min(options.most, limits.moves * places * sketch.work());
  Watch::expect(options.watch, limited.most);
  const AnnealingResult found = anneal(own, sketch, chain.arrangement, contention, limited);
  Rewritten result{.proposal = sketch.proposal(found.arrangement), .added = {}};
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    const Choice& choice = result.proposal.choices[op];
    if (static_cast<std::size_t>(choice.option) >= problem.front(op).options.size()) {
      result.added.emplace_back(op, own.option(op, choice).plan);
    }
  }
  return result;
}

Proposal with_plans(Problem& problem, const Rewritten& one) {
  Proposal result = one.proposal;
  for (const auto& [op, plan] : one.added) {
    result.choices[op].option = problem.add(op, plan).value();
  }
  return result;
}

}  // namespace

std::vector<Proposal> improve(Problem& problem, const Proposal& start, const Contention& contention,
                              const FullOptions& options, OrderSearch& search) {
  const Budget limits = budget(options.effort);
  AnnealingStart first{
      .start = {.choices = start.choices,
                .space = {.room = options.room, .preload_room = options.room, .not_before = {}}},
      .arrangement = {}};
  const Sketch sketch(problem, first.start);
  first.arrangement = best_order(problem, sketch, limits.orders, options.threads, search);
  std::vector<Proposal> result = {sketch.proposal(first.arrangement)};
  std::vector<std::size_t> chains(mechanisms().left_free ? tuning::kLeftFree.size() : 1);
  if (!mechanisms().annealing) {
    return result;
  }
  std::iota(chains.begin(), chains.end(), 0);
  const std::vector<Rewritten> found = parallel_map(
      chains,
      [&](std::size_t i) {
        AnnealingStart chain = first;
        chain.start.space.room -=
            Bytes{options.room.value / tuning::kPartsOfRoom * tuning::kLeftFree[i]};
        return annealed(problem, chain, contention, limits,
                        {.most = limits.anneal, .seed = i, .watch = options.watch});
      },
      options.threads);
  for (const Rewritten& one : found) {
    result.push_back(with_plans(problem, one));
  }
  return result;
}

template <>
void propose<Policy::ElkFull>(Searcher& search) {
  if (search.stopped() || search.contenders().empty()) {
    return;
  }
  const Proposal start = search.contenders().front().proposal;
  const FullOptions full{.effort = search.effort(),
                         .threads = search.threads(),
                         .room = search.room(),
                         .watch = search.watch()};
  for (Proposal& found :
       improve(search.problem(), start, search.contention(), full, search.orders())) {
    search.keep(Policy::ElkFull, std::move(found));
  }
}

}  // namespace elk::schedule
