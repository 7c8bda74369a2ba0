#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/partition/plan.hpp"

/// What happens in a collective (design 2.6), by its plan alone. Its cores hold equal parts of the
/// tensor in the layout of the plan, the same on every chip, and run three phases:
///
/// - gather: each core takes in its part of what the chip holds, as any execute does. Where fewer
///   cores have a port to other chips than work, a port also takes in what the cores beside it
///   send;
/// - link: the ports of all chips exchange in `rounds`, and sums are added up as they arrive;
/// - scatter: a port hands back what it received for the cores beside it. The result rests as cut.
///
/// What a port passes on for others goes through its transfer buffer and takes no other space.
namespace elk::partition {

/// How chips exchange: each with the next in a ring, step by step, or all with all others at once.
enum class CollectiveAlgorithm : std::uint8_t { Ring, Direct };

/// Bytes that a chip, or a core of it, holds of a collective's tensor before and after.
struct CollectiveBytes {
  std::int64_t before;
  std::int64_t after;
};

/// Steps that are alike: in each, every chip sends `sent` bytes and receives as many.
struct CollectiveRound {
  std::int64_t steps;
  std::int64_t sent;

  friend bool operator==(const CollectiveRound&, const CollectiveRound&) = default;
};

/// The link phase of `kind` among `chips`, of which one holds `held`; also that of one core's part:
///
///     all-gather      ring C - 1 steps of b        direct one of (C - 1) b
///     reduce-scatter  the same of b / C
///     all-reduce      a reduce-scatter of b, then an all-gather of a / C
///     all-to-all      ring steps of (C - 1) b / C, (C - 2) b / C, ..; direct one of (C - 1) b / C
///
/// with C chips, b bytes before and a after, parts rounded up.
[[nodiscard]] std::vector<CollectiveRound> rounds(ir::OpKind kind, const CollectiveBytes& held,
                                                  std::int64_t chips, CollectiveAlgorithm way);

/// How messages travel between chips.
struct Passage {
  std::int64_t longest;  // links that the farthest message passes
  double load;           // links that messages pass on average

  friend bool operator==(const Passage&, const Passage&) = default;
};
[[nodiscard]] Passage passage(CollectiveAlgorithm way, chip::Topology topology, std::int64_t chips);

/// Of all rounds together.
[[nodiscard]] std::int64_t sent_bytes(const std::vector<CollectiveRound>& rounds);

/// Chips that take part in a collective.
[[nodiscard]] std::int64_t chips_of(const ir::Op& op);

/// Bytes of its tensor on a chip, each element once, and on the busiest core.
[[nodiscard]] CollectiveBytes held_by_chip(const ir::Graph& graph, const ir::Op& op);
[[nodiscard]] CollectiveBytes held_by_core(const ir::Graph& graph, const ir::Op& op,
                                           const ExecutePlan& plan);

/// Elements that a core adds up, and how many addends of each it receives: those that it keeps of
/// what all chips sum. None where nothing is summed.
struct Addition {
  std::int64_t addends;
  std::int64_t elements;
};
[[nodiscard]] Addition sum_of_core(const ir::Graph& graph, const ir::Op& op,
                                   const ExecutePlan& plan);

/// Room on a core for the addends that arrive from other chips.
[[nodiscard]] Bytes addend_space(const ir::Graph& graph, const ir::Op& op, const ExecutePlan& plan);

/// Cores that share one port to other chips, neighbours by id: one where every core that works has
/// its own. The first of them has it.
[[nodiscard]] std::int64_t cores_of_port(const chip::Chip& chip, std::int64_t cores);

}  // namespace elk::partition
