#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rounds.hpp"
#include "elk/base/errors.hpp"
#include "elk/base/random.hpp"
#include "elk/schedule/policies/finals.hpp"
#include "elk/schedule/policies/search.hpp"
#include "schedule/problems.hpp"

/// Searches on grids whose links are counted of what was chosen alone, as on wafers.
namespace elk::schedule {
namespace {

/// A judge that knows nothing of forecasts: no plan is better for it because it is forecast so.
std::vector<Seconds> by_chance(std::span<const program::Program* const> programs) {
  std::vector<Seconds> result;
  for (const program::Program* program : programs) {
    std::uint64_t mixed = 7;
    const auto mix = [&](std::int64_t number) {
      mixed = (mixed ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15U;
      mixed ^= mixed >> 31U;
    };
    for (const program::OpPlan& op : program->ops) {
      std::for_each(op.execute.factors.begin(), op.execute.factors.end(), mix);
      std::for_each(op.execute.order.begin(), op.execute.order.end(), mix);
      std::for_each(op.divisor.begin(), op.divisor.end(), mix);
    }
    for (const program::Instruction& step : program->code) {
      mix(step.subject);
    }
    result.push_back({1.0 + static_cast<double>(mixed % 1000)});
  }
  return result;
}

struct Searched {
  ir::Graph graph;
  chip::Chip chip;
};

Searched random_case(Random& random) {
  chip::Chip chip = test::grid_chip(3 + random.below(3), 3 + random.below(3),
                                    random.below(2) == 0 ? 24576 : 131072);
  chip.interconnect.link_rate = test::one_of<double, 3>(random, {2e8, 1e9, 5e9});
  chip.interconnect.multicast = random.below(4) != 0;
  return {.graph = test::random_graph(random), .chip = chip};
}

std::optional<Found> result(const Searched& one, Policy policy, Effort effort) {
  const tile::TileModel tiles = test::analytic();
  Problem problem = test::problem(one.graph, one.chip, tiles, {}, {.most_cores = 0});
  const bool fits = std::all_of(problem.fronts().begin(), problem.fronts().end(),
                                [](const cost::Front& front) { return !front.options.empty(); });
  if (!fits) {
    return std::nullopt;
  }
  EXPECT_TRUE(problem.recounts());
  try {
    Found found =
        search(problem, {.policy = policy, .effort = effort, .threads = 1, .judge = by_chance});
    EXPECT_EQ(program::check(one.graph, one.chip, found.program), (std::vector<std::string>{}));
    // What it says is what the problem, which the caller has, says of the same choices.
    Found again = found;
    reprice(problem, again);
    EXPECT_EQ(again.times.total, found.times.total);
    return found;
  } catch (const Infeasible&) {
    return std::nullopt;
  }
}

Seconds judged(const Found& found) {
  const std::array<const program::Program*, 1> alone{&found.program};
  return by_chance(alone).front();
}

TEST(Efforts, ReturnNothingWorseForMoreOfThem) {
  Random random{47};
  int better = 0;
  int models = 0;
  for (int round = 0; round < test::rounds(15); ++round) {
    const Searched one = random_case(random);
    for (const Policy policy : policies_to(Policy::ElkFull)) {
      const std::optional<Found> fast = result(one, policy, Effort::Fast);
      std::optional<Found> less = fast;
      for (const Effort effort : {Effort::Default, Effort::Max}) {
        if (effort == Effort::Max && policy == Policy::ElkFull) {
          continue;  // takes seconds
        }
        const std::optional<Found> more = result(one, policy, effort);
        ASSERT_EQ(less.has_value(), more.has_value()) << "round " << round;
        if (more) {
          EXPECT_LE(judged(*more), judged(*less)) << "round " << round << ' ' << name(policy);
          EXPECT_LE(more->least.back(), less->least.back()) << "round " << round;
          ++models;
          better += more->least.back() < less->least.back() ? 1 : 0;
        }
        less = more;
      }
    }
  }
  EXPECT_GT(models, test::rounds(60));
  EXPECT_GT(better, test::rounds(5));
}

TEST(Efforts, LeaveAPolicyWhatItFindsUnderThoseAbove) {
  Random random{53};
  for (int round = 0; round < test::rounds(6); ++round) {
    const Searched one = random_case(random);
    for (const Effort effort : {Effort::Fast, Effort::Default}) {
      const std::optional<Found> full = result(one, Policy::ElkFull, effort);
      for (const Policy policy : policies_to(Policy::ElkDyn)) {
        const std::optional<Found> alone = result(one, policy, effort);
        ASSERT_LE(alone.has_value(), full.has_value()) << "round " << round;
        for (std::size_t i = 0; alone && i < alone->least.size(); ++i) {
          EXPECT_EQ(alone->least[i], full->least[i]) << "round " << round << ' ' << name(policy);
        }
      }
    }
  }
}

void expect_same(const Found& a, const Found& b) {
  EXPECT_EQ(a.schedule, b.schedule);
  EXPECT_EQ(a.times.total, b.times.total);
  EXPECT_EQ(a.program.buffers, b.program.buffers);
  EXPECT_EQ(a.origin, b.origin);
  EXPECT_EQ(a.raw, b.raw);
  EXPECT_EQ(a.judged, b.judged);
  EXPECT_EQ(a.considered, b.considered);
  EXPECT_EQ(a.least, b.least);
}

std::size_t options(const Problem& problem) {
  std::size_t sum = 0;
  for (const cost::Front& front : problem.fronts()) {
    sum += front.options.size();
  }
  return sum;
}

/// What each policy is told: by itself on a problem of its own; after those below it; and on a copy
/// that is asked when those above it have proposed.
void expect_same_in_any_order(const Searched& one, const LinkCountOptions& counting) {
  const tile::TileModel tiles = test::analytic();
  const auto afresh = [&] { return test::problem(one.graph, one.chip, tiles, {}, counting); };
  Problem problem = afresh();
  PolicySearch searches(problem, Effort::Fast);
  std::vector<std::unique_ptr<Problem>> copies;
  std::vector<std::unique_ptr<PolicySearch>> before;
  const auto asked = [](Policy policy) {
    return SearchOptions{
        .policy = policy, .effort = Effort::Fast, .threads = 1, .judge = by_chance};
  };
  const std::vector<Policy> policies = policies_to(Policy::ElkFull);
  for (const Policy policy : policies) {
    searches.propose(asked(policy));
    copies.push_back(std::make_unique<Problem>(problem));
    before.push_back(std::make_unique<PolicySearch>(searches, *copies.back()));
    const SearchOptions options_of = asked(policy);
    Problem own = afresh();
    std::optional<Found> alone;
    try {
      alone = search(own, options_of);
    } catch (const Infeasible&) {
      EXPECT_THROW(static_cast<void>(searches.best(options_of)), Infeasible);
    }
    EXPECT_EQ(options(problem), options(own));
    if (alone) {
      expect_same(searches.best(options_of), *alone);
      expect_same(searches.best(options_of), *alone);
    }
  }
  for (std::size_t i = policies.size(); i-- > 0;) {
    const SearchOptions options_of = asked(policies[i]);
    Problem own = afresh();
    try {
      const Found alone = search(own, options_of);
      expect_same(before[i]->best(options_of), alone);
      EXPECT_EQ(options(*copies[i]), options(own));
    } catch (const Infeasible&) {
      EXPECT_THROW(static_cast<void>(before[i]->best(options_of)), Infeasible);
    }
  }
}

TEST(PolicySearch, TellsEveryPolicyWhatItFindsByItself) {
  Random random{48};
  for (int round = 0; round < test::rounds(2); ++round) {
    Searched one = random_case(random);
    const tile::TileModel tiles = test::analytic();
    const Problem counted = test::problem(one.graph, one.chip, tiles, {}, {});
    if (std::any_of(counted.fronts().begin(), counted.fronts().end(),
                    [](const cost::Front& front) { return front.options.empty(); })) {
      continue;
    }
    expect_same_in_any_order(one, {.most_cores = 0});
    expect_same_in_any_order(one, {});
    one.chip.interconnect.topology = chip::Topology::AllToAll;
    expect_same_in_any_order(one, {});
  }
}

}  // namespace
}  // namespace elk::schedule
