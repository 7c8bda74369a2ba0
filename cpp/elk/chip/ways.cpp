#include "elk/chip/ways.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "elk/base/rounding.hpp"
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

/// The nodes of a module beside an area, all of them if there is none: for each edge their
/// positions.
std::array<std::vector<std::int32_t>, kEdges> beside(const Chip& chip, const Nodes& grid,
                                                     const std::vector<CoreId>& nodes,
                                                     const Area& area) {
  std::array<std::vector<std::int32_t>, kEdges> result;
  std::array<std::vector<std::int32_t>, kEdges> all;
  bool any = false;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const Edge edge = edge_of(chip, grid, nodes[node].value);
    const Place at = grid.place(nodes[node].value);
    all[static_cast<std::size_t>(edge)].push_back(static_cast<std::int32_t>(node));
    if (upright(edge) ? at.row < area.rows : at.col < area.cols) {
      result[static_cast<std::size_t>(edge)].push_back(static_cast<std::int32_t>(node));
      any = true;
    }
  }
  return any ? result : all;
}

std::size_t count(const std::array<std::vector<std::int32_t>, kEdges>& members) {
  std::size_t sum = 0;
  for (const std::vector<std::int32_t>& nodes : members) {
    sum += nodes.size();
  }
  return sum;
}

/// Deals receivers out to the nodes of one module.
class Dealer {
 public:
  Dealer(const Nodes& grid, const std::vector<CoreId>& nodes, std::span<const CoreId> receivers)
      : grid_(grid), nodes_(nodes), result_(receivers.size()) {
    for (std::size_t number = 0; number < receivers.size(); ++number) {
      left_.push_back({.core = receivers[number].value, .number = number});
    }
  }

  /// Gives the nodes `members`, which lie at `edge`, their share of the receivers that are left,
  /// with `later` nodes to come: those in the rows (columns) nearest to the middle of them, in
  /// runs.
  void deal(Edge edge, std::vector<std::int32_t> members, std::size_t later) {
    if (members.empty()) {
      return;
    }
    const std::size_t nodes_left = members.size() + later;
    const std::size_t share = ((left_.size() * members.size()) + (nodes_left / 2)) / nodes_left;
    const auto count = static_cast<std::int64_t>(members.size());
    std::int64_t sum = 0;
    for (const std::int32_t member : members) {
      sum += along(edge, nodes_[static_cast<std::size_t>(member)].value);
    }
    const auto nearer = [&](const Receiver& a, const Receiver& b) {
      return std::tuple(std::abs((count * along(edge, a.core)) - sum), a.core, a.number) <
             std::tuple(std::abs((count * along(edge, b.core)) - sum), b.core, b.number);
    };
    std::sort(left_.begin(), left_.end(), nearer);
    std::vector<Receiver> taken(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(share));
    left_.erase(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(share));
    std::sort(taken.begin(), taken.end(), [&](const Receiver& a, const Receiver& b) {
      return std::tuple(along(edge, a.core), a.core, a.number) <
             std::tuple(along(edge, b.core), b.core, b.number);
    });
    std::sort(members.begin(), members.end(), [&](std::int32_t a, std::int32_t b) {
      const std::int64_t first = nodes_[static_cast<std::size_t>(a)].value;
      const std::int64_t second = nodes_[static_cast<std::size_t>(b)].value;
      return std::pair(along(edge, first), first) < std::pair(along(edge, second), second);
    });
    for (std::size_t k = 0; k < taken.size(); ++k) {
      result_[taken[k].number] = members[k * members.size() / taken.size()];
    }
  }

  [[nodiscard]] std::vector<std::int32_t> result() && { return std::move(result_); }

 private:
  struct Receiver {
    std::int64_t core;
    std::size_t number;
  };

  [[nodiscard]] std::int64_t along(Edge edge, std::int64_t core) const {
    const Place at = grid_.place(core);
    return upright(edge) ? at.row : at.col;
  }

  const Nodes& grid_;
  const std::vector<CoreId>& nodes_;
  std::vector<std::int32_t> result_;
  std::vector<Receiver> left_;  // without a node
};

}  // namespace

std::vector<std::int64_t> nodes_beside(const Chip& chip, const Area& area) {
  std::vector<std::int64_t> result;
  const Nodes grid = nodes_of(chip);
  for (const std::vector<CoreId>& nodes : attached_cores(chip)) {
    result.push_back(static_cast<std::int64_t>(count(beside(chip, grid, nodes, area))));
  }
  return result;
}

std::vector<std::vector<std::int32_t>> entry_nodes(const Chip& chip,
                                                   std::span<const CoreId> receivers,
                                                   const Area& area) {
  std::vector<std::vector<std::int32_t>> result;
  const Nodes grid = nodes_of(chip);
  for (const std::vector<CoreId>& nodes : attached_cores(chip)) {
    const auto members = beside(chip, grid, nodes, area);
    Dealer dealer(grid, nodes, receivers);
    std::size_t later = count(members);
    for (std::size_t edge = 0; edge < kEdges; ++edge) {
      later -= members[edge].size();
      dealer.deal(static_cast<Edge>(edge), members[edge], later);
    }
    result.push_back(std::move(dealer).result());
  }
  return result;
}

std::vector<std::vector<std::int32_t>> entry_nodes(const Chip& chip) {
  std::vector<CoreId> all;
  for (std::int64_t core = 0; core < chip.core.count; ++core) {
    all.push_back(id_at<CoreId>(static_cast<std::size_t>(core)));
  }
  return entry_nodes(chip, all, area_of(chip, all));
}

std::int64_t port_core(std::int64_t core, std::int64_t cores, std::int64_t ports) {
  return ceil_div((core * ports / cores) * cores, ports);
}

Area area_of(const Chip& chip, std::span<const CoreId> cores) {
  const Nodes grid = nodes_of(chip);
  Area result{.rows = 0, .cols = 0};
  for (const CoreId core : cores) {
    const Place at = grid.cols > 0 ? grid.place(core.value) : Place{.row = 0, .col = core.value};
    result = {.rows = std::max(result.rows, at.row + 1), .cols = std::max(result.cols, at.col + 1)};
  }
  return result;
}

bool along_row_first(const Chip& chip, CoreId core) {
  return upright(edge_of(chip, nodes_of(chip), core.value));
}

}  // namespace elk::chip
