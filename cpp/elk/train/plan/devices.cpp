#include "elk/train/plan/devices.hpp"

#include <algorithm>
#include <numeric>

#include "elk/chip/network.hpp"

namespace elk::train {
namespace {

/// A grid of nodes, numbered row by row; several at one place follow each other.
struct NodeGrid {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;

  [[nodiscard]] std::int64_t nodes() const { return rows * columns * depth; }
};

NodeGrid grid_of(const chip::Network& network) {
  if (!network.routed()) {
    return {.rows = 1, .columns = network.nodes(), .depth = 1};
  }
  const chip::PerDim sides = network.sides();
  return {.rows = sides[0], .columns = sides[1], .depth = sides[2]};
}

/// The nodes of a grid row by row, every other row backwards.
std::vector<std::int64_t> snake(const NodeGrid& grid) {
  std::vector<std::int64_t> nodes;
  for (std::int64_t row = 0; row < grid.rows; ++row) {
    for (std::int64_t i = 0; i < grid.columns; ++i) {
      const std::int64_t column = row % 2 == 0 ? i : grid.columns - 1 - i;
      for (std::int64_t deep = 0; deep < grid.depth; ++deep) {
        nodes.push_back((((row * grid.columns) + column) * grid.depth) + deep);
      }
    }
  }
  return nodes;
}

std::vector<std::int64_t> chips_in_order(const chip::Chip& chip) {
  if (!chip.inter_chip) {
    return {0};
  }
  return snake(grid_of(chip::network_of_chips(chip.inter_chip->topology, chip.chips)));
}

CoreId core_of(const chip::Chip& chip, std::int64_t on_chip, std::int64_t core) {
  return id_at<CoreId>((on_chip * chip.core.count) + core);
}

std::vector<CoreId> in_s_shape(const chip::Chip& chip, const Strategy& strategy) {
  const std::int64_t stage = strategy.tp * strategy.dp;
  const std::vector<std::int64_t> chips = chips_in_order(chip);
  const std::vector<std::int64_t> cores = snake(grid_of(chip::network_of(chip)));
  const bool one_each = stage <= chip.core.count && strategy.pp <= chip.chips;
  const std::int64_t taken = one_each ? stage : chip.core.count;
  std::vector<CoreId> order;
  for (const std::int64_t on_chip : chips) {
    for (std::int64_t c = 0; c < taken; ++c) {
      order.push_back(core_of(chip, on_chip, cores[subscript(c)]));
    }
  }
  return order;
}

/// All cores line by line, the lines along the shorter side of the grid of all cores.
std::vector<CoreId> in_lines(const chip::Chip& chip) {
  const NodeGrid cores = grid_of(chip::network_of(chip));
  NodeGrid chips{.rows = 1, .columns = chip.chips, .depth = 1};
  if (chip.inter_chip) {
    chips = grid_of(chip::network_of_chips(chip.inter_chip->topology, chip.chips));
  }
  const std::int64_t rows = chips.rows * cores.rows;
  const std::int64_t columns = chips.columns * cores.columns;
  const auto add = [&](std::int64_t row, std::int64_t column, std::vector<CoreId>& order) {
    const std::int64_t on_chip = (row / cores.rows * chips.columns) + (column / cores.columns);
    const std::int64_t place = (row % cores.rows * cores.columns) + (column % cores.columns);
    for (std::int64_t deep = 0; deep < cores.depth; ++deep) {
      order.push_back(core_of(chip, on_chip, (place * cores.depth) + deep));
    }
  };
  std::vector<CoreId> order;
  const bool along_rows = columns <= rows;
  for (std::int64_t line = 0; line < std::max(rows, columns); ++line) {
    for (std::int64_t i = 0; i < std::min(rows, columns); ++i) {
      add(along_rows ? line : i, along_rows ? i : line, order);
    }
  }
  return order;
}

}  // namespace

std::vector<std::vector<CoreId>> StageDevices::sharing(GroupCut cut) const {
  std::vector<std::vector<CoreId>> groups;
  for (std::int64_t replica = 0; replica < dp(); ++replica) {
    for (std::int64_t first = 0; first < tp_; ++first) {
      if (first / cut.stride % cut.parts != 0 || first + ((cut.parts - 1) * cut.stride) >= tp_) {
        continue;
      }
      std::vector<CoreId>& group = groups.emplace_back();
      for (std::int64_t i = 0; i < cut.parts; ++i) {
        group.push_back(at(replica, first + (i * cut.stride)));
      }
    }
  }
  return groups;
}

std::vector<std::vector<CoreId>> StageDevices::replicas() const {
  std::vector<std::vector<CoreId>> groups(subscript(tp_));
  for (std::int64_t member = 0; member < tp_; ++member) {
    for (std::int64_t replica = 0; replica < dp(); ++replica) {
      groups[subscript(member)].push_back(at(replica, member));
    }
  }
  return groups;
}

Table<PipelineStageId, StageDevices> devices_of_stages(const chip::Chip& chip,
                                                       const Strategy& strategy) {
  const std::vector<CoreId> order =
      strategy.layout == StageLayout::SShape ? in_s_shape(chip, strategy) : in_lines(chip);
  const std::int64_t size = strategy.tp * strategy.dp;
  Table<PipelineStageId, StageDevices> stages;
  for (std::int64_t s = 0; s < strategy.pp; ++s) {
    std::vector<CoreId> devices(subscript(size));
    for (std::int64_t i = 0; i < size; ++i) {
      const bool near = strategy.groups == Groups::Near;
      const std::int64_t place = near ? i : (i % strategy.tp * strategy.dp) + (i / strategy.tp);
      devices[subscript(i)] = order[subscript((s * size) + place)];
    }
    if (!strategy.stages.empty() && !strategy.stages[subscript(s)].devices.empty()) {
      devices = strategy.stages[subscript(s)].devices;
    }
    stages.emplace_back(std::move(devices), strategy.tp);
  }
  return stages;
}

}  // namespace elk::train
