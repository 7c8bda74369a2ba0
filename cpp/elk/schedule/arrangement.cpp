#include "elk/schedule/arrangement.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace elk::schedule {

Places::Places(const Problem& problem) : begin_(0), period_(problem.op_count()), count_(1) {
  if (const auto& repeat = problem.graph().repeat) {
    begin_ = repeat->begin;
    period_ = repeat->period;
    count_ = repeat->count;
  }
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    if (of(op) == op) {
      all_.push_back(op);
      if (repeats(op) && problem.is_loaded(op)) {
        loaded_.push_back(op);
      }
    }
  }
}

Arrangement in_order(const Places& places) {
  Arrangement result{.sequence = std::vector<std::int32_t>(places.loaded().size()),
                     .ahead = std::vector<std::int32_t>(places.loaded().size(), 0)};
  std::iota(result.sequence.begin(), result.sequence.end(), 0);
  return result;
}

std::vector<std::int32_t> preload_order(const Problem& problem, const Places& places,
                                        const Arrangement& arrangement) {
  std::vector<std::int32_t> order;
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

std::vector<std::int32_t> first_slots(const Problem& problem, const Places& places,
                                      const Arrangement& arrangement) {
  std::vector<std::int32_t> result(static_cast<std::size_t>(problem.op_count()), 0);
  for (std::size_t number = 0; number < arrangement.ahead.size(); ++number) {
    for (std::int32_t layer = 0; arrangement.ahead[number] > 0 && layer < places.count(); ++layer) {
      const std::int32_t op = places.loaded()[number] + (layer * places.period());
      result[static_cast<std::size_t>(op)] = std::max(0, op - arrangement.ahead[number]);
    }
  }
  return result;
}

}  // namespace elk::schedule
