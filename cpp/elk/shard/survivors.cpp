#include "elk/shard/survivors.hpp"

#include <algorithm>
#include <numeric>

#include "elk/shard/layers.hpp"

namespace elk::shard {
namespace {

constexpr std::size_t kMost = 64;

std::vector<std::size_t> by_time(const std::vector<ShardingState>& states) {
  std::vector<std::size_t> result(states.size());
  std::iota(result.begin(), result.end(), std::size_t{0});
  std::stable_sort(result.begin(), result.end(), [&](std::size_t one, std::size_t other) {
    const ShardingState& a = states[one];
    const ShardingState& b = states[other];
    return a.time != b.time ? a.time < b.time : a.live < b.live;
  });
  return result;
}

}  // namespace

std::vector<std::size_t> Survivors::among(const std::vector<ShardingState>& states) {
  std::vector<std::size_t> result;
  KeptStates kept;
  bool open = false;  // Whether a state is kept that any op can go on from.
  for (const std::size_t i : by_time(states)) {
    const ShardingState& state = states[i];
    const bool opens = !open && is_whole(state);
    if (kept.size() >= kMost && !opens) {
      leave_out(state, kept);
    } else if (!is_dominated(state, kept)) {
      kept.push_back(&state);
      result.push_back(i);
      open = open || opens;
    }
  }
  let_order_turn(kept);
  return result;
}

/// Whether one state, brought into all forms of another, takes no longer.
Survivors::Verdict Survivors::compare(const ShardingState& from, const ShardingState& to,
                                      std::int64_t layers) {
  const std::int64_t slack = to.time - from.time;
  const std::int64_t pace = to.pace - from.pace;
  const std::int64_t most = slack + (layers * std::max<std::int64_t>(0, pace));
  const std::optional<std::int64_t> sum = completing_time(from, to, most);
  if (!sum) {
    return {.as_good = false, .alike = layers};
  }
  const bool result = *sum <= slack;
  if (pace == 0) {
    return {.as_good = result, .alike = layers};
  }
  if (result && slack == 0) {  // One that ends at the same time comes first by what else it has.
    return {.as_good = true, .alike = 0};
  }
  const std::int64_t bar = result ? std::max<std::int64_t>(1, *sum) : *sum;
  return {.as_good = result, .alike = layers_alike(slack, pace, bar, layers)};
}

/// What it takes to bring one state into all forms of another, or some of that if it is above
/// `most`; empty if there is no way.
std::optional<std::int64_t> Survivors::completing_time(const ShardingState& from,
                                                       const ShardingState& to, std::int64_t most) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < to.live.size() && sum <= most; ++i) {
    Forms missing = to.live[i].forms.without(from.live[i].forms);
    for (; !missing.empty(); missing.drop_first()) {
      const Form form = missing.first();
      if (form == partial()) {
        continue;
      }
      const auto way = routes_.find(to.live[i].tensor, from.live[i].forms, form);
      if (!way) {
        return std::nullopt;
      }
      sum += way->time;
    }
  }
  return sum;
}

/// Whether a survivor is as good as a state. One is enough: that for which it stays so longest. If
/// none is, none must get to be.
bool Survivors::is_dominated(const ShardingState& state, const KeptStates& kept) {
  std::int64_t none = alike_;
  std::int64_t longest = -1;
  for (const ShardingState* other : kept) {
    const Verdict verdict = compare(*other, state, alike_);
    if (!verdict.as_good) {
      none = std::min(none, verdict.alike);
      continue;
    }
    longest = std::max(longest, verdict.alike);
    if (longest == alike_) {
      break;
    }
  }
  alike_ = longest >= 0 ? longest : none;
  return longest >= 0;
}

/// A state beyond the limit must stay behind all survivors.
void Survivors::leave_out(const ShardingState& state, const KeptStates& kept) {
  for (const ShardingState* other : kept) {
    alike_ = layers_in_order(*other, state, alike_);
  }
}

/// A survivor may come to stand before another if it is not as good as that then.
void Survivors::let_order_turn(const KeptStates& kept) {
  for (std::size_t later = 1; later < kept.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later && alike_ > 0; ++earlier) {
      const ShardingState& first = *kept[earlier];
      const ShardingState& second = *kept[later];
      if (layers_in_order(first, second, alike_) < alike_) {
        alike_ = std::min(alike_, compare(second, first, alike_).alike);
      }
    }
  }
}

}  // namespace elk::shard
