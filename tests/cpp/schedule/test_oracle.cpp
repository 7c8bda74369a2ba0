#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/rounds.hpp"
#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/bound/bounds.hpp"
#include "elk/schedule/policies/ideal.hpp"
#include "elk/schedule/policies/search.hpp"
#include "schedule/oracle.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

constexpr std::size_t kOptions = 4;        // of each front, before a search adds to it
constexpr std::int64_t kMost = 4'000'000;  // beginnings of preload orders that a trial looks at

/// A model of three to six ops: products, some with a store, and others between them, around
/// residuals or not.
ir::Graph oracle_graph(Random& random) {
  const std::int64_t rows = test::one_of<std::int64_t, 4>(random, {1, 2, 4, 8});
  const std::array<std::int64_t, 3> widths{8, 16, 32};
  const std::int64_t ops = 3 + random.below(4);
  test::Net net;
  std::int64_t width = test::one_of(random, widths);
  TensorId x = net.tensor(ir::Home::Input, {rows, width});
  TensorId kept = x;
  std::int64_t kept_width = width;
  for (std::int64_t op = 0; op + 1 < ops; ++op) {
    const std::int64_t kind = random.below(8);
    if (kind < 5) {
      const std::int64_t wide = test::one_of(random, widths);
      x = TensorId{net.add(test::matmul(rows, wide, width), {x})};
      width = wide;
      if (kind == 0) {
        net.store(x);
      }
    } else if (kind == 5) {
      x = TensorId{net.add(test::bias_add(rows, width), {x})};
    } else if (width == kept_width) {
      x = TensorId{net.add(test::add_of(rows, width), {x, kept})};
      kept = x;
    } else {
      x = TensorId{net.add(test::exp_of(rows, width), {x})};
    }
  }
  net.add(test::matmul(rows, test::one_of(random, widths), width), {x}, ir::Home::Output);
  return net.done();
}

/// A number between `low` and `high`, as likely in each tenfold.
double rate_between(Random& random, double low, double high) {
  return low * std::pow(high / low, random.uniform());
}

/// A chip of four cores on which `graph` is tight, with links and an HBM from slow to fast.
chip::Chip oracle_chip(Random& random, const ir::Graph& graph) {
  constexpr std::int64_t kCores = 4;
  std::int64_t most = 0;
  for (const ir::Tensor& tensor : graph.tensors) {
    most = std::max(most, ir::bytes(tensor).value);
  }
  const double share = 0.5 + (2.0 * random.uniform());
  const auto sram = static_cast<std::int64_t>(share * static_cast<double>(most / kCores)) + 128;
  chip::Chip chip = test::tight_chip(kCores, sram / 8 * 8);
  chip.hbm->rate = rate_between(random, 3e8, 1e10);
  chip.hbm->port_rate = chip.hbm->rate;
  chip.hbm->latency = {1e-8};
  chip.interconnect.link_rate = rate_between(random, 2e8, 1e10);
  chip.interconnect.sync_latency = {1e-8};
  chip.core.sram_rate = 1e10;
  chip.core.remote_access_blocks = random.below(2) == 0;
  return chip;
}

/// A small model on a tight chip, with few plans of each op. Seeds make them.
struct Instance {
  ir::Graph graph;
  chip::Chip chip;
  tile::TileModel tiles;
  std::vector<cost::Front> fronts;
  Table<OpId, std::int32_t> front_of;

  explicit Instance(std::uint64_t seed) : Instance(Random{seed}) {}

  [[nodiscard]] Problem problem() const { return {graph, chip, tiles, fronts, front_of}; }
  /// Whether every op fits the chip by itself.
  [[nodiscard]] bool fits() const {
    return std::none_of(fronts.begin(), fronts.end(),
                        [](const cost::Front& front) { return front.options.empty(); });
  }

 private:
  explicit Instance(Random random)
      : graph(oracle_graph(random)), chip(oracle_chip(random, graph)), tiles(test::analytic()) {
    const Problem whole = test::problem(graph, chip, tiles);
    front_of = whole.front_of();
    for (const cost::Front& front : whole.fronts()) {
      fronts.push_back(test::thinned(front, kOptions));
    }
  }
};

/// Calls `visit` with the seed and the instance of `count` seeds, where ops fit.
template <class Visit>
void for_each_instance(int first, int count, const Visit& visit) {
  for (int seed = first; seed < first + count; ++seed) {
    const Instance instance(static_cast<std::uint64_t>(seed));
    if (instance.fits()) {
      visit(seed, instance);
    }
  }
}

std::optional<double> full_seconds(Problem& problem) {
  try {
    return search(problem, {.policy = Policy::ElkFull, .threads = 1}).times.total.value;
  } catch (const Infeasible&) {
    return std::nullopt;
  }
}

/// Expects `best` to take as long as the forecast says and, where it finds addresses, to be sound.
/// Returns whether it does: what fits in sum may have none.
bool expect_sound(Problem& problem, const test::Optimum& best) {
  const Schedule& schedule = best.schedule;
  EXPECT_EQ(timing(problem, situation(problem, schedule.ops), schedule.preload_order,
                   schedule.issued_before)
                .total.value,
            best.seconds);
  program::Program program = unplaced_program(problem, schedule);
  auto placed = program::place(program.buffers, chip::room(problem.chip()));
  if (!placed) {
    return false;
  }
  program.buffers = std::move(*placed);
  EXPECT_EQ(program::check(problem.graph(), problem.chip(), program), (std::vector<std::string>{}));
  return true;
}

TEST(Oracle, LiesBetweenTheProvedBoundAndElkFullAndNearBoth) {
  constexpr double kRounding = 1.0 - 1e-12;
  int models = 0;
  int placed = 0;
  int reordered = 0;
  double sum = 0.0;
  double nearest = 0.0;
  for_each_instance(1000, test::rounds(300), [&](int seed, const Instance& instance) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem = instance.problem();
    const double bound = bounds(problem, fastest_alone(problem).times.total).lower_bound.value;
    const std::optional<double> found = full_seconds(problem);
    const test::Trial trial = test::Oracle(problem).best(kMost);  // with plans of the search
    if (!trial.complete) {
      return;
    }
    EXPECT_EQ(found.has_value(), trial.best.has_value());
    if (found && trial.best) {
      const double gap = *found / trial.best->seconds;
      EXPECT_GE(gap, kRounding);
      EXPECT_LE(gap, 1.15);
      EXPECT_LE(bound, trial.best->seconds);
      placed += expect_sound(problem, *trial.best) ? 1 : 0;
      sum += gap;
      nearest = std::max(nearest, bound / trial.best->seconds);
      reordered += trial.best->schedule.preload_order != problem.loaded() ? 1 : 0;
      ++models;
    }
  });
  EXPECT_GE(models, test::rounds(200));
  EXPECT_GT(placed, 0.98 * models);
  EXPECT_GT(reordered, test::rounds(15));
  EXPECT_LE(sum / models, 1.03);
  EXPECT_GT(nearest, 0.95);  // a bound of nothing would hold, too
}

/// Trial of everything without shortcuts: each schedule is forecast and has its buffers listed.
class PlainTrial {
 public:
  explicit PlainTrial(Problem& problem) : problem_(problem), room_(chip::room(problem.chip())) {}

  double least() {
    choose();
    return least_;
  }

 private:
  void choose() {
    const auto op = id_at<OpId>(choices_.size());
    if (op.value == problem_.op_count()) {
      now_ = situation(problem_, choices_);
      issue(std::vector<std::int32_t>(choices_.size(), 0), OpId{0});
      return;
    }
    const auto& options = problem_.front(op).options;
    for (std::size_t option = 0; option < options.size(); ++option) {
      for (std::size_t state = 0; state < options[option].states.size(); ++state) {
        choices_.push_back({.option = static_cast<std::int32_t>(option),
                            .state = static_cast<std::int32_t>(state)});
        choose();
        choices_.pop_back();
      }
    }
  }

  void issue(const std::vector<std::int32_t>& before, OpId first) {
    if (order_.size() == problem_.loaded().size()) {
      run(before);
    }
    for (const OpId op : problem_.loaded()) {
      if (std::find(order_.begin(), order_.end(), op) != order_.end()) {
        continue;
      }
      order_.push_back(op);
      for (OpId slot = first; slot <= op; ++slot) {
        std::vector<std::int32_t> with(before);
        for (auto k = slot; k.index() < with.size(); ++k) {
          ++with[k.index()];
        }
        issue(with, slot);
      }
      order_.pop_back();
    }
  }

  void run(const std::vector<std::int32_t>& before) {
    const Schedule schedule{.ops = choices_, .preload_order = order_, .issued_before = before};
    const double seconds = timing(problem_, now_, order_, before).total.value;
    if (test::most_used(unplaced_program(problem_, schedule)) <= room_) {
      least_ = std::min(least_, seconds);
    }
  }

  Problem& problem_;
  Bytes room_;
  Table<OpId, Choice> choices_;
  std::vector<OpId> order_;
  Situation now_;
  double least_ = std::numeric_limits<double>::infinity();
};

TEST(Oracle, AgreesWithTrialWithoutShortcuts) {
  int models = 0;
  for_each_instance(2000, test::rounds(150), [&](int seed, const Instance& instance) {
    Problem problem = instance.problem();
    std::int64_t choices = 1;
    for (const OpId op : first_ids<OpId>(problem.op_count())) {
      std::int64_t own = 0;
      for (const cost::PlanOption& option : problem.front(op).options) {
        own += static_cast<std::int64_t>(option.states.size());
      }
      choices *= own;
    }
    if (choices > 64 || problem.loaded().size() > 4) {
      return;
    }
    ++models;
    const double least = PlainTrial(problem).least();
    const test::Trial trial = test::Oracle(problem).best(kMost);
    ASSERT_EQ(trial.best.has_value(), least < std::numeric_limits<double>::infinity())
        << "seed " << seed;
    if (trial.best) {
      EXPECT_EQ(trial.best->seconds, least) << "seed " << seed;
    }
  });
  EXPECT_GT(models, test::rounds(15));
}

}  // namespace
}  // namespace elk::schedule
