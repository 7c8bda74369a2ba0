#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/train/plan/stages.hpp"
#include "train/models.hpp"

namespace elk::train {
namespace {

/// The longest run and the sum of squares, which together say how balanced a cut is.
using Balance = std::pair<std::int64_t, std::int64_t>;

Balance balance_of(const std::vector<Picoseconds>& costs, const std::vector<std::size_t>& begins) {
  Balance balance{0, 0};
  for (std::size_t p = 0; p < begins.size(); ++p) {
    const std::size_t end = p + 1 < begins.size() ? begins[p + 1] : costs.size();
    std::int64_t sum = 0;
    for (std::size_t i = begins[p]; i < end; ++i) {
      sum += costs[i].value;
    }
    balance.first = std::max(balance.first, sum);
    balance.second += sum * sum;
  }
  return balance;
}

/// The best of all cuts into runs that are not empty, by trial; `begins` are those chosen so far.
Balance best_of_all(const std::vector<Picoseconds>& costs, std::size_t parts,
                    std::vector<std::size_t> begins) {
  if (begins.size() == parts) {
    return balance_of(costs, begins);
  }
  Balance best{INT64_MAX, INT64_MAX};
  begins.push_back(0);
  for (std::size_t next = begins[begins.size() - 2] + 1; next < costs.size(); ++next) {
    begins.back() = next;
    best = std::min(best, best_of_all(costs, parts, begins));
  }
  return best;
}

TEST(Stages, AreAsBalancedAsTheBestOfAllCuts) {
  Random random{1};
  for (int i = 0; i < 1000; ++i) {
    std::vector<Picoseconds> costs(subscript(1 + random.below(10)));
    const std::int64_t most = 1 + random.below(30);
    for (Picoseconds& cost : costs) {
      cost = {random.below(most)};
    }
    const std::size_t parts = 1 + subscript(random.below(std::ssize(costs)));
    const std::vector<std::size_t> begins = balanced(costs, parts);
    ASSERT_EQ(begins.size(), parts);
    EXPECT_EQ(begins.front(), 0U);
    EXPECT_LT(begins.back(), costs.size());
    EXPECT_TRUE(std::ranges::is_sorted(begins, std::less_equal<>())) << "no run is empty";
    EXPECT_EQ(balance_of(costs, begins), best_of_all(costs, parts, {0}));
  }
}

/// Two layers of a product and what bends it, behind a table and in front of a softmax; each layer
/// adds what is made of a mask, an input.
struct Model {
  test::Net net;
  TensorId mask = TensorId::none;
  TensorId table = TensorId::none;
  std::vector<TensorId> layers;  // what each layer makes
  TensorId end = TensorId::none;

  Model() {
    mask = net.add(test::exp_of(6, 32), {net.tensor(ir::Home::Input, {6, 32})});
    table = net.add(test::embedding(6, 40, 32), {test::indices(net, 6)});
    TensorId x = table;
    for (int layer = 0; layer < 2; ++layer) {
      x = net.add(test::add_of(6, 32), {net.add(test::matmul(6, 32, 32), {x}), mask});
      layers.push_back(x);
    }
    end = net.add(test::softmax(6, 32), {x}, ir::Home::Output);
    net.graph.repeat = ir::Repeat{.begin = OpId{2}, .period = 2, .count = 2};
  }

  [[nodiscard]] const ir::Graph& graph() const { return net.graph; }
  [[nodiscard]] TensorParallel cuts() const { return cut_over(net.graph, 1, {}); }

  /// The ops of each part, as a strategy has it; all units cost the same.
  [[nodiscard]] std::vector<std::vector<std::int32_t>> parts(const Strategy& strategy) const {
    std::vector<std::vector<std::int32_t>> result;
    for (const ModelPart& part :
         parts_of(graph(), cuts(), strategy, [](const Unit&) { return Picoseconds{1}; })) {
      std::vector<std::int32_t>& ops = result.emplace_back();
      for (const Unit& unit : part.units) {
        for (const OpId op : unit.ops) {
          ops.push_back(op.value);
        }
      }
    }
    return result;
  }
};

using Parts = std::vector<std::vector<std::int32_t>>;

TEST(Stages, UnitsAreLayersAndWhatIsAroundThem) {
  const Model model;
  const std::vector<Unit> units = units_of(model.graph(), model.cuts(), 4);
  ASSERT_EQ(units.size(), 4U);
  EXPECT_EQ(units[0].ops, std::vector<OpId>{OpId{1}}) << "masks are in no unit";
  EXPECT_EQ(units[1].ops, (std::vector<OpId>{OpId{2}, OpId{3}}));
  EXPECT_EQ(units[2].ops, (std::vector<OpId>{OpId{4}, OpId{5}}));
  EXPECT_EQ(units[3].ops, std::vector<OpId>{OpId{6}});
  for (std::size_t u = 0; u < units.size(); ++u) {
    EXPECT_EQ(units[u].layer, u == 1 || u == 2);
  }
}

TEST(Stages, UnitsAreKernelsWhereLayersAreTooFew) {
  const Model model;
  EXPECT_EQ(units_of(model.graph(), model.cuts(), 5).size(), 6U);
  try {
    static_cast<void>(units_of(model.graph(), model.cuts(), 7));
    FAIL() << "seven parts of six kernels";
  } catch (const InvalidInput& error) {
    EXPECT_STREQ(error.what(), "pp * chunks must be at most the 6 kernels of the model, got 7");
  }
}

TEST(Stages, EachPartBeginsWithTheMasksThatItReads) {
  Strategy strategy;
  strategy.pp = 4;
  EXPECT_EQ(Model().parts(strategy), (Parts{{1}, {0, 2, 3}, {0, 4, 5}, {6}}));
}

Strategy given(const std::vector<std::vector<std::int32_t>>& parts) {
  Strategy strategy;
  strategy.pp = static_cast<std::int32_t>(parts.size());
  for (const std::vector<std::int32_t>& part : parts) {
    GivenStage& stage = strategy.stages.emplace_back();
    for (const std::int32_t op : part) {
      stage.ops.emplace_back(op);
    }
  }
  return strategy;
}

TEST(Stages, GivenOnesAreTakenInTheOrderOfTheGraph) {
  EXPECT_EQ(Model().parts(given({{3, 2, 1}, {4}, {6, 5}})), (Parts{{0, 1, 2, 3}, {4}, {0, 5, 6}}));
  EXPECT_EQ(Model().parts(given({{0, 1, 2, 3}, {4, 5, 6}})), (Parts{{0, 1, 2, 3}, {0, 4, 5, 6}}))
      << "who names a mask does not matter";
}

TEST(Stages, GivenOnesThatAreNoPipelineAreRefused) {
  const auto complaint = [](const Parts& parts) {
    try {
      static_cast<void>(Model().parts(given(parts)));
    } catch (const InvalidInput& error) {
      EXPECT_EQ(error.code(), "strategy");
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(complaint({{1, 2, 3}, {4, 5}}),
            "stages must name every operator, and not one does operator 6, op6");
  EXPECT_EQ(complaint({{1, 2, 3}, {3, 4, 5, 6}}), "stages[1] must name no operator twice, got 3");
  EXPECT_EQ(complaint({{1, 2, 2, 3}, {4, 5, 6}}), "stages[0] must name no operator twice, got 2");
  EXPECT_EQ(complaint({{1, 2, 4}, {3, 5, 6}}),
            "stages[0] must read what it or a stage before makes, and operator 4 reads of "
            "stages[1]");
  EXPECT_EQ(complaint({{1, 2, 3}, {4, 5, 6, 7}}),
            "stages[1] must name operators from 0 to 6, got 7");
  EXPECT_EQ(complaint({{1, 2, 3, 4, 5, 6}, {0}}),
            "stages[1] must name an operator that does more than read inputs, got none");
}

/// A part of one unit.
ModelPart part_of(std::vector<OpId> ops) {
  return {.units = {{.ops = std::move(ops), .layer = false}}};
}

TEST(Stages, ATensorThatSkipsAPartPassesThroughIt) {
  test::Net net;
  const TensorId input = net.tensor(ir::Home::Input, {6, 32});
  const TensorId mask = net.add(test::exp_of(6, 32), {input});          // op 0
  const TensorId first = net.add(test::matmul(6, 32, 32), {input});     // op 1
  const TensorId second = net.add(test::matmul(6, 32, 32), {first});    // op 2
  const TensorId third = net.add(test::add_of(6, 32), {second, mask});  // op 3
  net.add(test::add_of(6, 32), {third, first}, ir::Home::Output);       // op 4
  net.add(test::softmax(6, 32), {first}, ir::Home::Output);             // op 5
  const std::vector<ModelPart> parts{part_of({OpId{1}}), part_of({OpId{2}}),
                                     part_of({OpId{0}, OpId{3}}), part_of({OpId{4}}),
                                     part_of({OpId{5}})};
  using Tensors = std::set<TensorId>;
  EXPECT_EQ(handed_on(net.graph, parts),
            (std::vector<Tensors>{{first}, {first, second}, {first, third}, {first}, {}}));
}

}  // namespace
}  // namespace elk::train
