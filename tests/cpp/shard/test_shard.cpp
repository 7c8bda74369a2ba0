#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/random.hpp"
#include "elk/shard/propose.hpp"
#include "elk/shard/uses.hpp"
#include "schedule/models.hpp"

namespace elk::shard {
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

constexpr int kThreads = 2;

ChipExecute nothing(const ir::Op& /*op*/) {
  return {.about = {.time = {0.0}, .exchange = {0.0}}, .least = {0.0}};
}

/// A time that grows with the part of the op.
ChipExecute by_size(const ir::Op& op) {
  double product = 1e-9;
  for (const ir::Axis& axis : op.axes) {
    product *= static_cast<double>(axis.size);
  }
  return {.about = {.time = {product}, .exchange = {0.0}}, .least = {product}};
}

/// Collectives by what they turn into what, as MLPs count them: an all-reduce is one exchange of
/// each kind.
std::map<Conversion, int> count(const Sharding& sharding) {
  std::map<Conversion, int> result;
  for (const Collective& move : sharding.collectives) {
    ++result[exchange(move.from, move.to)];
  }
  return result;
}

TEST(Shard, FindsMegatronsSplitOfAFeedForwardLayer) {
  const ir::Graph graph =
      test::transformer({.layers = 4, .rows = 6, .width = 256, .inner = 1024, .keys = 0});
  const Sharding found = shard(graph, pod(), nothing, kThreads);
  for (std::size_t layer = 0; layer < 4; ++layer) {
    const std::size_t first = 4 * layer;
    EXPECT_EQ(found.splits[first].axis, 1) << "columns of the first product";
    EXPECT_EQ(found.splits[first + 1].axis, 1) << "what is between";
    EXPECT_EQ(found.splits[first + 2].axis, 2) << "depth of the second product";
  }
  std::map<Conversion, int> times = count(found);
  EXPECT_EQ(times[Conversion::AllReduce] + times[Conversion::ReduceScatter], 4);
  EXPECT_EQ(times[Conversion::AllToAll], 0);
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
  const Sharding once = shard(graph, pod(), by_size, kThreads);
  const Sharding all = shard(flat, pod(), by_size, kThreads);
  EXPECT_EQ(once.time, all.time);
  EXPECT_EQ(once.sent, all.sent);
  EXPECT_EQ(once.hbm, all.hbm);
  EXPECT_EQ(once.splits.size(), all.splits.size());
  EXPECT_EQ(once.collectives.size(), all.collectives.size());
}

/// Times that differ by op and by part, as a seed has it: ways through a layer fall behind others.
ExecuteTime by_chance(std::uint64_t seed) {
  return [seed](const ir::Op& op) {
    std::uint64_t number = seed;
    for (const ir::Axis& axis : op.axes) {
      number = (number * 31) + static_cast<std::uint64_t>(axis.size);
    }
    const auto steps = static_cast<double>(Random(number).below(1000));
    return ChipExecute{.about = {.time = {1e-9 * (1.0 + steps)}, .exchange = {0.0}},
                       .least = {0.0}};
  };
}

/// Whether layers that decide alike, solved once, give what solving every layer does.
void expect_same_layer_by_layer(const ir::Graph& graph) {
  ASSERT_TRUE(graph.repeat);
  ir::Graph flat = graph;
  flat.repeat.reset();
  for (std::uint64_t seed = 150; seed < 280; ++seed) {  // In some a comparison turns on the way.
    chip::Chip chip = pod();
    chip.hbm->rate = 1e12;
    chip.inter_chip->rate = seed % 2 == 0 ? 1e9 : 1e11;
    EXPECT_EQ(proposals(graph, chip, by_chance(seed), kThreads),
              proposals(flat, chip, by_chance(seed), kThreads))
        << "seed " << seed;
  }
}

TEST(Shard, SolvesLayersOnceWhereStatesDriftApart) {
  expect_same_layer_by_layer(
      test::transformer({.layers = 20, .rows = 8, .width = 128, .inner = 256, .keys = 64}));
  expect_same_layer_by_layer(
      test::transformer({.layers = 25, .rows = 12, .width = 64, .inner = 96, .keys = 0}));
}

/// Layers that each make the same of a condition; what ends the model reads an early one.
TEST(Shard, SolvesLayersOnceBeneathATensorThatSpansThem) {
  test::Net net;
  std::int32_t x = net.tensor(ir::Home::Input, {8, 64});
  const std::int32_t condition = net.tensor(ir::Home::Input, {8, 64});
  std::int32_t first = -1;
  for (std::int32_t layer = 0; layer < 12; ++layer) {
    const std::int32_t bent = net.add(test::exp_of(8, 64), {condition});
    first = layer == 1 ? bent : first;  // Layer 0 has another input.
    const std::int32_t scaled = net.add(test::matmul(8, 64, 64), {bent});
    x = net.add(test::add_of(8, 64), {net.add(test::matmul(8, 64, 64), {x}), scaled});
  }
  net.add(test::add_of(8, 64), {x, first}, ir::Home::Output);
  const ir::Graph graph = net.done();
  ASSERT_TRUE(graph.repeat);
  EXPECT_EQ(first_to_repeat(graph, uses(graph)), 2)
      << "the first of equal layers makes what spans all";
  expect_same_layer_by_layer(graph);
}

/// Whether a tensor is at hand in a form.
bool has(const std::vector<Form>& at_hand, Form form) {
  return std::find(at_hand.begin(), at_hand.end(), form) != at_hand.end();
}

/// Picoseconds of an op by one of its splits: its execute, or the bytes of its weights.
std::int64_t op_time(const ir::Graph& graph, const chip::Chip& chip, const ExecuteTime& execute,
                     std::size_t op, const Split& split) {
  std::int64_t hbm = 0;
  for (std::size_t i = 0; i < split.forms.size(); ++i) {
    const ir::Tensor& tensor =
        graph.tensors[static_cast<std::size_t>(graph.ops[op].operands[i].tensor)];
    const bool loaded = tensor.home == ir::Home::Weight || tensor.home == ir::Home::State;
    hbm += loaded ? ir::bytes(tensor).value / (split.forms[i] == whole() ? 1 : chip.chips) : 0;
  }
  const double run = execute(on_one_chip(graph.ops[op], split)).about.time.value;
  return to_picoseconds({std::max(run, static_cast<double>(hbm) / chip.hbm->rate)}).value;
}

/// The time of a sharding, added up anew; every form that is read must be at hand, or the whole of
/// which it is a slice.
std::int64_t replayed(const ir::Graph& graph, const chip::Chip& chip, const ExecuteTime& execute,
                      const Sharding& sharding) {
  const ShardingCosts ways(graph, chip, execute, kThreads);
  std::map<std::int32_t, std::vector<Form>> forms;
  std::int64_t time = 0;
  std::size_t next = 0;
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    for (; next < sharding.collectives.size() &&
           sharding.collectives[next].op == static_cast<std::int32_t>(op);
         ++next) {
      const Collective& move = sharding.collectives[next];
      EXPECT_TRUE(has(forms[move.tensor], move.from));
      forms[move.tensor].push_back(move.to);
      time += ways.time(move.tensor, move.from, move.to).value;
    }
    const Split& split = sharding.splits[op];
    for (std::size_t i = 0; i < split.forms.size(); ++i) {
      const ir::Operand& operand = graph.ops[op].operands[i];
      const ir::Tensor& tensor = graph.tensors[static_cast<std::size_t>(operand.tensor)];
      if (operand.access == ir::Access::Write) {
        forms[operand.tensor] = {split.forms[i]};
      } else if (tensor.home == ir::Home::Activation &&
                 !has(forms[operand.tensor], split.forms[i])) {
        EXPECT_TRUE(has(forms[operand.tensor], whole())) << "op " << op << " operand " << i;
        forms[operand.tensor].push_back(split.forms[i]);
        time += ways.time(operand.tensor, whole(), split.forms[i]).value;
      }
    }
    time += op_time(graph, chip, execute, op, split);
  }
  EXPECT_EQ(next, sharding.collectives.size());
  return time;
}

/// The least time of all ways to split every op, each operand brought into its form when it is
/// read, at once or by way of the whole.
class Exhaustive {
 public:
  using AtHand = std::map<std::int32_t, std::vector<Form>>;

  Exhaustive(const ir::Graph& graph, const chip::Chip& chip, const ExecuteTime& execute)
      : graph_(graph), chip_(chip), execute_(execute), ways_(graph, chip, execute, kThreads) {}

  std::int64_t least(std::size_t op, const AtHand& forms) {
    if (op == graph_.ops.size()) {
      return 0;
    }
    std::int64_t least = kNever;
    for (const Split& split : splits(graph_, graph_.ops[op], PartLengths(graph_, chip_.chips))) {
      const std::int64_t rest = leaves_addends(op, split) ? kNever : from(op, split, 0, forms);
      least = std::min(least, plus(rest, op_time(graph_, chip_, execute_, op, split)));
    }
    return least;
  }

 private:
  static constexpr std::int64_t kNever = INT64_MAX;

  static std::int64_t plus(std::int64_t a, std::int64_t b) { return a == kNever ? a : a + b; }

  [[nodiscard]] bool leaves_addends(std::size_t op, const Split& split) const {
    bool leaves = false;
    for (std::size_t i = 0; i < split.forms.size(); ++i) {
      const std::int32_t tensor = graph_.ops[op].operands[i].tensor;
      leaves =
          leaves || (split.forms[i] == partial() &&
                     graph_.tensors[static_cast<std::size_t>(tensor)].home == ir::Home::Output);
    }
    return leaves;
  }

  std::int64_t from(std::size_t op, const Split& split, std::size_t slot, AtHand forms) {
    const ir::Op& node = graph_.ops[op];
    if (slot == node.operands.size()) {
      for (std::size_t i = 0; i < node.operands.size(); ++i) {
        if (node.operands[i].access == ir::Access::Write) {
          forms[node.operands[i].tensor] = {split.forms[i]};
        }
      }
      return least(op + 1, forms);
    }
    const ir::Operand& operand = node.operands[slot];
    const ir::Home home = graph_.tensors[static_cast<std::size_t>(operand.tensor)].home;
    const std::vector<Form> at_hand = forms[operand.tensor];
    if (operand.access == ir::Access::Write || home != ir::Home::Activation ||
        has(at_hand, split.forms[slot])) {
      return from(op, split, slot + 1, std::move(forms));
    }
    std::int64_t least = kNever;
    for (const Form source : at_hand) {
      AtHand moved = forms;
      moved[operand.tensor].push_back(split.forms[slot]);
      const std::int64_t time = ways_.time(operand.tensor, source, split.forms[slot]).value;
      least = std::min(least, plus(from(op, split, slot + 1, std::move(moved)), time));
      if (!has(at_hand, whole())) {
        AtHand gathered = forms;
        gathered[operand.tensor].push_back(whole());
        const std::int64_t way = ways_.time(operand.tensor, source, whole()).value;
        least = std::min(least, plus(from(op, split, slot, std::move(gathered)), way));
      }
    }
    return least;
  }

  const ir::Graph& graph_;
  const chip::Chip& chip_;
  const ExecuteTime& execute_;
  ShardingCosts ways_;
};

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
  const ExecuteTime sizes = by_size;
  int split = 0;
  for (int round = 0; round < 40; ++round) {
    const ir::Graph graph = random_graph(random);
    chip::Chip chip = pod();
    chip.inter_chip->rate = static_cast<double>(1 + random.below(100)) * 1e7;
    const Sharding found = shard(graph, chip, by_size, kThreads);
    EXPECT_EQ(found.time.value, Exhaustive(graph, chip, sizes).least(0, {})) << "round " << round;
    EXPECT_EQ(found.time.value, replayed(graph, chip, by_size, found)) << "round " << round;
    EXPECT_LE(found.time, found.replicated);
    split += found.time < found.replicated ? 1 : 0;
  }
  EXPECT_GT(split, 20);
}

TEST(Shard, OfALongModelAddsUpToItsTime) {
  const ir::Graph graph =
      test::transformer({.layers = 20, .rows = 8, .width = 128, .inner = 256, .keys = 64});
  const Sharding found = shard(graph, pod(), by_size, kThreads);
  EXPECT_EQ(found.time.value, replayed(graph, pod(), by_size, found));
  EXPECT_LT(found.time, found.replicated);
}

TEST(Shard, ReplicatesWhereChipsAreFarApart) {
  const ir::Graph graph =
      test::transformer({.layers = 3, .rows = 5, .width = 128, .inner = 256, .keys = 0});
  chip::Chip chip = pod();
  chip.inter_chip->rate = 1.0;
  const Sharding found = shard(graph, chip, by_size, kThreads);
  EXPECT_EQ(found.sent, Bytes{0});
  EXPECT_LE(found.time, found.replicated);
}

/// A layer of weights that fill one chip's HBM three times.
TEST(Shard, SplitsWeightsThatNoChipHolds) {
  const ir::Graph graph =
      test::transformer({.layers = 3, .rows = 8, .width = 128, .inner = 512, .keys = 0});
  chip::Chip chip = pod();
  chip.inter_chip->rate = 1.0;  // Exchanging is never worth it.
  const Sharding free = shard(graph, chip, by_size, kThreads);
  EXPECT_EQ(free.sent, Bytes{0});
  chip.hbm->capacity = {free.kept.value / 3};
  const Sharding tight = shard(graph, chip, by_size, kThreads);
  EXPECT_LE(tight.kept, chip.hbm->capacity);
  EXPECT_GT(tight.sent, Bytes{0});
  EXPECT_EQ(tight.time.value, replayed(graph, chip, by_size, tight));
}

TEST(Proposals, EndWithSimplerOnes) {
  const ir::Graph graph =
      test::transformer({.layers = 3, .rows = 8, .width = 128, .inner = 512, .keys = 0});
  for (const double rate : {1e9, 1e11, 1e15}) {  // Weights decide, then executes.
    chip::Chip chip = pod();
    chip.hbm->rate = rate;
    const std::vector<Sharding> found = proposals(graph, chip, by_size, kThreads);
    ASSERT_GE(found.size(), 2U);
    EXPECT_EQ(found.back().time, found.back().replicated);
    EXPECT_EQ(found[found.size() - 2].sent, Bytes{0});
    for (const Sharding& proposal : found) {
      EXPECT_LE(found[0].time, proposal.time);
      EXPECT_LE(proposal.least, proposal.time);
      EXPECT_EQ(proposal.time.value, replayed(graph, chip, by_size, proposal));
    }
  }
}

}  // namespace
}  // namespace elk::shard
