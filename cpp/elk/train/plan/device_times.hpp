#pragma once

#include <cstdint>

#include "elk/base/units.hpp"
#include "elk/train/work/work.hpp"

namespace elk::train {

/// What kernels reach on a GPU: a share of the peak in products, whose tiles fill its units, and of
/// the memory's rate.
struct Gpu {
  double peak_flops;       // a second
  double product_share;    // of the peak that large products reach
  double memory_rate;      // bytes a second
  double memory_share;     // what kernels reach of that rate
  Seconds launch;          // of each kernel
  std::int64_t units;      // units that compute side by side
  std::int64_t tile_rows;  // of a product's result that one unit computes at a time
  std::int64_t tile_columns;

  friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// The time of a kernel on a GPU:
///
///     product   max(2 m n k G / (peak e q), bytes / (r B)) + o
///     others    bytes / (r B) + o
///
/// with q the share of the units' tiles that are full: the last round of tiles, and tiles at the
/// edges, keep units waiting.
[[nodiscard]] Seconds gpu_time(const Gpu& gpu, const DeviceKernel& kernel);

/// Bytes that a kernel reads from memory off the core, and writes to it.
struct DramTraffic {
  Bytes read;
  Bytes written;
};

/// What of a stage stays in SRAM (PALM, Algorithm 1): all of it, its weights with their gradients
/// and state, its activations, or nothing.
struct SramUse {
  Bytes room;
  Bytes weights;      // with gradients and the optimizer's state
  Bytes activations;  // saved, and of the largest op

  [[nodiscard]] bool holds_weights() const { return weights <= room; }
  [[nodiscard]] bool holds_activations() const { return activations <= room; }
};

/// What a kernel moves between SRAM and memory. Where weights or activations stay, and not both,
/// the others move; where either could, those of which the kernel has less. Where neither stays,
/// its second operand is read once and its first for each part of it that SRAM holds, or the result
/// stays in parts, whichever is less.
[[nodiscard]] DramTraffic dram_traffic(const SramUse& use, const DeviceKernel& kernel);

/// What the update of a stage moves: all of its state, unless that stays in SRAM.
[[nodiscard]] DramTraffic update_traffic(const SramUse& use, const DeviceKernel& update);

}  // namespace elk::train
