#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/compile/compile.hpp"
#include "elk/compile/fronts.hpp"
#include "schedule/models.hpp"

namespace elk::compile {
namespace {

/// What `compile` throws on these; fails where it throws nothing.
Infeasible refusal(const ir::Graph& graph, const chip::Chip& chip) {
  try {
    (void)compile(graph, chip, test::analytic(),
                  {.policy = schedule::Policy::ElkFull, .threads = 1});
  } catch (const Infeasible& error) {
    return error;
  }
  ADD_FAILURE() << "no refusal";
  return Infeasible("");
}

bool says(const Infeasible& error, const std::string& words) {
  return std::string(error.what()).find(words) != std::string::npos;
}

TEST(CompileRefuses, OpsThatFitNoCoreByNameAndBytes) {
  // The smallest plan of 64 x 64 f16 on four cores holds a quarter of it, twice.
  test::Net net;
  const TensorId x = net.tensor(ir::Home::Input, {64, 64});
  net.add(test::exp_of(64, 64), {x}, ir::Home::Output);
  ir::Graph graph = net.done();
  graph.ops[OpId{0}].name = "wide_exp";
  const Infeasible error = refusal(graph, test::tight_chip(4, 4000));
  EXPECT_EQ(error.code(), "sram_overflow");
  EXPECT_TRUE(says(error, "'wide_exp'")) << error.what();
  EXPECT_TRUE(says(error, "(Test)")) << error.what();
  EXPECT_TRUE(says(error, "4096 bytes a core, 96 more")) << error.what();
  EXPECT_TRUE(says(error, "4000 bytes of SRAM")) << error.what();
}

TEST(CompileRefuses, AllOpsThatFitNoCoreInOneError) {
  test::Net net;
  TensorId x = net.tensor(ir::Home::Input, {64, 64});
  x = TensorId{net.add(test::exp_of(64, 64), {x})};
  x = TensorId{net.add(test::softmax(64, 64), {x})};
  net.add(test::row_sum(64, 64), {x}, ir::Home::Output);
  const Infeasible error = refusal(net.done(), test::tight_chip(4, 3000));
  EXPECT_EQ(error.code(), "sram_overflow");
  EXPECT_TRUE(says(error, "'op0'")) << error.what();
  EXPECT_TRUE(says(error, "'op1'")) << error.what();
  EXPECT_FALSE(says(error, "'op2'")) << error.what();  // 2,048 bytes and 32
}

TEST(CompileRefuses, BytesTimesCoresBeyondSixtyFourBits) {
  // Two tensors of 2^24 x 2^15 f16: 2^41 bytes, which 2^17 cores bring to 2^58.
  test::Net net;
  const TensorId x = net.tensor(ir::Home::Input, {1 << 24, 1 << 15});
  net.add(test::exp_of(1 << 24, 1 << 15), {x}, ir::Home::Output);
  const ir::Graph graph = net.done();
  chip::Chip chip = test::tight_chip(1 << 17, 65536);
  EXPECT_NO_THROW(check_products(graph, chip));
  chip.core.count += 1;
  EXPECT_THROW(check_products(graph, chip), InvalidInput);
  chip.core.count = 1 << 24;
  chip.chips = 1 << 24;
  EXPECT_THROW(check_products(graph, chip), InvalidInput);
}

TEST(CompileRefuses, NoWeightsThatTheHbmOfManyChipsHolds) {
  const ir::Graph graph = test::chain(3, 8, 64, false);
  chip::Chip chip = test::tight_chip(16, 65536);
  chip.hbm->capacity = {std::int64_t{1} << 60};
  chip.chips = 1 << 20;  // 2^80 bytes in all.
  EXPECT_NO_THROW(check_capacity(graph, chip));
}

TEST(CompileRefuses, WeightsBeyondTheHbm) {
  const ir::Graph graph = test::chain(3, 8, 64, false);
  chip::Chip chip = test::tight_chip(16, 65536);
  chip.hbm->capacity = {3 * 64 * 64 * 2};
  EXPECT_NO_THROW((void)compile(graph, chip, test::analytic(), {.threads = 1}));
  chip.hbm->capacity -= Bytes{10};
  const Infeasible error = refusal(graph, chip);
  EXPECT_EQ(error.code(), "hbm_overflow");
  EXPECT_TRUE(says(error, "24576 bytes")) << error.what();
  EXPECT_TRUE(says(error, "24566")) << error.what();
  EXPECT_TRUE(says(error, "10 bytes too many")) << error.what();
}

TEST(CompileRefuses, ActivationsThatOverflowTogether) {
  // Each op fits by itself, but `kept` waits for the last.
  test::Net net;
  const TensorId kept = net.add(test::exp_of(64, 64), {net.tensor(ir::Home::Input, {64, 64})});
  const TensorId also = net.add(test::exp_of(64, 64), {kept});
  TensorId x = net.add(test::exp_of(64, 64), {also});
  x = net.add(test::add_of(64, 64), {x, also});
  x = net.add(test::add_of(64, 64), {x, also});
  net.add(test::add_of(64, 64), {x, kept}, ir::Home::Output);
  const Infeasible error = refusal(net.done(), test::tight_chip(4, 6500));
  EXPECT_EQ(error.code(), "sram_overflow");
  EXPECT_TRUE(says(error, "'op")) << error.what();
  EXPECT_TRUE(says(error, "needs 8192 bytes")) << error.what();
  EXPECT_TRUE(says(error, "6500 are usable")) << error.what();
  EXPECT_TRUE(says(error, "1692 bytes too many")) << error.what();
  EXPECT_NO_THROW(
      (void)compile(net.done(), test::tight_chip(4, 8192), test::analytic(), {.threads = 1}));
}

TEST(CompileRefuses, WeightsThatOverflowAChipWithoutHbm) {
  const ir::Graph graph = test::chain(8, 8, 64, true);
  const Infeasible error = refusal(graph, test::without_hbm(test::tight_chip(16, 4096)));
  EXPECT_EQ(error.code(), "sram_overflow");  // 8 x 8,192 bytes are 4,096 a core by themselves
  EXPECT_TRUE(says(error, "4096 are usable")) << error.what();
}

TEST(CompileRefuses, InvalidInputBeforeAnythingElse) {
  chip::Chip chip = test::tight_chip(16, 65536);
  chip.core.count = 0;
  EXPECT_THROW((void)compile(test::chain(2, 8, 64, true), chip, test::analytic(), {.threads = 1}),
               InvalidInput);
}

}  // namespace
}  // namespace elk::compile
