#include "elk/schedule/policies/resident.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <span>
#include <tuple>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/policies/placement.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"
#include "elk/schedule/timing/evaluate.hpp"

namespace elk::schedule {
namespace {

/// Bytes freed for each second added.
double worth(const StaircaseStep& from, const StaircaseStep& to) {
  return static_cast<double>((from.space - to.space).value) / std::max(to.cost - from.cost, 1e-15);
}

/// From the fastest plan to the one that keeps least, those at which a step is worth less than all
/// before it: what is left out lies above a line between two others.
Staircase stays(const Problem& problem, const cost::Front& front, const Contention& contention,
                Bytes passing) {
  const auto passes = [&](const cost::PlanOption& plan) {
    return plan.footprint.space - hbm_bytes(problem, plan);
  };
  Bytes least = passes(front.options.front());
  for (const cost::PlanOption& plan : front.options) {
    least = std::min(least, passes(plan));
  }
  StaircaseSteps all;
  for (std::size_t k = 0; k < front.options.size(); ++k) {
    const cost::PlanOption& plan = front.options[k];
    if (passes(plan) > std::max(least, passing)) {
      continue;
    }
    all.push_back({.choice = {.option = static_cast<std::int32_t>(k), .state = 0},
                   .cost = contention.seconds(work(plan, plan.states.front(), plan.gather)),
                   .space = hbm_bytes(problem, plan)});
  }
  Staircase result;
  for (const StaircaseStep& stay : staircase(std::move(all))) {
    while (result.size() > 1 &&
           worth(result[result.size() - 2], result.back()) <= worth(result.back(), stay)) {
      result.pop_back();
    }
    result.push_back(stay);
  }
  return result;
}

struct StayMove {
  double worth;
  OpId op;

  friend bool operator<(const StayMove& a, const StayMove& b) {
    return std::tie(a.worth, b.op) < std::tie(b.worth, a.op);
  }
};

class Reside {
 public:
  Reside(const Problem& problem, const Contention& contention, Bytes passing) : problem_(problem) {
    for (const cost::Front& front : problem.fronts()) {
      fronts_.push_back(stays(problem, front, contention, passing));
    }
    at_.assign(static_cast<std::size_t>(problem.op_count()), 0);
    for (const OpId op : first_ids<OpId>(problem.op_count())) {
      total_ += steps(op).front().space;
      push(op);
    }
  }

  Table<OpId, Choice> run(Bytes room) {
    while (total_ > room && !moves_.empty()) {
      const OpId op = moves_.top().op;
      moves_.pop();
      std::size_t& at = at_[op];
      total_ -= steps(op)[at].space - steps(op)[at + 1].space;
      ++at;
      push(op);
    }
    Table<OpId, Choice> result;
    result.reserve(at_.size());
    for (const OpId op : first_ids<OpId>(problem_.op_count())) {
      result.push_back(steps(op)[at_[op]].choice);
    }
    return result;
  }

 private:
  [[nodiscard]] const Staircase& steps(OpId op) const {
    const std::int32_t front = problem_.front_of()[op];
    return fronts_[static_cast<std::size_t>(front)];
  }

  void push(OpId op) {
    const std::size_t at = at_[op];
    if (at + 1 < steps(op).size()) {
      moves_.push({.worth = worth(steps(op)[at], steps(op)[at + 1]), .op = op});
    }
  }

  const Problem& problem_;
  std::vector<Staircase> fronts_;
  Table<OpId, std::size_t> at_;
  std::priority_queue<StayMove> moves_;
  Bytes total_{0};
};

Table<OpId, Choice> reside(const Problem& problem, const Contention& contention, Bytes room,
                           Bytes most_passing) {
  Table<OpId, Choice> choices = Reside(problem, contention, most_passing).run(room);
  Bytes resident{0};
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    resident += hbm_bytes(problem, problem.option(op, choices[op]));
  }
  const Table<OpId, Bytes> base = estimate(problem, choices).base;
  const Bytes passing = *std::max_element(base.begin(), base.end()) - resident;
  return Reside(problem, contention, most_passing).run(room - passing);
}

}  // namespace

std::vector<Proposal> residents(const Problem& problem, const Contention& contention, Bytes room) {
  std::vector<Proposal> result;
  for (const std::int64_t part : tuning::kPartsPassing) {
    for (const std::int64_t unused : std::span(tuning::kUnusedParts).first(tuning::kRoomsLeft)) {
      const Bytes left = room - Bytes{room.value / tuning::kPartsOfRoom * unused};
      Proposal proposal{.choices = reside(problem, contention, left, {left.value / part}),
                        .space = {.room = left, .preload_room = left, .not_before = {}}};
      const bool known = std::any_of(result.begin(), result.end(), [&](const Proposal& other) {
        return other.choices == proposal.choices;
      });
      if (!known) {
        result.push_back(std::move(proposal));
      }
    }
  }
  return result;
}

}  // namespace elk::schedule
