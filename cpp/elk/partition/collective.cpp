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
std::vector<CollectiveRound> spread(std::int64_t part, std::int64_t chips,
                                    CollectiveAlgorithm way) {
  const std::int64_t others = chips - 1;
  return way == CollectiveAlgorithm::Ring
             ? std::vector<CollectiveRound>{{.steps = others, .sent = part}}
             : std::vector<CollectiveRound>{{.steps = 1, .sent = others * part}};
}

/// A `part` of its own from every chip to every other: in a ring it passes the chips in between.
std::vector<CollectiveRound> deal(std::int64_t part, std::int64_t chips, CollectiveAlgorithm way) {
  if (way == CollectiveAlgorithm::Direct) {
    return {{.steps = 1, .sent = (chips - 1) * part}};
  }
  std::vector<CollectiveRound> result;
  for (std::int64_t left = chips - 1; left > 0; --left) {
    result.push_back({.steps = 1, .sent = left * part});
  }
  return result;
}

const ir::Tensor& moved(const ir::Graph& graph, const ir::Operand& operand) {
  return graph.tensors[static_cast<std::size_t>(operand.tensor)];
}

bool sums(ir::OpKind kind) {
  return kind == ir::OpKind::AllReduce || kind == ir::OpKind::ReduceScatter;
}

}  // namespace

std::vector<CollectiveRound> rounds(ir::OpKind kind, const CollectiveBytes& held,
                                    std::int64_t chips, CollectiveAlgorithm way) {
  if (kind == ir::OpKind::AllGather) {
    return spread(held.before, chips, way);
  }
  const std::int64_t part = ceil_div(held.before, chips);
  if (kind == ir::OpKind::AllToAll) {
    return deal(part, chips, way);
  }
  std::vector<CollectiveRound> result = spread(part, chips, way);
  if (kind == ir::OpKind::AllReduce) {
    const std::vector<CollectiveRound> back = spread(ceil_div(held.after, chips), chips, way);
    result.insert(result.end(), back.begin(), back.end());
  }
  return result;
}

Passage passage(CollectiveAlgorithm way, chip::Topology topology, std::int64_t chips) {
  const chip::Network network = chip::network_of_chips(topology, chips);
  if (way == CollectiveAlgorithm::Ring) {  // What goes all the way back takes the free direction of
                                           // every link.
    return {.longest = network.tour_step(), .load = 1.0};
  }
  const auto others = static_cast<double>(chips - 1);
  return {.longest = network.longest(), .load = static_cast<double>(network.passed()) / others};
}

std::int64_t sent_bytes(const std::vector<CollectiveRound>& rounds) {
  std::int64_t sum = 0;
  for (const CollectiveRound& round : rounds) {
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

CollectiveBytes held_by_chip(const ir::Graph& graph, const ir::Op& op) {
  return {.before = ir::bytes(moved(graph, op.operands[0])).value,
          .after = ir::bytes(moved(graph, op.operands[1])).value};
}

CollectiveBytes held_by_core(const ir::Graph& graph, const ir::Op& op, const ExecutePlan& plan) {
  const auto bytes = [&](std::size_t k) {
    return element_bytes(held_box(graph, op, k, plan).elements,
                         ir::bits(moved(graph, op.operands[k]).dtype))
        .value;
  };
  return {.before = bytes(0), .after = bytes(1)};
}

Addition sum_of_core(const ir::Graph& graph, const ir::Op& op, const ExecutePlan& plan) {
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
  const Addition sum = sum_of_core(graph, op, plan);
  return aligned(
      element_bytes(sum.addends * sum.elements, ir::bits(moved(graph, op.operands[0]).dtype)));
}

std::int64_t cores_of_port(const chip::Chip& chip, std::int64_t cores) {
  const std::int64_t ports = chip.inter_chip ? chip.inter_chip->port_cores : chip.core.count;
  return ceil_div(cores, std::min(ports, cores));
}

}  // namespace elk::partition
