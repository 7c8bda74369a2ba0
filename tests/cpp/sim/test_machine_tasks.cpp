#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/sim/tasks/machine_tasks.hpp"
#include "sim/tasks.hpp"

namespace elk::sim {
namespace {

using Instructions = Table<InstructionId, MachineInstruction>;

constexpr Picoseconds kBaseLatency{1'000'000};

MachineInstruction compute(std::int64_t time) {
  return {.action = MachineAction::Compute,
          .time = {time},
          .from = {},
          .to = {},
          .bytes = {0},
          .awaits = {}};
}
MachineInstruction issue(std::int32_t from, std::int32_t to, std::int64_t bytes) {
  return {.action = MachineAction::Issue,
          .time = {0},
          .from = MemoryId{from},
          .to = MemoryId{to},
          .bytes = {bytes},
          .awaits = {}};
}
MachineInstruction wait(std::int32_t awaits) {
  return {.action = MachineAction::Wait,
          .time = {0},
          .from = {},
          .to = {},
          .bytes = {0},
          .awaits = InstructionId{awaits}};
}

/// Memories that move a byte in 1,000 ps.
MachineProgram program_of(Instructions instructions, std::size_t memories = 2) {
  return {.memories = std::vector<Rate>(memories, kTaskLink),
          .latency = kBaseLatency,
          .instructions = std::move(instructions)};
}

MachineTransfer transfer(std::int64_t issued, Interval<Picoseconds> moves, std::int64_t reached) {
  return {.instruction = {},
          .issued = {issued},
          .ready = Picoseconds{issued} + kBaseLatency,
          .begin = moves.begin,
          .end = moves.end,
          .alone = moves.length(),
          .reached = {reached}};
}

TEST(MachineTasks, AWaitStallsForLatencyAndTransferOrForTheTransferOrNotAtAll) {
  // xPU-Shark, figure 4: issued at 0, ready at 1 us, over at 1.5 us.
  const auto waits_after = [](std::int64_t time) {
    return play_machine(program_of({issue(0, 1, 500), compute(time), wait(0), compute(100)}));
  };
  const Interval<Picoseconds> moves = span_of(1'000'000, 1'500'000);
  const MachineRun before = waits_after(400'000);
  EXPECT_EQ(before.instructions,
            (std::vector{span_of(0, 0), span_of(0, 400'000), span_of(400'000, 1'500'000),
                         span_of(1'500'000, 1'500'100)}));
  EXPECT_EQ(before.transfers, std::vector{transfer(0, moves, 400'000)});
  EXPECT_EQ(before.total, Picoseconds{1'500'100});

  const MachineRun between = waits_after(1'200'000);
  EXPECT_EQ(between.instructions[InstructionId{2}], span_of(1'200'000, 1'500'000));
  EXPECT_EQ(between.transfers, std::vector{transfer(0, moves, 1'200'000)});
  EXPECT_EQ(between.total, Picoseconds{1'500'100});

  const MachineRun after = waits_after(2'000'000);
  EXPECT_EQ(after.instructions[InstructionId{2}],
            span_of(2'000'000, 2'000'000));  // 0.5 us of slack
  EXPECT_EQ(after.transfers, std::vector{transfer(0, moves, 2'000'000)});
  EXPECT_EQ(after.total, Picoseconds{2'000'100});
  EXPECT_EQ(after.carried, (std::vector<Bytes>{{500}, {500}}));
  EXPECT_EQ(after.busy, (std::vector<Picoseconds>{{500'000}, {500'000}}));
}

TEST(MachineTasks, LatenciesOfIssuesThatDoNotWaitForEachOtherPassTogether) {
  // xPU-Shark, figure 5: three heads, each with two reads that depend on it.
  const auto read = issue(0, 1, 1);
  const Instructions chain{read, wait(0), read, read, wait(2), wait(3)};
  Instructions chains;
  for (std::int32_t first = 0; first < 18; first += 6) {
    for (MachineInstruction instruction : chain) {
      instruction.awaits += first;
      chains.push_back(instruction);
    }
  }
  EXPECT_EQ(play_machine(program_of(chains)).total, Picoseconds{6'009'000});

  Instructions heads_first{read, read, read, wait(0), wait(1), wait(2)};
  heads_first.insert(heads_first.end(), 6, read);
  for (std::int32_t position = 6; position < 12; ++position) {
    heads_first.push_back(wait(position));
  }
  EXPECT_EQ(play_machine(program_of(heads_first)).total, Picoseconds{2'009'000});
}

TEST(MachineTasks, PairsShareAMemoryFairlyAndOnePairTakesTurns) {
  // 0 to 1 and 0 to 2 halve memory 0 from 1 us on. The second has 300 bytes, over at 1.6 us; the
  // first has 200 left, over at 1.8 us; the third waited for its pair, and then is alone.
  const MachineRun run =
      play_machine(program_of({issue(0, 1, 500), issue(0, 2, 300), issue(0, 1, 100), wait(2)}, 3));
  const auto moves = [&](std::size_t t) {
    return span_of(run.transfers[t].begin.value, run.transfers[t].end.value);
  };
  EXPECT_EQ(moves(0), span_of(1'000'000, 1'800'000));
  EXPECT_EQ(moves(1), span_of(1'000'000, 1'600'000));
  EXPECT_EQ(moves(2), span_of(1'800'000, 1'900'000));
  EXPECT_EQ(run.transfers[0].alone, Picoseconds{500'000});
  EXPECT_EQ(run.transfers[1].reached, Picoseconds{-1});
  EXPECT_EQ(run.carried, (std::vector<Bytes>{{900}, {600}, {300}}));
  EXPECT_EQ(run.busy, (std::vector<Picoseconds>{{900'000}, {900'000}, {600'000}}));
}

TEST(MachineTasks, ThereAndBackAreTwoPairsOfWhichEachMemoryServesBoth) {
  const MachineRun run = play_machine(program_of({issue(0, 1, 100), issue(1, 0, 100)}));
  EXPECT_EQ(run.transfers[0].end, Picoseconds{1'200'000});
  EXPECT_EQ(run.transfers[1].end, Picoseconds{1'200'000});
}

TEST(MachineTasks, ACopyWithinAMemoryReadsAndWritesIt) {
  const MachineRun run = play_machine(program_of({issue(1, 1, 100)}));
  EXPECT_EQ(run.transfers[0].end, Picoseconds{1'200'000});
  EXPECT_EQ(run.transfers[0].alone, Picoseconds{200'000});
  EXPECT_EQ(run.carried, (std::vector<Bytes>{{0}, {200}}));
}

TEST(MachineTasks, TheSlowerMemorySetsThePaceAndALoneTransferIsKnownAmongOthers) {
  MachineProgram program = program_of({issue(0, 1, 10), issue(1, 0, 10)});
  program.memories = {Rate{7'000'000'000}, Rate{3'000'000'000}};
  EXPECT_EQ(play_machine(program).transfers[0].alone, Picoseconds{3'334});  // rounded up
  EXPECT_EQ(play_machine(program).transfers[0].end, Picoseconds{1'006'667});
}

TEST(MachineTasks, NothingMovesWhereThereIsNothing) {
  EXPECT_EQ(play_machine(program_of({})).total, Picoseconds{0});
  MachineProgram program = program_of({issue(0, 1, 0), wait(0), wait(0)});
  EXPECT_EQ(play_machine(program).instructions[InstructionId{1}], span_of(0, 1'000'000));
  EXPECT_EQ(play_machine(program).instructions[InstructionId{2}], span_of(1'000'000, 1'000'000));
  program.latency = {0};
  EXPECT_EQ(play_machine(program).total, Picoseconds{0});
}

/// Computes, issues on pairs drawn from `pairs`, and waits for any issue so far.
MachineProgram random_program(Random& random,
                              std::vector<std::pair<std::int32_t, std::int32_t>> pairs,
                              std::size_t memories) {
  Instructions instructions;
  std::vector<std::int32_t> issued;
  for (std::int32_t position = 0; position < 60; ++position) {
    const std::int64_t kind = random.below(3);
    if (kind == 0) {
      instructions.push_back(compute(random.below(3) * random.below(400'000)));
    } else if (kind == 1 || issued.empty()) {
      const auto [from, to] = pairs[subscript(random.below(std::ssize(pairs)))];
      instructions.push_back(issue(from, to, random.below(900)));
      issued.push_back(position);
    } else {
      instructions.push_back(wait(issued[subscript(random.below(std::ssize(issued)))]));
    }
  }
  MachineProgram program = program_of(std::move(instructions), memories);
  program.latency = {random.below(2) * 300'000};
  return program;
}

TEST(MachineTasks, PairsThatShareNothingAreQueuesAsSteppedByHand) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random{seed};
    const MachineProgram program = random_program(random, {{0, 1}, {3, 2}, {4, 4}}, 5);
    const MachineRun run = play_machine(program);
    std::map<MemoryId, std::int64_t> free;       // by the memory that is read
    std::map<InstructionId, std::int64_t> over;  // by issue
    std::int64_t now = 0;
    std::size_t transfers = 0;
    for (const InstructionId i : program.instructions.ids()) {
      const MachineInstruction& instruction = program.instructions[i];
      const std::int64_t before = now;
      if (instruction.action == MachineAction::Compute) {
        now += instruction.time.value;
      } else if (instruction.action == MachineAction::Wait) {
        now = std::max(now, over.at(instruction.awaits));
      } else {
        const std::int64_t ready = now + program.latency.value;
        const std::int64_t begin = std::max(ready, free[instruction.from]);
        const std::int64_t byte = instruction.from == instruction.to ? 2'000 : 1'000;
        over[i] = free[instruction.from] = begin + instruction.bytes.value * byte;
        const MachineTransfer& played = run.transfers[transfers++];
        EXPECT_EQ(played.instruction, i);
        EXPECT_EQ(played.ready.value, ready) << seed;
        EXPECT_EQ(played.begin.value, begin) << seed;
        EXPECT_EQ(played.end.value, over[i]) << seed;
        EXPECT_EQ(played.alone, played.end - played.begin);
      }
      EXPECT_EQ(run.instructions[i], span_of(before, now)) << seed;
    }
    EXPECT_EQ(run.transfers.size(), transfers);
    for (const auto& [issue, end] : over) {
      now = std::max(now, end);
    }
    EXPECT_EQ(run.total.value, now);
  }
}

TEST(MachineTasks, TransfersThatShareTakeTurnsOnTheirPairAndNoMemoryMovesMoreThanItCan) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random{seed};
    const MachineProgram program =
        random_program(random, {{0, 1}, {1, 0}, {0, 2}, {2, 3}, {3, 3}, {1, 2}}, 4);
    const MachineRun run = play_machine(program);
    std::map<std::pair<MemoryId, MemoryId>, Picoseconds> free;
    Table<MemoryId, Bytes> carried(4);
    for (const MachineTransfer& played : run.transfers) {
      const MachineInstruction& issued = program.instructions[played.instruction];
      Picoseconds& last = free[{issued.from, issued.to}];
      EXPECT_EQ(played.issued, run.instructions[played.instruction].begin);
      EXPECT_EQ(played.begin, std::max(played.ready, last)) << seed;
      EXPECT_GE(played.end - played.begin, played.alone) << seed;
      last = played.end;
      carried[issued.from] += issued.bytes;
      carried[issued.to] += issued.bytes;
    }
    EXPECT_EQ(run.carried, carried);
    for (const MemoryId memory : carried.ids()) {
      EXPECT_GE(run.busy[memory].value, carried[memory].value * 1'000) << seed;
    }
  }
}

TEST(MachineTasks, WhatNoMachineCouldPlayIsRefusedByPosition) {
  const auto refusal = [](const MachineProgram& wrong) -> std::string {
    try {
      static_cast<void>(play_machine(wrong));
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(program_of({}, 0)), "a machine must have a memory, got none");
  MachineProgram program = program_of({});
  program.memories[MemoryId{1}] = {0};
  EXPECT_EQ(refusal(program), "memory 1: the rate must be at least 1 byte/s, got 0");
  for (const std::int64_t latency : {std::int64_t{-1}, std::int64_t{1'000'000'000'001}}) {
    program = program_of({});
    program.latency = {latency};
    EXPECT_EQ(refusal(program),
              "the latency must be from 0 to 1000000000000 ps, got " + std::to_string(latency));
  }

  const auto second = [&](const MachineInstruction& wrong) {
    return refusal(program_of({compute(0), wrong}));
  };
  const std::string at = "instruction 1: ";
  EXPECT_EQ(second(compute(-1)), at + "time must not be below 0 ps, got -1");
  EXPECT_EQ(second(issue(-1, 0, 1)), at + "from must be a memory from 0 to 1, got -1");
  EXPECT_EQ(second(issue(0, 2, 1)), at + "to must be a memory from 0 to 1, got 2");
  const std::string bytes = at + "bytes must be from 0 to 1099511627776, got ";
  EXPECT_EQ(second(issue(0, 1, -1)), bytes + "-1");
  EXPECT_EQ(second(issue(0, 1, kMostFlowBytes + 1)), bytes + "1099511627777");
  for (const std::int32_t awaits : {-1, 0, 1, 2}) {
    EXPECT_EQ(second(wait(awaits)), at + "awaits must be the position of an issue before it, got " +
                                        std::to_string(awaits));
  }

  const std::string late = "until here the program might take more than 2305843009213693952 ps";
  EXPECT_EQ(second(compute(kBeyondTime.value)).find(at + late), 0U);
  EXPECT_EQ(second(compute(kBeyondTime.value - 1)), "");
  program = program_of({compute(0), issue(0, 1, kMostFlowBytes)});
  program.memories[MemoryId{0}] = {1};
  EXPECT_EQ(refusal(program).find(at + late), 0U);
}

}  // namespace
}  // namespace elk::sim
