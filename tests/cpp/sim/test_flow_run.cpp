#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/base/errors.hpp"
#include "elk/sim/play/executor.hpp"
#include "elk/sim/tasks/flow_run.hpp"
#include "elk/sim/tasks/flow_split.hpp"
#include "program/models.hpp"

namespace elk::sim {
namespace {

using program::Chain;

/// Every call takes a microsecond, adding up and copying nothing.
CallTimes one_microsecond() {
  return {.sub_task = [](std::int32_t,
                         std::span<const std::int64_t>) { return Picoseconds{1'000'000}; },
          .add = [](std::int32_t, std::int64_t, std::int64_t) { return Picoseconds{0}; },
          .copy = [](std::int32_t, std::int64_t, std::int64_t,
                     std::int64_t) { return Picoseconds{0}; }};
}

sim::Run flows(const Chain& chain, const chip::Chip& chip, Links links = Links::Shared) {
  return simulate_flows(chain.graph, chip, program_of(chain, chip), one_microsecond(), links);
}

Bytes carried(const sim::Run& run, LinkKind kind) {
  Bytes sum{0};
  for (const LinkRow& link : run.links) {
    sum += link.kind == kind ? link.carried : Bytes{0};
  }
  return sum;
}

Picoseconds whole(const RunBreakdown& split) {
  return split.preload + split.execute + split.overlapped + split.interconnect;
}

Chain on_mesh() {
  Chain placed = program::chain();
  for (program::OpPlan& op : placed.ops) {
    op.execute.mesh_dims[1] = 1;
  }
  return placed;
}

// 1,024 bytes a core over a port of 4 GB/s are 256 ns, after 100 ns of the HBM's latency.
TEST(FlowRun, APreloadAloneTakesAsLongAsItsSlowestPiece) {
  const sim::Run done = flows(program::chain(), chip::small_chip());
  EXPECT_EQ(done.fidelity, Fidelity::Flows);
  EXPECT_EQ(done.ops[0].preload, (Interval<Picoseconds>{{0}, {356'000}}));
  EXPECT_EQ(done.ops[0].waited, Picoseconds{356'000});
}

// The gather of x is 32 sends of 32 bytes to each core, one of them its own, after a sync of 10 ns
// in which the second preload moves 40 bytes there. Beside 31 sends the preload is one flow of 32:
// all of them move 32 bytes in 256 ns, then 64 fragments take 64 ns. Of the preload 952 bytes are
// left: 238 ns.
TEST(FlowRun, APreloadIsOneFlowAmongTheSendsToItsPort) {
  const sim::Run done = flows(program::chain(), chip::small_chip());
  EXPECT_EQ(done.ops[0].parts[static_cast<std::size_t>(PhaseKind::Gather)],
            Picoseconds{10'000 + 256'000 + 64'000});
  EXPECT_EQ(done.ops[0].link_contention, Picoseconds{8'000});
  EXPECT_EQ(done.ops[2].preload,
            (Interval<Picoseconds>{{356'000}, {356'000 + 10'000 + 256'000 + 238'000}}));
}

// From 686 to 860 ns the preload takes a quarter of the SRAM port from the calls of the first op.
// exp then works in place, and the second matmul gathers 7 parts of 128 bytes, each in 8 runs.
TEST(FlowRun, CallsRunAtWhatFlowsLeaveOfTheirPort) {
  const sim::Run done = flows(program::chain(), chip::small_chip());
  EXPECT_EQ(done.ops[0].sram_contention, Picoseconds{43'500});
  EXPECT_EQ(done.ops[0].execute, (Interval<Picoseconds>{{356'000}, {686'000 + 1'043'500}}));
  EXPECT_EQ(done.ops[1].execute.end - done.ops[1].execute.begin, Picoseconds{1'000'000});
  EXPECT_EQ(done.ops[2].execute.end - done.ops[2].execute.begin, Picoseconds{1'290'000});
  EXPECT_EQ(done.total, Picoseconds{686'000 + 1'043'500 + 1'000'000 + 1'290'000});
}

TEST(FlowRun, MovesWhatTheExecutorMoves) {
  for (const bool mesh : {false, true}) {
    const Chain chain = mesh ? on_mesh() : program::chain();
    const chip::Chip chip = mesh ? chip::small_mesh(8, 8) : chip::small_chip();
    const sim::Run done = flows(chain, chip);
    const sim::Run core =
        simulate(chain.graph, chip, program_of(chain, chip), one_microsecond(), Fidelity::Core);
    EXPECT_EQ(done.totals, core.totals);
    EXPECT_EQ(done.cores, core.cores);
    if (mesh) {
      EXPECT_EQ(carried(done, LinkKind::Link), core.totals.hops);
    } else {  // Of 64 cores a core need not send itself its own share of x, 8 x 32 bytes in all.
      EXPECT_EQ(carried(done, LinkKind::Receive) + Bytes{256}, core.totals.received);
    }
    EXPECT_EQ(carried(done, LinkKind::FromHbm), mesh ? core.totals.hbm : Bytes{0});
  }
}

TEST(FlowRun, NoLinkCarriesMoreThanItsRateWhileItIsBusy) {
  for (const Links links : {Links::Shared, Links::Exclusive}) {
    const sim::Run done = flows(on_mesh(), chip::small_mesh(8, 8), links);
    ASSERT_FALSE(done.links.empty());
    for (const LinkRow& link : done.links) {
      EXPECT_LE(Wide{link.carried.value} * 1'000'000'000'000,
                Wide{link.rate.value} * link.busy.value);
      EXPECT_LE(link.busy, done.total);
    }
    EXPECT_EQ(whole(done.split), done.total);
  }
}

TEST(FlowRun, EveryRunIsTheSame) {
  for (const Links links : {Links::Shared, Links::Exclusive}) {
    const sim::Run one = flows(on_mesh(), chip::small_mesh(8, 8), links);
    const sim::Run other = flows(on_mesh(), chip::small_mesh(8, 8), links);
    EXPECT_EQ(one.ops, other.ops);
    EXPECT_EQ(one.links, other.links);
    EXPECT_EQ(one.split, other.split);
  }
}

// One flow at a time at each port: the preload, which asked first, then the sends of the gather.
TEST(FlowRun, ExclusivePortsFinishThePreloadFirst) {
  const sim::Run done = flows(program::chain(), chip::small_chip(), Links::Exclusive);
  EXPECT_EQ(done.ops[2].preload, (Interval<Picoseconds>{{356'000}, {356'000 + 256'000}}));
  EXPECT_GE(done.ops[0].link_contention, Picoseconds{246'000});
}

TEST(FlowRun, NodesWithOnePortAreSlower) {
  chip::Chip chip = chip::small_mesh(8, 8);
  const sim::Run wide = flows(on_mesh(), chip);
  chip.interconnect.node_ports = 1;
  EXPECT_GT(flows(on_mesh(), chip).total, wide.total);
}

TEST(FlowRun, RefusesAnExecuteWithoutItsPreload) {
  const Chain chain = program::chain();
  program::Program program = program_of(chain, chip::small_chip());
  std::erase(program.code, program::Instruction{program::Opcode::Preload, 2});
  EXPECT_THROW(static_cast<void>(
                   simulate_flows(chain.graph, chip::small_chip(), program, one_microsecond())),
               InvalidInput);
}

// Executes from 0 to 10 and 14 to 20, the first held up by a half; a load from 4 to 16, held up by
// a quarter, and nothing from 20 to 21.
TEST(FlowSplit, PartsAddUpToTheWhole) {
  const std::vector<FlowSpan> executes{{{{0}, {10}}, {5}}, {{{14}, {20}}, {6}}};
  const std::vector<FlowSpan> loads{{{{4}, {16}}, {9}}};
  const RunBreakdown split = split_of({21}, executes, loads);
  EXPECT_EQ(split.execute, Picoseconds{4 + 4});
  EXPECT_EQ(split.preload, Picoseconds{4});
  EXPECT_EQ(split.overlapped, Picoseconds{3 + 2});
  EXPECT_EQ(split.interconnect, Picoseconds{3 + 0 + 1});
  EXPECT_EQ(whole(split), Picoseconds{21});
}

}  // namespace
}  // namespace elk::sim
