#include "elk/partition/collective.hpp"

#include <algorithm>
#include <cstddef>

#include "elk/base/errors.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/text.hpp"
#include "elk/partition/extent.hpp"

namespace elk::partition {
namespace {

/// Every chip's `part` to every other chip.
std::vector<Round> spread(std::int64_t part, std::int64_t chips, Way way) {
  const std::int64_t others = chips - 1;
  return way == Way::Ring ? std::vector<Round>{{.steps = others, .sent = part}}
                          : std::vector<Round>{{.steps = 1, .sent = others * part}};
}

/// A `part` of its own from every chip to every other: in a ring it passes the chips in between.
std::vector<Round> deal(std::int64_t part, std::int64_t chips, Way way) {
  if (way == Way::Direct) {
    return {{.steps = 1, .sent = (chips - 1) * part}};
  }
  std::vector<Round> result;
  for (std::int64_t left = chips - 1; left > 0; --left) {
    result.push_back({.steps = 1, .sent = left * part});
  }
  return result;
}

const ir::Tensor& moved(const ir::Graph& graph, const ir::Operand& operand) {
  return graph.tensors[static_cast<std::size_t>(operand.tensor)];
}

/// From each chip to the next in a ring. On a grid with an even side there is one of neighbours; in
/// a line the last message goes all the way back, in the free direction of every link.
Passage around(chip::Topology topology, std::int64_t chips) {
  const std::int64_t rows = rows_of_chips(chips);
  if (topology != chip::Topology::Mesh2d || chips == 2 || (rows > 1 && chips % 2 == 0)) {
    return {.longest = 1, .load = 1.0};
  }
  return {.longest = rows > 1 ? 2 : chips - 1, .load = 1.0};
}

/// From each chip to all others.
Passage across(chip::Topology topology, std::int64_t chips) {
  const auto others = static_cast<double>(chips - 1);
  if (topology == chip::Topology::Ring) {
    const std::int64_t passed = chips * chips / 4;  // The shorter way round to each.
    return {.longest = chips / 2, .load = static_cast<double>(passed) / others};
  }
  if (topology == chip::Topology::Mesh2d) {
    const std::int64_t rows = rows_of_chips(chips);
    const std::int64_t cols = chips / rows;
    const std::int64_t passed =
        (cols * (rows * rows - 1) / 3) + (rows * (cols * cols - 1) / 3);  // by all of one chip
    return {.longest = rows + cols - 2, .load = static_cast<double>(passed) / others};
  }
  return {.longest = 1, .load = 1.0};
}

bool sums(ir::OpKind kind) {
  return kind == ir::OpKind::AllReduce || kind == ir::OpKind::ReduceScatter;
}

}  // namespace

std::int64_t rows_of_chips(std::int64_t chips) {
  std::int64_t rows = 1;
  for (std::int64_t r = 1; r * r <= chips; ++r) {
    rows = chips % r == 0 ? r : rows;
  }
  return rows;
}

std::vector<Round> rounds(ir::OpKind kind, const Held& held, std::int64_t chips, Way way) {
  if (kind == ir::OpKind::AllGather) {
    return spread(held.before, chips, way);
  }
  const std::int64_t part = ceil_div(held.before, chips);
  if (kind == ir::OpKind::AllToAll) {
    return deal(part, chips, way);
  }
  std::vector<Round> result = spread(part, chips, way);
  if (kind == ir::OpKind::AllReduce) {
    const std::vector<Round> back = spread(ceil_div(held.after, chips), chips, way);
    result.insert(result.end(), back.begin(), back.end());
  }
  return result;
}

Passage passage(Way way, chip::Topology topology, std::int64_t chips) {
  return way == Way::Ring ? around(topology, chips) : across(topology, chips);
}

std::int64_t sent_bytes(const std::vector<Round>& rounds) {
  std::int64_t sum = 0;
  for (const Round& round : rounds) {
    sum += round.steps * round.sent;
  }
  return sum;
}

std::int64_t chips_of(const ir::Op& op) {
  if (!ir::is_collective(op.kind) || op.params.empty() || op.operands.size() != 2) {
    throw InternalError(text("op ", op.name, " is no collective"));
  }
  return op.params.front();
}

Held held_by_chip(const ir::Graph& graph, const ir::Op& op) {
  return {.before = ir::bytes(moved(graph, op.operands[0])).value,
          .after = ir::bytes(moved(graph, op.operands[1])).value};
}

Held held_by_core(const ir::Graph& graph, const ir::Op& op, const ExecutePlan& plan) {
  const auto bytes = [&](std::size_t k) {
    return element_bytes(held_box(graph, op, k, plan).elements,
                         ir::bits(moved(graph, op.operands[k]).dtype))
        .value;
  };
  return {.before = bytes(0), .after = bytes(1)};
}

Sum sum_of_core(const ir::Graph& graph, const ir::Op& op, const ExecutePlan& plan) {
  if (!sums(op.kind)) {
    return {.addends = 0, .elements = 0};
  }
  const std::int64_t chips = chips_of(op);
  return {.addends = chips - 1, .elements = ceil_div(held_box(graph, op, 0, plan).elements, chips)};
}

Bytes addend_space(const ir::Graph& graph, const ir::Op& op, const ExecutePlan& plan) {
  if (!sums(op.kind)) {
    return {0};
  }
  const Sum sum = sum_of_core(graph, op, plan);
  return aligned(
      element_bytes(sum.addends * sum.elements, ir::bits(moved(graph, op.operands[0]).dtype)));
}

std::int64_t cores_of_port(const chip::Chip& chip, std::int64_t cores) {
  const std::int64_t ports = chip.inter_chip ? chip.inter_chip->port_cores : chip.core.count;
  return ceil_div(cores, std::min(ports, cores));
}

}  // namespace elk::partition
