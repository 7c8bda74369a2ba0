#include "elk/schedule/problem/link_counts.hpp"

namespace elk::schedule {
namespace {

void add_circle(const partition::Circle& circle, KeyWriter& key) {
  const auto& [dim, axis, parts, stride, folds] = circle;
  key.all(dim, axis, parts, stride, folds);
}

}  // namespace

void add_network(const chip::Chip& chip, KeyWriter& key) {
  key.all(chip.chips, chip.core.count, chip.core.rows, chip.core.cols, chip.core.depth,
          chip.interconnect.topology, chip.interconnect.multicast, chip.inter_chip.has_value());
  if (chip.inter_chip) {
    key.all(chip.inter_chip->port_cores, chip.inter_chip->topology);
  }
}

void add_layout(const partition::Layout& layout, KeyWriter& key) {
  const auto& [shape, dims, size, factors, order, grid_stride, cores, split_dim, split, split_axes,
               circled, spread] = layout;
  key.all(shape, dims.size());
  for (const ir::Dim& dim : dims) {
    key.all(dim.axes, dim.coef, dim.offset);
  }
  key.all(size, factors, order, grid_stride, cores, split_dim, split, split_axes, circled.size());
  for (const partition::CircleDim& one : circled) {
    key.all(one.dim, one.parts, one.turning.size());
    for (const partition::OperandRotation& turning : one.turning) {
      const auto& [rotation, circle, length] = turning;
      key.all(rotation.axes, rotation.factors, rotation.ring, rotation.snakes,
              rotation.circles.size());
      for (const partition::Circle& along : rotation.circles) {
        add_circle(along, key);
      }
      add_circle(circle, key);
      key.add(length);
    }
  }
  key.add(spread);
}

}  // namespace elk::schedule
