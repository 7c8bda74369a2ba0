#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/partition/layout/layout.hpp"
#include "elk/program/expand/gather.hpp"
#include "partition/ops.hpp"
#include "program/models.hpp"

namespace elk::program {
namespace {

/// Two matrix products, one after the other, the first cut by `made`, the second by `read`.
struct Pair {
  Chain chain;
  partition::Layout rests;
  partition::Layout needed;
};

Pair pair_of(const Table<AxisId, std::int64_t>& made, const Table<AxisId, std::int64_t>& read,
             const chip::Chip& chip) {
  Chain c = chain();
  c.ops[OpId{0}] = cut(c.graph, OpId{0}, made);
  c.ops[OpId{2}] = cut(c.graph, OpId{2}, read);
  c.graph.ops[OpId{2}].operands[OperandId{0}].tensor = c.y;
  return {.chain = c,
          .rests = partition::layout(c.graph, c.graph.ops[OpId{0}], OperandId{2},
                                     c.ops[OpId{0}].execute, chip),
          .needed = partition::layout(c.graph, c.graph.ops[OpId{2}], OperandId{0},
                                      c.ops[OpId{2}].execute, chip)};
}

/// Elements of a core's piece, each as one number.
std::set<std::int64_t> elements(const partition::Pieces& pieces, std::int64_t core) {
  std::set<std::int64_t> out;
  const std::int32_t place = pieces.place(core);
  if (place < 0) {
    return out;
  }
  const auto at = static_cast<std::size_t>(place);
  for (const partition::IndexRange& rows : pieces.dims[0].sets[pieces.dims[0].at(at)]) {
    for (const partition::IndexRange& cols : pieces.dims[1].sets[pieces.dims[1].at(at)]) {
      for (std::int64_t m = rows.begin; m < rows.end; ++m) {
        for (std::int64_t n = cols.begin; n < cols.end; ++n) {
          out.insert((m * 64) + n);
        }
      }
    }
  }
  return out;
}

const std::vector<Table<AxisId, std::int64_t>> kCuts = {{1, 8, 1}, {8, 1, 1}, {2, 4, 2}, {1, 5, 3},
                                                        {3, 7, 1}, {1, 1, 8}, {8, 8, 1}, {4, 3, 5}};

TEST(Gather, BringsEveryCoreWhatItLacksAndNothingElse) {
  const chip::Chip chip = chip::small_chip();
  for (const Table<AxisId, std::int64_t>& made : kCuts) {
    for (const Table<AxisId, std::int64_t>& read : kCuts) {
      const Pair pair = pair_of(made, read, chip);
      Exchange exchange;
      add_gather({pair.chain.graph, pair.chain.graph.ops[OpId{2}], pair.chain.ops[OpId{2}], chip},
                 OperandId{0}, &pair.rests, exchange);
      const PortTraffic moved = traffic(exchange, chip);
      const partition::Pieces held(pair.rests);
      const partition::Pieces needed(pair.needed);
      for (std::int64_t core = 0; core < 64; ++core) {
        std::set<std::int64_t> lacking = elements(needed, core);
        for (const std::int64_t element : elements(held, core)) {
          lacking.erase(element);
        }
        EXPECT_EQ(moved.received[id_at<CoreId>(core)],
                  2 * static_cast<std::int64_t>(lacking.size()));
      }
    }
  }
}

TEST(Gather, ReceivesWhatTheTransitionSays) {
  const chip::Chip chip = chip::small_chip();
  for (const Table<AxisId, std::int64_t>& made : kCuts) {
    for (const Table<AxisId, std::int64_t>& read : kCuts) {
      const Pair pair = pair_of(made, read, chip);
      Exchange exchange;
      add_gather({pair.chain.graph, pair.chain.graph.ops[OpId{2}], pair.chain.ops[OpId{2}], chip},
                 OperandId{0}, &pair.rests, exchange);
      const PortTraffic moved = traffic(exchange, chip);
      const partition::Transition planned = test::transition(pair.rests, pair.needed, 16, chip);
      EXPECT_EQ(*std::max_element(moved.received.begin(), moved.received.end()),
                planned.received.value);
      EXPECT_EQ(std::accumulate(moved.received.begin(), moved.received.end(), std::int64_t{0}),
                planned.total.value);
    }
  }
}

TEST(Gather, SendsOnlyWhatACoreHolds) {
  const chip::Chip chip = chip::small_chip();
  for (const Table<AxisId, std::int64_t>& made : kCuts) {
    const Pair pair = pair_of(made, {1, 8, 1}, chip);
    Exchange exchange;
    add_gather({pair.chain.graph, pair.chain.graph.ops[OpId{2}], pair.chain.ops[OpId{2}], chip},
               OperandId{0}, &pair.rests, exchange);
    const partition::Pieces held(pair.rests);
    for_each_send(exchange, chip, [&](const Send& send) {
      EXPECT_LE(send.bytes, 2 * static_cast<std::int64_t>(elements(held, send.core.value).size()));
    });
  }
}

TEST(Gather, SendsAsMuchAsArrivesWhereNothingIsMulticast) {
  chip::Chip chip = chip::small_chip();
  chip.interconnect.multicast = false;
  for (const Table<AxisId, std::int64_t>& made : kCuts) {
    const Pair pair = pair_of(made, {2, 8, 1}, chip);
    Exchange exchange;
    add_gather({pair.chain.graph, pair.chain.graph.ops[OpId{2}], pair.chain.ops[OpId{2}], chip},
               OperandId{0}, &pair.rests, exchange);
    const PortTraffic moved = traffic(exchange, chip);
    EXPECT_EQ(std::accumulate(moved.sent.begin(), moved.sent.end(), std::int64_t{0}),
              std::accumulate(moved.received.begin(), moved.received.end(), std::int64_t{0}));
  }
}

}  // namespace
}  // namespace elk::program
