#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/schedule/improve/arrangement.hpp"
#include "elk/schedule/improve/sketch.hpp"

namespace elk::schedule {

/// A preload that may change its place in the order: its bytes on chip in the smallest state, and
/// what its op leaves for preloads that wait while it executes.
struct HeavyPreload {
  Bytes piece;
  Bytes room;
};

/// Orders of preloads as permutations of 0..n-1, n heavy ones in the order of their executes.
struct Orders {
  std::vector<std::vector<std::int32_t>> found;
  std::int64_t pruned;  // subtrees that overflow SRAM
  bool complete;        // whether there are no more than `found`
};

/// All orders in which no execute finds more forced on chip than there is room for (ELK 4.4, Figure
/// 14). Goes from the last preload to the first: whatever is preloaded before `x` and executes
/// after it lies on chip beside it. The order of the executes comes first; no more than `most`.
[[nodiscard]] Orders valid_orders(const std::vector<HeavyPreload>& heavy, std::size_t most);

/// Of Places::loaded(), the ones that bring more bytes than the mean op of the model.
[[nodiscard]] std::vector<std::int32_t> heavy_loads(const Problem& problem, const Sketch& sketch);

/// How the order of preloads was chosen, and how large the space of plans is: ELK's Table 2.
struct OrderSearch {
  std::int32_t heavy_fit = 0;  // C: heavy ops of a layer that fit on chip together
  std::int32_t heavy = 0;      // H: heavy ops of a layer
  std::int32_t plans = 0;      // P: of an op, at most
  std::int32_t fit = 0;        // K: ops whose preloads fit on chip together, at most
  std::int32_t ops = 0;        // N
  std::int64_t generated = 0;  // orders
  std::int64_t pruned = 0;     // subtrees of orders that overflow
  std::int64_t scheduled = 0;  // orders that were forecast before annealing
  bool complete = true;        // whether every valid order was generated
  double edit_distance = 0.0;  // places that a preload of the winner moved, on average
};

/// Places by which the entries of `order` are away from where `usual` has them, on average.
[[nodiscard]] double edit_distance(const std::vector<std::int32_t>& usual,
                                   const std::vector<std::int32_t>& order);

/// The order of a sketch's preloads with the shortest forecast among the valid ones, the smallest
/// first where several are. Counts in `search`.
[[nodiscard]] Arrangement best_order(const Problem& problem, const Sketch& sketch,
                                     std::int64_t most_work, int threads, OrderSearch& search);

}  // namespace elk::schedule
