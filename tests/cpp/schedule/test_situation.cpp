#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/program/program.hpp"
#include "elk/schedule/timing/draft.hpp"
#include "elk/schedule/timing/evaluate.hpp"
#include "schedule/problems.hpp"

namespace elk::schedule {
namespace {

Table<OpId, Choice> random_choices(const Problem& problem, Random& random) {
  Table<OpId, Choice> result;
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    const auto& options = problem.front(op).options;
    const auto option =
        static_cast<std::size_t>(random.below(static_cast<std::int64_t>(options.size())));
    const auto states = static_cast<std::int64_t>(options[option].states.size());
    result.push_back({.option = static_cast<std::int32_t>(option),
                      .state = static_cast<std::int32_t>(random.below(states))});
  }
  return result;
}

/// What choices occupy: as capacity counts it, and as the buffers of their program do.
struct Occupied {
  std::vector<program::Instruction> code;
  std::vector<Bytes> believed;  // at every instruction: at the next execute
  std::vector<Bytes> actual;
};

Occupied occupied(Problem& problem, const Table<OpId, Choice>& choices, Bytes room) {
  const Situation now = situation(problem, choices);
  const Issue issue = schedule::issue(problem, now, problem.loaded(),
                                      {.room = room, .preload_room = room, .not_before = {}});
  EXPECT_FALSE(issue.shortage);
  Table<OpId, program::OpPlan> ops;
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    const Choice& choice = choices[op];
    ops.push_back(
        {.execute = problem.option(op, choice).plan, .divisor = problem.state(op, choice).divisor});
  }
  Occupied result{.code = program::issue(problem.graph(), problem.loaded(), issue.issued_before),
                  .believed = {},
                  .actual = {}};
  result.actual = program::occupancy(
      program::buffers(problem.graph(), problem.chip(), ops, result.code), result.code.size());
  std::vector<Bytes> waiting;
  Bytes held{0};
  for (const program::Instruction& step : result.code) {
    const auto op = id_at<OpId>(step.subject);
    held += step.opcode == program::Opcode::Preload ? now.piece[op] : Bytes{0};
    const bool executes = step.opcode == program::Opcode::Execute;
    result.believed.push_back(now.idle + held + (executes ? now.base[op] : Bytes{0}));
    held -= step.opcode == program::Opcode::Execute ? now.piece[op] : Bytes{0};
  }
  return result;
}

/// Room for the op that needs most, and a part of that for preloads.
Bytes some_room(Problem& problem, const Table<OpId, Choice>& choices) {
  const Situation now = situation(problem, choices);
  Bytes most{0};
  for (const OpId i : now.base.ids()) {
    most = std::max(most, now.base[i] + now.piece[i]);
  }
  return most + Bytes{most.value / 4};
}

TEST(Situation, IsWhatTheBuffersOfTheProgramOccupy) {
  const tile::TileModel tiles = test::analytic();
  Random random{3};
  for (int round = 0; round < 40; ++round) {
    ir::Graph graph = test::random_graph(random);
    graph.stores.clear();
    chip::Chip chip = test::random_chip(random);
    chip.core.sram = {1 << 20};
    Problem problem = test::problem(graph, chip, tiles);
    const Table<OpId, Choice> choices = random_choices(problem, random);
    const Occupied found = occupied(problem, choices, some_room(problem, choices));
    Bytes next{0};
    for (std::size_t i = found.code.size(); i-- > 0;) {
      if (found.code[i].opcode == program::Opcode::Execute) {
        next = found.believed[i];
        EXPECT_EQ(found.actual[i], found.believed[i])
            << "round " << round << ", execute of op " << found.code[i].subject;
      } else {
        EXPECT_LE(found.actual[i], next) << "round " << round << ", instruction " << i;
      }
    }
  }
}

TEST(Situation, IsShortOfTheBuffersOnlyByWhatIsBeingStored) {
  const tile::TileModel tiles = test::analytic();
  Random random{7};
  const ir::Graph graph = test::transformer({.layers = 4});
  const chip::Chip chip = test::tight_chip(16, 1 << 20);
  Problem problem = test::problem(graph, chip, tiles);
  for (int round = 0; round < 20; ++round) {
    const Table<OpId, Choice> choices = random_choices(problem, random);
    const Occupied found = occupied(problem, choices, some_room(problem, choices));
    Bytes stored{0};
    for (const ir::Store& store : graph.stores) {
      stored += problem.option(store.op, choices[store.op]).footprint.rest;
    }
    for (std::size_t i = 0; i < found.code.size(); ++i) {
      if (found.code[i].opcode == program::Opcode::Execute) {
        EXPECT_LE(found.actual[i], found.believed[i] + stored) << "round " << round;
      }
    }
  }
}

TEST(Draft, KeepsItsSituationTrue) {
  const tile::TileModel tiles = test::analytic();
  Random random{11};
  for (int round = 0; round < 20; ++round) {
    const ir::Graph graph = test::random_graph(random);
    chip::Chip chip = test::random_chip(random);
    if (round % 4 == 0) {
      chip.hbm.reset();
    }
    chip.core.sram = {1 << 20};
    Problem problem = test::problem(graph, chip, tiles);
    Draft draft(problem, random_choices(problem, random));
    for (int change = 0; change < 30; ++change) {
      const auto op = id_at<OpId>(random.below(problem.op_count()));
      draft.set(op, random_choices(problem, random)[op]);
    }
    const Situation expected = situation(problem, draft.choices());
    EXPECT_EQ(draft.situation().base, expected.base);
    EXPECT_EQ(draft.situation().piece, expected.piece);
    EXPECT_EQ(draft.situation().loads, expected.loads);
    EXPECT_EQ(draft.situation().rest, expected.rest);
    for (const OpId op : expected.works.ids()) {
      EXPECT_EQ(draft.situation().works[op].alone(), expected.works[op].alone());
      EXPECT_EQ(draft.situation().works[op].in.wire, expected.works[op].in.wire);
    }
  }
}

TEST(WriteBacks, LoadThePortsOfTheCoresOnWhichTheirTensorsRest) {
  const ir::Graph graph = test::transformer({.layers = 1});
  const chip::Chip chip = test::tight_chip(16, 1 << 20);
  const tile::TileModel tiles = test::analytic();
  const Problem problem = test::problem(graph, chip, tiles);
  const double link = chip.interconnect.link_rate;
  const Table<OpId, Bytes> spread(graph.ops.size(), Bytes{8});
  const Table<OpId, Bytes> heaped(graph.ops.size(), Bytes{1 << 20});
  ASSERT_FALSE(write_backs(problem, spread).empty());
  const cost::PreloadCost quick = write_backs(problem, spread).front().load;
  const cost::PreloadCost slow = write_backs(problem, heaped).front().load;
  EXPECT_DOUBLE_EQ(quick.share * quick.time.value, 8 / link);
  EXPECT_DOUBLE_EQ(slow.time.value, static_cast<double>(1 << 20) / link);
  EXPECT_DOUBLE_EQ(slow.share, 1.0);
}

TEST(Timing, NeverBooksAPortForMoreThanItCarries) {
  const ir::Graph graph = test::chain(12, 8, 64, false);
  chip::Chip chip = test::tight_chip(16, 1 << 20);
  chip.hbm->rate = 400e9;  // preloads take a large share of the ports
  chip.hbm->port_rate = 400e9;
  chip.interconnect.link_rate = 1e9;
  const tile::TileModel tiles = test::analytic();
  Problem problem = test::problem(graph, chip, tiles);
  Random random{19};
  int bound = 0;
  for (int round = 0; round < 100; ++round) {
    const Table<OpId, Choice> choices = random_choices(problem, random);
    const Situation now = situation(problem, choices);
    const Bytes room = some_room(problem, choices);
    const Issue issue = schedule::issue(problem, now, problem.loaded(),
                                        {.room = room, .preload_room = room, .not_before = {}});
    double booked = 0.0;  // seconds of a port that carries all of it alone
    double executes = 0.0;
    for (const OpId op : now.works.ids()) {
      booked += (now.works[op].in.wire + now.works[op].out.wire).value +
                (now.loads[op].time.value * now.loads[op].share);
      executes += now.works[op].alone().value;
    }
    const double total = timing(problem, now, problem.loaded(), issue.issued_before).total.value;
    EXPECT_GE(total, booked * (1.0 - 1e-12));
    EXPECT_GE(total, executes * (1.0 - 1e-12));
    bound += total > executes * 1.05 ? 1 : 0;
  }
  EXPECT_GT(bound, 10);
}

TEST(Situation, CountsPreloadsAtTheStateThatIsChosen) {
  const ir::Graph graph = test::chain(2, 8, 64, false);
  const chip::Chip chip = test::tight_chip(16, 1 << 20);
  const tile::TileModel tiles = test::analytic();
  Problem problem = test::problem(graph, chip, tiles);
  const auto& options = problem.front(OpId{0}).options;
  int states = 0;
  for (std::size_t option = 0; option < options.size(); ++option) {
    const Bytes held = hbm_bytes(problem, options[option]);
    for (std::size_t state = 0; state < options[option].states.size(); ++state) {
      Table<OpId, Choice> choices(graph.ops.size(), {.option = 0, .state = 0});
      choices[OpId{1}] = {.option = static_cast<std::int32_t>(option),
                          .state = static_cast<std::int32_t>(state)};
      const Situation now = situation(problem, choices);
      const cost::PreloadState& chosen = options[option].states[state];
      EXPECT_EQ(now.piece[OpId{1}], chosen.space);
      EXPECT_GE(now.base[OpId{1}] + now.piece[OpId{1}], held);  // at its execute all of it is there
      const std::vector<program::ExecuteSpace> pieces = program::preload_space(
          graph, graph.ops[OpId{1}], {.execute = options[option].plan, .divisor = chosen.divisor},
          chip);
      Bytes sum{0};
      for (const program::ExecuteSpace& piece : pieces) {
        sum += piece.bytes;
      }
      EXPECT_EQ(sum, chosen.space);
      states += state > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(states, 3);
}

/// x -> matmul -> exp -> four matmuls -> add of the last and, if `late`, of the exp.
ir::Graph residual(bool late) {
  test::Net net;
  TensorId x = net.tensor(ir::Home::Input, {8, 64});
  x = TensorId{net.add(test::matmul(8, 64, 64), {x})};
  const TensorId early{net.add(test::exp_of(8, 64), {x})};
  x = early;
  for (int k = 0; k < 4; ++k) {
    x = TensorId{net.add(test::matmul(8, 64, 64), {x})};
  }
  net.add(test::add_of(8, 64), {x, late ? early : x}, ir::Home::Output);
  return net.done();
}

TEST(Situation, CountsAResultThatWaitsForALaterReader) {
  const chip::Chip chip = test::tight_chip(16, 1 << 20);
  const tile::TileModel tiles = test::analytic();
  const ir::Graph now = residual(false);
  const ir::Graph late = residual(true);
  Problem once = test::problem(now, chip, tiles);
  Problem twice = test::problem(late, chip, tiles);
  const Table<OpId, Choice> choices(now.ops.size(), {.option = 0, .state = 0});
  const Table<OpId, Bytes> base = situation(once, choices).base;
  const Table<OpId, Bytes> longer = situation(twice, choices).base;
  const Bytes rest = once.option(OpId{1}, choices[OpId{1}]).footprint.rest;
  EXPECT_GT(rest, Bytes{0});
  for (const OpId op : first_ids<OpId>(3)) {
    EXPECT_EQ(longer[op], base[op]);  // op 2 is a reader in both
  }
  for (OpId op{3}; op < OpId{6}; ++op) {
    EXPECT_EQ(longer[op], base[op] + rest);
  }
}

TEST(Situation, CountsAGraphInputFromItsFirstReaderToItsLast) {
  test::Net net;
  const TensorId x = net.tensor(ir::Home::Input, {8, 64});
  TensorId y{net.add(test::matmul(8, 64, 64), {net.tensor(ir::Home::Input, {8, 64})})};
  y = TensorId{net.add(test::add_of(8, 64), {y, x})};
  y = TensorId{net.add(test::matmul(8, 64, 64), {y})};
  y = TensorId{net.add(test::add_of(8, 64), {y, x})};
  net.add(test::exp_of(8, 64), {y}, ir::Home::Output);
  const ir::Graph graph = net.done();
  const chip::Chip chip = test::tight_chip(16, 1 << 20);
  const tile::TileModel tiles = test::analytic();
  const Problem problem = test::problem(graph, chip, tiles);
  const Table<OpId, Choice> choices(graph.ops.size(), {.option = 0, .state = 0});
  const Table<OpId, Bytes> live = live_bytes(problem, choices);
  const auto rest = [&](OpId op) { return problem.option(op, choices[OpId{0}]).footprint.rest; };
  const Bytes spread{8 * 64 * 2 / 16};
  EXPECT_EQ(live[OpId{0}], spread + rest(OpId{0}));
  EXPECT_EQ(live[OpId{1}], spread + rest(OpId{0}) + rest(OpId{1}));
  EXPECT_EQ(live[OpId{2}], spread + rest(OpId{1}) + rest(OpId{2}));
  EXPECT_EQ(live[OpId{3}], spread + rest(OpId{2}) + rest(OpId{3}));
  EXPECT_EQ(live[OpId{4}], rest(OpId{3}) + rest(OpId{4}));
}

// Products are ops 0, 2 and 4; op 3 reads what op 2 makes.
TEST(Situation, CountsAStoredTensorUntilTheNextOpThatIsLoaded) {
  ir::Graph graph = test::chain(3, 8, 64, true);
  const TensorId stored = graph.ops[OpId{2}].operands.back().tensor;
  graph.stores = {{.tensor = stored, .op = OpId{2}, .run = {128}}};
  const chip::Chip chip = test::tight_chip(16, 1 << 20);
  const tile::TileModel tiles = test::analytic();
  EXPECT_EQ(last_use(test::problem(graph, chip, tiles), stored), OpId{4});
}

TEST(Situation, KeepsWeightsForTheWholeProgramOnAChipWithoutHbm) {
  ir::Graph graph = test::chain(3, 8, 64, true);
  graph.ops[OpId{4}].operands[OperandId{1}].tensor =
      graph.ops[OpId{0}].operands[OperandId{1}].tensor;  // spread, it is there once
  const chip::Chip chip = test::without_hbm(test::tight_chip(16, 1 << 20));
  const tile::TileModel tiles = test::analytic();
  Problem problem = test::problem(graph, chip, tiles);
  Random random{17};
  Draft draft(problem, random_choices(problem, random));
  for (int round = 0; round < 40; ++round) {
    const Table<OpId, Choice> choices = random_choices(problem, random);
    for (const OpId op : choices.ids()) {
      draft.set(op, choices[op]);
    }
    EXPECT_EQ(draft.situation().idle, situation(problem, choices).idle);
    const Occupied found = occupied(problem, choices, chip::room(chip));
    for (std::size_t i = 0; i < found.code.size(); ++i) {
      EXPECT_EQ(found.code[i].opcode, program::Opcode::Execute);
      EXPECT_EQ(found.actual[i], found.believed[i]);
    }
  }
}

}  // namespace
}  // namespace elk::schedule
