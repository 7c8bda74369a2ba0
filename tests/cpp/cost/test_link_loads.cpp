#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/base/random.hpp"
#include "elk/cost/exchange/link_loads.hpp"

namespace elk::cost {
namespace {

/// A link by the node it leaves and where it leads: along rows or columns, forwards or backwards.
using Link = std::tuple<std::int64_t, bool, bool>;

chip::Chip grid_of(chip::Topology topology, std::int64_t rows, std::int64_t cols) {
  chip::Chip chip = chip::small_mesh(rows, cols);
  chip.interconnect.topology = topology;
  return chip;
}

/// Walks every way link by link; each link of a tree counts once.
class Walker {
 public:
  explicit Walker(const chip::Chip& chip)
      : rows_(chip.interconnect.topology == chip::Topology::Ring ? 1 : chip.core.rows),
        cols_(chip.core.count / rows_),
        wraps_(chip.interconnect.topology != chip::Topology::Mesh2d) {}

  void add(std::int64_t from, const std::vector<std::int32_t>& to, bool row_first,
           std::int64_t bytes) {
    std::set<Link> tree;
    for (const std::int32_t core : to) {
      std::int64_t row = from / cols_;
      std::int64_t col = from % cols_;
      if (row_first) {
        walk(row, col, col, core % cols_, cols_, true, tree);
      }
      walk(row, col, row, core / cols_, rows_, false, tree);
      if (!row_first) {
        walk(row, col, col, core % cols_, cols_, true, tree);
      }
    }
    for (const Link& link : tree) {
      loads_[link] += bytes;
    }
  }

  [[nodiscard]] std::vector<std::int64_t> sorted() const {
    std::vector<std::int64_t> result;
    for (const auto& [link, bytes] : loads_) {
      result.push_back(bytes);
    }
    std::sort(result.begin(), result.end());
    return result;
  }

 private:
  void walk(const std::int64_t& row, const std::int64_t& col, std::int64_t& at, std::int64_t to,
            std::int64_t size, bool along_row, std::set<Link>& tree) const {
    const std::int64_t ahead = (to - at + size) % size;
    const bool forwards = wraps_ ? 2 * ahead <= size : to > at;
    while (at != to) {
      tree.insert({(row * cols_) + col, along_row, forwards});
      at = (at + (forwards ? 1 : size - 1)) % size;
    }
  }

  std::int64_t rows_;
  std::int64_t cols_;
  bool wraps_;
  std::map<Link, std::int64_t> loads_;
};

std::vector<std::int64_t> sorted_loads(const LinkLoads& links) {
  std::vector<std::int64_t> result = links.loads();
  std::erase(result, 0);
  std::sort(result.begin(), result.end());
  return result;
}

// From row 1, column 1 of 4 x 4 to everyone: two links east and one west along row 1, and in each
// column two south and one north. The farthest core is two columns and two rows away.
TEST(LinkLoads, CountsEveryLinkOfATreeOnce) {
  LinkLoads links(chip::small_mesh(4, 4));
  std::vector<std::int32_t> everyone;
  for (std::int32_t core = 0; core < 16; ++core) {
    everyone.push_back(core);
  }
  links.add(5, everyone, chip::DimOrder::RowFirst, 10);
  EXPECT_EQ(sorted_loads(links), std::vector<std::int64_t>(15, 10));
  EXPECT_EQ(links.hops(), 4);
}

// Along a row of four everyone sends its 10 bytes to all others: the link out of the third core
// towards the last carries three pieces.
TEST(LinkLoads, AddsUpTreesThatShareALink) {
  LinkLoads links(chip::small_mesh(1, 4));
  const std::vector<std::int32_t> row = {0, 1, 2, 3};
  for (const std::int32_t core : row) {
    links.add(core, row, chip::DimOrder::RowFirst, 10);
  }
  EXPECT_EQ(links.busiest(), 30);
  EXPECT_EQ(links.hops(), 3);
}

// A ring of six: three hops ahead to the opposite core, and never more than two back.
TEST(LinkLoads, GoesTheShorterWayRound) {
  LinkLoads around(grid_of(chip::Topology::Ring, 1, 6));
  const std::vector<std::int32_t> others = {0, 1, 2, 3, 4, 5};
  around.add(5, others, chip::DimOrder::RowFirst, 1);
  EXPECT_EQ(sorted_loads(around), std::vector<std::int64_t>(5, 1));
  EXPECT_EQ(around.hops(), 3);
}

TEST(LinkLoads, EqualsAWalkOfEveryWay) {
  Random random{11};
  for (int round = 0; round < 300; ++round) {
    const std::int64_t rows = 1 + random.below(6);
    const std::int64_t cols = 1 + random.below(7);
    const auto kind = random.below(3);
    const chip::Chip chip = grid_of(kind == 0   ? chip::Topology::Mesh2d
                                    : kind == 1 ? chip::Topology::Torus2d
                                                : chip::Topology::Ring,
                                    rows, cols);
    LinkLoads links(chip);
    Walker walker(chip);
    for (int tree = 0; tree < 12; ++tree) {
      std::vector<std::int32_t> to;
      for (std::int64_t n = 1 + random.below(8); n > 0; --n) {
        to.push_back(static_cast<std::int32_t>(random.below(rows * cols)));
      }
      const auto from = static_cast<std::int32_t>(random.below(rows * cols));
      const bool row_first = random.below(2) == 0;
      const std::int64_t bytes = 1 + random.below(100);
      links.add(from, to, row_first ? chip::DimOrder::RowFirst : chip::DimOrder::ColumnFirst,
                bytes);
      walker.add(from, to, row_first, bytes);
    }
    ASSERT_EQ(sorted_loads(links), walker.sorted()) << "round " << round;
  }
}

chip::Network random_lines(Random& random) {
  const auto line = [&] {
    return chip::Line{.length = 1 + random.below(5),
                      .joint = static_cast<chip::Joint>(1 + random.below(3))};
  };
  return random.below(3) == 0 ? chip::Network::of_lines({line(), line()})
                              : chip::Network::of_lines({line(), line(), line()});
}

// Of lines that end, go around or have ports: what the links of all ways carry, each link once.
TEST(LinkLoads, AreThoseOfTheLinksOfAllWays) {
  Random random{12};
  for (int round = 0; round < 300; ++round) {
    const chip::Network network = random_lines(random);
    LinkLoads links(network, 1);
    std::map<std::pair<std::int64_t, std::int32_t>, std::int64_t> expected;
    std::int64_t longest = 0;
    for (int tree = 0; tree < 12; ++tree) {
      std::vector<std::int32_t> to;
      std::vector<chip::Hop> ways;
      const auto from = static_cast<std::int32_t>(random.below(network.nodes()));
      const auto turn = static_cast<chip::DimOrder>(random.below(2));
      for (std::int64_t n = 1 + random.below(8); n > 0; --n) {
        to.push_back(static_cast<std::int32_t>(random.below(network.nodes())));
        network.way(from, to.back(), turn, ways);
        longest = std::max(longest, network.hops(from, to.back()));
      }
      std::set<std::pair<std::int64_t, std::int32_t>> once;
      for (const chip::Hop& hop : ways) {
        once.insert({hop.node, hop.link});
      }
      const std::int64_t bytes = 1 + random.below(100);
      for (const auto& link : once) {
        expected[link] += bytes;
      }
      links.add(from, to, turn, bytes);
    }
    std::vector<std::int64_t> sorted;
    for (const auto& [link, bytes] : expected) {
      sorted.push_back(bytes);
    }
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(sorted_loads(links), sorted) << "round " << round;
    EXPECT_EQ(links.hops(), longest);
  }
}

TEST(LinkLoads, ChipsHaveGridsOfTheirOwn) {
  chip::Chip two = chip::small_mesh(3, 4);
  two.chips = 2;
  LinkLoads links(two);
  const std::vector<std::int32_t> near{1, 7, 11};
  links.add(0, near, chip::DimOrder::RowFirst, 5);
  const std::vector<std::int64_t> once = sorted_loads(links);
  EXPECT_EQ(once, std::vector<std::int64_t>(5, 5));  // three along row 0, two down column 3
  const std::vector<std::int32_t> far{13, 19, 23};   // as near, on the second chip
  links.add(12, far, chip::DimOrder::RowFirst, 5);
  EXPECT_EQ(sorted_loads(links), std::vector<std::int64_t>(10, 5));
}

}  // namespace
}  // namespace elk::cost
