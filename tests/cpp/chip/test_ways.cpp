#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/chip/delivery.hpp"
#include "elk/chip/ways.hpp"

namespace elk::chip {
namespace {

/// Walks data from every module to every core, a unit each, and counts them on every link.
class Walk {
 public:
  explicit Walk(const Chip& chip) : cols_(chip.core.cols) {}

  void send(std::int64_t from, std::int64_t to, bool row_first) {
    for (const bool along_row : {row_first, !row_first}) {
      while (along_row ? from % cols_ != to % cols_ : from / cols_ != to / cols_) {
        const std::int64_t step = along_row ? 1 : cols_;
        const std::int64_t next =
            (along_row ? from % cols_ < to % cols_ : from < to) ? from + step : from - step;
        load_[{from, next}] += 1;
        from = next;
      }
    }
  }

  [[nodiscard]] std::int64_t busiest() const {
    std::int64_t most = 0;
    for (const auto& [link, load] : load_) {
      most = std::max(most, load);
    }
    return most;
  }

 private:
  std::int64_t cols_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> load_;
};

Chip edged(std::int64_t rows, std::int64_t cols, std::int64_t modules, HbmPosition position) {
  Chip chip = small_mesh(rows, cols);
  chip.hbm->modules = modules;
  chip.hbm->position = position;
  chip.hbm->port_rate = chip.hbm->rate / static_cast<double>(modules);
  return chip;
}

/// How many links' worth of data arrive in the time in which the busiest link is full.
double links_worth(const Chip& chip, bool right_angles) {
  const auto nodes = attached_cores(chip);
  const auto entries = entry_nodes(chip);
  Walk walk(chip);
  for (std::size_t module = 0; module < nodes.size(); ++module) {
    for (std::size_t core = 0; core < entries[module].size(); ++core) {
      const CoreId node = nodes[module][static_cast<std::size_t>(entries[module][core])];
      walk.send(node.value, static_cast<std::int64_t>(core),
                !right_angles || turn_at(chip, node) == DimOrder::RowFirst);
    }
  }
  const auto sent = static_cast<double>(nodes.size() * entries.front().size());
  return sent / static_cast<double>(walk.busiest());
}

// 152 nodes of the pod's mesh let in 152 links' worth; the links behind them carry 94 % of that.
TEST(EntryNodes, LetTheLinksBehindAnEdgeCarryWhatTheEdgeLetsIn) {
  EXPECT_NEAR(links_worth(edged(46, 32, 4, HbmPosition::EdgesAll), true), 143.6, 0.1);
  EXPECT_GT(links_worth(edged(100, 90, 4, HbmPosition::EdgesAll), true), 0.99 * 376);
  EXPECT_GT(links_worth(edged(46, 32, 4, HbmPosition::EdgesLeftRight), true), 0.95 * 92);
}

// Of 24 modules some have two nodes of the top row: along rows first, all their data would pass the
// links of that row.
TEST(EntryNodes, KeepDataOffTheLinksAlongTheEdge) {
  const Chip many = edged(12, 16, 24, HbmPosition::EdgesAll);
  EXPECT_NEAR(links_worth(many, true), 41.9, 0.1);  // Of 52 that come in.
  EXPECT_NEAR(links_worth(many, false), 13.7, 0.1);
}

TEST(EntryNodes, ShareTheCoresEvenly) {
  for (const HbmPosition position : {HbmPosition::EdgesAll, HbmPosition::EdgesLeftRight}) {
    for (const std::int64_t modules : {1, 2, 3, 4, 6}) {
      const Chip chip = edged(9, 7, modules, position);
      const auto nodes = attached_cores(chip);
      const auto entries = entry_nodes(chip);
      ASSERT_EQ(entries.size(), nodes.size());
      for (std::size_t module = 0; module < nodes.size(); ++module) {
        ASSERT_EQ(entries[module].size(), 63U);
        std::vector<std::int64_t> served(nodes[module].size(), 0);
        for (const std::int32_t node : entries[module]) {
          served.at(static_cast<std::size_t>(node)) += 1;
        }
        const auto [least, most] = std::minmax_element(served.begin(), served.end());
        EXPECT_LE(*most - *least, 2) << modules << " modules";
      }
    }
  }
}

TEST(EntryNodes, OfAModuleWithOneNodeAreThatNode) {
  const Chip chip = edged(4, 4, 2, HbmPosition::Nodes);
  for (const std::vector<std::int32_t>& of_module : entry_nodes(chip)) {
    EXPECT_EQ(of_module, std::vector<std::int32_t>(16, 0));
  }
}

TEST(EntryNodes, AreNoneWhereModulesHaveNodesOfTheirOwn) {
  EXPECT_TRUE(entry_nodes(small_chip()).empty());
}

TEST(EntryNodes, OfARingAreTheNearestRuns) {
  Chip ring = small_chip();
  ring.interconnect.topology = Topology::Ring;
  ring.hbm->position = HbmPosition::EdgesAll;
  const auto entries = entry_nodes(ring);
  ASSERT_EQ(entries.size(), 1U);
  for (std::int32_t core = 0; core < 64; ++core) {
    EXPECT_EQ(entries[0][static_cast<std::size_t>(core)], core);
  }
}

TEST(AlongRowFirst, LeavesEachEdgeAtARightAngle) {
  const Chip chip = edged(4, 5, 1, HbmPosition::EdgesAll);
  EXPECT_EQ(turn_at(chip, CoreId{2}), DimOrder::ColumnFirst);   // top
  EXPECT_EQ(turn_at(chip, CoreId{0}), DimOrder::ColumnFirst);   // a corner goes with its row
  EXPECT_EQ(turn_at(chip, CoreId{17}), DimOrder::ColumnFirst);  // bottom
  EXPECT_EQ(turn_at(chip, CoreId{5}), DimOrder::RowFirst);      // left
  EXPECT_EQ(turn_at(chip, CoreId{14}), DimOrder::RowFirst);     // right
  EXPECT_EQ(turn_at(edged(4, 5, 2, HbmPosition::EdgesLeftRight), CoreId{0}), DimOrder::RowFirst);
}

// Of 28 nodes around 8 x 8, corners with the rows: 8 at the top, 8 at the bottom, and 3 at either
// side are beside the first four rows.
TEST(Ways, DataForAPartOfTheGridEnterBesideIt) {
  const Chip chip = small_mesh(8, 8);
  EXPECT_EQ(nodes_beside(chip, {8, 8, 1}), std::vector<std::int64_t>{28});
  EXPECT_EQ(nodes_beside(chip, {4, 8, 1}), std::vector<std::int64_t>{22});
  std::vector<CoreId> receivers;
  for (std::int32_t core = 0; core < 32; ++core) {
    receivers.push_back({core});
  }
  EXPECT_EQ(area_of(chip, receivers)[0], 4);
  const auto entries = entry_nodes(chip, receivers, area_of(chip, receivers));
  const std::vector<CoreId> nodes = attached_cores(chip).front();
  for (const std::int32_t entry : entries.front()) {
    const std::int32_t core = nodes[static_cast<std::size_t>(entry)].value;
    EXPECT_TRUE(core / 8 < 4 || core / 8 == 7);
  }
}

TEST(Ways, PortsLieEvenlyAmongCores) {
  // Three ports of eight cores: cores 0 to 2, 3 to 5, and 6 and 7 leave through the first of these.
  const std::vector<std::int64_t> expected{0, 0, 0, 3, 3, 3, 6, 6};
  for (std::int64_t core = 0; core < 8; ++core) {
    EXPECT_EQ(port_core(core, 8, 3), expected[static_cast<std::size_t>(core)]);
    EXPECT_EQ(port_core(core, 8, 8), core);
    EXPECT_EQ(port_core(core, 8, 1), 0);
  }
}

}  // namespace
}  // namespace elk::chip
