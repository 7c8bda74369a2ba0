#include "elk/schedule/policies/resident.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <span>
#include <tuple>
#include <utility>

#include "elk/schedule/policies/placement.hpp"
#include "elk/schedule/timing/evaluate.hpp"

namespace elk::schedule {
namespace {

/// Parts of the room that what passes through it may take beside what stays, and how many of
/// `kUnusedParts` are left free for what fits in sum and not in addresses.
constexpr std::array<std::int64_t, 9> kPassing = {1, 2, 3, 4, 5, 6, 8, 12, 16};
constexpr std::size_t kRooms = 3;

/// A plan by its cost and the bytes that it keeps on every core.
struct Stay {
  Choice choice;
  double cost;
  Bytes bytes;
};

/// Bytes freed for each second added.
double worth(const Stay& from, const Stay& to) {
  return static_cast<double>((from.bytes - to.bytes).value) / std::max(to.cost - from.cost, 1e-15);
}

/// From the fastest plan to the one that keeps least, those at which a step is worth less than all
/// before it: what is left out lies above a line between two others.
std::vector<Stay> stays(const Problem& problem, const cost::Front& front,
                        const Contention& contention, Bytes passing) {
  const auto passes = [&](const cost::PlanOption& plan) {
    return plan.footprint.space - hbm_bytes(problem, plan);
  };
  Bytes least = passes(front.options.front());
  for (const cost::PlanOption& plan : front.options) {
    least = std::min(least, passes(plan));
  }
  std::vector<Stay> all;
  for (std::size_t k = 0; k < front.options.size(); ++k) {
    const cost::PlanOption& plan = front.options[k];
    if (passes(plan) > std::max(least, passing)) {
      continue;
    }
    all.push_back({.choice = {.option = static_cast<std::int32_t>(k), .state = 0},
                   .cost = contention.seconds(work(plan, plan.states.front(), plan.gather)),
                   .bytes = hbm_bytes(problem, plan)});
  }
  std::sort(all.begin(), all.end(), [](const Stay& a, const Stay& b) {
    return std::tie(a.cost, a.bytes, a.choice.option) < std::tie(b.cost, b.bytes, b.choice.option);
  });
  std::vector<Stay> result;
  for (const Stay& stay : all) {
    if (!result.empty() && stay.bytes >= result.back().bytes) {
      continue;
    }
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
  std::int32_t op;

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
    for (std::int32_t op = 0; op < problem.op_count(); ++op) {
      total_ += steps(op).front().bytes;
      push(op);
    }
  }

  std::vector<Choice> run(Bytes room) {
    while (total_ > room && !moves_.empty()) {
      const std::int32_t op = moves_.top().op;
      moves_.pop();
      std::size_t& at = at_[static_cast<std::size_t>(op)];
      total_ -= steps(op)[at].bytes - steps(op)[at + 1].bytes;
      ++at;
      push(op);
    }
    std::vector<Choice> result;
    result.reserve(at_.size());
    for (std::int32_t op = 0; op < problem_.op_count(); ++op) {
      result.push_back(steps(op)[at_[static_cast<std::size_t>(op)]].choice);
    }
    return result;
  }

 private:
  [[nodiscard]] const std::vector<Stay>& steps(std::int32_t op) const {
    const std::int32_t front = problem_.front_of()[static_cast<std::size_t>(op)];
    return fronts_[static_cast<std::size_t>(front)];
  }

  void push(std::int32_t op) {
    const std::size_t at = at_[static_cast<std::size_t>(op)];
    if (at + 1 < steps(op).size()) {
      moves_.push({.worth = worth(steps(op)[at], steps(op)[at + 1]), .op = op});
    }
  }

  const Problem& problem_;
  std::vector<std::vector<Stay>> fronts_;
  std::vector<std::size_t> at_;
  std::priority_queue<StayMove> moves_;
  Bytes total_{0};
};

std::vector<Choice> reside(const Problem& problem, const Contention& contention, Bytes room,
                           Bytes most_passing) {
  std::vector<Choice> choices = Reside(problem, contention, most_passing).run(room);
  Bytes resident{0};
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    resident += hbm_bytes(problem, problem.option(op, choices[static_cast<std::size_t>(op)]));
  }
  const std::vector<Bytes> base = estimate(problem, choices).base;
  const Bytes passing = *std::max_element(base.begin(), base.end()) - resident;
  return Reside(problem, contention, most_passing).run(room - passing);
}

}  // namespace

std::vector<Proposal> residents(const Problem& problem, const Contention& contention, Bytes room) {
  std::vector<Proposal> result;
  for (const std::int64_t part : kPassing) {
    for (const std::int64_t unused : std::span(kUnusedParts).first(kRooms)) {
      const Bytes left = room - Bytes{room.value / kPartsOfRoom * unused};
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
