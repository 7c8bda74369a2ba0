#include "elk/train/plan/device_times.hpp"

#include <algorithm>

#include "elk/base/rounding.hpp"

namespace elk::train {
namespace {

/// The share of units and of their tiles that a product keeps at work.
double full_share(const Gpu& gpu, const ProductSize& size) {
  const std::int64_t tiles =
      ceil_div(size.m, gpu.tile_rows) * ceil_div(size.n, gpu.tile_columns) * size.groups;
  const std::int64_t rounds = ceil_div(tiles, gpu.units);
  const double computed = static_cast<double>(gpu.tile_rows * gpu.tile_columns) *
                          static_cast<double>(gpu.units) * static_cast<double>(rounds);
  return static_cast<double>(size.m) * static_cast<double>(size.n) *
         static_cast<double>(size.groups) / computed;
}

}  // namespace

Seconds gpu_time(const Gpu& gpu, const DeviceKernel& kernel) {
  const Bytes moved = kernel.input + kernel.weight + kernel.output;
  double time = static_cast<double>(moved.value) / (gpu.memory_rate * gpu.memory_share);
  if (kernel.product) {
    const ProductSize& size = *kernel.product;
    const double flops = 2.0 * static_cast<double>(size.m) * static_cast<double>(size.n) *
                         static_cast<double>(size.k) * static_cast<double>(size.groups);
    time = std::max(time, flops / (gpu.peak_flops * gpu.product_share * full_share(gpu, size)));
  }
  return Seconds{time} + gpu.launch;
}

DramTraffic dram_traffic(const SramUse& use, const DeviceKernel& kernel) {
  DramTraffic moved{.read = {0}, .written = {0}};
  if (use.weights + use.activations <= use.room) {
    return moved;
  }
  const Bytes activations = kernel.input + kernel.output;
  if (use.holds_weights() && (!use.holds_activations() || activations <= kernel.weight)) {
    return {.read = kernel.input, .written = kernel.output};
  }
  if (use.holds_activations()) {
    moved.read = kernel.weight;
  } else {
    const auto parts = [&use](Bytes bytes) {
      return ceil_div(std::max<std::int64_t>(bytes.value, 1),
                      std::max<std::int64_t>(use.room.value, 1));
    };
    const Bytes by_weight = kernel.weight + (kernel.input * parts(kernel.weight));
    const Bytes by_result = kernel.input + (kernel.weight * parts(kernel.output));
    moved = {.read = std::min(by_weight, by_result), .written = kernel.output};
  }
  if (kernel.accumulates && !use.holds_weights()) {
    // What there is of the gradient is read, and written again.
    moved.read += kernel.output;
    moved.written = kernel.output;
  }
  return moved;
}

DramTraffic update_traffic(const SramUse& use, const DeviceKernel& update) {
  return use.holds_weights() ? DramTraffic{.read = {0}, .written = {0}}
                             : DramTraffic{.read = update.input, .written = update.output};
}

}  // namespace elk::train
