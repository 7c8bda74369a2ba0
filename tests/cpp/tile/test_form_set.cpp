#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "elk/tile/tile.hpp"

namespace elk::tile {
namespace {

using ir::DType;
using ir::TileDim;

constexpr std::int64_t kAnySize = std::numeric_limits<std::int64_t>::max();

/// Families of `forms` with random coefficients, some below zero, each for tiles of its own.
KernelFit random_kernel(const char* function, const std::vector<Formula>& forms,
                        std::mt19937& random) {
  std::uniform_real_distribution<double> coefficient(-20.0, 200.0);
  std::uniform_int_distribution<std::int64_t> most(8, 120);
  KernelFit fit{.function = function,
                .compute = DType::F16,
                .accumulate = DType::F16,
                .families = {},
                .limit = {}};
  fit.limit.fill(kAnySize);
  for (const Formula& form : forms) {
    const std::int32_t width = feature_count(form);
    std::vector<double> coefficients(static_cast<std::size_t>(width) *
                                     static_cast<std::size_t>(leaf_count(form)));
    std::generate(coefficients.begin(), coefficients.end(), [&] { return coefficient(random); });
    fit.families.push_back({.form = form,
                            .width = width,
                            .coefficients = coefficients,
                            .most_columns = most(random),
                            .most_depth = most(random),
                            .outside = {}});
  }
  fit.families.front().most_columns = kAnySize;
  fit.families.front().most_depth = kAnySize;
  Family& first = fit.families.front();
  first.outside.assign(static_cast<std::size_t>(smooth_count(first.form)), 1.0);
  return fit;
}

/// The cheapest family of the fit and, of a product, orientation, one after another.
double one_by_one(const KernelFit& fit, const TileShape& tile) {
  const FormulaNeeds needs = needs_of(fit);
  TileCall call(tile, needs);
  double best = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < (needs.product ? 2 : 1); ++turn) {
    for (const Family& family : fit.families) {
      if (call.product.columns <= family.most_columns && call.product.depth <= family.most_depth) {
        best = std::min(best, family_cycles(family, call));
      }
    }
    call.exchange(needs);
  }
  return std::max(1.0, best);
}

TileShape random_tile(const std::vector<TileDim>& dims, std::mt19937& random) {
  std::uniform_int_distribution<int> bits(0, 8);
  TileShape tile{.size = {}, .params = {1, 1}};
  tile.size.fill(1);
  for (const TileDim dim : dims) {
    std::uniform_int_distribution<std::int64_t> size(1, std::int64_t{1} << bits(random));
    tile.size[static_cast<std::size_t>(dim)] = size(random);
  }
  return tile;
}

void expect_the_cheapest(const char* function, const std::vector<Formula>& forms,
                         const std::vector<TileDim>& dims) {
  std::mt19937 random(1);
  int compared = 0;
  for (int kernel = 0; kernel < 20; ++kernel) {
    const KernelFit fit = random_kernel(function, forms, random);
    const TileModel model(
        {fit}, {.call_cycles = 1, .sram_bytes_per_cycle = 16, .vector_elements_per_cycle = 2});
    for (int trial = 0; trial < 500; ++trial) {
      const TileShape tile = random_tile(dims, random);
      const double expected = one_by_one(fit, tile);
      if (!std::isinf(expected)) {
        EXPECT_EQ(model.cycles(model.find(function, DType::F16, DType::F16), tile), expected);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 9000);
}

TEST(WindowSet, SaysToTheLastBitWhatItsFamiliesSay) {
  for (const bool cast : {false, true}) {
    expect_the_cheapest(
        "conv2d",
        {WindowBlocks{16, 16, 1, 6, cast}, WindowBlocks{16, 8, 1, 6, cast},
         WindowBlocks{8, 16, 2, 6, cast}, WindowBlocks{4, 8, 4, 6, cast},
         WindowBlocks{5, 12, 3, 6, cast}, Blocks{16, 16, 6, cast, true, false},
         Blocks{16, 12, 6, cast, true, false}, Blocks{8, 8, 6, cast, true, false},
         WindowDots{2, 4, 2, 6, true, cast}, WindowLanes{WindowKind::Sliding, 4, 4, 6}},
        {TileDim::Group, TileDim::Batch, TileDim::OutH, TileDim::OutW, TileDim::InCh,
         TileDim::OutCh, TileDim::KernelH, TileDim::KernelW});
  }
}

TEST(WindowSet, LeavesOutWhatSharesTooLittle) {
  // Blocks of other workers, cast, and with features of all row counts together.
  expect_the_cheapest("conv2d",
                      {WindowBlocks{16, 16, 1, 6, false}, WindowBlocks{8, 16, 1, 6, false},
                       WindowBlocks{4, 16, 1, 6, false}, WindowBlocks{2, 16, 1, 6, false},
                       WindowBlocks{1, 16, 1, 6, false}, WindowBlocks{16, 16, 1, 6, true},
                       Blocks{16, 16, 6, true, true, false}, Blocks{16, 16, 6, false, true, true}},
                      {TileDim::OutH, TileDim::OutW, TileDim::InCh, TileDim::OutCh});
}

TEST(ProductSet, SaysToTheLastBitWhatItsFamiliesSay) {
  for (const bool cast : {false, true}) {
    expect_the_cheapest(
        "product",
        {Blocks{16, 16, 6, cast, false, false}, Blocks{16, 8, 6, cast, false, false},
         Blocks{8, 8, 6, cast, false, true}, Dots{2, 4, 2, 6, true, cast}, OuterProduct{4, 6}},
        {TileDim::Group, TileDim::M, TileDim::N, TileDim::K});
  }
}

TEST(TileForm, FindsTheBusiestWorkerOfAnyNumber) {
  std::mt19937 random(3);
  std::uniform_int_distribution<std::int64_t> size(1, 70);
  for (int trial = 0; trial < 20000; ++trial) {
    const std::int64_t workers = 1 + (trial % 11);
    const std::int64_t rows = size(random);
    const std::int64_t width = size(random);
    const Formula form = WindowLanes{WindowKind::Pooling, 4, 0, static_cast<std::int32_t>(workers)};
    std::int64_t most = -1;
    std::int64_t runs = 0;
    std::int64_t elements = 0;
    for (std::int64_t worker = 0; worker < workers; ++worker) {
      const std::int64_t begin = rows * width * worker / workers;
      const std::int64_t end = rows * width * (worker + 1) / workers;
      const std::int64_t crossed = end > begin ? ((end - 1) / width) - (begin / width) : 0;
      if ((6 * crossed) + end - begin > most) {
        most = (6 * crossed) + end - begin;
        runs = crossed + 1;
        elements = end - begin;
      }
    }
    TileShape tile{.size = {}, .params = {1, 1}};
    tile.size.fill(1);
    tile.size[static_cast<std::size_t>(TileDim::OutH)] = rows;
    tile.size[static_cast<std::size_t>(TileDim::OutW)] = width;
    const TileCall call(tile, needs_of({&form, 1}));
    EXPECT_EQ(call.field.runs, static_cast<double>(runs));
    EXPECT_EQ(call.field.elements, static_cast<double>(elements));
  }
}

}  // namespace
}  // namespace elk::tile
