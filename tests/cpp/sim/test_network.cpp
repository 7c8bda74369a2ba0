#include <vector>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/sim/network.hpp"

namespace elk::sim {
namespace {

chip::Chip torus(std::int64_t rows, std::int64_t cols) {
  chip::Chip chip = chip::small_mesh(rows, cols);
  chip.interconnect.topology = chip::Topology::Torus2d;
  return chip;
}

CoreId core(std::int64_t index) { return id_at<CoreId>(static_cast<std::size_t>(index)); }

/// Ends of all that is under way, the last one.
Picoseconds last_end(Engine& engine) {
  Picoseconds end{0};
  for (auto events = engine.next(); !events.empty(); events = engine.next()) {
    end = events.back().time;
  }
  return end;
}

void send(Engine& engine, const Path& path, std::int64_t bytes) {
  engine.start({.tag = 0, .bytes = {bytes}, .cap = {0}, .latency = path.latency, .uses = path.uses},
               engine.now());
}

TEST(Network, AWayOnAllToAllLoadsFourPorts) {
  const Network network(chip::small_chip());
  const Path path = network.path({3}, {5});
  EXPECT_EQ(path.uses, (std::vector<Use>{{network.sram_port({3}), 1},
                                         {network.sram_port({5}), 1},
                                         {network.send_port({3}), 1},
                                         {network.receive_port({5}), 1}}));
  EXPECT_EQ(path.hops, 1);
  EXPECT_EQ(path.latency, Picoseconds{0});
}

TEST(Network, SramPortsAreFreeWhereRemoteAccessDoesNotBlock) {
  chip::Chip chip = chip::small_chip();
  chip.core.remote_access_blocks = false;
  const Network network(chip);
  EXPECT_EQ(network.path({3}, {5}).uses.size(), 2U);
}

TEST(Network, HopsOnAMeshAreTheDistanceInRowsAndColumns) {
  const Network network(chip::small_mesh(8, 8));
  for (std::int64_t from = 0; from < 64; ++from) {
    for (std::int64_t to = 0; to < 64; ++to) {
      const std::int64_t apart = std::abs((from / 8) - (to / 8)) + std::abs((from % 8) - (to % 8));
      EXPECT_EQ(network.path(core(from), core(to)).hops, apart);
    }
  }
}

TEST(Network, HopsOnATorusGoTheShorterWayRound) {
  const Network network(torus(6, 4));
  const auto around = [](std::int64_t a, std::int64_t b, std::int64_t size) {
    return std::min(std::abs(a - b), size - std::abs(a - b));
  };
  for (std::int64_t from = 0; from < 24; ++from) {
    for (std::int64_t to = 0; to < 24; ++to) {
      EXPECT_EQ(network.path(core(from), core(to)).hops,
                around(from / 4, to / 4, 6) + around(from % 4, to % 4, 4));
    }
  }
}

TEST(Network, ABroadcastOnAMeshTakesOneTransferAndTheLongestWay) {
  // A tree from a corner of 8 x 8: 4,000 bytes at 4 GB/s are 1 us, 14 hops of 2 ns 28 ns.
  chip::Chip chip = chip::small_mesh(8, 8);
  chip.interconnect.hop_latency = {2e-9};
  const Network network(chip);
  std::vector<CoreId> others;
  for (std::int64_t c = 1; c < 64; ++c) {
    others.push_back(core(c));
  }
  const std::vector<Path> paths = network.paths({0}, others);
  ASSERT_EQ(paths.size(), 1U);
  EXPECT_EQ(paths[0].hops, 14);
  EXPECT_EQ(paths[0].uses.size(), 64U + 63U);  // SRAM ports, and a link into each other core
  Engine engine(network.machine());
  send(engine, paths[0], 4000);
  EXPECT_EQ(last_end(engine), Picoseconds{1'000'000 + 28'000});
}

TEST(Network, WithoutMulticastABroadcastIsCopiesThatShareTheSendPort) {
  // 63 copies of 4,000 bytes through one port of 4 GB/s: 63 us.
  chip::Chip chip = chip::small_chip();
  chip.interconnect.multicast = false;
  const Network network(chip);
  std::vector<CoreId> others;
  for (std::int64_t c = 1; c < 64; ++c) {
    others.push_back(core(c));
  }
  Engine engine(network.machine());
  for (const Path& path : network.paths({0}, others)) {
    send(engine, path, 4000);
  }
  EXPECT_EQ(last_end(engine), Picoseconds{63'000'000});
}

TEST(Network, SixteenReadersShareFourChannelsEvenly) {
  // 16 x 64 MB = 1.024 GB, striped over 4 channels of 256 GB/s: 1.024 GB / 1.024 TB/s = 1 ms.
  chip::Chip chip = chip::small_chip();
  chip.core.sram_rate = 1e12;
  chip.interconnect.link_rate = 500e9;
  chip.hbm->modules = 4;
  chip.hbm->channels = 1;
  chip.hbm->rate = 1024e9;
  chip.hbm->port_rate = 256e9;
  chip.hbm->latency = {0};
  const Network network(chip);
  Engine engine(network.machine());
  for (std::int32_t reader = 0; reader < 16; ++reader) {
    for (std::int32_t module = 0; module < 4; ++module) {
      const CoreId to{reader};
      send(engine, network.read_paths({module}, {&to, 1}, kHbmWeight).front(), 16'000'000);
    }
  }
  EXPECT_EQ(last_end(engine), Picoseconds{1'000'000'000});
  EXPECT_EQ(engine.carried(network.memory({2})).value / kHbmWeight, 256'000'000);
}

TEST(Network, APieceCrossesOnceForEachChipThatNeedsIt) {
  // 64 kB to two cores on each of three other chips, out at 32 GB/s: 3 x 64 kB / 32 GB/s = 6 us,
  // and 500 ns to get there. Without multicast, six copies: 12 us.
  chip::Chip chip = chip::small_chip();
  chip.chips = 4;
  chip.core.sram_rate = 1e12;
  chip.interconnect.link_rate = 500e9;
  chip.inter_chip = {.rate = 32e9,
                     .latency = {500e-9},
                     .sync_latency = {0},
                     .port_cores = 64,
                     .topology = chip::Topology::AllToAll};
  const std::vector<CoreId> to = {{64}, {65}, {128}, {129}, {192}, {193}};
  for (const bool multicast : {true, false}) {
    chip.interconnect.multicast = multicast;
    const Network network(chip);
    Engine engine(network.machine());
    for (const Path& path : network.paths({0}, to)) {
      send(engine, path, 64'000);
    }
    EXPECT_EQ(last_end(engine), Picoseconds{(multicast ? 6'000'000 : 12'000'000) + 500'000});
  }
}

TEST(Network, ModulesAtTheEdgesShareTheCoresEvenly) {
  // 8 x 8 with one module on all 28 edge nodes: every node serves 2 or 3 cores.
  const Network network(chip::small_mesh(8, 8));
  std::vector<std::int64_t> served(network.machine().resources.size());
  for (std::int64_t c = 0; c < 64; ++c) {
    const CoreId to = core(c);
    const Path path = network.read_paths({0}, {&to, 1}, kHbmWeight).front();
    for (const Use& use : path.uses) {
      ++served[use.resource.index()];
    }
  }
  const std::size_t first = network.memory({0}).index() + 1;
  EXPECT_EQ(served[first - 1], 64);
  for (std::size_t node = 0; node < 28; ++node) {
    EXPECT_TRUE(served[first + (2 * node)] == 2 || served[first + (2 * node)] == 3);
    EXPECT_EQ(served[first + (2 * node) + 1], 0);
  }
}

}  // namespace
}  // namespace elk::sim
