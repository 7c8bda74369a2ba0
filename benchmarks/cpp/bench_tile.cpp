#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "elk/tile/tile.hpp"

namespace elk::tile {
namespace {

using ir::TileDim;

constexpr std::int64_t kAny = 1 << 20;

KernelFit kernel(const char* function) {
  KernelFit fit{.function = function,
                .compute = ir::DType::F16,
                .accumulate = ir::DType::F16,
                .families = {},
                .limit = {}};
  fit.limit.fill(kAny);
  return fit;
}

/// Adds a family of ones: what it costs to evaluate does not depend on its coefficients.
void add(KernelFit& fit, const Formula& form, std::int64_t most_columns, std::int64_t most_depth) {
  const std::int32_t width = feature_count(form);
  const auto count = static_cast<std::size_t>(width) * static_cast<std::size_t>(leaf_count(form));
  fit.families.push_back({.form = form,
                          .width = width,
                          .coefficients = std::vector<double>(count, 1.0),
                          .most_columns = most_columns,
                          .most_depth = most_depth,
                          .outside = {}});
}

TileModel model(KernelFit fit) {
  Family& first = fit.families.front();
  first.outside.assign(static_cast<std::size_t>(smooth_count(first.form)), 1.0);
  return {{fit}, {.call_cycles = 1, .sram_bytes_per_cycle = 16, .vector_elements_per_cycle = 2}};
}

/// A model of one function. Of a product, all families but the first take few columns, as in a fit.
TileModel model(const char* function, const std::vector<Formula>& forms, std::int64_t few = kAny) {
  KernelFit fit = kernel(function);
  for (const Formula& form : forms) {
    add(fit, form, fit.families.empty() ? kAny : few, kAny);
  }
  return model(fit);
}

/// Tiles whose sizes in `dims` are drawn evenly up to `most`.
std::vector<TileShape> tiles(const std::vector<TileDim>& dims, int most) {
  std::mt19937 random(1);
  std::uniform_int_distribution<std::int64_t> size(1, most);
  std::vector<TileShape> out(4096);
  for (TileShape& tile : out) {
    tile.size.fill(1);
    tile.params = {0, 0};
    for (const TileDim dim : dims) {
      tile.size[static_cast<std::size_t>(dim)] = size(random);
    }
  }
  return out;
}

void evaluate(benchmark::State& state, const TileModel& tile_model, const char* function,
              const std::vector<TileShape>& calls) {
  const Kernel kernel = tile_model.find(function, ir::DType::F16, ir::DType::F16);
  std::size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(tile_model.cycles(kernel, calls[at]));
    at = (at + 1) % calls.size();
  }
}

void BM_ProductTile(benchmark::State& state) {
  const TileModel fitted =
      model("matmul",
            {Blocks{16, 16, 6, false, false, false}, Blocks{16, 8, 6, false, false, false},
             Dots{2, 4, 2, 6, true, false}, Dots{2, 4, 2, 6, false, false}, OuterProduct{4, 6}},
            16);
  evaluate(state, fitted, "matmul", tiles({TileDim::M, TileDim::N, TileDim::K}, 512));
}
BENCHMARK(BM_ProductTile);

void BM_VectorTile(benchmark::State& state) {
  const TileModel fitted = model("exp", {Grid{.outer = {},
                                              .inner = {TileDim::Elements},
                                              .outer_step = 1,
                                              .inner_step = 6,
                                              .split = LeafRule::Steps,
                                              .modulus = 4,
                                              .single = false,
                                              .outer_at_most = 0,
                                              .bounds = {},
                                              .total_bound = 0,
                                              .scan = false,
                                              .variant = true}});
  evaluate(state, fitted, "exp", tiles({TileDim::Elements}, 65536));
}
BENCHMARK(BM_VectorTile);

void BM_RowTile(benchmark::State& state) {
  const TileModel fitted = model("softmax", {RowPasses{6, 4, 8, 128}});
  evaluate(state, fitted, "softmax", tiles({TileDim::Rows, TileDim::Cols}, 512));
}
BENCHMARK(BM_RowTile);

void BM_WindowTile(benchmark::State& state) {
  // The families of conv2d in f16, and the channels out and in that each was ever chosen for,
  // twice.
  KernelFit fit = kernel("conv2d");
  add(fit, WindowBlocks{16, 16, 1, 6, false}, kAny, kAny);
  add(fit, WindowBlocks{16, 8, 1, 6, false}, 16, 484);
  add(fit, WindowBlocks{8, 16, 2, 6, false}, 512, 80);
  add(fit, WindowBlocks{8, 8, 2, 6, false}, 16, 80);
  add(fit, WindowBlocks{4, 16, 4, 6, false}, 512, 68);
  add(fit, WindowBlocks{4, 8, 4, 6, false}, 16, 102);
  add(fit, Blocks{16, 16, 6, false, true, false}, 512, 512);
  add(fit, Blocks{16, 8, 6, false, true, false}, 16, 132);
  add(fit, WindowDots{2, 4, 2, 6, true, false}, 34, 512);
  add(fit, WindowDots{2, 4, 2, 6, false, false}, 6, 196);
  add(fit, WindowLanes{WindowKind::Sliding, 4, 4, 6}, 8, 8);
  const TileModel fitted = model(fit);
  evaluate(state, fitted, "conv2d",
           tiles({TileDim::OutH, TileDim::OutW, TileDim::InCh, TileDim::OutCh}, 64));
}
BENCHMARK(BM_WindowTile);

}  // namespace
}  // namespace elk::tile
