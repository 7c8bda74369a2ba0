#include "elk/sim/play/meeting.hpp"

#include <algorithm>
#include <cstddef>

#include "elk/base/ids.hpp"

namespace elk::sim {
namespace {

Meeting meeting(const Demand& execute, std::int32_t kind, const ResourceLoad& other) {
  const ResourceLoad& own = execute.kinds[subscript(kind)];
  const Rate rate = kind != 0 ? own.rate : other.rate;
  const bool computes = own.computes;
  const Wide speed = grains(rate);
  return {.left = computes ? Wide{own.amount} * speed : grains(Bytes{own.amount}),
          .speed = speed,
          .other = other.amount,
          .tail = own.tail,
          .flows = kind != 0 && !computes};
}

}  // namespace

Meetings meet(const Demand& execute, const Demand& load) {
  Meetings out;
  PairNumbers pairs;
  const bool quiet = load.kinds.size() == 1;
  for (std::size_t r = 0; r < execute.kind_of.size(); ++r) {
    const std::int32_t a = execute.kind_of[r];
    const std::int32_t b = quiet ? 0 : load.kind_of[r];
    if (a == 0 && b == 0) {
      out.of.push_back(-1);
      continue;
    }
    const auto [number, is_new] = pairs(a, b);
    out.of.push_back(number);
    if (is_new) {
      out.all.push_back(meeting(execute, a, load.kinds[subscript(b)]));
    }
  }
  return out;
}

Meetings meet_again(const Meetings& before, const Demand& load) {
  Meetings out;
  PairNumbers pairs;
  for (std::size_t r = 0; r < before.of.size(); ++r) {
    const std::int32_t a = before.of[r];
    const std::int32_t b = load.kinds.size() == 1 ? 0 : load.kind_of[r];
    const bool gone = a < 0 || before.all[subscript(a)].left == 0;
    if (gone && b == 0) {
      out.of.push_back(-1);
      continue;
    }
    const auto [number, is_new] = pairs(gone ? -1 : a, b);
    out.of.push_back(number);
    if (!is_new) {
      continue;
    }
    const ResourceLoad& other = load.kinds[subscript(b)];
    Meeting next = gone ? Meeting{.left = 0,
                                  .speed = grains(other.rate),
                                  .other = 0,
                                  .tail = {0},
                                  .flows = false}
                        : before.all[subscript(a)];
    next.other = other.amount;
    out.all.push_back(next);
  }
  return out;
}

}  // namespace elk::sim
