#include "elk/schedule/resident.hpp"

#include <algorithm>
#include <cstddef>
#include <queue>
#include <tuple>
#include <utility>

#include "elk/schedule/evaluate.hpp"

namespace elk::schedule {
namespace {

/// A plan by its cost and the bytes that it keeps on every core.
struct Stay {
  Choice choice;
  double cost;
  Bytes bytes;
};

std::vector<Stay> stays(const Problem& problem, const cost::Front& front,
                        const Contention& contention) {
  std::vector<Stay> all;
  for (std::size_t k = 0; k < front.options.size(); ++k) {
    const cost::PlanOption& plan = front.options[k];
    all.push_back({.choice = {.option = static_cast<std::int32_t>(k), .state = 0},
                   .cost = contention.seconds(work(plan, plan.states.front(), plan.gather)),
                   .bytes = hbm_bytes(problem, plan)});
  }
  std::sort(all.begin(), all.end(), [](const Stay& a, const Stay& b) {
    return std::tie(a.cost, a.bytes, a.choice.option) < std::tie(b.cost, b.bytes, b.choice.option);
  });
  std::vector<Stay> result;
  for (const Stay& stay : all) {
    if (result.empty() || stay.bytes < result.back().bytes) {
      result.push_back(stay);
    }
  }
  return result;
}

struct Move {
  double worth;  // bytes freed for each second added
  std::int32_t op;

  friend bool operator<(const Move& a, const Move& b) {
    return std::tie(a.worth, b.op) < std::tie(b.worth, a.op);
  }
};

class Reside {
 public:
  Reside(const Problem& problem, const Contention& contention) : problem_(problem) {
    for (const cost::Front& front : problem.fronts()) {
      fronts_.push_back(stays(problem, front, contention));
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
      const double freed =
          static_cast<double>((steps(op)[at].bytes - steps(op)[at + 1].bytes).value);
      const double added = std::max(steps(op)[at + 1].cost - steps(op)[at].cost, 1e-15);
      moves_.push({.worth = freed / added, .op = op});
    }
  }

  const Problem& problem_;
  std::vector<std::vector<Stay>> fronts_;
  std::vector<std::size_t> at_;
  std::priority_queue<Move> moves_;
  Bytes total_{0};
};

}  // namespace

std::vector<Choice> reside(const Problem& problem, const Contention& contention, Bytes room) {
  std::vector<Choice> choices = Reside(problem, contention).run(room);
  Bytes resident{0};
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    resident += hbm_bytes(problem, problem.option(op, choices[static_cast<std::size_t>(op)]));
  }
  const std::vector<Bytes> base = estimate(problem, choices).base;
  const Bytes passing = *std::max_element(base.begin(), base.end()) - resident;
  return Reside(problem, contention).run(room - passing);
}

}  // namespace elk::schedule
