#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "elk/cost/tile.hpp"

namespace elk::cost {
namespace {

using ir::TileDim;

/// A family of ones: what it costs to evaluate does not depend on its coefficients.
Family ones(const Form& form) {
  const std::int32_t width = feature_count(form);
  const auto count = static_cast<std::size_t>(width) * static_cast<std::size_t>(leaf_count(form));
  return {.form = form,
          .width = width,
          .coefficients = std::vector<double>(count, 1.0),
          .most_columns = 1 << 20};
}

/// A model of one function. Of a product, all families but the first take few columns, as in a fit.
TileModel model(const char* function, const std::vector<Form>& forms, std::int64_t few = 1 << 20) {
  KernelFit fit{.function = function,
                .compute = ir::DType::F16,
                .accumulate = ir::DType::F16,
                .families = {},
                .outside = std::vector<double>(static_cast<std::size_t>(smooth_count(forms[0])), 1),
                .limit = {}};
  fit.limit.fill(1 << 20);
  for (const Form& form : forms) {
    fit.families.push_back(ones(form));
    fit.families.back().most_columns = fit.families.size() == 1 ? 1 << 20 : few;
  }
  return {{fit}, {.call_cycles = 1, .sram_bytes_per_cycle = 16, .vector_elements_per_cycle = 2}};
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
                                              .split = Split::Steps,
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
  std::vector<Form> forms;
  for (const std::int32_t channels : {16, 8, 4}) {
    forms.emplace_back(WindowBlocks{channels, 16, 16 / channels, 6, false});
    forms.emplace_back(WindowBlocks{channels, 8, 16 / channels, 6, false});
  }
  forms.emplace_back(Blocks{16, 16, 6, false, true, false});
  forms.emplace_back(WindowDots{2, 4, 2, 6, true, false});
  forms.emplace_back(WindowLanes{WindowKind::Sliding, 4, 4, 6});
  const TileModel fitted = model("conv2d", forms);
  evaluate(state, fitted, "conv2d",
           tiles({TileDim::OutH, TileDim::OutW, TileDim::InCh, TileDim::OutCh}, 64));
}
BENCHMARK(BM_WindowTile);

}  // namespace
}  // namespace elk::cost
