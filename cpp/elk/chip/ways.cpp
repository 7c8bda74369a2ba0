#include "elk/chip/ways.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "elk/chip/delivery.hpp"

namespace elk::chip {
namespace {

enum class Edge : std::uint8_t { Left, Right, Top, Bottom };
constexpr std::size_t kEdges = 4;

struct Place {
  std::int64_t row;
  std::int64_t col;
};

struct Nodes {
  std::int64_t rows;
  std::int64_t cols;

  [[nodiscard]] Place place(std::int64_t core) const {
    return {.row = core / cols, .col = core % cols};
  }
};

Nodes nodes_of(const Chip& chip) {
  if (chip.interconnect.topology == Topology::Ring) {
    return {.rows = 1, .cols = chip.core.count};
  }
  return {.rows = chip.core.rows, .cols = chip.core.cols};
}

/// The edge at which a node lies. Within the grid there is none, and the side does not matter.
Edge edge_of(const Chip& chip, const Nodes& grid, std::int64_t core) {
  const Place at = grid.place(core);
  const bool inner_row = at.row > 0 && at.row < grid.rows - 1;
  if (chip.hbm->position != HbmPosition::EdgesAll || inner_row) {
    return at.col == 0 ? Edge::Left : Edge::Right;
  }
  return at.row == 0 ? Edge::Top : Edge::Bottom;
}

bool upright(Edge edge) { return edge == Edge::Left || edge == Edge::Right; }

/// Deals the cores of a chip out to the nodes of one module.
class Dealer {
 public:
  Dealer(const Nodes& grid, const std::vector<CoreId>& nodes) : grid_(grid), nodes_(nodes) {
    result_.resize(static_cast<std::size_t>(grid.rows * grid.cols));
    for (std::size_t core = 0; core < result_.size(); ++core) {
      left_.push_back(static_cast<std::int64_t>(core));
    }
  }

  /// Gives the nodes `members`, which lie at `edge`, their share of the cores that are left: those
  /// in the rows (columns) nearest to the middle of them, in runs.
  void deal(Edge edge, std::vector<std::int32_t> members, std::size_t nodes_left) {
    const std::size_t share = ((left_.size() * members.size()) + (nodes_left / 2)) / nodes_left;
    const auto count = static_cast<std::int64_t>(members.size());
    std::int64_t sum = 0;
    for (const std::int32_t member : members) {
      sum += along(edge, nodes_[static_cast<std::size_t>(member)].value);
    }
    const auto nearer = [&](std::int64_t a, std::int64_t b) {
      return std::pair(std::abs((count * along(edge, a)) - sum), a) <
             std::pair(std::abs((count * along(edge, b)) - sum), b);
    };
    std::sort(left_.begin(), left_.end(), nearer);
    std::vector<std::int64_t> taken(left_.begin(),
                                    left_.begin() + static_cast<std::ptrdiff_t>(share));
    left_.erase(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(share));
    const auto before = [&](std::int64_t a, std::int64_t b) {
      return std::pair(along(edge, a), a) < std::pair(along(edge, b), b);
    };
    std::sort(taken.begin(), taken.end(), before);
    std::sort(members.begin(), members.end(), [&](std::int32_t a, std::int32_t b) {
      return before(nodes_[static_cast<std::size_t>(a)].value,
                    nodes_[static_cast<std::size_t>(b)].value);
    });
    for (std::size_t k = 0; k < taken.size(); ++k) {
      result_[static_cast<std::size_t>(taken[k])] = members[k * members.size() / taken.size()];
    }
  }

  [[nodiscard]] std::vector<std::int32_t> result() && { return std::move(result_); }

 private:
  [[nodiscard]] std::int64_t along(Edge edge, std::int64_t core) const {
    const Place at = grid_.place(core);
    return upright(edge) ? at.row : at.col;
  }

  const Nodes& grid_;
  const std::vector<CoreId>& nodes_;
  std::vector<std::int64_t> left_;  // cores without a node
  std::vector<std::int32_t> result_;
};

}  // namespace

std::vector<std::vector<std::int32_t>> entry_nodes(const Chip& chip) {
  std::vector<std::vector<std::int32_t>> result;
  const Nodes grid = nodes_of(chip);
  for (const std::vector<CoreId>& nodes : attached_cores(chip)) {
    std::array<std::vector<std::int32_t>, kEdges> members;
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      const Edge edge = edge_of(chip, grid, nodes[node].value);
      members[static_cast<std::size_t>(edge)].push_back(static_cast<std::int32_t>(node));
    }
    Dealer dealer(grid, nodes);
    std::size_t nodes_left = nodes.size();
    for (std::size_t edge = 0; edge < kEdges; ++edge) {
      if (!members[edge].empty()) {
        dealer.deal(static_cast<Edge>(edge), members[edge], nodes_left);
        nodes_left -= members[edge].size();
      }
    }
    result.push_back(std::move(dealer).result());
  }
  return result;
}

bool along_row_first(const Chip& chip, CoreId core) {
  return upright(edge_of(chip, nodes_of(chip), core.value));
}

}  // namespace elk::chip
