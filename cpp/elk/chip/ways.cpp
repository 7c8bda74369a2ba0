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

enum class GridEdge : std::uint8_t { Left, Right, Top, Bottom };
constexpr std::size_t kEdges = 4;

/// The edge at which a node lies. Within the grid there is none, and the side does not matter.
GridEdge edge_of(const Chip& chip, const Network& network, const PerDim& at) {
  const bool inner_row = at[0] > 0 && at[0] < network.length(0) - 1;
  if (chip.hbm->position != HbmPosition::EdgesAll || inner_row) {
    return at[1] == 0 ? GridEdge::Left : GridEdge::Right;
  }
  return at[0] == 0 ? GridEdge::Top : GridEdge::Bottom;
}

bool upright(GridEdge edge) { return edge == GridEdge::Left || edge == GridEdge::Right; }

/// The nodes of a module beside an area, all of them if there is none: for each edge their
/// positions.
std::array<std::vector<std::int32_t>, kEdges> beside(const Chip& chip, const Network& network,
                                                     const std::vector<CoreId>& nodes,
                                                     const PerDim& area) {
  std::array<std::vector<std::int32_t>, kEdges> result;
  std::array<std::vector<std::int32_t>, kEdges> all;
  bool any = false;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const PerDim at = network.place(nodes[node].value);
    const GridEdge edge = edge_of(chip, network, at);
    all[static_cast<std::size_t>(edge)].push_back(static_cast<std::int32_t>(node));
    if ((upright(edge) ? at[0] < area[0] : at[1] < area[1]) && at[2] < area[2]) {
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

/// The row, or column, that a place lies in, by layer.
std::int64_t line_of(const Network& network, const PerDim& at, bool row) {
  return ((row ? at[0] : at[1]) * network.length(2)) + at[2];
}

struct Receiver {
  std::int32_t core;
  std::int32_t number;
  std::array<std::int32_t, 2> along;  // of an edge at the top or bottom, of one at a side
};

std::vector<Receiver> receivers_of(const Network& network, std::span<const CoreId> cores) {
  std::vector<Receiver> result;
  result.reserve(cores.size());
  for (const CoreId core : cores) {
    const PerDim at = network.place(core.value);
    result.push_back({.core = core.value,
                      .number = static_cast<std::int32_t>(result.size()),
                      .along = {static_cast<std::int32_t>(line_of(network, at, false)),
                                static_cast<std::int32_t>(line_of(network, at, true))}});
  }
  return result;
}

/// Deals receivers out to the nodes of one module.
class Dealer {
 public:
  Dealer(const Network& network, const std::vector<CoreId>& nodes,
         const std::vector<Receiver>& receivers)
      : network_(network), nodes_(nodes), result_(receivers.size()), left_(receivers) {}

  /// Gives the nodes `members`, which lie at `edge`, their share of the receivers that are left,
  /// with `later` nodes to come: those in the rows (columns) nearest to the middle of them, in
  /// runs.
  void deal(GridEdge edge, std::vector<std::int32_t> members, std::size_t later) {
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
    const std::size_t side = upright(edge) ? 1 : 0;
    const auto nearer = [&](const Receiver& a, const Receiver& b) {
      return std::tuple(std::abs((count * a.along[side]) - sum), a.core, a.number) <
             std::tuple(std::abs((count * b.along[side]) - sum), b.core, b.number);
    };
    std::sort(left_.begin(), left_.end(), nearer);
    std::vector<Receiver> taken(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(share));
    left_.erase(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(share));
    std::sort(taken.begin(), taken.end(), [&](const Receiver& a, const Receiver& b) {
      return std::tuple(a.along[side], a.core, a.number) <
             std::tuple(b.along[side], b.core, b.number);
    });
    std::sort(members.begin(), members.end(), [&](std::int32_t a, std::int32_t b) {
      const std::int64_t first = nodes_[static_cast<std::size_t>(a)].value;
      const std::int64_t second = nodes_[static_cast<std::size_t>(b)].value;
      return std::pair(along(edge, first), first) < std::pair(along(edge, second), second);
    });
    for (std::size_t k = 0; k < taken.size(); ++k) {
      result_[subscript(taken[k].number)] = members[k * members.size() / taken.size()];
    }
  }

  [[nodiscard]] std::vector<std::int32_t> result() && { return std::move(result_); }

 private:
  [[nodiscard]] std::int64_t along(GridEdge edge, std::int64_t core) const {
    return line_of(network_, network_.place(core), upright(edge));
  }

  const Network& network_;
  const std::vector<CoreId>& nodes_;
  std::vector<std::int32_t> result_;
  std::vector<Receiver> left_;  // without a node
};

}  // namespace

std::vector<std::int64_t> nodes_beside(const Chip& chip, const PerDim& area) {
  std::vector<std::int64_t> result;
  const Network network = network_of(chip);
  for (const std::vector<CoreId>& nodes : attached_cores(chip)) {
    result.push_back(static_cast<std::int64_t>(count(beside(chip, network, nodes, area))));
  }
  return result;
}

std::vector<std::vector<std::int32_t>> entry_nodes(const Chip& chip,
                                                   std::span<const CoreId> receivers,
                                                   const PerDim& area) {
  std::vector<std::vector<std::int32_t>> result;
  const Network network = network_of(chip);
  const std::vector<Receiver> all = receivers_of(network, receivers);
  for (const std::vector<CoreId>& nodes : attached_cores(chip)) {
    const auto members = beside(chip, network, nodes, area);
    Dealer dealer(network, nodes, all);
    std::size_t later = count(members);
    for (std::size_t edge = 0; edge < kEdges; ++edge) {
      later -= members[edge].size();
      dealer.deal(static_cast<GridEdge>(edge), members[edge], later);
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

PerDim area_of(const Chip& chip, std::span<const CoreId> cores) {
  const Network network = network_of(chip);
  PerDim result{};
  for (const CoreId core : cores) {
    const PerDim at = network.place(core.value);
    for (std::size_t dim = 0; dim < kMostDims; ++dim) {
      result[dim] = std::max(result[dim], at[dim] + 1);
    }
  }
  return result;
}

DimOrder turn_at(const Chip& chip, CoreId core) {
  const Network network = network_of(chip);
  const bool beside = upright(edge_of(chip, network, network.place(core.value)));
  return beside ? DimOrder::RowFirst : DimOrder::ColumnFirst;
}

}  // namespace elk::chip
