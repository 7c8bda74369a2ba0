#include <cstdint>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"
#include "ir/graphs.hpp"

namespace elk::ir {
namespace {

/// A layer of three ops with a weight of its own, a mask that all layers share, and a residual.
TensorId layer(testing::Chain& chain, TensorId x, TensorId mask) {
  const TensorId scaled{chain.add("mul", {x, chain.tensor(Home::Weight)})};
  const TensorId masked{chain.add("add", {scaled, mask})};
  return TensorId{chain.add("sub", {x, masked})};
}

/// How often the repeat of `graph` occurs; 0 if nothing repeats.
std::int32_t repeats(const Graph& graph) {
  const std::optional<Repeat> found = find_repeat(graph);
  return found ? found->count : 0;
}

TEST(FindRepeat, FindsNothingInOneLayer) {
  testing::Chain chain(8);
  layer(chain, chain.tensor(Home::Input), chain.tensor(Home::Input));
  EXPECT_EQ(find_repeat(chain.graph()), std::nullopt);
}

TEST(FindRepeat, FindsLayersBetweenOtherOps) {
  testing::Chain chain(8);
  const TensorId mask{chain.add("exp", {chain.tensor(Home::Input)})};
  TensorId x{chain.add("tanh", {chain.tensor(Home::Input)})};
  for (int i = 0; i < 5; ++i) {
    x = layer(chain, x, mask);
  }
  chain.add("log", {x});
  EXPECT_EQ(find_repeat(chain.graph()), (Repeat{.begin = OpId{2}, .period = 3, .count = 5}));
}

TEST(FindRepeat, LetsTheFirstLayerTakeItsInputFromAnywhere) {
  testing::Chain chain(8);
  TensorId x{chain.add("tanh", {chain.tensor(Home::Input)})};
  const TensorId mask{chain.add("exp", {chain.tensor(Home::Input)})};
  for (int i = 0; i < 3; ++i) {
    x = layer(chain, x, mask);
  }
  EXPECT_EQ(find_repeat(chain.graph()), (Repeat{.begin = OpId{2}, .period = 3, .count = 3}));
}

TEST(FindRepeat, TakesTwoKindsOfLayersAsOnePeriod) {
  testing::Chain chain(8);
  const TensorId near{chain.add("exp", {chain.tensor(Home::Input)})};
  const TensorId far{chain.add("exp", {chain.tensor(Home::Input)})};
  TensorId x{chain.add("tanh", {chain.tensor(Home::Input)})};
  for (int i = 0; i < 4; ++i) {
    x = layer(chain, x, near);
    x = layer(chain, x, far);
  }
  EXPECT_EQ(find_repeat(chain.graph()), (Repeat{.begin = OpId{3}, .period = 6, .count = 4}));
}

TEST(FindRepeat, SeesThatLayersAreConnectedInAnotherWay) {
  testing::Chain chain(8);
  const TensorId mask{chain.add("exp", {chain.tensor(Home::Input)})};
  TensorId x{chain.add("tanh", {chain.tensor(Home::Input)})};
  for (int i = 0; i < 4; ++i) {
    const TensorId scaled{chain.add("mul", {x, chain.tensor(Home::Weight)})};
    const TensorId masked{chain.add("add", {scaled, mask})};
    // From the third layer on the residual comes from elsewhere.
    x = TensorId{chain.add("sub", {i < 2 ? x : scaled, masked})};
  }
  EXPECT_EQ(repeats(chain.graph()), 2);
}

TEST(FindRepeat, DoesNotTakeASharedWeightForOneOfEachLayer) {
  testing::Chain chain(8);
  const TensorId shared = chain.tensor(Home::Weight);
  TensorId x{chain.add("tanh", {chain.tensor(Home::Input)})};
  for (int i = 0; i < 4; ++i) {
    x = TensorId{chain.add("mul", {x, chain.tensor(Home::Weight)})};
    x = TensorId{chain.add("add", {x, i < 2 ? shared : chain.tensor(Home::Weight)})};
  }
  EXPECT_EQ(repeats(chain.graph()), 2);
}

TEST(FindRepeat, CountsWhatIsStored) {
  testing::Chain chain(8);
  TensorId x{chain.add("tanh", {chain.tensor(Home::Input)})};
  for (int i = 0; i < 4; ++i) {
    x = TensorId{chain.add("mul", {x, chain.tensor(Home::Weight)})};
    if (i < 2) {
      chain.graph().stores.push_back({.tensor = x, .op = OpId{i + 1}, .run = Bytes{16}});
    }
  }
  EXPECT_EQ(find_repeat(chain.graph()), (Repeat{.begin = OpId{1}, .period = 1, .count = 2}));
}

TEST(FindRepeat, FindsThousandsOfOpsAtOnce) {
  testing::Chain chain(8);
  const TensorId mask{chain.add("exp", {chain.tensor(Home::Input)})};
  TensorId x{chain.add("tanh", {chain.tensor(Home::Input)})};
  for (int i = 0; i < 3000; ++i) {
    x = layer(chain, x, mask);
  }
  EXPECT_EQ(find_repeat(chain.graph()), (Repeat{.begin = OpId{2}, .period = 3, .count = 3000}));
}

TEST(FindRepeat, LeavesOutLayersOfAnotherKind) {
  testing::Chain chain(8);
  const TensorId mask{chain.add("exp", {chain.tensor(Home::Input)})};
  TensorId x{chain.add("tanh", {chain.tensor(Home::Input)})};
  for (int i = 0; i < 5; ++i) {
    x = layer(chain, x, mask);
  }
  Table<OpId, std::int32_t> kinds;
  for (const OpId like : equal_ops(chain.graph())) {
    kinds.push_back(like.value);
  }
  EXPECT_EQ(find_repeat(chain.graph(), kinds), find_repeat(chain.graph()));
  kinds[OpId{5}] = 99;  // The first op of the second layer.
  EXPECT_EQ(find_repeat(chain.graph(), kinds), (Repeat{.begin = OpId{6}, .period = 3, .count = 3}));
}

TEST(EqualOps, LooksAtExpressionsAndHomesOnly) {
  testing::Chain chain(8);
  const TensorId a = chain.add("exp", {chain.tensor(Home::Input)});
  const TensorId b = chain.add("exp", {a});
  chain.add("exp", {b});
  chain.add("neg", {b});
  EXPECT_EQ(equal_ops(chain.graph()), (Table<OpId, OpId>{OpId{0}, OpId{1}, OpId{1}, OpId{3}}));
}

TEST(EqualOps, TellsIndexMapsApart) {
  testing::Chain chain(8);
  const TensorId a = chain.add("exp", {chain.tensor(Home::Input)});
  chain.add("neg", {a});
  chain.add("neg", {a});
  chain.graph().ops[OpId{2}].operands[OperandId{0}].dims[DimId{0}].offset = 1;
  EXPECT_EQ(equal_ops(chain.graph()), (Table<OpId, OpId>{OpId{0}, OpId{1}, OpId{2}}));
}

}  // namespace
}  // namespace elk::ir
