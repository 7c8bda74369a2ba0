#include <algorithm>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "program/models.hpp"

namespace elk::program {
namespace {

std::vector<Buffer> buffers_of(const std::vector<Buffer>& all, TensorId tensor) {
  std::vector<Buffer> out;
  std::copy_if(all.begin(), all.end(), std::back_inserter(out),
               [&](const Buffer& b) { return b.tensor == tensor; });
  return out;
}

TEST(Buffers, LiveAsLongAsTheirContentIsNeeded) {
  const Chain c = chain();
  // preload 0, preload 2, execute 0, execute 1, execute 2
  const std::vector<Buffer> all =
      buffers(c.graph, chip::small_chip(), c.ops, issue(c.graph, {OpId{0}, OpId{2}}, {2, 2, 2}));
  const std::vector<Buffer> want{{OpId{0}, c.x, Role::Activation, {0}, {16}, 2, 2},
                                 {OpId{0}, c.w0, Role::Preload, {0}, {1024}, 0, 2},
                                 {OpId{0}, c.x, Role::Execute, {0}, {1024}, 2, 2},
                                 {OpId{0}, c.y, Role::Activation, {0}, {128}, 2, 3},
                                 {OpId{1}, c.z, Role::Activation, {0}, {128}, 3, 4},
                                 {OpId{2}, c.w1, Role::Preload, {0}, {1024}, 1, 4},
                                 {OpId{2}, c.z, Role::Execute, {0}, {1024}, 4, 4},
                                 {OpId{2}, c.out, Role::Activation, {0}, {128}, 4, 4}};
  EXPECT_EQ(all, want);
}

TEST(Buffers, LiveUntilTheLastOfSeveralReaders) {
  Chain c = chain();
  c.graph.ops[OpId{2}].operands[OperandId{0}].tensor = c.y;
  // preload 0, preload 2, execute 0, execute 1, execute 2
  const std::vector<Buffer> all =
      buffers(c.graph, chip::small_chip(), c.ops, issue(c.graph, {OpId{0}, OpId{2}}, {2, 2, 2}));
  EXPECT_EQ(buffers_of(all, c.y).front(),
            (Buffer{OpId{0}, c.y, Role::Activation, {0}, {128}, 2, 4}));
}

TEST(Buffers, OfAStoredTensorLiveUntilAPreloadBehindTheStoreIsAwaited) {
  Chain c = chain();
  c.graph.stores = {{.tensor = c.y, .op = OpId{0}, .run = {128}}};
  // preload 0, execute 0, store y, execute 1, preload 2, execute 2
  const std::vector<Buffer> waits =
      buffers(c.graph, chip::small_chip(), c.ops, issue(c.graph, {OpId{0}, OpId{2}}, {1, 1, 2}));
  EXPECT_EQ(buffers_of(waits, c.y),
            (std::vector<Buffer>{{OpId{0}, c.y, Role::Store, {0}, {128}, 1, 5}}));
}

TEST(Buffers, OfAStoredTensorLiveToTheEndWhereNoPreloadFollows) {
  Chain c = chain();
  c.graph.stores = {{.tensor = c.y, .op = OpId{0}, .run = {128}}};
  // preload 0, preload 2, execute 0, store y, execute 1, execute 2
  const std::vector<Buffer> all =
      buffers(c.graph, chip::small_chip(), c.ops, issue(c.graph, {OpId{0}, OpId{2}}, {2, 2, 2}));
  EXPECT_EQ(buffers_of(all, c.y),
            (std::vector<Buffer>{{OpId{0}, c.y, Role::Store, {0}, {128}, 2, 5}}));
}

TEST(Buffers, OfAStoredTensorStayActivationsWhileItIsRead) {
  Chain c = chain();
  c.graph.stores = {{.tensor = c.z, .op = OpId{1}, .run = {128}}};
  // preload 0, execute 0, execute 1, store z, preload 2, execute 2
  const std::vector<Buffer> all =
      buffers(c.graph, chip::small_chip(), c.ops, issue(c.graph, {OpId{0}, OpId{2}}, {1, 1, 2}));
  EXPECT_EQ(buffers_of(all, c.z).front(),
            (Buffer{OpId{1}, c.z, Role::Activation, {0}, {128}, 2, 5}));
}

TEST(Buffers, OfWeightsStayForTheWholeProgramWithoutHbm) {
  const Chain c = chain();
  chip::Chip chip = chip::small_chip();
  chip.hbm.reset();
  const std::vector<Buffer> all = buffers(c.graph, chip, c.ops, issue(c.graph, {}, {0, 0, 0}));
  EXPECT_EQ(buffers_of(all, c.w0),
            (std::vector<Buffer>{{OpId{0}, c.w0, Role::Resident, {0}, {1024}, 0, 2}}));
  EXPECT_EQ(buffers_of(all, c.w1),
            (std::vector<Buffer>{{OpId{2}, c.w1, Role::Resident, {0}, {1024}, 0, 2}}));
}

TEST(Buffers, OfAWeightThatLiesEvenlyAreOneForAllReaders) {
  Chain c = chain();
  c.graph.ops[OpId{2}].operands[OperandId{1}].tensor = c.w0;
  chip::Chip chip = chip::small_chip();
  chip.hbm.reset();
  const std::vector<Buffer> apart = buffers(c.graph, chip, c.ops, issue(c.graph, {}, {0, 0, 0}));
  EXPECT_EQ(buffers_of(apart, c.w0),
            (std::vector<Buffer>{{OpId{0}, c.w0, Role::Resident, {0}, {1024}, 0, 2},
                                 {OpId{2}, c.w0, Role::Resident, {0}, {1024}, 0, 2}}));
  for (const OpId op : {OpId{0}, OpId{2}}) {
    c.ops[op].divisor[OperandId{1}] = 0;
  }
  const std::vector<Buffer> shared = buffers(c.graph, chip, c.ops, issue(c.graph, {}, {0, 0, 0}));
  EXPECT_EQ(buffers_of(shared, c.w0),
            (std::vector<Buffer>{{OpId{0}, c.w0, Role::Resident, {0}, {128}, 0, 2},
                                 {OpId{0}, c.w0, Role::Execute, {0}, {1024}, 0, 0},
                                 {OpId{2}, c.w0, Role::Execute, {0}, {1024}, 2, 2}}));
}

TEST(Occupancy, SumsWhatLivesAtEachInstruction) {
  const std::vector<Buffer> all{{OpId{0}, TensorId{0}, Role::Preload, {0}, {8}, 0, 1},
                                {OpId{0}, TensorId{1}, Role::Execute, {0}, {16}, 1, 1},
                                {OpId{1}, TensorId{2}, Role::Activation, {0}, {32}, 1, 2}};
  EXPECT_EQ(occupancy(all, 4), (std::vector<Bytes>{{8}, {56}, {32}, {0}}));
}

}  // namespace
}  // namespace elk::program
