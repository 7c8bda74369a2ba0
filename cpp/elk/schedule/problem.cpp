#include "elk/schedule/problem.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "elk/base/parallel.hpp"

namespace elk::schedule {
namespace {

using partition::from_hbm;

}  // namespace

Problem::Problem(const ir::Graph& graph, const chip::Chip& chip, const cost::TileModel& tiles,
                 std::vector<cost::Front> fronts, std::vector<std::int32_t> front_of)
    : graph_(graph),
      chip_(chip),
      tiles_(tiles),
      fronts_(std::move(fronts)),
      front_of_(std::move(front_of)),
      lives_(program::lifetimes(graph)),
      readers_(graph.ops.size()),
      write_slot_(graph.tensors.size(), -1) {
  rank_.reserve(graph.ops.size());
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    rank_.push_back(static_cast<std::int32_t>(loaded_.size()));
    if (chip.hbm && program::has_hbm_data(graph, graph.ops[i])) {
      loaded_.push_back(static_cast<std::int32_t>(i));
    }
    not_before_.push_back(first_issue(graph.ops[i]));
    const auto& operands = graph.ops[i].operands;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const auto tensor = static_cast<std::size_t>(operands[k].tensor);
      if (operands[k].access == ir::Access::Write) {
        write_slot_[tensor] = static_cast<std::int32_t>(k);
      } else if (lives_.producer[tensor] >= 0) {
        auto& readers = readers_[static_cast<std::size_t>(lives_.producer[tensor])];
        if (readers.empty() || readers.back() != static_cast<std::int32_t>(i)) {
          readers.push_back(static_cast<std::int32_t>(i));
        }
      }
    }
  }
}

const cost::Front& Problem::front(std::int32_t op) const {
  return fronts_[static_cast<std::size_t>(front_of_[static_cast<std::size_t>(op)])];
}

const cost::PlanOption& Problem::option(std::int32_t op, const Choice& choice) const {
  return front(op).options[static_cast<std::size_t>(choice.option)];
}

const cost::PreloadState& Problem::state(std::int32_t op, const Choice& choice) const {
  return option(op, choice).states[static_cast<std::size_t>(choice.state)];
}

bool Problem::is_loaded(std::int32_t op) const {
  const auto at = static_cast<std::size_t>(rank(op));
  return at < loaded_.size() && loaded_[at] == op;
}

std::int32_t Problem::first_issue(const ir::Op& op) const {
  std::int32_t first = 0;
  for (const ir::Operand& operand : op.operands) {
    if (operand.indirect && from_hbm(graph_, operand)) {
      const auto index = static_cast<std::size_t>(operand.indirect->index);
      first = std::max(first, lives_.producer[index] + 1);
    }
  }
  return first;
}

Key Problem::context(std::int32_t op, const std::vector<Choice>& choices) const {
  const auto i = static_cast<std::size_t>(op);
  Key key{front_of_[i], choices[i].option};
  for (const ir::Operand& operand : graph_.ops[i].operands) {
    if (operand.access == ir::Access::Write || from_hbm(graph_, operand)) {
      continue;
    }
    const std::int32_t maker = lives_.producer[static_cast<std::size_t>(operand.tensor)];
    if (maker < 0) {
      key.push_back(-1);
      continue;
    }
    const auto j = static_cast<std::size_t>(maker);
    key.push_back(front_of_[j]);
    key.push_back(choices[j].option);
    key.push_back(write_slot_[static_cast<std::size_t>(operand.tensor)]);
  }
  return key;
}

const partition::Layout* Problem::resting(std::int32_t tensor, const std::vector<Choice>& choices) {
  const std::int32_t maker = lives_.producer[static_cast<std::size_t>(tensor)];
  if (maker < 0) {
    return nullptr;
  }
  const auto j = static_cast<std::size_t>(maker);
  const std::int32_t slot = write_slot_[static_cast<std::size_t>(tensor)];
  const Key key{front_of_[j], choices[j].option, slot};
  const auto found = layouts_.find(key);
  if (found != layouts_.end()) {
    return &found->second;
  }
  const auto inserted =
      layouts_.emplace(key, partition::layout(graph_, graph_.ops[j], static_cast<std::size_t>(slot),
                                              option(maker, choices[j]).plan, chip_));
  return &inserted.first->second;
}

Problem::Place Problem::place(std::int32_t op, const std::vector<Choice>& choices) {
  const ir::Op& node = graph_.ops[static_cast<std::size_t>(op)];
  Place result{.op = op,
               .plan = &option(op, choices[static_cast<std::size_t>(op)]),
               .have = std::vector<const partition::Layout*>(node.operands.size(), nullptr)};
  for (std::size_t k = 0; k < node.operands.size(); ++k) {
    if (node.operands[k].access == ir::Access::Read && !from_hbm(graph_, node.operands[k])) {
      result.have[k] = resting(node.operands[k].tensor, choices);
    }
  }
  return result;
}

InPlace Problem::price(const Place& place) const {
  const ir::Op& node = graph_.ops[static_cast<std::size_t>(place.op)];
  InPlace result{.gather = cost::gather_all(graph_, node, *place.plan, place.have, chip_),
                 .copies = {0}};
  const program::OpPlan placed{.execute = place.plan->plan,
                               .divisor = place.plan->states.front().divisor};
  for (const program::ExecuteSpace& space :
       program::execute_space(graph_, node, placed, place.have, chip_)) {
    if (!from_hbm(graph_, node.operands[static_cast<std::size_t>(space.operand)])) {
      result.copies += space.bytes;
    }
  }
  return result;
}

const InPlace& Problem::in_place(std::int32_t op, const std::vector<Choice>& choices) {
  Key key = context(op, choices);
  const auto found = in_place_.find(key);
  if (found != in_place_.end()) {
    return found->second;
  }
  return in_place_.emplace(std::move(key), price(place(op, choices))).first->second;
}

std::size_t Problem::foresee(const std::vector<Variant>& variants, std::vector<Choice> choices,
                             bool with_readers, int threads) {
  std::map<Key, Place> missing;
  const auto need = [&](std::int32_t op) {
    Key key = context(op, choices);
    if (!in_place_.contains(key) && !missing.contains(key)) {
      missing.emplace(std::move(key), place(op, choices));
    }
  };
  for (const Variant& variant : variants) {
    Variant undo;
    for (const Change& change : variant) {
      Choice& choice = choices[static_cast<std::size_t>(change.op)];
      undo.push_back({.op = change.op, .after = std::exchange(choice, change.after)});
    }
    for (const Change& change : variant) {
      need(change.op);
      if (with_readers) {
        std::for_each(readers(change.op).begin(), readers(change.op).end(), need);
      }
    }
    for (std::size_t i = undo.size(); i-- > 0;) {
      choices[static_cast<std::size_t>(undo[i].op)] = undo[i].after;
    }
  }
  std::vector<const Place*> places;
  places.reserve(missing.size());
  for (const auto& [key, place] : missing) {
    places.push_back(&place);
  }
  const std::vector<InPlace> prices =
      parallel_map(places, [&](const Place* place) { return price(*place); }, threads);
  std::size_t i = 0;
  for (const auto& [key, place] : missing) {
    in_place_.emplace(key, prices[i++]);
  }
  return missing.size();
}

std::int32_t Problem::add(std::int32_t op, const partition::ExecutePlan& plan) {
  auto& options =
      fronts_[static_cast<std::size_t>(front_of_[static_cast<std::size_t>(op)])].options;
  const auto same = [&](const cost::PlanOption& other) { return other.plan == plan; };
  const auto found = std::find_if(options.begin(), options.end(), same);
  if (found != options.end()) {
    return static_cast<std::int32_t>(found - options.begin());
  }
  options.push_back(
      cost::price(graph_, graph_.ops[static_cast<std::size_t>(op)], plan, chip_, tiles_));
  return static_cast<std::int32_t>(options.size()) - 1;
}

cost::Work work(const cost::PlanOption& option, const cost::PreloadState& state,
                const cost::Exchange& gather) {
  const cost::Exchange& rest = state.distribute;
  return {.fixed_in = (gather.time - gather.wire) + (rest.time - rest.wire),
          .wire_in = gather.wire + rest.wire,
          .compute = option.compute,
          .fixed_out =
              (option.shift.time - option.shift.wire) + (option.reduce.time - option.reduce.wire),
          .wire_out = option.shift.wire + option.reduce.wire};
}

cost::Load load(const cost::PreloadState& state, const chip::Chip& chip) {
  if (state.time.value <= 0.0) {
    return {.time = {0.0}, .share = 0.0};
  }
  const double wire = static_cast<double>(state.link.value) / chip.interconnect.link_rate;
  return {.time = state.time, .share = std::min(1.0, wire / state.time.value)};
}

cost::Sharing sharing(const chip::Chip& chip) {
  const bool drags = chip.core.remote_access_blocks && chip.core.sram_rate > 0.0;
  return {.port_drag = drags ? chip.interconnect.link_rate / chip.core.sram_rate : 0.0,
          .hbm_latency = chip.hbm ? chip.hbm->latency : Seconds{0.0}};
}

}  // namespace elk::schedule
