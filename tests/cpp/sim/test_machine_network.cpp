#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/ways.hpp"
#include "elk/sim/network/machine_network.hpp"
#include "elk/sim/network/multicast_trees.hpp"

namespace elk::sim {
namespace {

chip::Chip torus(std::int64_t rows, std::int64_t cols) {
  chip::Chip chip = chip::small_mesh(rows, cols);
  chip.interconnect.topology = chip::Topology::Torus2d;
  return chip;
}

/// Links beside a core, as `chip::Hop` numbers them.
constexpr std::int32_t kEast = 0;
constexpr std::int32_t kWest = 1;
constexpr std::int32_t kSouth = 2;
constexpr std::int32_t kNorth = 3;

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

TEST(MachineNetwork, AWayOnAllToAllLoadsFourPorts) {
  const MachineNetwork network(chip::small_chip());
  const Path path = network.path(CoreId{3}, CoreId{5});
  EXPECT_EQ(path.uses, (std::vector<ResourceUse>{{network.sram_port(CoreId{3}), 1},
                                                 {network.sram_port(CoreId{5}), 1},
                                                 {network.send_port(CoreId{3}), 1},
                                                 {network.receive_port(CoreId{5}), 1}}));
  EXPECT_EQ(path.hops, 1);
  EXPECT_EQ(path.latency, Picoseconds{0});
}

TEST(MachineNetwork, NodesWithFewerPortsThanLinksAreLoadedAtBothEnds) {
  chip::Chip chip = chip::small_mesh(4, 4);
  chip.core.remote_access_blocks = false;
  const MachineNetwork plain(chip);
  EXPECT_FALSE(plain.has_node_ports());
  chip.interconnect.node_ports = 2;
  const MachineNetwork network(chip);
  EXPECT_EQ(network.machine().resources.size(), plain.machine().resources.size() + 32);
  EXPECT_EQ(network.machine().resources[network.port_in(CoreId{5}).index()].capacity,
            to_rate(2 * chip.interconnect.link_rate));
  EXPECT_EQ(network.path(CoreId{5}, CoreId{6}).uses,
            (std::vector<ResourceUse>{{network.link(CoreId{5}, 0), 1},
                                      {network.port_in(CoreId{5}), 1},
                                      {network.port_out(CoreId{6}), 1}}));
  const std::vector<CoreId> both{CoreId{6}, CoreId{9}};
  EXPECT_EQ(network.paths(CoreId{5}, both).front().uses.size(),
            5U);  // one way in, two links, two out
  EXPECT_EQ(network.path(CoreId{5}, CoreId{5}).uses,
            (std::vector<ResourceUse>{{network.sram_port(CoreId{5}), 2}}));
}

TEST(MachineNetwork, SramPortsAreFreeWhereRemoteAccessDoesNotBlock) {
  chip::Chip chip = chip::small_chip();
  chip.core.remote_access_blocks = false;
  const MachineNetwork network(chip);
  EXPECT_EQ(network.path(CoreId{3}, CoreId{5}).uses.size(), 2U);
}

TEST(MachineNetwork, HopsOnAMeshAreTheDistanceInRowsAndColumns) {
  const MachineNetwork network(chip::small_mesh(8, 8));
  for (std::int64_t from = 0; from < 64; ++from) {
    for (std::int64_t to = 0; to < 64; ++to) {
      const std::int64_t apart = std::abs((from / 8) - (to / 8)) + std::abs((from % 8) - (to % 8));
      EXPECT_EQ(network.path(core(from), core(to)).hops, apart);
    }
  }
}

TEST(MachineNetwork, HopsOnATorusGoTheShorterWayRound) {
  const MachineNetwork network(torus(6, 4));
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

TEST(MachineNetwork, ABroadcastOnAMeshTakesOneTransferAndTheLongestWay) {
  // A tree from a corner of 8 x 8: 4,000 bytes at 4 GB/s are 1 us, 14 hops of 2 ns 28 ns.
  chip::Chip chip = chip::small_mesh(8, 8);
  chip.interconnect.hop_latency = {2e-9};
  const MachineNetwork network(chip);
  std::vector<CoreId> others;
  for (std::int64_t c = 1; c < 64; ++c) {
    others.push_back(core(c));
  }
  const std::vector<Path> paths = network.paths(CoreId{0}, others);
  ASSERT_EQ(paths.size(), 1U);
  EXPECT_EQ(paths[0].hops, 14);
  EXPECT_EQ(paths[0].uses.size(), 64U + 63U);  // SRAM ports, and a link into each other core
  Engine engine(network.machine());
  send(engine, paths[0], 4000);
  EXPECT_EQ(last_end(engine), Picoseconds{1'000'000 + 28'000});
}

TEST(MachineNetwork, WithoutMulticastABroadcastIsCopiesThatShareTheSendPort) {
  // 63 copies of 4,000 bytes through one port of 4 GB/s: 63 us.
  chip::Chip chip = chip::small_chip();
  chip.interconnect.multicast = false;
  const MachineNetwork network(chip);
  std::vector<CoreId> others;
  for (std::int64_t c = 1; c < 64; ++c) {
    others.push_back(core(c));
  }
  Engine engine(network.machine());
  for (const Path& path : network.paths(CoreId{0}, others)) {
    send(engine, path, 4000);
  }
  EXPECT_EQ(last_end(engine), Picoseconds{63'000'000});
}

TEST(MachineNetwork, SixteenReadersShareFourChannelsEvenly) {
  // 16 x 64 MB = 1.024 GB, striped over 4 channels of 256 GB/s: 1.024 GB / 1.024 TB/s = 1 ms.
  chip::Chip chip = chip::small_chip();
  chip.core.sram_rate = 1e12;
  chip.interconnect.link_rate = 500e9;
  chip.hbm->modules = 4;
  chip.hbm->channels = 1;
  chip.hbm->rate = 1024e9;
  chip.hbm->port_rate = 256e9;
  chip.hbm->latency = {0};
  const MachineNetwork network(chip);
  Engine engine(network.machine());
  for (std::int32_t reader = 0; reader < 16; ++reader) {
    for (std::int32_t module = 0; module < 4; ++module) {
      const CoreId to{reader};
      send(engine, network.read_paths(ModuleId{module}, {&to, 1}, kHbmWeight, 0).front(),
           16'000'000);
    }
  }
  EXPECT_EQ(last_end(engine), Picoseconds{1'000'000'000});
  EXPECT_EQ(engine.carried(network.memory(ModuleId{2})).value / kHbmWeight, 256'000'000);
}

TEST(MachineNetwork, APieceCrossesOnceForEachChipThatNeedsIt) {
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
  const std::vector<CoreId> to = {CoreId{64},  CoreId{65},  CoreId{128},
                                  CoreId{129}, CoreId{192}, CoreId{193}};
  for (const bool multicast : {true, false}) {
    chip.interconnect.multicast = multicast;
    const MachineNetwork network(chip);
    Engine engine(network.machine());
    for (const Path& path : network.paths(CoreId{0}, to)) {
      send(engine, path, 64'000);
    }
    EXPECT_EQ(last_end(engine), Picoseconds{(multicast ? 6'000'000 : 12'000'000) + 500'000});
  }
}

/// What one unit of data from every module to every core puts on the resources of a mesh.
std::vector<std::int64_t> delivered(const chip::Chip& chip, const MachineNetwork& network) {
  const std::vector<std::vector<std::int32_t>> nodes = chip::entry_nodes(chip);
  std::vector<std::int64_t> served(network.machine().resources.size());
  for (std::size_t module = 0; module < nodes.size(); ++module) {
    for (std::size_t c = 0; c < nodes[module].size(); ++c) {
      const CoreId to = id_at<CoreId>(c);
      const auto paths =
          network.read_paths(id_at<ModuleId>(module), {&to, 1}, kHbmWeight, nodes[module][c]);
      for (const ResourceUse& use : paths.front().uses) {
        ++served[use.resource.index()];
      }
    }
  }
  return served;
}

TEST(MachineNetwork, ModulesAtTheEdgesShareTheCoresEvenly) {
  // 8 x 8 with one module on all 28 edge nodes: every node serves 2 or 3 cores.
  const chip::Chip chip = chip::small_mesh(8, 8);
  const MachineNetwork network(chip);
  const std::vector<std::int64_t> served = delivered(chip, network);
  const std::size_t first = network.memory(ModuleId{0}).index() + 1;
  EXPECT_EQ(served[first - 1], 64);
  for (std::size_t node = 0; node < 28; ++node) {
    EXPECT_TRUE(served[first + (2 * node)] == 2 || served[first + (2 * node)] == 3);
    EXPECT_EQ(served[first + (2 * node) + 1], 0);
  }
}

TEST(MachineNetwork, DataLeaveTheEdgesOfAMeshAtARightAngle) {
  // 46 x 32 and four modules, as the pod's mesh: 4 x 1,472 units come in through 152 nodes. The
  // busiest of all links carries 41 of them.
  chip::Chip chip = chip::small_mesh(46, 32);
  chip.hbm->modules = 4;
  const MachineNetwork network(chip);
  const std::vector<std::int64_t> served = delivered(chip, network);
  std::int64_t busiest = 0;
  for (std::size_t r = 0; r < served.size(); ++r) {
    const bool memory =
        r >= network.memory(ModuleId{0}).index() && r <= network.memory(ModuleId{3}).index();
    busiest = std::max(busiest, memory ? 0 : served[r]);
  }
  EXPECT_EQ(busiest, 41);
  EXPECT_GT(4 * 1472, 143 * busiest);
}

bool loads(const Path& path, ResourceId resource) {
  return std::any_of(path.uses.begin(), path.uses.end(),
                     [&](const ResourceUse& use) { return use.resource == resource; });
}

TEST(MachineNetwork, WritesTakeTheWayOfReadsBack) {
  const MachineNetwork network(chip::small_mesh(8, 8));
  const CoreId to{(5 * 8) + 3};
  for (std::int32_t node = 0; node < 28; ++node) {
    const Path there = network.read_paths(ModuleId{0}, {&to, 1}, 1, node).front();
    const Path back = network.write_path(to, ModuleId{0}, 1, node);
    EXPECT_EQ(there.hops, back.hops);
    for (std::int64_t c = 0; c < 64; ++c) {
      if (c % 8 < 7) {
        EXPECT_EQ(loads(there, network.link(core(c), kEast)),
                  loads(back, network.link(core(c + 1), kWest)));
      }
      if (c < 56) {
        EXPECT_EQ(loads(there, network.link(core(c), kSouth)),
                  loads(back, network.link(core(c + 8), kNorth)));
      }
    }
  }
}

/// Chips whose cores send faster than the links of 32 GB/s between chips.
chip::Chip ring_of_chips(std::int64_t chips, double latency) {
  chip::Chip chip = chip::small_chip();
  chip.core.sram_rate = 64e9;
  chip.interconnect.link_rate = 64e9;
  chip.chips = chips;
  chip.inter_chip = {.rate = 32e9,
                     .latency = {latency},
                     .sync_latency = {0},
                     .port_cores = 64,
                     .topology = chip::Topology::Ring};
  return chip;
}

/// From a core of one chip to the same core of another.
Path between_chips(const MachineNetwork& network, std::int64_t from, std::int64_t to,
                   std::int64_t at) {
  return network.path(core((from * 64) + at), core((to * 64) + at));
}

/// `count` ring all-reduces of `bytes` at once over four chips, in steps that wait for each other.
Picoseconds ring_all_reduces(const MachineNetwork& network, std::int64_t bytes,
                             std::int64_t count) {
  Engine engine(network.machine());
  for (int step = 0; step < 2 * 3; ++step) {
    for (std::int64_t chip = 0; chip < 4; ++chip) {
      for (std::int64_t k = 0; k < count; ++k) {
        send(engine, between_chips(network, chip, (chip + 1) % 4, k), bytes / 4);
      }
    }
    last_end(engine);
  }
  return engine.now();
}

TEST(MachineNetwork, RingAllReducesTakeTheirClosedForm) {
  // 2 (P - 1) / P * S / B + 2 (P - 1) latencies, with P = 4, S = 64 kB, B = 32 GB/s, 500 ns:
  // 1.5 x 2 us + 6 x 0.5 us = 6 us. Of k at once the bytes take k times as long.
  for (const chip::Topology topology : {chip::Topology::Ring, chip::Topology::AllToAll}) {
    chip::Chip chip = ring_of_chips(4, 500e-9);
    chip.inter_chip->topology = topology;
    const MachineNetwork network(chip);
    EXPECT_EQ(ring_all_reduces(network, 64'000, 1), Picoseconds{3'000'000 + 3'000'000});
    for (const std::int64_t count : {2, 3, 7}) {
      EXPECT_EQ(ring_all_reduces(network, 64'000, count),
                Picoseconds{(count * 3'000'000) + 3'000'000});
    }
  }
}

TEST(MachineNetwork, ALinkBetweenChipsOfARingCarriesWhatPassesThrough) {
  // Chips 0 and 1 both send 32 kB to the next but one: both pass the link from 1 to 2, 2 us.
  const MachineNetwork network(ring_of_chips(5, 0));
  Engine engine(network.machine());
  send(engine, between_chips(network, 0, 2, 0), 32'000);
  send(engine, between_chips(network, 1, 3, 1), 32'000);
  EXPECT_EQ(last_end(engine), Picoseconds{2'000'000});
}

TEST(MachineNetwork, PortCoresLieEvenlyAndLeadOffTheMesh) {
  // Two port cores of 4 x 4: cores 0 to 7 leave through core 0, cores 8 to 15 through core 8.
  chip::Chip chip = chip::small_mesh(4, 4);
  chip.chips = 2;
  chip.inter_chip = {.rate = 32e9,
                     .latency = {0},
                     .sync_latency = {0},
                     .port_cores = 2,
                     .topology = chip::Topology::AllToAll};
  const MachineNetwork network(chip);
  EXPECT_EQ(network.path(CoreId{7}, CoreId{16 + 9}).hops,
            4 + 1);  // 7 to 0: one row, three columns; 8 to 9
  EXPECT_EQ(network.path(CoreId{8}, CoreId{16}).hops, 0);
}

struct Transfer {
  std::int64_t from;
  std::int64_t to;
  std::int64_t bytes;
};

/// Ends of `transfers` started together on a square mesh.
std::vector<Picoseconds> mesh_ends(const std::vector<Transfer>& transfers) {
  const MachineNetwork network(chip::small_mesh(6, 6));
  Engine engine(network.machine());
  for (std::size_t k = 0; k < transfers.size(); ++k) {
    const Path path = network.path(core(transfers[k].from), core(transfers[k].to));
    engine.start({.tag = static_cast<Tag>(k),
                  .bytes = {transfers[k].bytes},
                  .cap = {0},
                  .latency = path.latency,
                  .uses = path.uses},
                 {0});
  }
  std::vector<Picoseconds> ends(transfers.size());
  for (auto events = engine.next(); !events.empty(); events = engine.next()) {
    for (const Event& event : events) {
      ends[static_cast<std::size_t>(event.tag)] = event.time;
    }
  }
  return ends;
}

TEST(MachineNetwork, TransposingASquareMeshChangesNothing) {
  // Rows come first on every route. Transposed, a route goes by the column first, which is the way
  // back of the opposite transfer: so transposing all transfers, or turning them round, gives the
  // same times; and where every transfer has its opposite, transposing changes nothing.
  const auto transposed = [](std::int64_t core) { return ((core % 6) * 6) + (core / 6); };
  Random random{9};
  for (int round = 0; round < 50; ++round) {
    std::vector<Transfer> transfers;
    for (int k = 0; k < 60; ++k) {
      transfers.push_back({random.below(36), random.below(36), 1000 + random.below(3000)});
    }
    std::vector<Transfer> turned = transfers;
    std::vector<Transfer> across = transfers;
    std::vector<Transfer> both = transfers;
    for (std::size_t k = 0; k < transfers.size(); ++k) {
      turned[k] = {transfers[k].to, transfers[k].from, transfers[k].bytes};
      across[k] = {transposed(transfers[k].from), transposed(transfers[k].to), transfers[k].bytes};
      both.push_back(turned[k]);
    }
    EXPECT_EQ(mesh_ends(across), mesh_ends(turned));
    std::vector<Transfer> both_across = both;
    for (Transfer& transfer : both_across) {
      transfer = {transposed(transfer.from), transposed(transfer.to), transfer.bytes};
    }
    std::vector<Picoseconds> ends = mesh_ends(both);
    std::vector<Picoseconds> ends_across = mesh_ends(both_across);
    EXPECT_EQ(*std::max_element(ends.begin(), ends.end()),
              *std::max_element(ends_across.begin(), ends_across.end()));
    std::sort(ends.begin(), ends.end());
    std::sort(ends_across.begin(), ends_across.end());
    EXPECT_EQ(ends, ends_across);
  }
}

TEST(MachineNetwork, NeighboursExchangeAtFullRateOnAMesh) {
  // 8 cores of a row shift 4,000 bytes to the right at once: no link is shared, 1 us.
  const MachineNetwork network(chip::small_mesh(8, 8));
  Engine engine(network.machine());
  for (std::int64_t c = 0; c < 7; ++c) {
    send(engine, network.path(core(c), core(c + 1)), 4000);
  }
  EXPECT_EQ(last_end(engine), Picoseconds{1'000'000});
}

TEST(MulticastTrees, LoadTheLinksOfAMulticastOnce) {
  Random random{5};
  chip::Chip line = chip::small_mesh(1, 7);
  line.interconnect.topology = chip::Topology::Ring;
  for (chip::Chip chip : {chip::small_mesh(5, 6), torus(6, 5), torus(2, 3), line,
                          chip::small_deep(chip::Topology::Mesh3d, {3, 4, 3}),
                          chip::small_deep(chip::Topology::Groups, {2, 3, 4})}) {
    chip.interconnect.multicast = true;
    const MachineNetwork network(chip);
    MulticastTrees trees(network);
    for (int round = 0; round < 200; ++round) {
      const CoreId from = core(random.below(network.cores()));
      std::vector<CoreId> to;
      Table<CoreId, CoreId> numbers;
      for (std::int64_t k = 1 + random.below(8); k > 0; --k) {
        to.push_back(core(random.below(network.cores())));
        numbers.push_back(CoreId{to.back().value});
      }
      std::vector<std::int64_t> amount(network.machine().resources.size(), 0);
      trees.aim(numbers);
      const std::int64_t links = trees.add(from, chip::DimOrder::RowFirst, 3);
      const Path path = network.paths(from, to).front();
      EXPECT_EQ(trees.longest(), path.hops);
      trees.settle(amount);
      std::vector<std::int64_t> expected(amount.size(), 0);
      for (const ResourceUse& use : path.uses) {
        const bool port = use.resource.value < network.cores();  // of an SRAM
        expected[use.resource.index()] = port ? 0 : 3;
      }
      EXPECT_EQ(amount, expected);
      for (std::int64_t c = 0; network.lines().full(2) && c < network.cores(); ++c) {
        amount[network.link(core(c), chip::Network::first_link(2)).index()] = 0;  // ports out
      }
      EXPECT_EQ(3 * links, std::accumulate(amount.begin(), amount.end(), std::int64_t{0}));
    }
  }
}

TEST(MulticastTrees, AddUpWhatWaysOfEitherTurnCarryOnSeveralChips) {
  Random random{6};
  for (chip::Chip chip :
       {chip::small_mesh(5, 6), torus(6, 5), chip::small_deep(chip::Topology::Mesh3d, {2, 5, 3}),
        chip::small_deep(chip::Topology::Groups, {2, 3, 5})}) {
    chip.chips = 3;
    chip.inter_chip = chip::InterChip{.rate = 20e9,
                                      .latency = {500e-9},
                                      .sync_latency = {110e-9},
                                      .port_cores = 1,
                                      .topology = chip::Topology::AllToAll};
    const MachineNetwork network(chip);
    MulticastTrees trees(network);
    std::vector<std::int64_t> amount(network.machine().resources.size(), 0);
    std::vector<std::int64_t> expected = amount;
    for (int round = 0; round < 300; ++round) {
      const std::int64_t first = 30 * random.below(3);  // of a chip
      const std::int64_t from = random.below(30);
      const std::int64_t to = random.below(30);
      const chip::DimOrder turn =
          random.below(2) == 0 ? chip::DimOrder::RowFirst : chip::DimOrder::ColumnFirst;
      const std::int64_t bytes = 1 + random.below(9);
      const Table<CoreId, CoreId> receiver{id_at<CoreId>(first + to)};
      std::vector<chip::Hop> hops;
      network.lines().way(from, to, turn, hops);
      std::int64_t links = 0;  // into which a byte comes
      for (const chip::Hop& hop : hops) {
        const bool out_of_group =
            network.lines().full(2) && hop.link == chip::Network::first_link(2);
        expected[network.link(core(first + hop.node), hop.link).index()] += bytes;
        links += out_of_group ? 0 : 1;
      }
      trees.aim(receiver);
      EXPECT_EQ(trees.add(core(first + from), turn, bytes), links);
    }
    trees.settle(amount);
    EXPECT_EQ(amount, expected);
    trees.settle(amount);
    EXPECT_EQ(amount, expected) << "settled trees are forgotten";
  }
}

}  // namespace
}  // namespace elk::sim
