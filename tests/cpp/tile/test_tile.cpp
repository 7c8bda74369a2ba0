#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/ir/converted_inputs.hpp"
#include "elk/tile/fit/fit.hpp"
#include "elk/tile/rate.hpp"
#include "elk/tile/tile.hpp"
#include "elk/tile/times.hpp"
#include "partition/ops.hpp"

namespace elk::tile {
namespace {

using ir::DType;
using ir::TileDim;

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
constexpr OpaqueRule kOpaque{
    .call_cycles = 100, .sram_bytes_per_cycle = 16, .vector_elements_per_cycle = 2};

TileShape tile(const std::vector<std::pair<TileDim, std::int64_t>>& sizes) {
  TileShape out{.size = {}, .params = {0, 0}};
  out.size.fill(1);
  for (const auto& [dim, size] : sizes) {
    out.size[static_cast<std::size_t>(dim)] = size;
  }
  return out;
}

TileShape product(std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t g = 1) {
  return tile({{TileDim::Group, g}, {TileDim::M, m}, {TileDim::K, k}, {TileDim::N, n}});
}

/// Elements dealt in steps of six to one piece.
Grid elements() {
  return {.outer = {},
          .inner = {TileDim::Elements},
          .outer_step = 1,
          .inner_step = 6,
          .split = LeafRule::Whole,
          .modulus = 1,
          .single = false,
          .outer_at_most = 0,
          .bounds = {},
          .total_bound = 0,
          .scan = false,
          .variant = false};
}

Blocks blocks() {
  return {.in_group = 16,
          .out_group = 16,
          .workers = 6,
          .cast = false,
          .window = false,
          .shared = false};
}

/// `coefficients` for every piece of `form`.
Family family(const Formula& form, const std::vector<double>& coefficients) {
  Family out{.form = form,
             .width = static_cast<std::int32_t>(coefficients.size()),
             .coefficients = {},
             .most_columns = kAny,
             .most_depth = kAny,
             .outside = {}};
  for (std::int32_t piece = 0; piece < leaf_count(form); ++piece) {
    out.coefficients.insert(out.coefficients.end(), coefficients.begin(), coefficients.end());
  }
  return out;
}

/// `outside` continues the first family.
KernelFit kernel(const char* function, DType dtype, std::vector<Family> families,
                 std::vector<double> outside, const Extents& limit) {
  families.front().outside = std::move(outside);
  return {.function = function,
          .compute = dtype,
          .accumulate = dtype,
          .families = std::move(families),
          .limit = limit};
}

/// c = 100 + 10 ceil(n / 6) up to 600 elements, 100 + 2 n beyond.
KernelFit exponential(DType dtype = DType::F16) {
  return kernel("exp", dtype, {family(elements(), {100, 0, 10, 0, 0})},
                {100, 0, 12, 0, 0, 0, 0, 0, 0, 0}, {600, 600, 1, 1, 1, 1, 1, 1, 1});
}

/// c = 50 + 200 blocks + 24 ceil(m / 6) blocks.
KernelFit matmul() {
  return kernel("matmul", DType::F16, {family(blocks(), {50, 0, 0, 0, 200, 0, 0, 0, 24, 0})},
                {50, 0, 0, 0, 200, 0, 24, 0, 0, 0}, {1, 512, 512, 2048, 1, 1, 1, 1, 1});
}

double cycles(const TileModel& model, const char* function, const TileShape& shape) {
  return model.cycles(model.find(function, DType::F16, DType::F16), shape);
}

TEST(TileModel, DealsElementsInWholeSteps) {
  const TileModel model({exponential()}, kOpaque);
  EXPECT_EQ(cycles(model, "exp", tile({{TileDim::Elements, 6}})), 110);
  EXPECT_EQ(cycles(model, "exp", tile({{TileDim::Elements, 7}})), 120);
}

TEST(TileModel, TakesTheCheapestFamily) {
  KernelFit fit = exponential();
  fit.families.push_back(family(elements(), {10, 0, 100, 0, 0}));
  const TileModel model({fit}, kOpaque);
  EXPECT_EQ(cycles(model, "exp", tile({{TileDim::Elements, 6}})), 110);
  EXPECT_EQ(cycles(model, "exp", tile({{TileDim::Elements, 12}})), 120);
}

TEST(TileModel, CountsBlocksOfAProduct) {
  const TileModel model({matmul()}, kOpaque);
  EXPECT_EQ(cycles(model, "matmul", product(6, 16, 16)), 50 + 200 + 24);
  EXPECT_EQ(cycles(model, "matmul", product(40, 17, 40)), 50 + (6 * 200) + (6 * 7 * 24));
}

TEST(TileModel, CostsAProductTheSameInBothOrientations) {
  const TileModel model({matmul()}, kOpaque);
  for (const std::int64_t m : {1, 5, 12, 100, 3000}) {
    for (const std::int64_t n : {2, 16, 33, 700}) {
      EXPECT_EQ(cycles(model, "matmul", product(m, 64, n)),
                cycles(model, "matmul", product(n, 64, m)));
    }
  }
}

TEST(TileModel, RunsProductsOfAGroupOneByOneWithoutABatchedKernel) {
  const TileModel model({matmul()}, kOpaque);
  EXPECT_EQ(cycles(model, "matmul", product(8, 32, 32, 5)),
            5 * cycles(model, "matmul", product(8, 32, 32)));
}

TEST(TileModel, RunsProductsOfAGroupInOneCallOfABatchedKernel) {
  KernelFit batched = matmul();
  batched.function = "batch_matmul";
  batched.limit[0] = 64;
  const TileModel model({matmul(), batched}, kOpaque);
  EXPECT_EQ(cycles(model, "matmul", product(6, 16, 16, 5)), 50 + (5 * (200 + 24)));
}

TEST(TileModel, NeverDecreasesBeyondTheFittedRange) {
  const TileModel model({exponential()}, kOpaque);
  const Kernel exp = model.find("exp", DType::F16, DType::F16);
  double last = 0;
  for (std::int64_t n = 601; n < 5000; n += 7) {
    const TileShape call = tile({{TileDim::Elements, n}});
    EXPECT_TRUE(model.extrapolated(exp, call));
    EXPECT_GE(model.cycles(exp, call), last);
    last = model.cycles(exp, call);
  }
}

TEST(TileModel, SaysWhetherACallIsExtrapolated) {
  const TileModel model({exponential()}, kOpaque);
  const Kernel exp = model.find("exp", DType::F16, DType::F16);
  EXPECT_FALSE(model.extrapolated(exp, tile({{TileDim::Elements, 600}})));
  EXPECT_TRUE(model.extrapolated(exp, tile({{TileDim::Elements, 601}})));
}

TEST(TileModel, ContinuesWherePiecesHadNoRows) {
  KernelFit fit = exponential();
  fit.families[0].coefficients[0] = std::numeric_limits<double>::infinity();
  const TileModel model({fit}, kOpaque);
  EXPECT_DOUBLE_EQ(cycles(model, "exp", tile({{TileDim::Elements, 60}})), 100 + 120);
  EXPECT_TRUE(model.extrapolated(model.find("exp", DType::F16, DType::F16),
                                 tile({{TileDim::Elements, 60}})));
}

TEST(TileModel, BorrowsADeclaredNeighbour) {
  const TileModel model({exponential()}, kOpaque);
  const Kernel sine = model.find("sin", DType::F16, DType::F16);
  EXPECT_TRUE(sine.borrowed);
  EXPECT_EQ(model.source(sine), "exp");
  EXPECT_FALSE(model.find("exp", DType::F16, DType::F16).borrowed);
}

TEST(TileModel, CostsIntegersLikeFloatsByBytes) {
  const TileModel model({exponential(DType::F32)}, kOpaque);
  const TileShape call = tile({{TileDim::Elements, 60}});
  const double f32 = model.cycles(model.find("exp", DType::F32, DType::F32), call);
  EXPECT_EQ(model.cycles(model.find("exp", DType::I64, DType::I64), call), 2 * f32);
  EXPECT_EQ(model.cycles(model.find("exp", DType::I8, DType::I8), call), f32 / 4);
}

TEST(TileModel, CostsUnknownFunctionsByTheOpaqueRule) {
  const TileModel model({exponential()}, kOpaque);
  const Kernel unknown = model.find("mystery", DType::F16, DType::F16);
  EXPECT_TRUE(unknown.borrowed);
  EXPECT_EQ(model.source(unknown), "opaque");
  TileShape call = tile({{TileDim::Elements, 64}});
  call.params[0] = 256;
  EXPECT_EQ(model.cycles(unknown, call), 100 + 16 + 32);
}

TEST(TileModel, CostsASortByItsComparisons) {
  const TileModel model({exponential()}, kOpaque);
  const Kernel sort = model.find("topk", DType::F16, DType::F16);
  TileShape call = tile({{TileDim::Elements, 64}});
  call.params[0] = 256;
  EXPECT_EQ(model.cycles(sort, call), 100 + 16 + (32 * 6));
}

TEST(TileModel, NeverAnswersLessThanOneCycle) {
  KernelFit fit = exponential();
  fit.families[0].coefficients = family(elements(), {-500, 0, 0, 0, 0}).coefficients;
  fit.families[0].outside.assign(10, 0);
  const TileModel model({fit}, kOpaque);
  EXPECT_EQ(cycles(model, "exp", tile({{TileDim::Elements, 6}})), 1);
}

TEST(TileModel, RefusesAKernelThatItCannotEvaluate) {
  KernelFit empty = exponential();
  empty.families.clear();
  EXPECT_THROW(TileModel({empty}, kOpaque), InvalidInput);
  KernelFit narrow = exponential();
  narrow.families[0].coefficients.pop_back();
  EXPECT_THROW(TileModel({narrow}, kOpaque), InvalidInput);
  KernelFit falling = exponential();
  falling.families[0].outside[2] = -1;
  EXPECT_THROW(TileModel({falling}, kOpaque), InvalidInput);
}

TEST(TileForm, GivesTheBusiestWorkerItsRuns) {
  const Formula form =
      WindowLanes{.kind = WindowKind::Pooling, .lanes = 4, .most = 0, .workers = 6};
  // Three rows of eight are dealt as six shares of four: no run crosses the end of a row.
  const TileShape even = tile({{TileDim::OutH, 3}, {TileDim::OutW, 8}});
  EXPECT_EQ(TileCall(even, needs_of({&form, 1})).field.runs, 1);
  EXPECT_EQ(TileCall(even, needs_of({&form, 1})).field.elements, 4);
  // Of four rows of five, the share [3, 6) takes two of one row and one of the next.
  const TileShape odd = tile({{TileDim::OutH, 4}, {TileDim::OutW, 5}});
  EXPECT_EQ(TileCall(odd, needs_of({&form, 1})).field.runs, 2);
  EXPECT_EQ(TileCall(odd, needs_of({&form, 1})).field.ones, 1);
}

TEST(TileForm, CutsADepthIntoTheFewestWholeVectors) {
  const Formula form =
      Dots{.granule = 2, .vector = 4, .out_group = 2, .workers = 6, .aligned = true, .cast = false};
  const auto chunks = [&](std::int64_t depth) {
    const TileShape shape = product(1, depth, 1);
    return TileCall(shape, needs_of({&form, 1})).chunks;
  };
  EXPECT_EQ(chunks(64).count, 1);
  EXPECT_EQ(chunks(226).count, 3);
  EXPECT_EQ(chunks(226).length, 76);
  EXPECT_EQ(chunks(2).count, 0);
}

TEST(Fit, FindsTheCoefficientsThatMadeTheRows) {
  std::vector<ProfileRow> samples;
  for (std::int64_t n = 1; n < 500; n += 3) {
    const double steps = static_cast<double>((n + 5) / 6);
    samples.push_back({.shape = tile({{TileDim::Elements, n}}),
                       .cycles = 120 + (7 * steps),
                       .family = -1,
                       .transposed = -1});
  }
  const std::vector<std::vector<Formula>> alternatives = {{elements()}};
  const KernelFit fit =
      fit_kernel({.function = "exp", .compute = DType::F16, .accumulate = DType::F16}, samples,
                 alternatives, {});
  const TileModel model({fit}, kOpaque);
  EXPECT_NEAR(cycles(model, "exp", tile({{TileDim::Elements, 300}})), 120 + (7 * 50), 1e-6);
}

TEST(Fit, ChoosesAmongAlternativesByRowsLeftOut) {
  Grid by_four = elements();
  by_four.split = LeafRule::Steps;
  by_four.modulus = 4;
  std::vector<ProfileRow> samples;
  for (std::int64_t n = 1; n < 900; n += 2) {
    const std::int64_t steps = (n + 5) / 6;
    samples.push_back({.shape = tile({{TileDim::Elements, n}}),
                       .cycles = static_cast<double>(200 + (24 * ((steps + 3) / 4))),
                       .family = -1,
                       .transposed = -1});
  }
  const std::vector<std::vector<Formula>> alternatives = {{elements()}, {by_four}};
  const KernelFit fit =
      fit_kernel({.function = "exp", .compute = DType::F16, .accumulate = DType::F16}, samples,
                 alternatives, {});
  EXPECT_EQ(fit.families.front().form, Formula(by_four));
}

TEST(Fit, RefusesRowsWithoutCycles) {
  const std::vector<ProfileRow> samples = {
      {.shape = tile({{TileDim::Elements, 4}}), .cycles = 0, .family = -1, .transposed = -1}};
  const std::vector<std::vector<Formula>> alternatives = {{elements()}};
  EXPECT_THROW(static_cast<void>(
                   fit_kernel({.function = "exp", .compute = DType::F16, .accumulate = DType::F16},
                              samples, alternatives, {})),
               InvalidInput);
}

TEST(TileModelOfAFunction, AsksItForEachCall) {
  const TileModel model(
      {{.function = "exp", .compute = DType::F16, .accumulate = DType::F16}},
      [](const KernelName& name, const TileShape& shape) {
        return name.function == "exp" ? 2.0 * static_cast<double>(shape[TileDim::Elements]) : -1.0;
      });
  const Kernel kernel = model.find("exp", DType::F16, DType::F16);
  TileShape call{.size = {}, .params = {0, 0}};
  call.size.fill(1);
  call.size[static_cast<std::size_t>(TileDim::Elements)] = 21;
  EXPECT_DOUBLE_EQ(model.cycles(kernel, call), 42.0);
  EXPECT_FALSE(kernel.borrowed);
  EXPECT_FALSE(model.extrapolated(kernel, call));
  EXPECT_EQ(model.source(kernel), "exp");
  EXPECT_THROW(static_cast<void>(model.find("tanh", DType::F16, DType::F16)), InternalError);
}

TEST(TileModelOfAFunction, RefusesWhatIsNoTime) {
  const TileModel model({{.function = "exp", .compute = DType::F16, .accumulate = DType::F16}},
                        [](const KernelName& /*name*/, const TileShape& /*shape*/) { return 0.0; });
  TileShape call{.size = {}, .params = {0, 0}};
  call.size.fill(1);
  EXPECT_THROW(static_cast<void>(model.cycles(model.find("exp", DType::F16, DType::F16), call)),
               InvalidInput);
  EXPECT_THROW(TileModel(std::vector<KernelName>{}, TileFunction{}), InvalidInput);
}

TEST(TileTimes, CountWhatConvertsAnOperandThatIsStoredInAnotherType) {
  std::vector<KernelName> names;
  for (const char* name : {"matmul", "mul", "add", "sub", "partials_reduce", "slice_copy"}) {
    for (const DType dtype : {DType::F16, DType::F32}) {
      names.push_back({.function = name, .compute = dtype, .accumulate = dtype});
    }
  }
  names.push_back({.function = "cast", .compute = DType::I4, .accumulate = DType::F16});
  const TileModel model(std::move(names), [](const KernelName& name, const TileShape& shape) {
    const auto elements = static_cast<double>(shape[TileDim::Elements]);
    return name.function == "matmul" ? 1e6 : elements * (name.function == "cast" ? 1e3 : 1.0);
  });
  const chip::Chip chip = test::small_chip(48);
  const auto cycles = [&](const test::OneOp& one) {
    return TileTimes(one.graph, one.op(), chip, model).sub_task(partition::sizes(one.op())) *
           chip.core.clock_hz;
  };
  const std::int64_t m = 2;
  const std::int64_t n = 4;
  const std::int64_t k = 32;
  test::OneOp one = test::matmul(m, n, k);
  one.op().operands[OperandId{0}].input = 0;
  one.op().operands[OperandId{1}].input = 1;
  EXPECT_NEAR(cycles(one), 1e6, 1);
  one.graph.tensors[one.op().operands[OperandId{1}].tensor].dtype = DType::I4;
  EXPECT_NEAR(cycles(one), 1e6 + (1e3 * k * n), 1);
  one.op().constants = {ir::scale_input(1)};  // One number: of the result, which is smallest.
  one.op().scalars = {0.5};
  EXPECT_NEAR(cycles(one), 1e6 + (1e3 * k * n) + (m * n), 1);
  one.op().constants.push_back(ir::zero_input(1));
  one.op().scalars.push_back(3);
  EXPECT_NEAR(cycles(one), 1e6 + (1e3 * k * n) + (k * n) + (m * n), 1);
}

TEST(TileRates, LearnApartWhatStepsGainBeyondTheFittedRange) {
  KernelFit narrow = matmul();
  narrow.limit = {1, 64, 64, 64, 1, 1, 1, 1, 1};
  narrow.families[0].outside = {50, 0, 0, 0, 1000, 0, 120, 0, 0, 0};
  const TileModel model({narrow}, kOpaque);
  const test::OneOp one = test::matmul(256, 256, 256);
  const chip::Chip chip = test::small_chip(48);
  TileTimes times(one.graph, one.op(), chip, model);
  TileRates rates(one.op(), times);
  const TileTime within{.time = 1.0, .beyond = false};
  const TileTime beyond{.time = 1.0, .beyond = true};
  EXPECT_GT(rates.gain(within), 0.9);  // Smaller calls of this kernel take no less in sum.
  EXPECT_LT(rates.gain(beyond), 0.5);
  EXPECT_EQ(rates.gain(), rates.gain(beyond));
  const double least = rates.gain(beyond);
  const double before = rates.gain(within);
  EXPECT_TRUE(rates.holds(least, 0.0, beyond));
  EXPECT_FALSE(rates.holds(least / 2, 0.0, beyond));
  EXPECT_LT(rates.gain(beyond), least / 2);
  EXPECT_EQ(rates.gain(within), before);
}

}  // namespace
}  // namespace elk::tile
