#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/ir/graph.hpp"
#include "elk/train/work/work.hpp"
#include "train/models.hpp"
#include "train/steps.hpp"

namespace elk::train {
namespace {

using Saved = std::map<TensorId, Bytes>;

constexpr std::int64_t kRows = 6;
constexpr std::int64_t kCols = 32;
constexpr std::int64_t kElements = kRows * kCols;
constexpr std::int64_t kBytes = 2 * kElements;  // F16

/// An activation with a gradient.
TensorId activation(test::Net& net) { return test::trained(net, {kRows, kCols}); }

/// y = f(x), with the ONNX positions of numbers in place of inputs.
TensorId map(test::Net& net, const std::string& function, TensorId x,
             std::vector<std::int32_t> constants = {}) {
  test::OneOp one = test::map_of(function, kRows, kCols);
  one.op().constants = std::move(constants);
  return net.add(one, {x});
}

/// y = f(a, b).
TensorId join(test::Net& net, const std::string& function, TensorId a, TensorId b) {
  test::OneOp one = test::add_of(kRows, kCols);
  one.op().function = function;
  return net.add(one, {a, b});
}

/// What the last op does, whose result leaves the model.
Work work_of_end(test::Net& net) {
  net.graph.tensors[net.graph.ops.back().operands.back().tensor].home = ir::Home::Output;
  return work_of_last(net, 1);
}

TEST(SavedWork, ASoftmaxSavesItsResultAndANormItsInput) {
  for (const auto kind : {ir::OpKind::Softmax, ir::OpKind::Norm}) {
    test::Net net;
    const TensorId x = activation(net);
    test::OneOp one = test::softmax(kRows, kCols);
    one.op().kind = kind;
    const TensorId y = net.add(one, {x});
    const Work work = work_of_last(net, 1);
    EXPECT_EQ(work.saved, (Saved{{kind == ir::OpKind::Softmax ? y : x, {kBytes}}}));
    EXPECT_EQ(work.backward, Steps{pass({.input = 2 * kBytes, .weight = 0, .output = kBytes})});
  }
}

TEST(SavedWork, AProductOfActivationsSavesBoth) {
  test::Net net;
  const TensorId a = test::trained(net, {6, 16});
  const TensorId b = test::trained(net, {16, 8});
  net.add(test::product(6, 8, 16), {a, b});
  const Work work = work_of_last(net, 1);
  EXPECT_EQ(work.saved, (Saved{{a, {6 * 16 * 2}}, {b, {16 * 8 * 2}}}));
  ASSERT_EQ(work.backward.size(), 2U);
  EXPECT_FALSE(work.backward.back().kernel->accumulates) << "no weight's gradient";
}

TEST(SavedWork, SumsAndCastsSaveNothingAndHaveNoBackwardPass) {
  for (const std::string function : {"add", "sub"}) {
    test::Net net;
    const TensorId a = activation(net);
    join(net, function, a, activation(net));
    const Work work = work_of_end(net);
    EXPECT_EQ(work.saved, Saved{});
    EXPECT_EQ(work.backward, Steps{});
  }
  for (const std::string function : {"cast", "copy", "identity"}) {
    test::Net net;
    map(net, function, activation(net));
    const Work work = work_of_end(net);
    EXPECT_EQ(work.saved, Saved{});
    EXPECT_EQ(work.backward, Steps{});
  }
}

TEST(SavedWork, ProductsWithANumberSaveNothingAndArePasses) {
  const Steps one_pass{pass({.input = kBytes, .weight = 0, .output = kBytes})};
  for (const auto& [function, constants] :
       std::vector<std::pair<std::string, std::vector<std::int32_t>>>{
           {"mul", {1}}, {"mul", {0}}, {"div", {1}}, {"neg", {}}}) {
    test::Net net;
    map(net, function, activation(net), constants);
    const Work work = work_of_end(net);
    EXPECT_EQ(work.saved, Saved{}) << function;
    EXPECT_EQ(work.backward, one_pass) << function;
  }
}

TEST(SavedWork, WhatIsNotLinearSavesItsInputs) {
  const Steps one_pass{pass({.input = 2 * kBytes, .weight = 0, .output = kBytes})};
  for (const auto& [function, constants] :
       std::vector<std::pair<std::string, std::vector<std::int32_t>>>{{"exp", {}}, {"div", {0}}}) {
    test::Net net;
    const TensorId x = activation(net);
    map(net, function, x, constants);
    const Work work = work_of_end(net);
    EXPECT_EQ(work.saved, (Saved{{x, {kBytes}}})) << function;
    EXPECT_EQ(work.backward, one_pass) << function;
  }
  test::Net net;
  const TensorId a = activation(net);
  const TensorId b = activation(net);
  join(net, "mul", a, b);
  const Work work = work_of_end(net);
  EXPECT_EQ(work.saved, (Saved{{a, {kBytes}}, {b, {kBytes}}}));
  EXPECT_EQ(work.backward, Steps{pass({.input = 3 * kBytes, .weight = 0, .output = 2 * kBytes})});
}

/// Random numbers, which ones are large, and of x those; the rest is as many zeros. Returns the
/// ops.
std::vector<OpId> dropout(test::Net& net, TensorId x, TensorId& mask) {
  const OpId first = test::last_op(net) + 1;
  test::OneOp random(ir::OpKind::Opaque, "random", test::exp_of(kRows, kCols).op().axes);
  random.writes({kRows, kCols}, {test::along(AxisId{0}), test::along(AxisId{1})});
  mask = map(net, "greater", net.add(random, {}));
  net.graph.tensors[mask].dtype = ir::DType::Bool;
  map(net, "mul", join(net, "where", mask, x), {1});
  return {first, first + 1, first + 2, first + 3};
}

TEST(SavedWork, ASelectSavesItsMaskAByteAnElement) {
  test::Net net;
  const TensorId x = activation(net);
  TensorId mask = TensorId::none;
  const Work work = work_of(net.graph, dropout(net, x, mask), 1);
  EXPECT_EQ(work.saved, (Saved{{mask, {kElements}}}));
  EXPECT_EQ(work.forward, Steps{pass({.input = kBytes, .weight = 0, .output = kElements})})
      << "one kernel draws, compares, selects and scales; nobody reads its result here";
  EXPECT_EQ(work.backward, Steps{pass({.input = kElements, .weight = 0, .output = kBytes})});
}

TEST(SavedWork, ABiasIsAPassOverTheGradientOfItsResult) {
  test::Net net;
  net.add(test::bias_add(kRows, kCols), {activation(net)});
  const Work work = work_of_end(net);
  EXPECT_EQ(work.forward, Steps{pass({.input = kBytes, .weight = 2 * kCols, .output = kBytes})});
  EXPECT_EQ(work.backward, Steps{pass({.input = kBytes, .weight = 0, .output = 2 * kCols}, true)});
  EXPECT_EQ(work.saved, Saved{});
}

/// A run of elementwise ops drawn by chance over a few tensors from outside, and what is read of it
/// outside.
struct RandomRun {
  test::Net net;
  std::vector<OpId> ops;
  std::vector<TensorId> outside;  // tensors that it reads
  std::vector<TensorId> left;     // tensors that others read
  bool changes = false;           // whether gradients change on their way
  Saved saved;                    // what they need

  explicit RandomRun(Random& random) {
    std::vector<TensorId> known;
    for (std::int64_t i = 0; i < 3; ++i) {
      known.push_back(activation(net));
    }
    const std::vector<TensorId> given = known;
    std::set<TensorId> read;
    std::vector<std::vector<TensorId>> needed;  // of each op that is not linear
    for (std::int64_t i = 1 + random.below(5); i > 0; --i) {
      const TensorId a = one_of(random, known);
      const TensorId b = one_of(random, known);
      const std::int64_t kind = random.below(4);
      read.insert(a);
      if (kind == 0) {
        known.push_back(map(net, "exp", a));
        needed.push_back({a});
      } else if (kind == 1) {
        known.push_back(map(net, "neg", a));
      } else {
        read.insert(b);
        known.push_back(join(net, kind == 2 ? "mul" : "add", a, b));
        if (kind == 2) {
          needed.push_back({a, b});
        }
      }
      changes = changes || kind < 3;
      ops.push_back(test::last_op(net));
    }
    for (const TensorId tensor : known) {
      const bool from_outside = std::ranges::find(given, tensor) != given.end();
      if (from_outside && read.contains(tensor)) {
        outside.push_back(tensor);
      } else if (!from_outside && (random.below(2) == 0 || tensor == known.back())) {
        net.add(test::softmax(kRows, kCols), {tensor});
        left.push_back(tensor);
      }
    }
    for (const std::vector<TensorId>& some : needed) {
      for (const TensorId tensor : some) {  // What the run makes is made again of what it reads.
        const bool from_outside = std::ranges::find(given, tensor) != given.end();
        for (const TensorId one : from_outside ? std::vector{tensor} : outside) {
          saved[one] = {kBytes};
        }
      }
    }
  }

  static TensorId one_of(Random& random, const std::vector<TensorId>& from) {
    return from[subscript(random.below(std::ssize(from)))];
  }
};

TEST(SavedWork, ARunReadsWhatIsOutsideAndWritesWhatIsReadOutside) {
  Random random{3};
  for (int i = 0; i < 300; ++i) {
    const RandomRun run(random);
    const Work work = work_of(run.net.graph, run.ops, 1);
    EXPECT_EQ(work.forward, Steps{pass({.input = kBytes * std::ssize(run.outside),
                                        .weight = 0,
                                        .output = kBytes * std::ssize(run.left)})});
    EXPECT_EQ(work.saved, run.saved);
    Steps backward;
    if (run.changes) {
      backward.push_back(pass({.input = kBytes * (std::ssize(run.left) + std::ssize(run.saved)),
                               .weight = 0,
                               .output = kBytes * std::ssize(run.outside)}));
    }
    EXPECT_EQ(work.backward, backward);
  }
}

TEST(SavedWork, OpsOverOtherCountsOfElementsAreOtherKernels) {
  test::Net net;
  const TensorId x = map(net, "exp", activation(net));
  net.add(test::exp_of(kRows, 2 * kCols), {test::trained(net, {kRows, 2 * kCols})});
  map(net, "exp", x);
  EXPECT_EQ(work_of(net.graph, {OpId{1}, OpId{3}, OpId{4}}, 1).forward.size(), 3U);
  EXPECT_EQ(work_of(net.graph, {OpId{1}, OpId{4}}, 1).forward.size(), 1U);
}

TEST(SavedWork, ProductsOfOneActivationAreOneKernel) {
  Random random{4};
  for (int i = 0; i < 100; ++i) {
    const std::int64_t width = 8 * (1 + random.below(4));
    const std::int64_t count = 2 + random.below(3);
    test::Net net;
    const TensorId x = test::trained(net, {kRows, width});
    std::int64_t columns = 0;
    for (std::int64_t one = 0; one < count; ++one) {
      columns += 8 * (1 + random.below(4));
    }
    std::int64_t left = columns;
    for (std::int64_t one = count; one > 0; --one) {
      const std::int64_t these = one == 1 ? left : 8;
      left -= these;
      net.add(test::matmul(kRows, these, width), {x});
    }
    const Work work = work_of(net.graph, all_ops(net.graph), 1);
    const std::int64_t x_bytes = 2 * kRows * width;
    const std::int64_t w_bytes = 2 * width * columns;
    const std::int64_t y_bytes = 2 * kRows * columns;
    ASSERT_EQ(work.forward.size(), 2U) << "the bias, and all products";
    EXPECT_EQ(work.forward.back(),
              product({.groups = 1, .m = kRows, .n = columns, .k = width},
                      {.input = x_bytes, .weight = w_bytes, .output = y_bytes}));
    EXPECT_EQ(work.backward,
              (Steps{product({.groups = 1, .m = kRows, .n = width, .k = columns},
                             {.input = y_bytes, .weight = w_bytes, .output = x_bytes}),
                     product({.groups = 1, .m = width, .n = columns, .k = kRows},
                             {.input = x_bytes, .weight = y_bytes, .output = w_bytes}, true),
                     pass({.input = x_bytes, .weight = 0, .output = 2 * width}, true)}))
        << "nothing is added up: one kernel reads the activation";
    EXPECT_EQ(work.saved, (Saved{{x, {x_bytes}}}));
  }
}

TEST(SavedWork, EachKernelButOneThatReadsATensorAddsAPassOfThreeTensors) {
  for (std::int64_t readers = 1; readers <= 5; ++readers) {
    test::Net net;
    const TensorId x = activation(net);
    std::vector<OpId> ops;
    for (std::int64_t one = 0; one < readers; ++one) {
      net.add(test::softmax(kRows, kCols), {x});
      ops.push_back(test::last_op(net));
    }
    const Work work = work_of(net.graph, ops, 1);
    const WorkStep adds = pass({.input = 2 * kBytes, .weight = 0, .output = kBytes});
    // A softmax has a pass of three tensors, too.
    EXPECT_EQ(work.backward, Steps(subscript((2 * readers) - 1), adds));
    // Split between two parts of the model, the same passes are there.
    Steps both = work_of(net.graph, {ops.front()}, 1).backward;
    const Steps others = work_of(net.graph, {ops.begin() + 1, ops.end()}, 1).backward;
    both.insert(both.end(), others.begin(), others.end());
    EXPECT_EQ(both, work.backward);
  }
}

}  // namespace
}  // namespace elk::train
