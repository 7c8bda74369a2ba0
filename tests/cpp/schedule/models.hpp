#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/base/text.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/tile/tile.hpp"
#include "partition/ops.hpp"

/// Small models of several ops, and chips on which they are tight.
namespace elk::test {

/// Every kernel by the declared rule: call, bytes and elements.
inline tile::TileModel analytic() {
  return {{},
          {.call_cycles = 120.0, .sram_bytes_per_cycle = 16.0, .vector_elements_per_cycle = 64.0}};
}

inline OneOp exp_of(std::int64_t rows, std::int64_t cols) {
  OneOp one(
      ir::OpKind::Elementwise, "exp",
      {parallel("r", rows, ir::TileDim::Elements), parallel("c", cols, ir::TileDim::Elements)});
  one.reads(ir::Home::Activation, {rows, cols}, {along(AxisId{0}), along(AxisId{1})})
      .writes({rows, cols}, {along(AxisId{0}), along(AxisId{1})});
  return one;
}

inline OneOp add_of(std::int64_t rows, std::int64_t cols) {
  OneOp one(
      ir::OpKind::Elementwise, "add",
      {parallel("r", rows, ir::TileDim::Elements), parallel("c", cols, ir::TileDim::Elements)});
  one.reads(ir::Home::Activation, {rows, cols}, {along(AxisId{0}), along(AxisId{1})})
      .reads(ir::Home::Activation, {rows, cols}, {along(AxisId{0}), along(AxisId{1})})
      .writes({rows, cols}, {along(AxisId{0}), along(AxisId{1})});
  return one;
}

/// y[m, s] = q[m, d] k[s, d], where k is an old state of s - m rows and m new rows.
inline OneOp scores(std::int64_t m, std::int64_t s, std::int64_t d) {
  OneOp one(ir::OpKind::MatMul, "matmul",
            {parallel("m", m, ir::TileDim::M), parallel("s", s, ir::TileDim::N),
             reduction("d", d, ir::TileDim::K)});
  one.reads(ir::Home::Activation, {m, d}, {along(AxisId{0}), along(AxisId{2})})
      .reads(ir::Home::State, {s - m, d}, {along(AxisId{1}), along(AxisId{2})})
      .reads(ir::Home::Activation, {m, d}, {along(AxisId{1}, m - s), along(AxisId{2})})
      .writes({m, s}, {along(AxisId{0}), along(AxisId{1})});
  return one;
}

/// y[m, d] = p[m, s] v[s, d], where v is an old state of s - m rows and m new rows.
inline OneOp values(std::int64_t m, std::int64_t s, std::int64_t d) {
  OneOp one(ir::OpKind::MatMul, "matmul",
            {parallel("m", m, ir::TileDim::M), parallel("d", d, ir::TileDim::N),
             reduction("s", s, ir::TileDim::K)});
  one.reads(ir::Home::Activation, {m, s}, {along(AxisId{0}), along(AxisId{2})})
      .reads(ir::Home::State, {s - m, d}, {along(AxisId{2}), along(AxisId{1})})
      .reads(ir::Home::Activation, {m, d}, {along(AxisId{2}, m - s), along(AxisId{1})})
      .writes({m, d}, {along(AxisId{0}), along(AxisId{1})});
  return one;
}

/// A graph built op by op.
struct Net {
  ir::Graph graph{
      .name = "net", .tensors = {}, .ops = {}, .stores = {}, .repeat = {}, .outputs = {}};

  TensorId tensor(ir::Home home, Table<DimId, std::int64_t> shape) {
    graph.tensors.push_back({.name = text("t", graph.tensors.size()),
                             .dtype = ir::DType::F16,
                             .shape = std::move(shape),
                             .home = home});
    return TensorId{static_cast<std::int32_t>(graph.tensors.size()) - 1};
  }

  /// Adds `one`: it reads `feeds` where it reads activations, and weights and states of its own
  /// elsewhere. Returns what it makes.
  TensorId add(const OneOp& one, const std::vector<TensorId>& feeds,
               ir::Home made = ir::Home::Activation) {
    Table<TensorId, TensorId> tensors;
    std::size_t next = 0;
    TensorId result = TensorId::none;
    for (const ir::Operand& operand : one.op().operands) {
      const ir::Tensor& like = one.graph.tensors[operand.tensor];
      if (operand.access == ir::Access::Write) {
        result = tensor(made, like.shape);
        tensors.push_back(result);
      } else if (like.home == ir::Home::Activation) {
        tensors.push_back(feeds.at(next++));
      } else {
        tensors.push_back(tensor(like.home, like.shape));
      }
    }
    graph.ops.push_back(ir::instantiate(one.op(), text("op", graph.ops.size()), tensors));
    if (made == ir::Home::Output) {
      graph.outputs.push_back(result);
    }
    return result;
  }

  /// Writes `tensor`, which the last op made, back to HBM.
  void store(TensorId tensor, Bytes run = {4096}) {
    graph.stores.push_back({.tensor = tensor,
                            .op = OpId{static_cast<std::int32_t>(graph.ops.size()) - 1},
                            .run = run});
  }

  /// The graph with its repeated layers marked.
  [[nodiscard]] ir::Graph done() const {
    ir::Graph result = graph;
    ir::validate(result);
    result.repeat = ir::find_repeat(result);
    return result;
  }
};

/// Sizes of `transformer`.
struct Sizes {
  std::int32_t layers = 6;
  std::int64_t rows = 8;     // tokens
  std::int64_t width = 128;  // of the residual stream
  std::int64_t inner = 256;  // of the feed-forward part; 0: there is none
  std::int64_t keys = 128;   // old and new rows of the cache; 0: no attention
};

inline TensorId attention(Net& net, const Sizes& sizes, TensorId x) {
  const OneOp project = matmul(sizes.rows, sizes.width, sizes.width);
  const TensorId query{net.add(project, {x})};
  const TensorId key{net.add(project, {x})};
  net.store(key);
  const TensorId value{net.add(project, {x})};
  net.store(value);
  const TensorId score = net.add(scores(sizes.rows, sizes.keys, sizes.width), {query, key});
  const TensorId weight{net.add(softmax(sizes.rows, sizes.keys), {score})};
  const TensorId mixed = net.add(values(sizes.rows, sizes.keys, sizes.width), {weight, value});
  return TensorId{
      net.add(add_of(sizes.rows, sizes.width), {TensorId{net.add(project, {mixed})}, x})};
}

inline TensorId feed_forward(Net& net, const Sizes& sizes, TensorId x) {
  const TensorId up = net.add(matmul(sizes.rows, sizes.inner, sizes.width), {x});
  const TensorId bent = net.add(exp_of(sizes.rows, sizes.inner), {up});
  const TensorId down{net.add(matmul(sizes.rows, sizes.width, sizes.inner), {bent})};
  return TensorId{net.add(add_of(sizes.rows, sizes.width), {down, x})};
}

/// Layers of attention, whose cache grows by stored rows, and of a feed-forward part, each around a
/// residual stream; from a graph input to a graph output.
inline ir::Graph transformer(const Sizes& sizes) {
  Net net;
  TensorId x = net.tensor(ir::Home::Input, {sizes.rows, sizes.width});
  for (std::int32_t layer = 0; layer < sizes.layers; ++layer) {
    x = sizes.keys > 0 ? attention(net, sizes, x) : x;
    x = sizes.inner > 0 ? feed_forward(net, sizes, x) : x;
  }
  net.add(exp_of(sizes.rows, sizes.width), {x}, ir::Home::Output);
  return net.done();
}

/// Square matmuls one after another, each followed by an elementwise op if `bent`.
inline ir::Graph chain(std::int32_t layers, std::int64_t rows, std::int64_t width, bool bent) {
  Net net;
  TensorId x = net.tensor(ir::Home::Input, {rows, width});
  for (std::int32_t layer = 0; layer < layers; ++layer) {
    x = TensorId{net.add(matmul(rows, width, width), {x})};
    x = bent ? TensorId{net.add(exp_of(rows, width), {x})} : x;
  }
  net.add(exp_of(rows, width), {x}, ir::Home::Output);
  return net.done();
}

/// A chip of `cores` with `sram` bytes a core for plans.
inline chip::Chip tight_chip(std::int64_t cores, std::int64_t sram) {
  chip::Chip chip = small_chip(cores, sram + 8192);
  chip.hbm->position = chip::HbmPosition::Nodes;
  return chip;
}

/// Two chips of `cores` each with `sram` bytes a core for plans.
inline chip::Chip tight_pair(std::int64_t cores, std::int64_t sram) {
  chip::Chip chip = two_chips(cores, sram + 8192);
  chip.hbm->position = chip::HbmPosition::Nodes;
  return chip;
}

inline chip::Chip grid_chip(std::int64_t rows, std::int64_t cols, std::int64_t sram) {
  chip::Chip chip = tight_chip(rows * cols, sram);
  chip.hbm->position = chip::HbmPosition::EdgesAll;
  chip.interconnect.topology = chip::Topology::Mesh2d;
  chip.core.rows = rows;
  chip.core.cols = cols;
  return chip;
}

inline chip::Chip without_hbm(chip::Chip chip) {
  chip.hbm.reset();
  return chip;
}

/// One of `from`, by chance.
template <class T, std::size_t kCount>
T one_of(Random& random, const std::array<T, kCount>& from) {
  return from[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(kCount)))];
}

/// Layers of ops drawn by chance, all layers alike.
inline ir::Graph random_graph(Random& random) {
  const std::int64_t rows = one_of<std::int64_t, 4>(random, {2, 5, 8, 16});
  const std::int64_t width = one_of<std::int64_t, 4>(random, {48, 64, 96, 160});
  const Sizes sizes{.layers = 1,
                    .rows = rows,
                    .width = width,
                    .inner = width * one_of<std::int64_t, 3>(random, {1, 2, 4}),
                    .keys = rows + one_of<std::int64_t, 3>(random, {24, 64, 120})};
  const std::int64_t layers = 1 + random.below(5);
  const std::int64_t parts = 1 + random.below(3);
  std::vector<std::int64_t> kinds;
  for (std::int64_t part = 0; part < parts; ++part) {
    kinds.push_back(random.below(5));
  }
  Net net;
  TensorId x = net.tensor(ir::Home::Input, {rows, width});
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    for (const std::int64_t kind : kinds) {
      if (kind == 0) {
        x = attention(net, sizes, x);
      } else if (kind == 1) {
        x = feed_forward(net, sizes, x);
      } else if (kind == 2) {
        x = TensorId{net.add(bias_add(rows, width), {x})};
      } else if (kind == 3) {
        x = TensorId{net.add(softmax(rows, width), {x})};
      } else {
        x = TensorId{net.add(matmul(rows, width, width), {x})};
      }
    }
  }
  net.add(exp_of(rows, width), {x}, ir::Home::Output);
  return net.done();
}

/// A chip drawn by chance: of one or two chips, on a grid or not, roomy or tight.
inline chip::Chip random_chip(Random& random) {
  const std::int64_t sram = one_of<std::int64_t, 5>(random, {12288, 16384, 24576, 40960, 131072});
  const std::int64_t shape = random.below(6);
  chip::Chip chip = shape == 0   ? grid_chip(4, 4, sram)
                    : shape == 1 ? tight_pair(8, sram)
                                 : tight_chip(one_of<std::int64_t, 3>(random, {12, 16, 32}), sram);
  chip.hbm->rate = one_of<double, 3>(random, {8e9, 32e9, 128e9});
  chip.hbm->port_rate = chip.hbm->rate;
  chip.interconnect.link_rate = one_of<double, 3>(random, {1e9, 5e9, 20e9});
  chip.core.remote_access_blocks = random.below(2) == 0;
  chip.interconnect.multicast = random.below(4) != 0;
  return chip;
}

/// Two products of which every core may want all weights, and what they are given.
inline ir::Graph two_products(Random& random) {
  const std::int64_t rows = one_of<std::int64_t, 3>(random, {4, 6, 8});
  const std::int64_t width = one_of<std::int64_t, 3>(random, {8, 10, 12});
  Net net;
  TensorId x = net.tensor(ir::Home::Input, {rows, width});
  x = TensorId{net.add(matmul(rows, width, width), {x})};
  if (random.below(2) == 0) {
    x = TensorId{net.add(exp_of(rows, width), {x})};
  }
  net.add(matmul(rows, width, width), {x}, ir::Home::Output);
  return net.done();
}

}  // namespace elk::test
