#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/rounds.hpp"
#include "chip/chips.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/sim/network/hbm.hpp"
#include "elk/sim/play/demand.hpp"
#include "elk/sim/play/meeting.hpp"
#include "elk/sim/play/player.hpp"

/// What exchanges and preloads ask of a machine, resource by resource and folded.
namespace elk::sim {
namespace {

/// A few grids in a mesh or ring, every rate of its own, no latency.
chip::Chip random_pod(Random& random) {
  chip::Chip chip = chip::small_mesh(2 + random.below(3), 2 + random.below(3));
  const auto rate = [&] { return 1e9 * static_cast<double>(1 + random.below(64)); };
  chip.chips = 2 + random.below(5);
  chip.interconnect.link_rate = rate();
  chip.interconnect.fragment_latency = {0.0};
  chip.core.remote_access_blocks = false;
  chip.hbm->latency = {0.0};
  chip.hbm->rate = rate();
  chip.hbm->port_rate = rate();
  chip.inter_chip = {
      .rate = rate(),
      .latency = {0.0},
      .sync_latency = {0.0},
      .port_cores = chip.core.count,
      .topology = random.below(2) == 0 ? chip::Topology::Mesh2d : chip::Topology::Ring};
  return chip;
}

std::int32_t random_core(Random& random, const chip::Chip& chip) {
  return static_cast<std::int32_t>(random.below(chip.chips * chip.core.count));
}

/// Boxes that some core each fetches from another; if `abroad`, from cores of other chips alone.
program::Exchange random_fetches(Random& random, const chip::Chip& chip, bool abroad) {
  program::Exchange exchange;
  for (std::int64_t i = 1 + random.below(8); i > 0; --i) {
    const std::int32_t from = random_core(random, chip);
    std::int32_t to = from;
    while (to == from || (abroad && to / chip.core.count == from / chip.core.count)) {
      to = random_core(random, chip);
    }
    const auto group = static_cast<std::int32_t>(exchange.groups.size());
    exchange.groups.push_back({CoreId{from}});
    exchange.groups.push_back({CoreId{to}});
    exchange.transfers.push_back({.pattern = program::Pattern::Fetch,
                                  .operand = OperandId{0},
                                  .from = group,
                                  .to = group + 1,
                                  .unit = 8,
                                  .extent = 1 + random.below(500),
                                  .chunk = 500,
                                  .runs = 1,
                                  .level = 0});
  }
  return exchange;
}

program::Loading random_loading(Random& random, const chip::Chip& chip) {
  program::Loading loading{
      .hbm_bytes = std::vector<std::int64_t>(subscript(chip.chips), 0), .pieces = {}, .run = 0};
  for (std::int64_t i = 1 + random.below(8); i > 0; --i) {
    const CoreId core{random_core(random, chip)};
    const auto there = static_cast<std::int32_t>(core.value / chip.core.count);
    const std::int64_t bytes = 8 * (1 + random.below(500));
    loading.pieces.push_back(
        {.operand = OperandId{0}, .chip = there, .bytes = bytes, .cores = {core}});
    loading.hbm_bytes[subscript(there)] += bytes;
  }
  return loading;
}

/// Whether the two load any resource together.
bool meets(const Demand& execute, const Demand& load) {
  return std::ranges::any_of(meet(execute, load).all, [](const Meeting& meeting) {
    return meeting.flows && meeting.other > 0;
  });
}

TEST(Demands, TakeAsLongAloneWhenFolded) {
  Random random{39};
  for (int round = 0; round < test::rounds(300); ++round) {
    SCOPED_TRACE(round);
    const chip::Chip chip = random_pod(random);
    Demands each(chip, Fidelity::Core);
    Demands folded(chip, Fidelity::Symmetric);
    const program::Exchange exchange = random_fetches(random, chip, false);
    const program::Loading loading = random_loading(random, chip);
    EXPECT_EQ(alone(folded.of(exchange)), alone(each.of(exchange)));
    EXPECT_EQ(alone(folded.of(loading, kHbmWeight)), alone(each.of(loading, kHbmWeight)));
  }
}

TEST(Demands, OfASendOnAGridLoadTheMemoriesOfBothEnds) {
  const chip::Chip chip = chip::small_mesh(2, 2);
  Demands demands(chip, Fidelity::Core);
  const Demand asked = demands.of({.groups = {{CoreId{0}}, {CoreId{1}}},
                                   .transfers = {{.pattern = program::Pattern::Fetch,
                                                  .operand = OperandId{0},
                                                  .from = 0,
                                                  .to = 1,
                                                  .unit = 8,
                                                  .extent = 5,
                                                  .chunk = 5,
                                                  .runs = 1,
                                                  .level = 0}},
                                   .even_bytes = 0});
  for (const CoreId core : {CoreId{0}, CoreId{1}}) {
    const ResourceId port = demands.network().sram_port(core);
    EXPECT_EQ(asked.kinds[static_cast<std::size_t>(asked.kind_of[port.index()])].amount, 40);
  }
}

TEST(Demands, OfSendsBetweenChipsMeetNoPreload) {
  // Every core has a port of its own: such sends pass the links between chips and no other, and
  // preloads no link between chips. Folded, links between chips were one with those of modules.
  Random random{40};
  for (int round = 0; round < test::rounds(300); ++round) {
    SCOPED_TRACE(round);
    const chip::Chip chip = random_pod(random);
    for (const Fidelity fidelity : {Fidelity::Core, Fidelity::Symmetric}) {
      Demands demands(chip, fidelity);
      const Demand sends = demands.of(random_fetches(random, chip, true));
      EXPECT_FALSE(meets(sends, demands.of(random_loading(random, chip), kHbmWeight)));
    }
  }
}

}  // namespace
}  // namespace elk::sim
