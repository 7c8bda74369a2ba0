#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/base/random.hpp"
#include "elk/chip/delivery.hpp"
#include "elk/chip/link_throughput.hpp"
#include "elk/chip/network.hpp"

/// What networks answer, held against their graphs, which are told node by node.
namespace elk::chip {
namespace {

/// A network, and how long the way over each edge of its graph is.
struct NetworkCase {
  Topology topology;
  Nodes nodes;

  [[nodiscard]] Network network() const { return kind_of(topology).network(nodes); }
  [[nodiscard]] std::int64_t row(std::int64_t n) const { return n / nodes.depth / nodes.cols; }
  [[nodiscard]] std::int64_t col(std::int64_t n) const { return n / nodes.depth % nodes.cols; }
  [[nodiscard]] std::int64_t deep(std::int64_t n) const { return n % nodes.depth; }

  /// Hops over the edge between two nodes, 0 for one through ports; -1: there is none.
  [[nodiscard]] std::int64_t edge(std::int64_t a, std::int64_t b) const {
    const std::int64_t apart[] = {std::abs(row(a) - row(b)), std::abs(col(a) - col(b)),
                                  std::abs(deep(a) - deep(b))};
    if (topology == Topology::AllToAll) {
      return 0;
    }
    if (topology == Topology::Ring) {
      const std::int64_t far = std::abs(a - b);
      return far == 1 || far == nodes.count - 1 ? 1 : -1;
    }
    if (topology == Topology::Groups && apart[0] + apart[1] == 0) {
      return 0;
    }
    const std::int64_t sum = apart[0] + apart[1] + apart[2];
    const bool around =
        topology == Topology::Torus2d && ((apart[0] == nodes.rows - 1 && apart[1] == 0) ||
                                          (apart[1] == nodes.cols - 1 && apart[0] == 0));
    return sum == 1 || (around && sum > 0) ? 1 : -1;
  }
};

NetworkCase random_network(Random& random) {
  const auto topology = static_cast<Topology>(random.below(6));
  const bool deep = topology == Topology::Mesh3d || topology == Topology::Groups;
  NetworkCase one{.topology = topology,
                  .nodes = {.count = 0,
                            .rows = 1 + random.below(5),
                            .cols = 1 + random.below(5),
                            .depth = deep ? 1 + random.below(4) : 1}};
  one.nodes.count = one.nodes.rows * one.nodes.cols * one.nodes.depth;
  return one;
}

/// Hops from one node to all others: through ports first, then over links (of 0 and 1).
std::vector<std::int64_t> shortest_ways(const NetworkCase& one, std::int64_t from) {
  std::vector<std::int64_t> far(static_cast<std::size_t>(one.nodes.count), one.nodes.count);
  std::deque<std::int64_t> next{from};
  far[static_cast<std::size_t>(from)] = 0;
  while (!next.empty()) {
    const std::int64_t here = next.front();
    next.pop_front();
    for (std::int64_t there = 0; there < one.nodes.count; ++there) {
      const std::int64_t hops = here == there ? -1 : one.edge(here, there);
      std::int64_t& known = far[static_cast<std::size_t>(there)];
      if (hops >= 0 && far[static_cast<std::size_t>(here)] + hops < known) {
        known = far[static_cast<std::size_t>(here)] + hops;
        hops == 0 ? next.push_front(there) : next.push_back(there);
      }
    }
  }
  return far;
}

TEST(ANetwork, KnowsTheShortestWaysAndNeighbours) {
  Random random{1};
  for (int round = 0; round < 300; ++round) {
    const NetworkCase one = random_network(random);
    const Network network = one.network();
    ASSERT_EQ(network.nodes(), one.nodes.count);
    for (std::int64_t from = 0; network.routed() && from < one.nodes.count; ++from) {
      const std::vector<std::int64_t> far = shortest_ways(one, from);
      std::vector<std::int64_t> beside;
      for (std::int64_t to = 0; to < one.nodes.count; ++to) {
        EXPECT_EQ(network.hops(from, to), far[static_cast<std::size_t>(to)]);
        if (to != from && one.edge(from, to) >= 0) {
          beside.push_back(to);
        }
      }
      std::vector<std::int64_t> told;
      network.for_each_neighbour(from, [&](std::int64_t node) { told.push_back(node); });
      std::sort(told.begin(), told.end());
      EXPECT_EQ(told, beside);
      EXPECT_EQ(network.node(network.place(from)), from);
    }
  }
}

/// Follows a way link by link; the node at which it ends. Counts hops, not ports.
std::int64_t walked(const NetworkCase& one, std::int64_t from, const std::vector<Hop>& way,
                    std::int64_t& hops) {
  const Network network = one.network();
  std::int64_t at = from;
  for (std::size_t i = 0; i < way.size(); ++i) {
    EXPECT_EQ(way[i].node, at);
    std::size_t dim = 0;
    while (Network::first_link(dim) != way[i].link / 2 * 2) {
      ++dim;
    }
    PerDim place = network.place(at);
    if (network.full(dim)) {  // Out of one port and into another.
      at = way[++i].node;
      EXPECT_EQ(way[i].link, way[i - 1].link + 1);
      EXPECT_EQ(one.edge(way[i - 1].node, at), 0);
      continue;
    }
    place[dim] += way[i].link % 2 == 0 ? 1 : network.length(dim) - 1;
    place[dim] %= network.length(dim);
    EXPECT_EQ(one.edge(at, network.node(place)), 1);
    at = network.node(place);
    ++hops;
  }
  return at;
}

TEST(ANetwork, LeadsEveryWayOverItsLinks) {
  Random random{2};
  for (int round = 0; round < 2000; ++round) {
    const NetworkCase one = random_network(random);
    const Network network = one.network();
    const std::int64_t from = random.below(one.nodes.count);
    const std::int64_t to = random.below(one.nodes.count);
    for (const DimOrder turn : {DimOrder::RowFirst, DimOrder::ColumnFirst}) {
      std::vector<Hop> way;
      network.way(from, to, turn, way);
      std::int64_t hops = 0;
      EXPECT_EQ(walked(one, from, way, hops), network.routed() ? to : from);
      EXPECT_EQ(hops, network.hops(from, to));
    }
  }
}

TEST(ANetwork, CountsItsLinksAndThoseAcrossACut) {
  Random random{3};
  for (int round = 0; round < 300; ++round) {
    const NetworkCase one = random_network(random);
    const Network network = one.network();
    std::int64_t links = 0;
    std::int64_t ports = 0;
    for (std::int64_t a = 0; a < one.nodes.count; ++a) {
      bool port = false;
      for (std::int64_t b = 0; b < one.nodes.count; ++b) {
        links += a != b && one.edge(a, b) == 1 ? 1 : 0;
        port = port || (a != b && one.edge(a, b) == 0);
      }
      ports += port ? 1 : 0;
    }
    if (network.routed()) {
      EXPECT_EQ(network.all_links(), links + ports);
    }
    for (std::size_t dim = 0; dim < network.dims(); ++dim) {
      for (std::int64_t at = 1; at < network.length(dim) && !network.full(dim); ++at) {
        std::int64_t across = 0;
        for (std::int64_t a = 0; a < one.nodes.count; ++a) {
          for (std::int64_t b = 0; b < one.nodes.count; ++b) {
            const bool crosses = network.place(a)[dim] < at && network.place(b)[dim] >= at;
            across += crosses && one.edge(a, b) == 1 ? 1 : 0;
          }
        }
        EXPECT_EQ(network.links_across(dim, at), across);
      }
    }
  }
}

TEST(ANetwork, SumsUpWaysAsTheyAre) {
  Random random{4};
  for (int round = 0; round < 100; ++round) {
    const NetworkCase one = random_network(random);
    const Network network = one.network();
    std::int64_t sum = 0;
    std::int64_t longest = 0;
    for (std::int64_t a = 0; a < one.nodes.count; ++a) {
      for (std::int64_t b = 0; b < one.nodes.count; ++b) {
        sum += network.hops(a, b);
        longest = std::max(longest, network.hops(a, b));
      }
    }
    if (network.routed()) {
      EXPECT_EQ(network.longest(), longest);
      EXPECT_LE(std::abs((network.passed() * one.nodes.count) - sum), 3 * one.nodes.count);
    }
  }
}

// One layer is a mesh, groups of one core are a mesh, and one group is all-to-all.
TEST(ANetwork, WithOneOfItsSidesIsTheSimplerOne) {
  const auto of = [](Topology topology, const Nodes& nodes) {
    return kind_of(topology).network(nodes);
  };
  const Nodes flat{.count = 20, .rows = 4, .cols = 5, .depth = 1};
  const Nodes group{.count = 8, .rows = 1, .cols = 1, .depth = 8};
  EXPECT_EQ(of(Topology::Mesh3d, flat), of(Topology::Mesh2d, flat));
  EXPECT_EQ(of(Topology::Groups, flat), of(Topology::Mesh2d, flat));
  EXPECT_EQ(of(Topology::Groups, group), of(Topology::AllToAll, group));
}

TEST(ANetwork, OfAllChipsLaysThemOneAfterTheOther) {
  for (const Topology topology : {Topology::Mesh2d, Topology::Mesh3d, Topology::Ring}) {
    Chip chip = small_deep(topology, {3, 4, topology == Topology::Mesh3d ? 2 : 1});
    const Network network = network_of(chip);
    chip.chips = 5;
    const Network machine = network_of_machine(chip);
    EXPECT_EQ(machine.nodes(), 5 * network.nodes());
    for (std::int64_t core = 0; core < machine.nodes(); ++core) {
      PerDim expected = network.place(core % network.nodes());
      expected[machine.stacked()] += core / network.nodes() * network.length(network.stacked());
      EXPECT_EQ(machine.place(core), expected);
    }
  }
}

TEST(ANetwork, OfThreeDimensionsHasModulesAtAllOfItsLayers) {
  Chip chip = small_deep(Topology::Mesh3d, {3, 4, 2});
  chip.hbm->modules = 4;
  validate(chip);
  std::set<CoreId> nodes;
  for (const std::vector<CoreId>& module : attached_cores(chip)) {
    EXPECT_EQ(module.size(), 5U);
    nodes.insert(module.begin(), module.end());
  }
  EXPECT_EQ(nodes.size(), 20U);  // all but the two in the middle of each layer
  const Delivery limits = delivery(chip);
  EXPECT_EQ(limits.injection, 20 * chip.interconnect.link_rate);
  EXPECT_EQ(limits.bisection, 6 * chip.interconnect.link_rate);  // three rows of two layers
}

TEST(ANetwork, OfChipsIsTheMostEvenGrid) {
  EXPECT_EQ(network_of_chips(Topology::Mesh2d, 12).sides(), (PerDim{3, 4, 1}));
  EXPECT_EQ(network_of_chips(Topology::Ring, 12).longest(), 6);
  EXPECT_EQ(network_of_chips(Topology::Mesh2d, 12).tour_step(), 1);
  EXPECT_EQ(network_of_chips(Topology::Mesh2d, 9).tour_step(), 2);
  EXPECT_EQ(network_of_chips(Topology::Mesh2d, 5).tour_step(), 4);
  EXPECT_EQ(network_of_chips(Topology::AllToAll, 5).tour_step(), 1);
}

TEST(AKind, StandsWhereItsEnumeratorSays) {
  for (std::size_t i = 0; i < topologies().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(topologies()[i].topology), i);
  }
}

}  // namespace
}  // namespace elk::chip
