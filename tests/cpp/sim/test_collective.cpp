#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/sim/play/executor.hpp"
#include "partition/collectives.hpp"

namespace elk::sim {
namespace {

/// One of four chips with 1 GB/s between them, 1 us a message and 50 ns a synchronisation. A link
/// of a core moves 4 GB/s.
chip::Chip one_of_four(chip::Topology topology = chip::Topology::AllToAll) {
  chip::Chip chip = chip::small_chip();
  chip.inter_chip = chip::InterChip{.rate = 1e9,
                                    .latency = {1e-6},
                                    .sync_latency = {50e-9},
                                    .port_cores = chip.core.count,
                                    .topology = topology};
  return chip;
}

/// A matrix of 8 x 32 f16 in all, 512 bytes, on four cores of each chip. Adding up takes 2 us.
OpRun collective_run(ir::OpKind kind, bool ring, const chip::Chip& chip) {
  test::OneOp one = test::collective(kind, 8, 32, 4);
  one.graph.tensors[0].home = ir::Home::Input;
  std::vector<std::int64_t> factors(one.op().axes.size(), 1);
  factors[0] = 4;
  const program::Program program{
      .ops = {{.execute =
                   partition::complete_plan(one.graph, one.op(), factors, {{}, {}}, chip).value(),
               .divisor = {0, 0},
               .tree = false,
               .ring = ring}},
      .code = {{.opcode = program::Opcode::Execute, .subject = 0}},
      .buffers = {}};
  const CallTimes tiles{
      .sub_task = [](std::int32_t, std::span<const std::int64_t>) { return Picoseconds{0}; },
      .add = [](std::int32_t, std::int64_t, std::int64_t) { return Picoseconds{2'000'000}; },
      .copy = [](std::int32_t, std::int64_t, std::int64_t,
                 std::int64_t) { return Picoseconds{0}; }};
  return simulate(one.graph, chip, program, tiles, Fidelity::Core).ops[0];
}

Picoseconds part(const OpRun& run, PhaseKind kind) {
  return run.parts[static_cast<std::size_t>(kind)];
}

// Three steps: 50 ns, 128 bytes at 1 GB/s, 1 us.
TEST(CollectiveRun, PassesThePartsOfAnAllGatherAroundARing) {
  const OpRun run = collective_run(ir::OpKind::AllGather, true, one_of_four());
  EXPECT_EQ(part(run, PhaseKind::Shift), Picoseconds{3 * (50'000 + 128'000 + 1'000'000)});
  EXPECT_EQ(part(run, PhaseKind::Compute), Picoseconds{0});
}

// One step with the parts of three others.
TEST(CollectiveRun, SendsThePartsOfAnAllGatherAtOnce) {
  const OpRun run = collective_run(ir::OpKind::AllGather, false, one_of_four());
  EXPECT_EQ(part(run, PhaseKind::Shift), Picoseconds{50'000 + 384'000 + 1'000'000});
}

// Six steps of 128 bytes, and three times two addends.
TEST(CollectiveRun, AddsUpWhatComesAroundARing) {
  const OpRun run = collective_run(ir::OpKind::AllReduce, true, one_of_four());
  EXPECT_EQ(part(run, PhaseKind::Shift), Picoseconds{6 * (50'000 + 128'000 + 1'000'000)});
  EXPECT_EQ(part(run, PhaseKind::Compute), Picoseconds{3 * 2'000'000});
}

// Two steps of 384 bytes, and four addends at once.
TEST(CollectiveRun, AddsUpAtOnceWhatArrivesAtOnce) {
  const OpRun run = collective_run(ir::OpKind::AllReduce, false, one_of_four());
  EXPECT_EQ(part(run, PhaseKind::Shift), Picoseconds{2 * (50'000 + 384'000 + 1'000'000)});
  EXPECT_EQ(part(run, PhaseKind::Compute), Picoseconds{2'000'000});
}

// On a ring of four chips the three parts pass 1 + 1 + 2 links, the farthest two.
TEST(CollectiveRun, LoadsTheLinksThatAMessagePasses) {
  const OpRun run = collective_run(ir::OpKind::AllGather, false, one_of_four(chip::Topology::Ring));
  EXPECT_EQ(part(run, PhaseKind::Shift), Picoseconds{50'000 + 512'000 + 2'000'000});
}

// Two cores share a port: one hands its 32 bytes to the other, which hands 128 back. Both take 10
// ns of synchronisation, the bytes at 4 GB/s and 1 ns for a fragment.
TEST(CollectiveRun, HandsOnWhatPassesAPortForOthers) {
  chip::Chip chip = one_of_four();
  chip.inter_chip->port_cores = 2;
  const OpRun run = collective_run(ir::OpKind::AllGather, true, chip);
  EXPECT_EQ(part(run, PhaseKind::Reduce), Picoseconds{10'000 + 32'000 + 1'000});
  EXPECT_EQ(part(run, PhaseKind::Shift), Picoseconds{3 * (50'000 + 128'000 + 1'000'000)});
}

}  // namespace
}  // namespace elk::sim
