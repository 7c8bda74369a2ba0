#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "program/models.hpp"

namespace elk::program {
namespace {

/// Whether some message holds every one of `words`.
bool says(const std::vector<std::string>& messages, const std::vector<std::string>& words) {
  return std::any_of(messages.begin(), messages.end(), [&](const std::string& message) {
    return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
      return message.find(word) != std::string::npos;
    });
  });
}

std::vector<std::string> check_changed(const std::function<void(Chain&, Program&)>& change) {
  Chain c = chain();
  const chip::Chip chip = chip::small_chip();
  Program program = program_of(c, chip);
  change(c, program);
  return check(c.graph, chip, program);
}

Buffer& find(Program& program, TensorId tensor, Role role) {
  return *std::find_if(program.buffers.begin(), program.buffers.end(),
                       [&](const Buffer& b) { return b.tensor == tensor && b.role == role; });
}

TEST(Check, AcceptsASoundProgram) {
  EXPECT_EQ(check_changed([](Chain&, Program&) {}), std::vector<std::string>{});
}

TEST(Check, AcceptsASoundProgramWithoutHbm) {
  Chain c = chain();
  chip::Chip chip = chip::small_chip();
  chip.hbm.reset();
  EXPECT_EQ(check(c.graph, chip, program_of(c, chip)), std::vector<std::string>{});
  for (OpPlan& plan : c.ops) {
    plan.divisor.assign(plan.divisor.size(), 0);
  }
  const Program spread = program_of(c, chip);
  EXPECT_EQ(check(c.graph, chip, spread), std::vector<std::string>{});
  EXPECT_EQ(check(c.graph, chip::small_chip(), spread).empty(), false);
}

TEST(Check, RefusesAResidentThatIsTooSmallOrEndsEarly) {
  for (const std::int64_t divisor : {0, 1}) {
    Chain c = chain();
    chip::Chip chip = chip::small_chip();
    chip.hbm.reset();
    c.ops[OpId{0}].divisor[OperandId{1}] = divisor;
    const Program sound = program_of(c, chip);
    EXPECT_EQ(check(c.graph, chip, sound), std::vector<std::string>{});
    Program early = sound;
    find(early, c.w0, Role::Resident).to -= 1;
    EXPECT_FALSE(check(c.graph, chip, early).empty());
    Program small = sound;
    find(small, c.w0, Role::Resident).bytes -= Bytes{8};
    EXPECT_FALSE(check(c.graph, chip, small).empty());
  }
}

TEST(Check, AcceptsASpilledTensorThatReturns) {
  Chain c = chain();
  spill(c, c.z, OpId{2});
  c.ops[OpId{2}] = cut(c.graph, OpId{2}, {1, 8, 1});
  Program program{
      .ops = c.ops, .code = issue(c.graph, {OpId{0}, OpId{2}}, {1, 1, 2}), .buffers = {}};
  const chip::Chip chip = chip::small_chip();
  program.buffers =
      place(buffers(c.graph, chip, program.ops, program.code), chip::room(chip)).value();
  EXPECT_EQ(check(c.graph, chip, program), std::vector<std::string>{});
  std::swap(program.code[3], program.code[4]);  // store z, preload 2
  EXPECT_TRUE(
      says(check(c.graph, chip, program), {"preload of op 2 (matmul2)", "store of", "(z)"}));
}

TEST(Check, TellsEqualOpsApart) {
  Chain c = chain();
  TensorId x = c.z;
  std::vector<OpId> loads{OpId{0}, OpId{2}};
  for (int i = 0; i < 4; ++i) {
    const std::string layer = std::to_string(i);
    const TensorId w = add_tensor(c.graph, "w" + layer + "b", ir::Home::Weight, {64, 64});
    const TensorId y = add_tensor(c.graph, "y" + layer, ir::Home::Activation, {8, 64});
    loads.push_back(add_matmul(c.graph, x, w, y));
    c.ops.push_back(cut(c.graph, loads.back(), {1, 8, 1}));
    x = y;
  }
  const chip::Chip chip = chip::small_chip();
  const std::vector<std::int32_t> issued(c.graph.ops.size(),
                                         static_cast<std::int32_t>(loads.size()));
  Program program{.ops = c.ops, .code = issue(c.graph, loads, issued), .buffers = {}};
  program.buffers =
      place(buffers(c.graph, chip, program.ops, program.code), chip::room(chip)).value();
  EXPECT_EQ(check(c.graph, chip, program), std::vector<std::string>{});
  find(program, x, Role::Activation).bytes = {8};
  EXPECT_TRUE(says(check(c.graph, chip, program), {"execute of op 6 (matmul6)", "(y3) needs 128"}));
}

TEST(Check, RefusesAnOpTwiceOrOutOfOrder) {
  EXPECT_TRUE(says(check_changed([](Chain&, Program& p) { std::swap(p.code[2], p.code[3]); }),
                   {"execute of op 1 (exp1)", "op 0 is due"}));
  EXPECT_TRUE(says(check_changed([](Chain&, Program& p) { p.code[4] = {Opcode::Execute, 1}; }),
                   {"ends before execute of op 2"}));
}

TEST(Check, RefusesAMissingALateAndADoublePreload) {
  EXPECT_TRUE(says(check_changed([](Chain&, Program& p) { p.code[1] = {Opcode::Preload, 0}; }),
                   {"preload of op 0", "second time"}));
  const auto late = check_changed([](Chain&, Program& p) {
    std::rotate(p.code.begin() + 1, p.code.begin() + 2, p.code.end());
  });
  EXPECT_TRUE(says(late, {"execute of op 2 (matmul2) before its preload"}));
  EXPECT_TRUE(says(late, {"preload of op 2 (matmul2) after its execute"}));
  EXPECT_TRUE(says(check_changed([](Chain&, Program& p) { p.code[1] = {Opcode::Preload, 1}; }),
                   {"preload of op 1 (exp1)", "no data in HBM"}));
}

TEST(Check, RefusesAPreloadBeforeItsIndexIsMade) {
  const auto messages = check_changed([](Chain& c, Program&) {
    c.graph.ops[OpId{2}].operands[OperandId{1}].indirect =
        ir::Indirect{.index = c.z, .dim = DimId{0}, .axes = {AxisId{2}}, .expected_picks = 64.0};
  });
  EXPECT_TRUE(says(messages, {"preload of op 2", "before execute of op 1 (exp1)", "(z)"}));
}

TEST(Check, RefusesAPreloadOfAStateBeforeItsStore) {
  const auto messages = check_changed([](Chain& c, Program&) {
    c.graph.tensors[c.w1].home = ir::Home::State;
    c.graph.ops[OpId{1}].operands.back().tensor = c.w1;
  });
  EXPECT_TRUE(says(messages, {"preload of op 2", "before the store of", "(w1)"}));
}

TEST(Check, RefusesAStoreThatIsMissingEarlyOrUnknown) {
  EXPECT_TRUE(says(check_changed([](Chain& c, Program&) {
                     c.graph.stores = {{.tensor = c.y, .op = OpId{0}, .run = {128}}};
                   }),
                   {"no store of", "(y)"}));
  EXPECT_TRUE(says(check_changed([](Chain& c, Program& p) {
                     c.graph.stores = {{.tensor = c.y, .op = OpId{0}, .run = {128}}};
                     p.code.insert(p.code.begin(), {Opcode::Store, c.y.value});
                   }),
                   {"store of", "(y) before execute of op 0 (matmul0)"}));
  EXPECT_TRUE(says(
      check_changed([](Chain& c, Program& p) { p.code.push_back({Opcode::Store, c.y.value}); }),
      {"store of", "the graph does not store"}));
}

TEST(Check, RefusesPlansThatBreakTheRules) {
  EXPECT_TRUE(
      says(check_changed([](Chain&, Program& p) { p.ops[OpId{0}].execute.factors = {1, 63, 1}; }),
           {"op 0 (matmul0)", "factor 63"}));
  EXPECT_TRUE(
      says(check_changed([](Chain&, Program& p) { p.ops[OpId{0}].divisor[OperandId{1}] = 3; }),
           {"op 0 (matmul0), operand 1", "divisor 3"}));
  EXPECT_TRUE(
      says(check_changed([](Chain&, Program& p) { p.ops[OpId{0}].divisor[OperandId{0}] = 1; }),
           {"op 0 (matmul0), operand 0", "without data from HBM"}));
}

TEST(Check, RefusesABufferThatServesAnotherOp) {
  EXPECT_TRUE(
      says(check_changed([](Chain& c, Program& p) { find(p, c.w0, Role::Preload).op = OpId{2}; }),
           {"preload of op 0", "(w0) needs"}));
}

TEST(Check, RefusesAddressesWhoseSumsDoNotFitTheirType) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const auto broken = check_changed([](Chain& c, Program& p) {
    find(p, c.w0, Role::Preload).offset = {kMost - 7};
    find(p, c.w1, Role::Preload).bytes = {kMost};
  });
  EXPECT_TRUE(says(broken, {"(w0)", "leaves the 57344 bytes"}));
  EXPECT_TRUE(says(broken, {"(w1)", "leaves the 57344 bytes"}));
}

TEST(Check, RefusesAddressesOutsideOverlappingOrUnaligned) {
  EXPECT_TRUE(says(check_changed([](Chain& c, Program& p) {
                     find(p, c.w0, Role::Preload).offset = {57344 - 512};
                   }),
                   {"preload buffer of op 0", "leaves the 57344 bytes"}));
  EXPECT_TRUE(says(check_changed([](Chain& c, Program& p) {
                     find(p, c.w0, Role::Preload).offset = find(p, c.w1, Role::Preload).offset;
                   }),
                   {"at instruction 1", "overlaps", "(w0)", "(w1)"}));
  EXPECT_TRUE(says(
      check_changed([](Chain& c, Program& p) { find(p, c.w0, Role::Preload).offset = {50001}; }),
      {"does not begin on 8 bytes"}));
}

TEST(Check, RefusesMoreThanTheSramHolds) {
  EXPECT_TRUE(says(
      check_changed([](Chain& c, Program& p) { find(p, c.w0, Role::Preload).bytes = {57000}; }),
      {"buffers take", "of 57344 bytes"}));
}

TEST(Check, RefusesBytesWithoutABuffer) {
  EXPECT_TRUE(
      says(check_changed([](Chain& c, Program& p) { find(p, c.w0, Role::Preload).bytes = {512}; }),
           {"execute of op 0", "(w0) needs 1024 bytes", "hold 512"}));
  EXPECT_TRUE(
      says(check_changed([](Chain& c, Program& p) { find(p, c.w0, Role::Preload).from = 1; }),
           {"preload of op 0", "(w0) needs 1024 bytes", "hold 0"}));
  EXPECT_TRUE(
      says(check_changed([](Chain& c, Program& p) { find(p, c.z, Role::Activation).to = 3; }),
           {"from instruction 3 to 4", "(z) needs 128 bytes"}));
  EXPECT_TRUE(
      says(check_changed([](Chain& c, Program& p) { find(p, c.z, Role::Execute).bytes = {8}; }),
           {"execute of op 2", "in its own layout", "(z) needs 1024"}));
}

TEST(Check, RefusesPositionsOutOfRange) {
  EXPECT_TRUE(says(check_changed([](Chain&, Program& p) { p.code[0].subject = 3; }),
                   {"instruction 0 names subject 3"}));
  EXPECT_TRUE(says(check_changed([](Chain&, Program& p) { p.buffers[0].to = 5; }),
                   {"buffer 0 lives from"}));
  EXPECT_TRUE(
      says(check_changed([](Chain&, Program& p) { p.ops.pop_back(); }), {"plans 2 ops of 3"}));
}

}  // namespace
}  // namespace elk::program
