#include "elk/schedule/improve/arrangement.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"

namespace elk::schedule {
namespace {

/// The fronts of an op, of what makes its operands, and of what reads its results.
std::vector<std::int32_t> surroundings(const Problem& problem, OpId op) {
  const auto front = [&](OpId of) { return of == OpId::none ? -1 : problem.front_of()[of]; };
  std::vector<std::int32_t> result{front(op)};
  for (const ir::Operand& operand : problem.graph().ops[op].operands) {
    const bool read = operand.access == ir::Access::Read;
    result.push_back(read ? front(problem.lives().producer[operand.tensor]) : -1);
  }
  for (const OpId reader : problem.readers(op)) {
    result.push_back(front(reader));
  }
  return result;
}

}  // namespace

/// Without HBM, layers share the memory that they keep: each op is a place by itself.
LayerPlaces::LayerPlaces(const Problem& problem)
    : layers_{.begin = OpId{0}, .period = problem.op_count(), .count = 1} {
  if (problem.chip().hbm && problem.graph().repeat) {
    layers_ = *problem.graph().repeat;
  }
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    if (of(op) == op) {
      all_.push_back(op);
      if (repeats(op) && problem.is_loaded(op)) {
        loaded_.push_back(op);
      }
    }
  }
}

/// Of ops that stand at one place, one in the middle speaks: the first may find its inputs
/// elsewhere.
PlaceGroups alike(const Problem& problem, const LayerPlaces& places) {
  std::map<std::vector<std::int32_t>, std::vector<OpId>> found;
  for (const OpId place : places.all()) {
    const std::int32_t layer = places.repeats(place) ? places.count() / 2 : 0;
    found[surroundings(problem, place + (layer * places.period()))].push_back(place);
  }
  PlaceGroups result{
      .groups = {},
      .of = Table<OpId, std::int32_t>(static_cast<std::size_t>(problem.op_count()), -1)};
  for (auto& [key, group] : found) {
    for (const OpId place : group) {
      result.of[place] = static_cast<std::int32_t>(result.groups.size());
    }
    result.groups.push_back(std::move(group));
  }
  return result;
}

Arrangement in_order(const LayerPlaces& places) {
  Arrangement result{.sequence = std::vector<std::int32_t>(places.loaded().size()),
                     .ahead = std::vector<std::int32_t>(places.loaded().size(), 0)};
  std::iota(result.sequence.begin(), result.sequence.end(), 0);
  return result;
}

std::vector<OpId> preload_order(const Problem& problem, const LayerPlaces& places,
                                const Arrangement& arrangement) {
  std::vector<OpId> order;
  order.reserve(problem.loaded().size());
  const auto first = static_cast<std::size_t>(problem.rank(places.begin()));
  const std::size_t layered = places.loaded().size() * static_cast<std::size_t>(places.count());
  for (std::size_t at = 0; at < first; ++at) {
    order.push_back(problem.loaded()[at]);
  }
  for (std::int32_t layer = 0; layer < places.count(); ++layer) {
    for (const std::int32_t number : arrangement.sequence) {
      order.push_back(places.loaded()[static_cast<std::size_t>(number)] +
                      (layer * places.period()));
    }
  }
  for (std::size_t at = first + layered; at < problem.loaded().size(); ++at) {
    order.push_back(problem.loaded()[at]);
  }
  return order;
}

Table<OpId, OpId> first_slots(const Problem& problem, const LayerPlaces& places,
                              const Arrangement& arrangement) {
  Table<OpId, OpId> result(static_cast<std::size_t>(problem.op_count()), OpId{0});
  for (std::size_t number = 0; number < arrangement.ahead.size(); ++number) {
    for (std::int32_t layer = 0; arrangement.ahead[number] > 0 && layer < places.count(); ++layer) {
      const OpId op = places.loaded()[number] + (layer * places.period());
      result[op] = OpId{std::max(0, op.value - arrangement.ahead[number])};
    }
  }
  return result;
}

}  // namespace elk::schedule
