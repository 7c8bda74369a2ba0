#include "elk/schedule/problem/problem.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/mechanisms.hpp"
#include "elk/base/parallel.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/price/gather.hpp"
#include "elk/ir/spills.hpp"

namespace elk::schedule {
namespace {

using partition::from_hbm;

constexpr std::size_t kShortKey = 32;  // numbers: a look-up needs no memory of its own

}  // namespace

Problem::Problem(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles,
                 FrontOfOps fronts, const LinkCountOptions& counting)
    : graph_(graph),
      chip_(chip),
      tiles_(tiles),
      known_(counting.known),
      moves_(chip, counts_links(chip, counting.most_cores)),
      deliveries_(chip, known_ != nullptr ? &known_->preloads : nullptr),
      counts_(counts_links(chip, counting.most_cores)),
      recounts_(chip::routed(chip) && !counts_ && mechanisms().link_counts),
      fronts_(std::move(fronts.all)),
      front_of_(std::move(fronts.of)),
      lives_(program::lifetimes(graph)),
      filled_by_(ir::filled_by(graph)),
      readers_(graph.ops.size()),
      write_slot_(graph.tensors.size(), OperandId::none) {
  if (known_ != nullptr) {
    moves_.use(known_->handovers);
  }
  settle_links(counting.threads);
  rank_.reserve(graph.ops.size());
  for (const OpId i : graph.ops.ids()) {
    rank_.push_back(static_cast<std::int32_t>(loaded_.size()));
    waits_.push_back(program::has_hbm_data(graph, graph.ops[i]) ? 1 : 0);
    if (chip.hbm && waits(i)) {
      loaded_.push_back(i);
    }
    not_before_.push_back(first_issue(graph.ops[i]));
  }
  settle_readers();
  settle_feeds();
}

void Problem::settle_readers() {
  for (const OpId i : graph_.ops.ids()) {
    const auto& operands = graph_.ops[i].operands;
    for (const OperandId k : operands.ids()) {
      const auto tensor = operands[k].tensor;
      if (operands[k].access == ir::Access::Write) {
        write_slot_[tensor] = k;
      } else if (lives_.producer[tensor] != OpId::none) {
        auto& readers = readers_[lives_.producer[tensor]];
        if (readers.empty() || readers.back() != i) {
          readers.push_back(i);
        }
      }
    }
  }
}

const cost::Front& Problem::front(OpId op) const {
  return fronts_[static_cast<std::size_t>(front_of_[op])];
}

bool Problem::is_loaded(OpId op) const {
  const auto at = static_cast<std::size_t>(rank(op));
  return at < loaded_.size() && loaded_[at] == op;
}

OpId Problem::first_issue(const ir::Op& op) const {
  OpId first{0};
  for (const ir::Operand& operand : op.operands) {
    if (!from_hbm(graph_, operand)) {
      continue;
    }
    first = std::max(first, filled_by_[operand.tensor] + 1);
    if (operand.indirect) {
      first = std::max(first, lives_.producer[operand.indirect->index] + 1);
    }
  }
  return first;
}

void Problem::settle_feeds() {
  for (const ir::Op& op : graph_.ops) {
    std::vector<Feed>& feeds = feeds_.emplace_back();
    for (const ir::Operand& operand : op.operands) {
      if (operand.access == ir::Access::Write || from_hbm(graph_, operand)) {
        continue;
      }
      const auto tensor = operand.tensor;
      const OpId maker = lives_.producer[tensor];
      feeds.push_back({.maker = maker,
                       .front = maker == OpId::none ? -1 : front_of_[maker],
                       .slot = write_slot_[tensor]});
    }
  }
}

std::size_t Problem::context_size(OpId op) const { return 2 + (3 * feeds_[op].size()); }

void Problem::write_context(OpId op, const Table<OpId, Choice>& choices,
                            std::span<std::int32_t> out) const {
  out[0] = front_of_[op];
  out[1] = choices[op].option;
  std::size_t at = 2;
  for (const Feed& feed : feeds_[op]) {
    out[at] = feed.front;
    out[at + 1] = feed.maker == OpId::none ? -1 : choices[feed.maker].option;
    out[at + 2] = feed.slot.value;
    at += 3;
  }
}

Key Problem::context(OpId op, const Table<OpId, Choice>& choices) const {
  Key key(context_size(op));
  write_context(op, choices, key);
  return key;
}

const partition::Layout* Problem::resting(TensorId tensor, const Table<OpId, Choice>& choices) {
  const std::int32_t number = resting_number(tensor, choices);
  return number < 0 ? nullptr : &moves_.layout(number);
}

std::int32_t Problem::resting_number(TensorId tensor, const Table<OpId, Choice>& choices) {
  const OpId maker = lives_.producer[tensor];
  if (maker == OpId::none) {
    return -1;
  }
  const OperandId slot = write_slot_[tensor];
  const auto [found, added] =
      layouts_.try_emplace({front_of_[maker], choices[maker].option, slot.value}, -1);
  if (added) {
    found->second = moves_.number(partition::layout(graph_, graph_.ops[maker], slot,
                                                    option(maker, choices[maker]).plan, chip_));
  }
  return found->second;
}

Problem::InPlaceKey Problem::place(OpId op, const Table<OpId, Choice>& choices) {
  const ir::Op& node = graph_.ops[op];
  const std::int32_t option_number = choices[op].option;
  InPlaceKey result{
      .op = op,
      .option = option_number,
      .plan = &option(op, choices[op]),
      .moves = Table<OperandId, std::optional<HandoverTable::LayoutPair>>(node.operands.size())};
  for (const OperandId k : node.operands.ids()) {
    const ir::Operand& operand = node.operands[k];
    if (operand.access != ir::Access::Read || from_hbm(graph_, operand) || operand.indirect) {
      continue;  // What an index picks comes from everywhere.
    }
    const std::int32_t have = resting_number(operand.tensor, choices);
    if (have >= 0) {
      result.moves[k] = {
          .have = have,
          .need = moves_.number(partition::start_layout(graph_, node, k, result.plan->plan, chip_)),
          .bits = ir::bits(graph_.tensors[operand.tensor].dtype)};
    }
  }
  return result;
}

/// Works out what the operands of these places move.
void Problem::learn(const std::vector<const InPlaceKey*>& places, int threads) {
  std::vector<HandoverTable::LayoutPair> pairs;
  for (const InPlaceKey* place : places) {
    for (const std::optional<HandoverTable::LayoutPair>& pair : place->moves) {
      if (pair) {
        pairs.push_back(*pair);
      }
    }
  }
  moves_.learn(std::move(pairs), threads);
  if (counts_) {
    count_gathers(places, threads);
  }
}

cost::ExchangeCost Problem::gather(
    const InPlaceKey& place, TableView<OperandId, const partition::Transition* const> moved) const {
  const ir::Op& node = graph_.ops[place.op];
  return counts_ ? gathers_.at(gather_key(place))
                 : cost::gather_all(graph_, node, *place.plan, moved, chip_);
}

InPlaceCost Problem::price(const InPlaceKey& place) const {
  const ir::Op& node = graph_.ops[place.op];
  Table<OperandId, const partition::Transition*> moved(place.moves.size(), nullptr);
  Table<OperandId, std::int8_t> in_place(place.moves.size(), 0);
  for (const OperandId k : place.moves.ids()) {
    if (place.moves[k]) {
      const partition::Handover& known = moves_.of(*place.moves[k]);
      moved[k] = &known.moved;
      in_place[k] = known.in_place ? 1 : 0;
    }
  }
  InPlaceCost result{.gather = gather(place, moved), .copies = {0}};
  const program::OpPlan placed{.execute = place.plan->plan,
                               .divisor = place.plan->states.front().divisor};
  for (const program::ExecuteSpace& space :
       program::execute_space(graph_, node, placed, in_place, chip_)) {
    if (!from_hbm(graph_, node.operands[space.operand])) {
      result.copies += space.bytes;
    }
  }
  return result;
}

const InPlaceCost& Problem::in_place(OpId op, const Table<OpId, Choice>& choices) {
  std::array<std::int32_t, kShortKey> numbers{};
  if (const std::size_t size = context_size(op); size <= numbers.size()) {
    const std::span<std::int32_t> key(numbers.data(), size);
    write_context(op, choices, key);
    const auto found = in_place_.find(std::span<const std::int32_t>(key));
    if (found != in_place_.end()) {
      return found->second;
    }
  }
  Key key = context(op, choices);
  const auto found = in_place_.find(key);
  if (found != in_place_.end()) {
    return found->second;
  }
  const InPlaceKey here = place(op, choices);
  learn({&here}, 1);
  return in_place_.emplace(std::move(key), price(here)).first->second;
}

std::size_t Problem::foresee(const std::vector<Variant>& variants, Table<OpId, Choice> choices,
                             bool with_readers, int threads) {
  std::map<Key, InPlaceKey> missing;
  const auto need = [&](OpId op) {
    Key key = context(op, choices);
    if (!in_place_.contains(key) && !missing.contains(key)) {
      missing.emplace(std::move(key), place(op, choices));
    }
  };
  for (const Variant& variant : variants) {
    Variant undo;
    for (const Change& change : variant) {
      Choice& choice = choices[change.op];
      undo.push_back({.op = change.op, .after = std::exchange(choice, change.after)});
    }
    for (const Change& change : variant) {
      need(change.op);
      if (with_readers) {
        std::for_each(readers(change.op).begin(), readers(change.op).end(), need);
      }
    }
    for (std::size_t i = undo.size(); i-- > 0;) {
      choices[undo[i].op] = undo[i].after;
    }
  }
  std::vector<const InPlaceKey*> places;
  places.reserve(missing.size());
  for (const auto& [key, place] : missing) {
    places.push_back(&place);
  }
  learn(places, threads);
  const std::vector<InPlaceCost> prices =
      parallel_map(places, [&](const InPlaceKey* place) { return price(*place); }, threads);
  std::size_t i = 0;
  for (const auto& [key, place] : missing) {
    in_place_.emplace(key, prices[i++]);
  }
  return missing.size();
}

std::optional<std::int32_t> Problem::add(OpId op, const partition::ExecutePlan& plan) {
  cost::Front& front = fronts_[subscript(front_of_[op])];
  std::vector<cost::PlanOption>& options = front.options;
  const auto same = [&](const cost::PlanOption& other) { return other.plan == plan; };
  const auto found = std::find_if(options.begin(), options.end(), same);
  if (found != options.end()) {
    return static_cast<std::int32_t>(found - options.begin());
  }
  if (front.given) {
    return std::nullopt;
  }
  const ir::Op& node = graph_.ops[op];
  options.push_back(cost::price(graph_, node, plan, chip_, tiles_));
  if (counts_) {
    settle_links(node, options.back(), deliveries_);
  }
  return static_cast<std::int32_t>(options.size()) - 1;
}

cost::ExecuteCost work(const cost::PlanOption& option, const cost::PreloadState& state,
                       const cost::ExchangeCost& gather) {
  return {.in = moving(cost::after(state.distribute, gather)),
          .compute = option.compute,
          .out = moving(cost::after(option.shift, option.reduce))};
}

cost::ExchangeSeries moving(const cost::ExchangeCost& exchange) {
  return {.before = exchange.time - exchange.wire - exchange.tail,
          .wire = exchange.wire,
          .after = exchange.tail,
          .use = exchange.use};
}

cost::PreloadCost load(const cost::PreloadState& state, const chip::Chip& chip) {
  const double time = state.time.value;
  if (time <= 0.0) {
    return {.time = {0.0}, .share = 0.0, .port = 0.0};
  }
  const double port = static_cast<double>(state.link.value) / chip.interconnect.link_rate;
  return {.time = state.time,
          .share = std::min(1.0, state.wire.value / time),
          .port = chip::routed(chip) ? port / time : std::min(1.0, state.wire.value / time),
          .use = state.use};
}

cost::ContentionRules sharing(const chip::Chip& chip) {
  const bool drags =
      mechanisms().port_drag && chip.core.remote_access_blocks && chip.core.sram_rate > 0.0;
  return {.port_drag = drags ? chip.interconnect.link_rate / chip.core.sram_rate : 0.0,
          .hbm_latency = chip.hbm ? chip.hbm->latency : Seconds{0.0},
          .regions = chip::routed(chip)};
}

}  // namespace elk::schedule
