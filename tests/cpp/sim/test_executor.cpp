#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/intervals.hpp"
#include "elk/base/table.hpp"
#include "elk/sim/play/executor.hpp"
#include "elk/sim/play/together.hpp"
#include "program/models.hpp"

namespace elk::sim {
namespace {

using program::Chain;

/// Every call takes a microsecond, adding up and copying nothing.
CallTimes microsecond() {
  return {.sub_task = [](OpId, std::span<const std::int64_t>) { return Picoseconds{1'000'000}; },
          .add = [](OpId, std::int64_t, std::int64_t) { return Picoseconds{0}; },
          .copy = [](OpId, std::int64_t, std::int64_t, std::int64_t) { return Picoseconds{0}; }};
}

Run run(const Chain& chain, const chip::Chip& chip, Fidelity fidelity = Fidelity::Core) {
  return simulate(chain.graph, chip, program_of(chain, chip), microsecond(), fidelity);
}

// On links of 4 GB/s a byte takes 250 ps. Of a weight of 64 x 64 f16 in 8 parts a core receives
// 1,024 bytes: 256 ns, for which the HBM would need 128 ns; its latency is 100 ns.
TEST(Executor, WaitsForPreloadsThatShareAPort) {
  const sim::Run done = run(program::chain(), chip::small_chip());
  EXPECT_EQ(done.ops[OpId{0}].preload, (Interval<Picoseconds>{{0}, {356'000}}));
  EXPECT_EQ(done.ops[OpId{0}].waited, Picoseconds{356'000});
  EXPECT_EQ(done.ops[OpId{0}].execute.begin, Picoseconds{356'000});
}

// The second preload is issued when the first has long been over.
TEST(Executor, PaysTheLatencyAgainAfterTheHbmWasIdle) {
  const Chain chain = program::chain();
  program::Program program = program_of(chain, chip::small_chip());
  program.code = program::issue(chain.graph, {OpId{0}, OpId{2}}, {1, 2, 2});
  const Interval<Picoseconds> late =
      simulate(chain.graph, chip::small_chip(), program, microsecond(), Fidelity::Core)
          .ops[OpId{2}]
          .preload;
  EXPECT_EQ(late.end - late.begin, Picoseconds{356'000});
}

TEST(Executor, IsOverWithItsLastStore) {
  Chain chain = program::chain();
  chain.graph.stores = {{.tensor = chain.out, .op = OpId{2}, .run = {128}}};
  const sim::Run done = run(chain, chip::small_chip());
  ASSERT_EQ(done.stores.size(), 1U);
  EXPECT_GT(done.stores.front().store.end, done.ops[OpId{2}].execute.end);
  EXPECT_EQ(done.total, done.stores.front().store.end);
}

// Four parts of 512 bytes rotate in three shifts, each in one chunk or in four, with 10 ns a sync.
TEST(Executor, SynchronisesBeforeEachChunkOfAShift) {
  Chain chain = program::chain();
  program::OpPlan& plan = chain.ops[OpId{0}];
  plan = program::cut(chain.graph, OpId{0}, {4, 4, 1});
  plan.execute.temporal[OperandId{1}] = {1, 4};
  plan.execute.pace[AxisId{1}] = 4;
  plan.execute.loops = {AxisId{1}};
  const auto total = [&](std::int64_t buffer) {
    chip::Chip chip = chip::small_chip();
    chip.core.reserved = {buffer};
    return run(chain, chip).total;
  };
  EXPECT_EQ(total(128) - total(512), Picoseconds{3 * 3 * 10'000});
}

// The gather of x, 1,024 bytes in 64 fragments of 1 ns, follows a sync of 10 ns, in which the
// second preload moves 40 bytes. Both then get half a port: the other 984 bytes of the preload take
// 492 ns, and of the gather 40 bytes are left, 10 ns.
TEST(Executor, HalvesAPortBetweenAPreloadAndAnExchange) {
  const sim::Run done = run(program::chain(), chip::small_chip());
  EXPECT_EQ(done.ops[OpId{2}].preload, (Interval<Picoseconds>{{356'000}, {858'000}}));
  EXPECT_EQ(done.ops[OpId{0}].parts[static_cast<std::size_t>(PhaseKind::Gather)],
            Picoseconds{10'000 + 492'000 + 10'000 + 64'000});
  EXPECT_EQ(done.ops[OpId{0}].link_contention, Picoseconds{246'000});
}

// exp works in place. The second matmul gathers 7 parts of 128 bytes, each in 8 runs: 10 + 224
// + 56.
TEST(Executor, GathersOnlyWhatIsNotInPlace) {
  const sim::Run done = run(program::chain(), chip::small_chip());
  EXPECT_EQ(done.ops[OpId{1}].execute.end - done.ops[OpId{1}].execute.begin,
            Picoseconds{1'000'000});
  EXPECT_EQ(done.ops[OpId{2}].received, Bytes{7 * 128});
  EXPECT_EQ(done.ops[OpId{2}].execute.end - done.ops[OpId{2}].execute.begin,
            Picoseconds{1'290'000});
  EXPECT_EQ(done.total, Picoseconds{356'000 + 1'576'000 + 1'000'000 + 1'290'000});
}

// Eight cores: each receives 1,024 bytes of a weight, gathers 1,024 and computes for 1 us; exp
// computes alone; the second matmul gathers 896.
TEST(Executor, SaysOfEachPhaseWhatAllCoresReceivedAndComputed) {
  const sim::Run done = run(program::chain(), chip::small_chip());
  ASSERT_EQ(done.phases.size(), 5U);
  const std::vector<PhaseKind> kinds = {PhaseKind::Gather, PhaseKind::Compute, PhaseKind::Compute,
                                        PhaseKind::Gather, PhaseKind::Compute};
  const std::vector<Bytes> received = {{8 * 1'024}, {0}, {0}, {8 * 896}, {0}};
  Bytes loaded{0};
  Seconds worked{0.0};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    EXPECT_EQ(done.phases[i].kind, kinds[i]);
    EXPECT_EQ(done.phases[i].received, received[i]);
    const double calls = kinds[i] == PhaseKind::Compute ? 8.0 : 0.0;
    EXPECT_DOUBLE_EQ(done.phases[i].core_time.value, calls * 1e-6);
    worked += done.phases[i].core_time;
  }
  for (const OpRun& op : done.ops) {
    loaded += op.loaded;
  }
  std::vector<CoreId> cores;
  for (const CoreId core : first_ids<CoreId>(8)) {
    cores.push_back(core);
  }
  for (const OpRun& op : done.ops) {
    EXPECT_EQ(done.cores[op.execution], cores);
  }
  EXPECT_EQ(loaded, Bytes{2 * 8 * 1'024});
  EXPECT_EQ(done.totals.received, Bytes{8 * 1'024 + 8 * 896} + loaded);
  EXPECT_DOUBLE_EQ(worked.value, done.totals.matrix_s + done.totals.vector_s);
}

// 356 ns of preload alone; 10 ns of both at full speed and 492 ns of both at half of theirs.
TEST(Executor, SplitsTheTimeToThePicosecond) {
  const sim::Run done = run(program::chain(), chip::small_chip());
  EXPECT_EQ(done.split.preload, Picoseconds{356'000});
  EXPECT_EQ(done.split.overlapped, Picoseconds{10'000 + 246'000});
  EXPECT_EQ(done.split.interconnect, Picoseconds{246'000});
  EXPECT_EQ(
      done.split.preload + done.split.execute + done.split.overlapped + done.split.interconnect,
      done.total);
}

// 64 bytes from every one of 16 cores a microsecond: 1,024 bytes of the preload meet the compute of
// 1 us at a port of 16 GB/s, which takes 1,024 / 16e9 = 64 ns more.
TEST(Executor, DrawsComputeOutByWhatArrivesAtItsSram) {
  Chain chain = program::chain();
  program::Program program = program_of(chain, chip::small_chip());
  program.code = program::issue(chain.graph, {OpId{0}, OpId{2}}, {1, 2, 2});
  const sim::Run done =
      simulate(chain.graph, chip::small_chip(), program, microsecond(), Fidelity::Core);
  EXPECT_EQ(done.ops[OpId{1}].sram_contention, Picoseconds{64'000});
  chip::Chip apart = chip::small_chip();
  apart.core.remote_access_blocks = false;
  const sim::Run free = simulate(chain.graph, apart, program, microsecond(), Fidelity::Core);
  EXPECT_EQ(free.ops[OpId{1}].sram_contention, Picoseconds{0});
}

TEST(Executor, FindsTheSameWithEqualCoresTakenTogether) {
  const sim::Run core = run(program::chain(), chip::small_chip(), Fidelity::Core);
  const sim::Run symmetric = run(program::chain(), chip::small_chip(), Fidelity::Symmetric);
  EXPECT_EQ(core.total, symmetric.total);
  EXPECT_EQ(core.split, symmetric.split);
  EXPECT_EQ(core.ops, symmetric.ops);
}

// A read of 100 + 256 ns passes three refreshes of 20 ns, at 100, 200 and 300 ns, and, so drawn
// out, those at 400. The first byte is on its way during the first.
TEST(Executor, StandsStillWhileTheHbmRefreshes) {
  chip::Chip chip = chip::small_chip();
  chip.hbm->refresh_interval = {100e-9};
  chip.hbm->refresh_stall = {20e-9};
  const sim::Run done = run(program::chain(), chip);
  EXPECT_EQ(done.ops[OpId{0}].preload.end, Picoseconds{100'000 + 256'000 + 4 * 20'000});
}

TEST(Executor, ExchangesAtTheSameTimeAddUpWhereTheyMeet) {
  const ResourceLoad nothing{.amount = 0, .tail = {0}, .rate = {1}, .computes = false};
  const auto bytes = [](std::int64_t amount, std::int64_t tail) {
    return ResourceLoad{
        .amount = amount, .tail = {tail}, .rate = {1'000'000'000'000}, .computes = false};
  };
  Demand one;
  one.kind_of = {1, 1, 0};
  one.kinds = {nothing, bytes(100, 5)};
  one.latency = {7};
  Demand other;
  other.kind_of = {0, 1, 1};
  other.kinds = {nothing, bytes(40, 3)};
  other.latency = {2};
  const Demand both = together(one, other);
  const auto load = [&](std::size_t resource) {
    return both.kinds[static_cast<std::size_t>(both.kind_of[resource])];
  };
  EXPECT_EQ(load(0), bytes(100, 5));
  EXPECT_EQ(load(1), bytes(140, 8));
  EXPECT_EQ(load(2), bytes(40, 3));
  EXPECT_EQ(both.latency, Picoseconds{9});
}

TEST(Executor, RefusesAnExecuteWithoutItsPreload) {
  const Chain chain = program::chain();
  program::Program program = program_of(chain, chip::small_chip());
  std::erase(program.code, program::Instruction{program::Opcode::Preload, 2});
  EXPECT_THROW(static_cast<void>(simulate(chain.graph, chip::small_chip(), program, microsecond(),
                                          Fidelity::Core)),
               InvalidInput);
}

// Neighbours share the links of a 8 x 8 mesh: no exchange is quicker there than over ports of its
// own.
TEST(Executor, RunsOnAMesh) {
  const Chain chain = program::chain();
  Chain placed = chain;
  for (program::OpPlan& op : placed.ops) {
    op.execute.mesh_dims[AxisId{1}] = 1;
  }
  const sim::Run mesh = run(placed, chip::small_mesh(8, 8));
  EXPECT_GT(mesh.total, Picoseconds{3'000'000});
  EXPECT_EQ(
      mesh.split.preload + mesh.split.execute + mesh.split.overlapped + mesh.split.interconnect,
      mesh.total);
}

}  // namespace
}  // namespace elk::sim
