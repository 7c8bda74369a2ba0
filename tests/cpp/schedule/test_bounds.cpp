#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
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
#include "elk/schedule/timing/evaluate.hpp"
#include "schedule/every_cut.hpp"
#include "schedule/exhaustive.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

ir::Graph tiny_graph(Random& random) {
  const std::int64_t rows = test::one_of<std::int64_t, 3>(random, {1, 2, 4});
  const std::int64_t width = test::one_of<std::int64_t, 3>(random, {8, 12, 16});
  test::Net net;
  TensorId x = net.tensor(ir::Home::Input, {rows, width});
  const std::int64_t kind = random.below(4);
  if (kind == 0) {
    x = TensorId{net.add(test::exp_of(rows, width), {x})};
  } else if (kind == 1) {
    x = TensorId{net.add(test::bias_add(rows, width), {x})};
  } else if (kind == 2) {
    x = TensorId{net.add(test::matmul(rows, width, width), {x})};
  }
  net.add(test::matmul(rows, width, width), {x}, ir::Home::Output);
  return net.done();
}

/// A chip of four cores on which hundreds of bytes matter.
chip::Chip tiny_chip(Random& random) {
  chip::Chip chip =
      random.below(4) == 0
          ? test::grid_chip(2, 2, 400 + random.below(600))
          : test::tight_chip(4, test::one_of<std::int64_t, 4>(random, {320, 480, 800, 4096}));
  chip.hbm->rate = test::one_of<double, 3>(random, {2e8, 2e9, 2e10});
  chip.hbm->port_rate = chip.hbm->rate;
  chip.hbm->latency = {1e-8};
  chip.interconnect.link_rate = test::one_of<double, 3>(random, {2e8, 1e9, 8e9});
  chip.interconnect.sync_latency = {1e-8};
  chip.core.remote_access_blocks = random.below(2) == 0;
  return chip;
}

TEST(Bounds, LieBelowTheBestOfEveryChoiceOnTinyModels) {
  const tile::TileModel tiles = test::analytic();
  Random random{23};
  std::int64_t tried = 0;
  int models = 0;
  double nearest = 0.0;
  for (int round = 0; round < test::rounds(40); ++round) {
    const ir::Graph graph = tiny_graph(random);
    const chip::Chip chip = tiny_chip(random);
    Problem problem = test::problem(graph, chip, tiles);
    if (!test::all_fit(problem)) {
      continue;
    }
    const Bounds found = bounds(problem, fastest_alone(problem).times.total);
    test::add_cuts(problem);
    test::Exhaustive all(problem);
    const double least = all.least();
    if (all.tried() == 0) {
      continue;
    }
    ++models;
    tried += all.tried();
    nearest = std::max(nearest, found.lower_bound.value / least);
    EXPECT_LE(found.lower_bound.value, least) << "round " << round;
  }
  EXPECT_GT(models, test::rounds(25));
  EXPECT_GT(tried, test::rounds(10000));
  EXPECT_GT(nearest, 0.8);  // a bound of nothing would hold, too
}

TEST(Search, IsNeverBetterThanTrialAndSeldomMuchWorse) {
  const tile::TileModel tiles = test::analytic();
  Random random{29};
  int models = 0;
  double sum = 0.0;
  for (int round = 0; round < test::rounds(30); ++round) {
    const ir::Graph graph = tiny_graph(random);
    const chip::Chip chip = tiny_chip(random);
    Problem problem = test::problem(graph, chip, tiles);
    if (!test::all_fit(problem)) {
      continue;
    }
    std::optional<double> total;
    try {
      total = search(problem, {.policy = Policy::ElkDyn, .threads = 1}).times.total.value;
    } catch (const Infeasible&) {
    }
    const double least = test::Exhaustive(problem).least();  // with the plans that the search added
    if (total) {
      EXPECT_GE(*total, least * (1.0 - 1e-12)) << "round " << round;
      sum += *total / least;
      ++models;
    } else {
      EXPECT_EQ(least, std::numeric_limits<double>::infinity()) << "round " << round;
    }
  }
  EXPECT_GT(models, test::rounds(15));
  EXPECT_LT(sum / models, 1.02);
}

TEST(Bounds, HoldForEveryPolicyOnRandomModels) {
  const tile::TileModel tiles = test::analytic();
  Random random{31};
  int models = 0;
  for (int round = 0; round < test::rounds(40); ++round) {
    const ir::Graph graph = test::random_graph(random);
    const chip::Chip chip = test::random_chip(random);
    Problem problem = test::problem(graph, chip, tiles);
    if (!test::all_fit(problem)) {
      continue;
    }
    const Bounds found = bounds(problem, fastest_alone(problem).times.total);
    EXPECT_LE(found.hbm, found.lower_bound);
    EXPECT_LE(found.execute, found.lower_bound);
    EXPECT_LE(found.link, found.lower_bound);
    for (const Policy policy : {Policy::Basic, Policy::Static, Policy::ElkDyn}) {
      std::optional<Found> plan;
      try {
        plan = search(problem, {.policy = policy, .threads = 1});
      } catch (const Infeasible&) {
        continue;
      }
      ++models;
      EXPECT_LE(found.lower_bound, plan->times.total) << "round " << round << name(policy);
      double read = 0.0;
      for (const OpId op : first_ids<OpId>(problem.op_count())) {
        read += static_cast<double>(problem.state(op, plan->schedule.ops[op]).hbm_bytes);
      }
      EXPECT_LE(found.hbm.value, read / (chip.hbm->rate * static_cast<double>(chip.chips)));
    }
  }
  EXPECT_GT(models, test::rounds(80));
}

TEST(Bounds, HoldWithoutHbmWhereWeightsRestOnChip) {
  const tile::TileModel tiles = test::analytic();
  Random random{37};
  int models = 0;
  double nearest = 0.0;
  for (int round = 0; round < test::rounds(40); ++round) {
    const ir::Graph graph = test::random_graph(random);
    chip::Chip chip = test::random_chip(random);
    chip.hbm.reset();
    chip.core.sram = {4 * chip.core.sram.value};
    Problem problem = test::problem(graph, chip, tiles);
    if (!test::all_fit(problem)) {
      continue;
    }
    const Bounds found = bounds(problem, fastest_alone(problem).times.total);
    EXPECT_EQ(found.hbm.value, 0.0);
    for (const Policy policy : {Policy::Basic, Policy::ElkDyn}) {
      std::optional<Found> plan;
      try {
        plan = search(problem, {.policy = policy, .threads = 1});
      } catch (const Infeasible&) {
        continue;
      }
      ++models;
      nearest = std::max(nearest, found.lower_bound.value / plan->times.total.value);
      EXPECT_LE(found.lower_bound, plan->times.total) << "round " << round << name(policy);
    }
  }
  EXPECT_GT(models, test::rounds(50));
  EXPECT_GT(nearest, 0.8);
}

/// Bytes of its HBM operands that a core holds of its partition, or receives for it.
std::int64_t hbm_space(const Problem& problem, const cost::PlanOption& option) {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < option.footprint.tensors.size(); ++k) {
    const auto& tensor = problem.graph().tensors[option.footprint.tensors[k]];
    const bool stays = tensor.home == ir::Home::Weight || tensor.home == ir::Home::State;
    sum += stays ? option.footprint.tensor[k].value : 0;
  }
  return sum;
}

/// Whether an execute of `op` is no less than some corner of its floor in time and in what its
/// busiest core receives.
bool keeps_above_its_floor(Problem& problem, OpId op, const Table<OpId, Choice>& choices) {
  const cost::PlanOption& option = problem.option(op, choices[op]);
  const cost::ExchangeCost gather = problem.in_place(op, choices).gather;
  const double time =
      gather.time.value + option.compute.value + option.shift.time.value + option.reduce.time.value;
  const std::int64_t received = gather.bytes.value + option.shift.bytes.value +
                                option.reduce.bytes.value + hbm_space(problem, option);
  const std::vector<cost::Corner>& corners = problem.front(op).floor.corners;
  return std::any_of(corners.begin(), corners.end(), [&](const cost::Corner& corner) {
    return corner.execute.value <= time * (1.0 + 1e-9) && corner.link.value <= received;
  });
}

/// Whether a plan that fits uses the ports no less than the floor says, where it is they that bind
/// and exchanges do not hide.
bool uses_ports_above_its_floor(Problem& problem, OpId op, const Table<OpId, Choice>& choices) {
  const cost::PlanOption& option = problem.option(op, choices[op]);
  double idle = option.compute.value;
  std::int64_t carried = 0;
  for (const cost::ExchangeCost& exchange :
       {problem.in_place(op, choices).gather, option.shift, option.reduce}) {
    idle += exchange.time.value - exchange.wire.value;
    carried += exchange.bytes.value;
  }
  const std::int64_t loaded = hbm_space(problem, option);  // Shifts may bring the rest.
  const std::vector<cost::PortUse>& uses = problem.front(op).floor.port_uses;
  return problem.chip().interconnect.overlaps_compute || chip::routed(problem.chip()) ||
         option.footprint.space > chip::room(problem.chip()) ||
         std::any_of(uses.begin(), uses.end(), [&](const cost::PortUse& use) {
           return use.idle.value <= idle * (1.0 + 1e-9) && use.carried.value <= carried &&
                  use.loaded.value <= loaded + option.shift.bytes.value &&
                  use.carried.value + use.loaded.value <= carried + loaded;
         });
}

/// Every choice of plans for the ops, each after those that feed it, `draws` times by chance.
int draw_choices(Problem& problem, Random& random, int draws) {
  int checked = 0;
  for (int draw = 0; draw < draws; ++draw) {
    Table<OpId, Choice> choices;
    for (const OpId op : first_ids<OpId>(problem.op_count())) {
      const auto options = static_cast<std::int64_t>(problem.front(op).options.size());
      choices.push_back({.option = static_cast<std::int32_t>(random.below(options)), .state = 0});
    }
    for (const OpId op : first_ids<OpId>(problem.op_count())) {
      EXPECT_TRUE(keeps_above_its_floor(problem, op, choices))
          << problem.graph().ops[op].name << " draw " << draw;
      EXPECT_TRUE(uses_ports_above_its_floor(problem, op, choices))
          << problem.graph().ops[op].name << " draw " << draw;
      ++checked;
    }
  }
  return checked;
}

// Options that the search adds follow what their neighbours hold: these gather least.
TEST(Bounds, NoExecuteUndercutsItsFloorWhateverRestsWhere) {
  const tile::TileModel tiles = test::analytic();
  Random random{37};
  int checked = 0;
  for (int round = 0; round < test::rounds(60); ++round) {
    const ir::Graph graph = round % 3 == 0 ? tiny_graph(random) : test::random_graph(random);
    chip::Chip chip = round % 3 == 0 ? tiny_chip(random) : test::random_chip(random);
    chip.interconnect.overlaps_compute = random.below(4) == 0;
    Problem problem = test::problem(graph, chip, tiles);
    if (!test::all_fit(problem)) {
      continue;
    }
    try {
      static_cast<void>(search(problem, {.policy = Policy::ElkDyn, .threads = 1}));
    } catch (const Infeasible&) {
    }
    for (OpId op{0}; round % 3 == 0 && op.value < problem.op_count(); ++op) {
      Table<AxisId, std::int64_t> factors;
      test::add_cuts(problem, op, factors);
    }
    checked += draw_choices(problem, random, 60);
  }
  EXPECT_GT(checked, test::rounds(10000));
}

TEST(Bounds, CountEveryWeightOnceForTheHbm) {
  const ir::Graph graph = test::chain(5, 8, 64, false);
  const chip::Chip chip = test::tight_chip(16, 65536);
  const tile::TileModel tiles = test::analytic();
  Problem problem = test::problem(graph, chip, tiles);
  const Bounds found = bounds(problem, {1.0});
  EXPECT_EQ(found.ideal, Seconds{1.0});
  EXPECT_NEAR(found.hbm.value, 5.0 * 64.0 * 64.0 * 2.0 / 64e9, 1e-15);
}

TEST(Bounds, CountAWeightThatAnOpReadsTwiceAlikeOnce) {
  test::Net net;
  const TensorId weight = net.tensor(ir::Home::Weight, {8, 64});
  net.add(test::add_of(8, 64), {weight, weight}, ir::Home::Output);
  const ir::Graph graph = net.done();
  const chip::Chip chip = test::tight_chip(16, 65536);
  const tile::TileModel tiles = test::analytic();
  Problem problem = test::problem(graph, chip, tiles);
  EXPECT_NEAR(bounds(problem, {1.0}).hbm.value, 8.0 * 64.0 * 2.0 / 64e9, 1e-15);
}

// Two weights of 8 KiB in 16 cores: no room for both until a core has 1 KiB.
TEST(Bounds, AddUpWhatCannotBeOnChipAtTheSameTime) {
  const ir::Graph graph = test::chain(2, 4, 64, false);
  const tile::TileModel tiles = test::analytic();
  const auto found = [&](std::int64_t sram) {
    const chip::Chip chip = test::tight_chip(16, sram);
    Problem problem = test::problem(graph, chip, tiles);
    const Bounds bound = bounds(problem, {1.0});
    EXPECT_LE(bound.lower_bound,
              search(problem, {.policy = Policy::ElkDyn, .threads = 1}).times.total);
    return bound;
  };
  const Bounds tight = found(960);
  EXPECT_NEAR(tight.lower_bound.value, tight.hbm.value + tight.execute.value,
              1e-6 * tight.lower_bound.value);
  const Bounds roomy = found(4096);
  EXPECT_LT(roomy.lower_bound.value, 0.9 * (roomy.hbm.value + roomy.execute.value));
}

/// Every op at its best takes `execute`, during `idle` of which its ports carry nothing, and puts
/// 200 bytes on links.
void use_ports(std::vector<cost::Front>& fronts, Seconds execute, Seconds idle) {
  for (cost::Front& front : fronts) {
    front.floor.corners = {{.execute = execute, .link = {200}, .hbm_bytes = 0}};
    front.floor.execute = execute;
    front.floor.layout_floor = nullptr;
    front.floor.port_uses = {{.idle = idle, .carried = {200}, .loaded = {0}}};
  }
}

// Seven ops compute 40 ns each and exchange 40 ns. Six of them have weights, which take the HBM
// 768 ns and s = 4/5 of all ports. While the ops compute, 280 ns' worth of them come in; what is
// left fills the ports for 4/5 (768 - 280) ns, beside the 280 ns of the exchanges.
TEST(Bounds, CountPreloadsThatMeetExchangesAtThePorts) {
  const ir::Graph graph = test::chain(6, 8, 64, false);
  ASSERT_EQ(graph.ops.size(), 7);
  chip::Chip chip = test::tight_chip(16, 65536);
  chip.interconnect.link_rate = 5e9;
  const tile::TileModel tiles = test::analytic();
  const Problem priced = test::problem(graph, chip, tiles);
  std::vector<cost::Front> fronts = priced.fronts();
  use_ports(fronts, {80e-9}, {40e-9});
  const Problem problem(graph, chip, tiles, fronts, priced.front_of());
  const Bounds found = bounds(problem, {1.0});
  EXPECT_NEAR(found.hbm.value, 768e-9, 1e-14);
  EXPECT_NEAR(found.lower_bound.value, (280 + 280 + 0.8 * (768 - 280)) * 1e-9, 1e-14);
  chip.interconnect.overlaps_compute = true;  // The exchanges may hide.
  const Problem hiding(graph, chip, tiles, fronts, priced.front_of());
  EXPECT_LT(bounds(hiding, {1.0}).lower_bound, found.lower_bound);
}

// Each op has 150 ns that are no exchange, so that the HBM's 768 ns fit in. Three of the
// weights are copied and fill the ports for 250 ns each. At 4/5 of a second for each second of a
// preload, these cost 200 ns, the others 4/5 of 128 ns.
TEST(Bounds, CountCopiesThatMeetExchangesAtThePorts) {
  const ir::Graph graph = test::chain(6, 8, 64, false);
  chip::Chip chip = test::tight_chip(16, 65536);
  chip.interconnect.link_rate = 5e9;
  const tile::TileModel tiles = test::analytic();
  const Problem priced = test::problem(graph, chip, tiles);
  std::vector<cost::Front> fronts = priced.fronts();
  use_ports(fronts, {40e-9}, {150e-9});
  Table<OpId, std::int32_t> front_of = priced.front_of();
  const auto copied = static_cast<std::int32_t>(fronts.size());
  const std::vector<OpId> loaded = priced.loaded();
  ASSERT_EQ(loaded.size(), 6);
  fronts.push_back(fronts[static_cast<std::size_t>(front_of[loaded.front()])]);
  fronts.back().floor.port_uses.front().loaded = {1250};
  for (std::size_t k = 0; k < 3; ++k) {
    front_of[loaded[k]] = copied;
  }
  const Problem problem(graph, chip, tiles, fronts, front_of);
  EXPECT_NEAR(bounds(problem, {1.0}).lower_bound.value,
              ((0.2 * 1050) + 280 + (0.8 * ((3 * 250) + (3 * 128)))) * 1e-9, 1e-14);
}

TEST(Bounds, NeedNoHbm) {
  const ir::Graph graph = test::chain(5, 8, 64, false);
  const chip::Chip chip = test::without_hbm(test::tight_chip(16, 65536));
  const tile::TileModel tiles = test::analytic();
  Problem problem = test::problem(graph, chip, tiles);
  const Bounds found = bounds(problem, {1.0});
  EXPECT_EQ(found.hbm, Seconds{0.0});
  EXPECT_GT(found.execute, Seconds{0.0});
  EXPECT_LE(found.lower_bound,
            search(problem, {.policy = Policy::ElkDyn, .threads = 1}).times.total);
}

}  // namespace
}  // namespace elk::schedule
