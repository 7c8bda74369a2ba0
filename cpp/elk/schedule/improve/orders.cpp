#include "elk/schedule/improve/orders.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/mechanisms.hpp"
#include "elk/base/parallel.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"

namespace elk::schedule {
namespace {

/// A suffix tree of orders, walked depth first: a node is the set of preloads that still come
/// before those chosen.
class OrderTree {
 public:
  OrderTree(const std::vector<HeavyPreload>& heavy, std::size_t most)
      : heavy_(heavy), most_(most), open_(heavy.size(), 1), chosen_(heavy.size(), 0) {}

  Orders grow() {
    walk(heavy_.size());
    return std::move(orders_);
  }

 private:
  /// Chooses the last of the `left` preloads that are open.
  void walk(std::size_t left) {
    if (orders_.found.size() == most_) {
      orders_.complete = false;
      return;
    }
    if (left == 0) {
      orders_.found.push_back(chosen_);
      return;
    }
    Bytes forced{0};  // preloads before it that execute after it
    for (std::size_t x = heavy_.size(); x-- > 0;) {
      if (open_[x] == 0) {
        continue;
      }
      if (forced + heavy_[x].piece > heavy_[x].room) {
        ++orders_.pruned;
      } else {
        open_[x] = 0;
        chosen_[left - 1] = static_cast<std::int32_t>(x);
        walk(left - 1);
        open_[x] = 1;
      }
      forced += heavy_[x].piece;
    }
  }

  const std::vector<HeavyPreload>& heavy_;
  std::size_t most_;
  std::vector<std::int8_t> open_;
  std::vector<std::int32_t> chosen_;
  Orders orders_{.found = {}, .pruned = 0, .complete = true};
};

/// Bytes of an op's preload in the smallest state of the plan it has.
Bytes smallest(const Problem& problem, const Sketch& sketch, OpId place) {
  return problem.option(place, sketch.choices()[place]).states.back().space;
}

std::vector<HeavyPreload> weigh_heavy(const Problem& problem, const Sketch& sketch,
                                      const std::vector<std::int32_t>& numbers) {
  const Bytes room = chip::room(problem.chip());
  std::vector<HeavyPreload> result;
  for (const std::int32_t number : numbers) {
    const OpId place = sketch.places().loaded()[static_cast<std::size_t>(number)];
    result.push_back(
        {.piece = smallest(problem, sketch, place), .room = room - sketch.used(place)});
  }
  return result;
}

/// How many of these, the smallest first, fit together.
std::int32_t fitting(std::vector<Bytes> pieces, Bytes room) {
  std::sort(pieces.begin(), pieces.end());
  std::int32_t count = 0;
  for (const Bytes piece : pieces) {
    room -= piece;
    count += room.value >= 0 ? 1 : 0;
  }
  return count;
}

/// Ops that follow one another and whose preloads fit together, at most.
std::int32_t longest_fit(const Problem& problem, const Sketch& sketch) {
  const Bytes room = chip::room(problem.chip());
  std::vector<Bytes> sum{Bytes{0}};
  std::size_t first = 0;
  std::size_t most = 0;
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    const Bytes piece = problem.is_loaded(op)
                            ? problem.option(op, sketch.choices()[op]).states.back().space
                            : Bytes{0};
    sum.push_back(sum.back() + piece);
    while (sum.back() - sum[first] > room) {
      ++first;
    }
    most = std::max(most, sum.size() - 1 - first);
  }
  return static_cast<std::int32_t>(most);
}

void describe(const Problem& problem, const Sketch& sketch,
              const std::vector<std::int32_t>& numbers, OrderSearch& search) {
  std::vector<Bytes> pieces;
  pieces.reserve(numbers.size());
  for (const std::int32_t number : numbers) {
    pieces.push_back(
        smallest(problem, sketch, sketch.places().loaded()[static_cast<std::size_t>(number)]));
  }
  search.heavy = static_cast<std::int32_t>(numbers.size());
  search.heavy_fit = fitting(std::move(pieces), chip::room(problem.chip()));
  search.fit = longest_fit(problem, sketch);
  search.ops = problem.op_count();
  for (const cost::Front& front : problem.fronts()) {
    search.plans = std::max(search.plans, static_cast<std::int32_t>(front.options.size()));
  }
}

}  // namespace

Orders valid_orders(const std::vector<HeavyPreload>& heavy, std::size_t most) {
  return OrderTree(heavy, most).grow();
}

std::vector<std::int32_t> heavy_loads(const Problem& problem, const Sketch& sketch) {
  const auto bytes = [&](OpId op) { return problem.state(op, sketch.choices()[op]).hbm_bytes; };
  std::int64_t all = 0;
  for (const OpId op : problem.loaded()) {
    all += bytes(op);
  }
  std::vector<std::int32_t> result;
  const std::vector<OpId>& loaded = sketch.places().loaded();
  for (std::size_t number = 0; number < loaded.size(); ++number) {
    if (bytes(loaded[number]) > all / problem.op_count()) {
      result.push_back(static_cast<std::int32_t>(number));
    }
  }
  return result;
}

double edit_distance(const std::vector<OpId>& usual, const std::vector<OpId>& order) {
  std::unordered_map<OpId, std::int64_t> place;
  for (std::size_t i = 0; i < usual.size(); ++i) {
    place[usual[i]] = static_cast<std::int64_t>(i);
  }
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    sum += std::abs(place.at(order[i]) - static_cast<std::int64_t>(i));
  }
  return order.empty() ? 0.0 : static_cast<double>(sum) / static_cast<double>(order.size());
}

Arrangement best_order(const Problem& problem, const Sketch& sketch, std::int64_t most_work,
                       int threads, OrderSearch& search) {
  const std::vector<std::int32_t> numbers = heavy_loads(problem, sketch);
  describe(problem, sketch, numbers, search);
  const std::int64_t most = !mechanisms().orders || numbers.size() > tuning::kMostHeavy
                                ? 1
                                : std::max<std::int64_t>(1, most_work / sketch.work());
  const Orders orders =
      valid_orders(weigh_heavy(problem, sketch, numbers), static_cast<std::size_t>(most));
  const Arrangement usual = in_order(sketch.places());
  std::vector<Arrangement> all;
  for (const std::vector<std::int32_t>& order : orders.found) {
    Arrangement& arrangement = all.emplace_back(usual);
    for (std::size_t i = 0; i < order.size(); ++i) {
      arrangement.sequence[static_cast<std::size_t>(numbers[i])] =
          numbers[static_cast<std::size_t>(order[i])];
    }
  }
  const std::vector<double> seconds = parallel_map(
      all, [&](const Arrangement& arrangement) { return sketch.seconds(arrangement); }, threads);
  search.generated += static_cast<std::int64_t>(all.size());
  search.scheduled += static_cast<std::int64_t>(all.size());
  search.pruned += orders.pruned;
  search.complete = search.complete && orders.complete;
  const auto best = std::min_element(seconds.begin(), seconds.end());
  return best == seconds.end() ? usual : all[static_cast<std::size_t>(best - seconds.begin())];
}

}  // namespace elk::schedule
