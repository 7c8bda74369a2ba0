#include <cstddef>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "elk/cost/front/front.hpp"
#include "elk/cost/price/price.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/layout/layout.hpp"
#include "partition/ops.hpp"

namespace {

using namespace elk;

/// A core that multiplies in blocks of 16 x 16 and does everything else by the declared rule.
tile::TileModel blocks() {
  tile::Granules granules{};
  granules.side.fill(tile::Granules::kSides);
  granules.side[static_cast<std::size_t>(ir::TileDim::N)] = 0;
  granules.side[static_cast<std::size_t>(ir::TileDim::K)] = 1;
  granules.granule = {16, 16, 1};
  const std::vector<double> terms{150.0, 4.5};
  tile::Extents limit{};
  limit.fill(std::int64_t{1} << 30);
  return tile::TileModel(
      {{.function = "matmul",
        .compute = ir::DType::F16,
        .accumulate = ir::DType::F16,
        .families = {{.form = granules,
                      .width = 2,
                      .coefficients = terms,
                      .most_columns = std::int64_t{1} << 30,
                      .most_depth = std::int64_t{1} << 30,
                      .outside = terms}},
        .limit = limit}},
      {.call_cycles = 120.0, .sram_bytes_per_cycle = 16.0, .vector_elements_per_cycle = 2.0});
}

chip::Chip pod_chip() {
  chip::Chip chip = test::small_chip(1472, 638976);
  chip.core.clock_hz = 1.33e9;
  chip.interconnect.link_rate = 5.5e9;
  return chip;
}

void BM_FrontOfMatMul(benchmark::State& state) {
  const test::OneOp one = test::matmul(state.range(0), state.range(1), state.range(2));
  const chip::Chip chip = pod_chip();
  const tile::TileModel tiles = blocks();
  std::size_t options = 0;
  for (auto _ : state) {
    options = cost::front(one.graph, one.op(), chip, tiles, {}).options.size();
  }
  state.counters["options"] = static_cast<double>(options);
}
BENCHMARK(BM_FrontOfMatMul)
    ->Args({32, 1280, 5120})
    ->Args({32, 5120, 5120})
    ->Args({32, 13824, 5120})
    ->Args({4096, 1024, 1024})
    ->Unit(benchmark::kMillisecond);

void BM_FrontOfAttention(benchmark::State& state) {
  const test::OneOp one = test::attention_scores(32, state.range(0), 2049, 128);
  const chip::Chip chip = pod_chip();
  const tile::TileModel tiles = blocks();
  for (auto _ : state) {
    benchmark::DoNotOptimize(cost::front(one.graph, one.op(), chip, tiles, {}));
  }
}
BENCHMARK(BM_FrontOfAttention)->Arg(10)->Arg(40)->Unit(benchmark::kMillisecond);

void BM_Price(benchmark::State& state) {
  const test::OneOp one = test::matmul(32, 5120, 5120);
  const chip::Chip chip = pod_chip();
  const tile::TileModel tiles = blocks();
  const auto plan =
      partition::complete_plan(one.graph, one.op(), {8, 46, 4}, {{1, 2}, {1, 4}, {}}, chip);
  for (auto _ : state) {
    benchmark::DoNotOptimize(cost::price(one.graph, one.op(), *plan, chip, tiles));
  }
}
BENCHMARK(BM_Price)->Unit(benchmark::kMicrosecond);

/// From 640 columns of pieces to 32 rows of them.
void BM_Transition(benchmark::State& state) {
  const test::OneOp product = test::matmul(32, 5120, 5120);
  const test::OneOp reader = test::softmax(32, 5120);
  const chip::Chip chip = test::small_chip(5888, 638976);
  const auto made = partition::complete_plan(product.graph, product.op(), {state.range(0), 640, 1},
                                             {{}, {}, {}}, chip);
  const auto read = partition::complete_plan(reader.graph, reader.op(), {32, 20 * state.range(0)},
                                             {{}, {}}, chip);
  const partition::Layout have =
      partition::layout(product.graph, product.op(), OperandId{2}, *made, chip);
  const partition::Layout need =
      partition::layout(reader.graph, reader.op(), OperandId{0}, *read, chip);
  for (auto _ : state) {
    benchmark::DoNotOptimize(test::transition(have, need, 16, chip));
  }
}
BENCHMARK(BM_Transition)->Arg(2)->Arg(8)->Unit(benchmark::kMicrosecond);

}  // namespace
