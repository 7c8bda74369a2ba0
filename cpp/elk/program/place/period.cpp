#include "elk/program/place/period.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/program/code/program_tuning.hpp"

namespace elk::program {
namespace {

/// First piece that begins in each moment, and the number of pieces at the end.
std::vector<std::int32_t> starts_of(const Strip& strip) {
  std::vector<std::int32_t> starts(subscript(strip.moments) + 1, 0);
  for (const Rectangle& piece : strip.pieces) {
    ++starts[subscript(piece.first) + 1];
  }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  return starts;
}

/// The moments numbered so that two have the same number if and only if equal pieces begin in them.
std::vector<std::int32_t> kinds_of_moments(const Strip& strip) {
  const std::vector<std::int32_t> starts = starts_of(strip);
  const auto pieces_of = [&](std::int32_t moment) {
    return std::pair(strip.pieces.begin() + starts[subscript(moment)],
                     strip.pieces.begin() + starts[subscript(moment) + 1]);
  };
  const auto compare = [&](std::int32_t a, std::int32_t b) {
    const auto [a_begin, a_end] = pieces_of(a);
    const auto [b_begin, b_end] = pieces_of(b);
    return std::lexicographical_compare_three_way(
        a_begin, a_end, b_begin, b_end, [](const Rectangle& x, const Rectangle& y) {
          return x.size != y.size ? x.size <=> y.size : x.length <=> y.length;
        });
  };
  std::vector<std::int32_t> order(subscript(strip.moments));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::int32_t a, std::int32_t b) { return compare(a, b) < 0; });
  std::vector<std::int32_t> kinds(order.size(), 0);
  for (std::size_t i = 1; i < order.size(); ++i) {
    kinds[subscript(order[i])] =
        kinds[subscript(order[i - 1])] + (compare(order[i - 1], order[i]) < 0 ? 1 : 0);
  }
  return kinds;
}

/// The moment up to which `kinds` from `at` on are those of the period.
std::int32_t end_of_run(const std::vector<std::int32_t>& kinds, const Period& period,
                        std::int32_t at) {
  std::int32_t end = at;
  while (subscript(end) < kinds.size() &&
         kinds[subscript(end)] ==
             kinds[subscript(period.stretch.begin + ((end - at) % period.length))]) {
    ++end;
  }
  return end;
}

/// Intervales behind that of the period which begin as it does, at least two periods long.
std::vector<Interval<std::int32_t>> later_stretches(const Strip& strip,
                                                    const std::vector<std::int32_t>& kinds,
                                                    const Period& period) {
  const std::int32_t reach = fewest_periods(strip, period) * period.length;
  std::vector<Interval<std::int32_t>> result;
  for (std::int32_t at = period.stretch.end + reach; at < strip.moments;) {
    const std::int32_t end = end_of_run(kinds, period, at);
    if (end - at < 2 * period.length) {
      ++at;
    } else {
      result.push_back({.begin = at, .end = end});
      at = end + reach;
    }
  }
  return result;
}

}  // namespace

std::int32_t covered(const Period& period) {
  std::int32_t sum = period.stretch.end - period.stretch.begin;
  for (const Interval<std::int32_t>& one : period.later) {
    sum += one.end - one.begin;
  }
  return sum;
}

std::optional<Period> find_period(const Strip& strip) {
  const std::vector<std::int32_t> kinds = kinds_of_moments(strip);
  std::int32_t longest = 0;
  std::optional<Period> best;
  for (std::int32_t length = 1; length <= std::min(strip.moments / 3, tuning::kLongestRing);
       ++length) {
    std::int32_t run = 0;
    for (std::int32_t moment = length; moment < strip.moments; ++moment) {
      if (run == 0 && strip.moments - moment <= longest) {
        break;  // Too few are left.
      }
      run = kinds[subscript(moment)] == kinds[subscript(moment - length)] ? run + 1 : 0;
      if (run >= 2 * length && run > longest) {
        longest = run;
        best = Period{.stretch = {.begin = moment + 1 - run - length, .end = moment + 1},
                      .length = length,
                      .later = {}};
      }
    }
  }
  if (best) {
    best->later = later_stretches(strip, kinds, *best);
  }
  return best;
}

std::int32_t fewest_periods(const Strip& strip, const Period& period) {
  std::int32_t longest = 1;
  for (const Rectangle& piece : strip.pieces) {
    const std::int32_t from = piece.first - period.stretch.begin;
    if (from >= 0 && from < period.length) {
      longest = std::max(longest, piece.length);
    }
  }
  return static_cast<std::int32_t>(ceil_div(longest, period.length));
}

std::optional<std::vector<std::int64_t>> pack_by_period(const Strip& strip, const Period& period,
                                                        std::int32_t periods, std::int64_t& work) {
  const std::vector<std::int32_t> starts = starts_of(strip);
  const auto start = [&](std::int32_t moment) { return starts[subscript(moment)]; };
  const auto [begin, end] = period.stretch;
  Strip ring{.pieces = {}, .moments = periods * period.length, .cyclic = true, .room = strip.room};
  if (begin + ring.moments > end) {
    return std::nullopt;
  }
  for (std::int32_t i = start(begin); i < start(begin + ring.moments); ++i) {
    const Rectangle& piece = strip.pieces[subscript(i)];
    ring.pieces.push_back(
        {.size = piece.size, .first = piece.first - begin, .length = piece.length});
  }
  const std::size_t count = ring.pieces.size();
  if (const std::optional<std::vector<std::int64_t>> packed =
          pack(ring, std::vector<std::int64_t>(count, kUnplaced), PackOrder::LargestFirst, work)) {
    std::vector<std::int64_t> offsets(strip.pieces.size(), kUnplaced);
    const auto lay_out = [&](const Interval<std::int32_t>& stretch) {
      const std::int32_t first = start(stretch.begin);
      for (std::int32_t i = first; i < start(stretch.end); ++i) {
        offsets[subscript(i)] = (*packed)[subscript(i - first) % count];
      }
    };
    lay_out(period.stretch);
    std::for_each(period.later.begin(), period.later.end(), lay_out);
    work *= static_cast<std::int64_t>(1 + period.later.size());
    return pack(strip, std::move(offsets), PackOrder::LargestFirst, work);
  }
  return std::nullopt;
}

}  // namespace elk::program
