#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/random.hpp"
#include "elk/train/shard.hpp"
#include "schedule/models.hpp"

namespace elk::train {
namespace {

/// A pod of four chips whose HBM is slow: weights decide.
chip::Chip pod() {
  chip::Chip chip = test::tight_pair(16, 65536);
  chip.chips = 4;
  chip.hbm->rate = 1e9;
  chip.inter_chip->rate = 1e9;
  chip.inter_chip->latency = {1e-9};
  chip.inter_chip->sync_latency = {0.0};
  chip.interconnect.sync_latency = {0.0};
  return chip;
}

Seconds nothing(const ir::Op& /*op*/) { return {0.0}; }

/// A time that grows with the part of the op.
Seconds by_size(const ir::Op& op) {
  double product = 1e-9;
  for (const ir::Axis& axis : op.axes) {
    product *= static_cast<double>(axis.size);
  }
  return {product};
}

/// Collectives by what they turn into what, as MLPs count them: an all-reduce is one exchange of
/// each kind.
std::map<Exchange, int> count(const Sharding& sharding) {
  std::map<Exchange, int> result;
  for (const Collective& move : sharding.collectives) {
    ++result[exchange(move.from, move.to)];
  }
  return result;
}

TEST(Shard, FindsMegatronsSplitOfAFeedForwardLayer) {
  const ir::Graph graph =
      test::transformer({.layers = 4, .rows = 6, .width = 256, .inner = 1024, .keys = 0});
  const Sharding found = shard(graph, pod(), nothing);
  for (std::size_t layer = 0; layer < 4; ++layer) {
    const std::size_t first = 4 * layer;
    EXPECT_EQ(found.splits[first].axis, 1) << "columns of the first product";
    EXPECT_EQ(found.splits[first + 1].axis, 1) << "what is between";
    EXPECT_EQ(found.splits[first + 2].axis, 2) << "depth of the second product";
  }
  std::map<Exchange, int> times = count(found);
  EXPECT_EQ(times[Exchange::AllReduce] + times[Exchange::ReduceScatter], 4);
  EXPECT_EQ(times[Exchange::AllToAll], 0);
  // Every weight is read by one chip only.
  Bytes weights{0};
  for (const ir::Tensor& tensor : graph.tensors) {
    weights += tensor.home == ir::Home::Weight ? ir::bytes(tensor) : Bytes{0};
  }
  EXPECT_EQ(found.hbm * 4, weights);
}

TEST(Shard, SolvesLayersOnceWithTheSameResult) {
  const ir::Graph graph =
      test::transformer({.layers = 12, .rows = 8, .width = 128, .inner = 256, .keys = 64});
  ASSERT_TRUE(graph.repeat);
  ir::Graph flat = graph;
  flat.repeat.reset();
  const Sharding once = shard(graph, pod(), by_size);
  const Sharding all = shard(flat, pod(), by_size);
  EXPECT_EQ(once.time, all.time);
  EXPECT_EQ(once.sent, all.sent);
  EXPECT_EQ(once.hbm, all.hbm);
  EXPECT_EQ(once.splits.size(), all.splits.size());
  EXPECT_EQ(once.collectives.size(), all.collectives.size());
}

/// The time of a sharding, added up anew; every form that is read must be at hand.
std::int64_t replayed(const ir::Graph& graph, const chip::Chip& chip, const ExecuteTime& execute,
                      const Sharding& sharding) {
  std::map<std::int32_t, std::vector<Form>> forms;
  std::int64_t time = 0;
  std::size_t next = 0;
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    for (; next < sharding.collectives.size() &&
           sharding.collectives[next].op == static_cast<std::int32_t>(op);
         ++next) {
      const Collective& move = sharding.collectives[next];
      std::vector<Form>& at_hand = forms[move.tensor];
      EXPECT_NE(std::find(at_hand.begin(), at_hand.end(), move.from), at_hand.end());
      at_hand.push_back(move.to);
      const Bytes whole = ir::bytes(graph.tensors[static_cast<std::size_t>(move.tensor)]);
      time += to_picoseconds(cost(exchange(move.from, move.to), whole, chip).time).value;
    }
    const Split& split = sharding.splits[op];
    std::int64_t hbm = 0;
    for (std::size_t i = 0; i < split.forms.size(); ++i) {
      const ir::Operand& operand = graph.ops[op].operands[i];
      const ir::Tensor& tensor = graph.tensors[static_cast<std::size_t>(operand.tensor)];
      const bool loaded = tensor.home == ir::Home::Weight || tensor.home == ir::Home::State;
      if (operand.access == ir::Access::Write) {
        forms[operand.tensor] = {split.forms[i]};
      } else if (loaded) {
        hbm += ir::bytes(tensor).value / (split.forms[i] == whole() ? 1 : chip.chips);
      } else if (tensor.home == ir::Home::Activation) {
        const std::vector<Form>& at_hand = forms[operand.tensor];
        EXPECT_TRUE(
            std::any_of(at_hand.begin(), at_hand.end(),
                        [&](Form form) { return form == whole() || form == split.forms[i]; }))
            << "op " << op << " operand " << i;
      }
    }
    const double run = execute(on_one_chip(graph.ops[op], split, chip.chips)).value;
    time += to_picoseconds({std::max(run, static_cast<double>(hbm) / chip.hbm->rate)}).value;
  }
  EXPECT_EQ(next, sharding.collectives.size());
  return time;
}

/// The least time of all ways to split every op, each operand brought into its form when it is
/// read, at once or by way of the whole.
std::int64_t least_of_all(const ir::Graph& graph, const chip::Chip& chip,
                          const ExecuteTime& execute, std::size_t op,
                          std::map<std::int32_t, std::vector<Form>> forms);

std::int64_t least_from(const ir::Graph& graph, const chip::Chip& chip, const ExecuteTime& execute,
                        std::size_t op, const Split& split, std::size_t slot,
                        std::map<std::int32_t, std::vector<Form>> forms) {
  const ir::Op& node = graph.ops[op];
  if (slot == node.operands.size()) {
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      if (node.operands[i].access == ir::Access::Write) {
        forms[node.operands[i].tensor] = {split.forms[i]};
      }
    }
    return least_of_all(graph, chip, execute, op + 1, std::move(forms));
  }
  const ir::Operand& operand = node.operands[slot];
  const ir::Tensor& tensor = graph.tensors[static_cast<std::size_t>(operand.tensor)];
  if (operand.access == ir::Access::Write || tensor.home != ir::Home::Activation) {
    return least_from(graph, chip, execute, op, split, slot + 1, std::move(forms));
  }
  const std::vector<Form> at_hand = forms[operand.tensor];
  const bool there = std::any_of(at_hand.begin(), at_hand.end(), [&](Form form) {
    return form == whole() || form == split.forms[slot];
  });
  if (there) {
    return least_from(graph, chip, execute, op, split, slot + 1, std::move(forms));
  }
  std::int64_t least = INT64_MAX;
  for (const Form to : {split.forms[slot], whole()}) {
    for (const Form from : at_hand) {
      auto moved = forms;
      moved[operand.tensor].push_back(to);
      const Seconds time = cost(exchange(from, to), ir::bytes(tensor), chip).time;
      const std::int64_t rest =
          least_from(graph, chip, execute, op, split, slot + 1, std::move(moved));
      least = std::min(least, rest == INT64_MAX ? rest : to_picoseconds(time).value + rest);
    }
  }
  return least;
}

std::int64_t least_of_all(const ir::Graph& graph, const chip::Chip& chip,
                          const ExecuteTime& execute, std::size_t op,
                          std::map<std::int32_t, std::vector<Form>> forms) {
  if (op == graph.ops.size()) {
    return 0;
  }
  std::int64_t least = INT64_MAX;
  for (const Split& split : splits(graph, graph.ops[op], chip.chips)) {
    const ir::Op& node = graph.ops[op];
    std::int64_t hbm = 0;
    bool allowed = true;
    for (std::size_t i = 0; i < split.forms.size(); ++i) {
      const ir::Tensor& tensor = graph.tensors[static_cast<std::size_t>(node.operands[i].tensor)];
      allowed = allowed && !(tensor.home == ir::Home::Output && split.forms[i] == partial());
      hbm += tensor.home == ir::Home::Weight
                 ? ir::bytes(tensor).value / (split.forms[i] == whole() ? 1 : chip.chips)
                 : 0;
    }
    if (!allowed) {
      continue;
    }
    const double run = execute(on_one_chip(node, split, chip.chips)).value;
    const double seconds = std::max(run, static_cast<double>(hbm) / chip.hbm->rate);
    const std::int64_t rest = least_from(graph, chip, execute, op, split, 0, forms);
    least = std::min(least, rest == INT64_MAX ? rest : to_picoseconds({seconds}).value + rest);
  }
  return least;
}

/// Products, sums and elementwise ops, each of tensors made before.
ir::Graph random_graph(Random& random) {
  test::Net net;
  constexpr std::int64_t kRows = 8;
  constexpr std::int64_t kWidth = 16;
  std::vector<std::int32_t> made{
      net.add(test::exp_of(kRows, kWidth), {net.tensor(ir::Home::Input, {kRows, kWidth})})};
  const auto any = [&] {
    return made[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(made.size())))];
  };
  for (int i = 0; i < 3; ++i) {
    switch (random.below(4)) {
      case 0:
        made.push_back(net.add(test::matmul(kRows, kWidth, kWidth), {any()}));
        break;
      case 1:
        made.push_back(net.add(test::add_of(kRows, kWidth), {any(), any()}));
        break;
      case 2:
        made.push_back(net.add(test::softmax(kRows, kWidth), {any()}));
        break;
      default:
        made.push_back(net.add(test::exp_of(kRows, kWidth), {any()}));
    }
  }
  net.add(test::exp_of(kRows, kWidth), {made.back()}, ir::Home::Output);
  return net.done();
}

TEST(Shard, IsTheBestOfAllShardingsOfSmallGraphs) {
  Random random{5};
  int split = 0;
  for (int round = 0; round < 40; ++round) {
    const ir::Graph graph = random_graph(random);
    chip::Chip chip = pod();
    chip.inter_chip->rate = static_cast<double>(1 + random.below(100)) * 1e7;
    const Sharding found = shard(graph, chip, by_size);
    EXPECT_EQ(found.time.value, least_of_all(graph, chip, by_size, 0, {})) << "round " << round;
    EXPECT_EQ(found.time.value, replayed(graph, chip, by_size, found)) << "round " << round;
    EXPECT_LE(found.time, found.replicated);
    split += found.time < found.replicated ? 1 : 0;
  }
  EXPECT_GT(split, 20);
}

TEST(Shard, OfALongModelAddsUpToItsTime) {
  const ir::Graph graph =
      test::transformer({.layers = 20, .rows = 8, .width = 128, .inner = 256, .keys = 64});
  const Sharding found = shard(graph, pod(), by_size);
  EXPECT_EQ(found.time.value, replayed(graph, pod(), by_size, found));
  EXPECT_LT(found.time, found.replicated);
}

TEST(Shard, ReplicatesWhereChipsAreFarApart) {
  const ir::Graph graph =
      test::transformer({.layers = 3, .rows = 5, .width = 128, .inner = 256, .keys = 0});
  chip::Chip chip = pod();
  chip.inter_chip->rate = 1.0;
  const Sharding found = shard(graph, chip, by_size);
  EXPECT_EQ(found.sent, Bytes{0});
  EXPECT_LE(found.time, found.replicated);
}

}  // namespace
}  // namespace elk::train
