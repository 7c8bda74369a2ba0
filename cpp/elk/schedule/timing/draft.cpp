#include "elk/schedule/timing/draft.hpp"

#include <cstddef>
#include <utility>

namespace elk::schedule {

Draft::Draft(Problem& problem, std::vector<Choice> choices, TimingRules rules)
    : problem_(problem),
      rules_(rules),
      choices_(std::move(choices)),
      situation_(schedule::situation(problem, choices_, rules)),
      lives_(choices_.size()) {
  own_.reserve(choices_.size());
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    own_.push_back(now(op).own);
  }
  const std::vector<std::int32_t>& makers = problem.lives().producer;
  for (std::size_t tensor = 0; tensor < makers.size(); ++tensor) {
    if (makers[tensor] >= 0) {
      lives_[static_cast<std::size_t>(makers[tensor])].push_back(
          {.first = makers[tensor], .last = last_use(problem, tensor)});
    }
  }
}

OpSituation Draft::now(std::int32_t op) {
  const Choice& choice = choices_[static_cast<std::size_t>(op)];
  return part(problem_, op, choice, problem_.in_place(op, choices_), rules_);
}

void Draft::set(std::int32_t op, const Choice& choice) {
  const auto i = static_cast<std::size_t>(op);
  const cost::PlanOption& before = problem_.option(op, choices_[i]);
  const cost::PlanOption& after = problem_.option(op, choice);
  const Bytes rest = after.footprint.rest - before.footprint.rest;
  for (const Lifetime& life : lives_[i]) {
    for (std::int32_t k = life.first; k <= life.last && rest.value != 0; ++k) {
      situation_.base[static_cast<std::size_t>(k)] += rest;
    }
  }
  if (!problem_.chip().hbm) {
    const Bytes resident = hbm_bytes(problem_, after) - hbm_bytes(problem_, before);
    for (Bytes& base : situation_.base) {
      base += resident;
    }
  }
  const bool moved = choice.option != choices_[i].option;
  choices_[i] = choice;
  settle(op);
  if (moved) {
    for (const std::int32_t reader : problem_.readers(op)) {
      settle(reader);
    }
  }
}

void Draft::settle(std::int32_t op) {
  const auto i = static_cast<std::size_t>(op);
  const OpSituation part = now(op);
  situation_.works[i] = part.work;
  situation_.loads[i] = part.load;
  situation_.piece[i] = part.piece;
  situation_.rest[i] = part.rest;
  situation_.base[i] += part.own - own_[i];
  own_[i] = part.own;
}

}  // namespace elk::schedule
