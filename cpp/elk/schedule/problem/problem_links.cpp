#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/key_writer.hpp"
#include "elk/base/parallel.hpp"
#include "elk/ir/op_key.hpp"
#include "elk/partition/core_needs.hpp"
#include "elk/schedule/problem/grid_exchanges.hpp"
#include "elk/schedule/problem/problem.hpp"

namespace elk::schedule {
namespace {

/// Pairs of cores that a gather counted link by link goes through in about the time in which an op
/// is forecast.
constexpr std::int64_t kPairs = 368;

}  // namespace

/// On a grid the ways of HBM data, and of what chips exchange, decide how long they take.
void Problem::settle_links(const ir::Op& op, cost::PlanOption& option,
                           Deliveries& deliveries) const {
  deliveries.settle(graph_, op, option);
  if (counts_exchanges(chip_)) {
    settle_exchanges(graph_, op, chip_, tiles_, option);
  }
}

void Problem::settle_links(int threads) {
  if (!counts_) {
    return;
  }
  std::vector<const ir::Op*> first(fronts_.size(), nullptr);
  for (std::size_t i = front_of_.size(); i-- > 0;) {
    first[subscript(front_of_[i])] = &graph_.ops[i];
  }
  parallel_for_index(fronts_.size(), threads, [&](std::size_t front) {
    Deliveries deliveries(deliveries_);  // none share what they count on the way
    for (cost::PlanOption& option : fronts_[front].options) {
      settle_links(*first[front], option, deliveries);
    }
  });
}

/// What a gather on a grid depends on: pairs of layouts, and the op itself where it reads what lies
/// on all cores.
Key Problem::gather_key(const InPlaceKey& place) const {
  const ir::Op& node = graph_.ops[static_cast<std::size_t>(place.op)];
  Key key;
  bool paired = !ir::is_collective(node.kind);
  for (std::size_t k = 0; k < place.moves.size(); ++k) {
    const ir::Operand& operand = node.operands[k];
    if (operand.access == ir::Access::Write || partition::from_hbm(graph_, operand) ||
        partition::first_like(node, k) != k) {
      continue;
    }
    paired = paired && place.moves[k].has_value();
    const HandoverTable::LayoutPair pair =
        place.moves[k].value_or(HandoverTable::LayoutPair{-1, -1, 0});
    key.insert(key.end(), {pair.have, pair.need, static_cast<std::int32_t>(pair.bits)});
  }
  if (!paired) {
    key.push_back(front_of_[static_cast<std::size_t>(place.op)]);
    key.push_back(place.option);
  }
  return key;
}

/// A gather's key in full, for problems whose layouts and ops have other numbers.
std::string Problem::kept_key(const Key& key, const InPlaceKey& place) const {
  KeyWriter out;
  add_network(chip_, out);
  const std::size_t pairs = key.size() / 3;
  out.add(pairs);
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    out.add(key[(3 * pair) + 2]);
    for (std::size_t end = 0; end < 2; ++end) {
      if (const std::int32_t number = key[(3 * pair) + end]; number >= 0) {
        add_layout(moves_.layout(number), out);
      }
    }
  }
  if (key.size() > 3 * pairs) {
    out.add(ir::op_key(graph_, graph_.ops[subscript(place.op)]));
    partition::add_plan(place.plan->plan, out);
  }
  return std::move(out).key();
}

/// What the gather of an op at its place puts on links, counted or known from another problem.
LinkCount Problem::counted(const Key& key, const InPlaceKey& place) const {
  const auto count = [&] {
    std::vector<const partition::Layout*> have(place.moves.size(), nullptr);
    for (std::size_t k = 0; k < have.size(); ++k) {
      have[k] = place.moves[k] ? &moves_.layout(place.moves[k]->have) : nullptr;
    }
    return count_gather(graph_, graph_.ops[subscript(place.op)], place.plan->plan, have, chip_);
  };
  if (known_ == nullptr) {
    return count();
  }
  return known_->gathers.find_or_make(kept_key(key, place), count,
                                      [](const LinkCount& made) { return sizeof(made); });
}

void Problem::count_gathers(const std::vector<const InPlaceKey*>& places, int threads) {
  std::map<Key, const InPlaceKey*> missing;
  for (const InPlaceKey* place : places) {
    Key key = gather_key(*place);
    if (!gathers_.contains(key)) {
      missing.emplace(std::move(key), place);
    }
  }
  const std::vector<std::pair<Key, const InPlaceKey*>> asked(missing.begin(), missing.end());
  const auto count = [&](const std::pair<Key, const InPlaceKey*>& one) {
    const auto& [key, place] = one;
    return exchange_of(counted(key, *place), chip_, partition::is_wide(place->plan->plan, chip_));
  };
  const std::vector<cost::ExchangeCost> found = parallel_map(asked, count, threads);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    gathers_.emplace(asked[i].first, found[i]);
  }
}

std::int64_t Problem::counting_work() const {
  const std::int64_t cores = chip::total_cores(chip_);
  return static_cast<std::int64_t>(gathers_.size()) * (cores * cores / kPairs);
}

void Problem::recount_gathers(const std::vector<Choice>& choices, int threads) {
  std::map<Key, InPlaceKey> missing;
  for (std::int32_t op = 0; op < op_count(); ++op) {
    Key key = context(op, choices);
    if (!recounted_.contains(key) && !missing.contains(key)) {
      missing.emplace(std::move(key), place(op, choices));
    }
  }
  std::vector<const InPlaceKey*> places;
  places.reserve(missing.size());
  for (const auto& [key, place] : missing) {
    places.push_back(&place);
  }
  count_gathers(places, threads);
  for (const auto& [key, place] : missing) {
    in_place_.at(key).gather = gathers_.at(gather_key(place));
    recounted_.insert(key);
  }
}

void Problem::recount_preloads(const std::vector<Choice>& choices, int threads) {
  std::map<Key, std::int32_t> missing;
  for (const std::int32_t op : loaded_) {
    const Choice& choice = choices[subscript(op)];
    Key key = {front_of_[subscript(op)], choice.option, choice.state};
    if (!settled_.contains(key)) {
      missing.emplace(std::move(key), op);
    }
  }
  const std::vector<std::pair<Key, std::int32_t>> asked(missing.begin(), missing.end());
  parallel_for_index(asked.size(), threads, [&](std::size_t i) {
    const auto& [key, op] = asked[i];
    cost::PlanOption& option = fronts_[subscript(key[0])].options[subscript(key[1])];
    Deliveries(deliveries_)
        .settle(graph_, graph_.ops[subscript(op)], option, option.states[subscript(key[2])]);
  });
  for (const auto& [key, op] : asked) {
    settled_.insert(key);
  }
}

std::vector<Choice> Problem::take(const Problem& other, const std::vector<Choice>& choices) {
  std::vector<Choice> result = choices;
  for (std::int32_t op = 0; op < op_count(); ++op) {
    std::int32_t& number = result[subscript(op)].option;
    const auto& options = front(op).options;
    const partition::ExecutePlan& plan = other.option(op, choices[subscript(op)]).plan;
    if (subscript(number) >= options.size() || options[subscript(number)].plan != plan) {
      number = add(op, plan);
    }
  }
  for (std::int32_t op = 0; op < op_count(); ++op) {
    const Key counted = other.context(op, choices);
    if (other.recounted_.contains(counted)) {
      Key key = context(op, result);
      in_place_.insert_or_assign(key, other.in_place_.at(counted));
      recounted_.insert(std::move(key));
    }
  }
  for (const std::int32_t op : loaded_) {
    const Choice& theirs = choices[subscript(op)];
    const Choice& choice = result[subscript(op)];
    const std::int32_t front = front_of_[subscript(op)];
    if (other.settled_.contains({front, theirs.option, theirs.state})) {
      fronts_[subscript(front)].options[subscript(choice.option)].states[subscript(choice.state)] =
          other.state(op, theirs);
      settled_.insert({front, choice.option, choice.state});
    }
  }
  return result;
}

void Problem::recount(const std::vector<Choice>& choices, int threads) {
  if (recounts_) {
    recount_gathers(choices, threads);
    recount_preloads(choices, threads);
  }
}

}  // namespace elk::schedule
