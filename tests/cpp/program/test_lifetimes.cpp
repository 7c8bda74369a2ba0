#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "program/models.hpp"

namespace elk::program {
namespace {

TEST(Lifetimes, NameTheOpsThatMakeAndReadATensor) {
  const Chain c = chain();
  const Lifetimes lives = lifetimes(c.graph);
  EXPECT_EQ(lives.producer,
            (Table<TensorId, OpId>{OpId::none, OpId::none, OpId{0}, OpId{1}, OpId::none, OpId{2}}));
  EXPECT_EQ(lives.first_reader,
            (Table<TensorId, OpId>{OpId{0}, OpId{0}, OpId{1}, OpId{2}, OpId{2}, OpId::none}));
  EXPECT_EQ(lives.last_reader,
            (Table<TensorId, OpId>{OpId{0}, OpId{0}, OpId{1}, OpId{2}, OpId{2}, OpId::none}));
}

TEST(Lifetimes, EndBeforeAReadOfWhatWasSpilled) {
  Chain c = chain();
  spill(c, c.y, OpId{1});
  const Lifetimes lives = lifetimes(c.graph);
  EXPECT_EQ(lives.last_reader[c.y], OpId::none);
  EXPECT_EQ(lives.stored[c.y], 1);
  EXPECT_EQ(lives.stored[c.z], 0);
}

TEST(Issue, LetsAsManyPreloadsAheadAsEachOpAllows) {
  Chain c = chain();
  c.graph.stores = {{.tensor = c.z, .op = OpId{1}, .run = {128}}};
  const std::vector<Instruction> want{{Opcode::Preload, 0}, {Opcode::Execute, 0},
                                      {Opcode::Execute, 1}, {Opcode::Store, c.z.value},
                                      {Opcode::Preload, 2}, {Opcode::Execute, 2}};
  EXPECT_EQ(issue(c.graph, {OpId{0}, OpId{2}}, {1, 1, 2}), want);
}

TEST(Issue, KeepsTheOrderOfPreloads) {
  const Chain c = chain();
  const std::vector<Instruction> code = issue(c.graph, {OpId{2}, OpId{0}}, {2, 2, 2});
  EXPECT_EQ(code[0], (Instruction{Opcode::Preload, 2}));
  EXPECT_EQ(code[1], (Instruction{Opcode::Preload, 0}));
}

}  // namespace
}  // namespace elk::program
