#include "elk/schedule/timing/draft.hpp"

#include <cstddef>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"

namespace elk::schedule {

Draft::Draft(Problem& problem, Table<OpId, Choice> choices, TimingRules rules)
    : problem_(problem),
      rules_(rules),
      choices_(std::move(choices)),
      situation_(schedule::situation(problem, choices_, rules)),
      idle_(problem),
      lives_(choices_.size()) {
  own_.reserve(choices_.size());
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    own_.push_back(now(op).own);
    idle_.add(op, choices_[op]);
  }
  const Table<TensorId, OpId>& makers = problem.lives().producer;
  for (const TensorId tensor : makers.ids()) {
    if (makers[tensor] != OpId::none) {
      lives_[makers[tensor]].push_back(
          {.first = makers[tensor], .last = last_use(problem, tensor)});
    }
  }
}

OpSituation Draft::now(OpId op) {
  const Choice& choice = choices_[op];
  return part(problem_, op, choice, problem_.in_place(op, choices_), rules_);
}

void Draft::set(OpId op, const Choice& choice) {
  const Bytes rest =
      problem_.option(op, choice).footprint.rest - problem_.option(op, choices_[op]).footprint.rest;
  for (const Lifetime& life : lives_[op]) {
    for (OpId k = life.first; k <= life.last && rest.value != 0; ++k) {
      situation_.base[k] += rest;
    }
  }
  idle_.take(op, choices_[op]);
  idle_.add(op, choice);
  situation_.idle = idle_.total();
  const bool moved = choice.option != choices_[op].option;
  choices_[op] = choice;
  settle(op);
  if (moved) {
    for (const OpId reader : problem_.readers(op)) {
      settle(reader);
    }
  }
}

void Draft::settle(OpId op) {
  const OpSituation part = now(op);
  situation_.works[op] = part.work;
  situation_.loads[op] = part.load;
  situation_.piece[op] = part.piece;
  situation_.rest[op] = part.rest;
  situation_.base[op] += part.own - own_[op];
  own_[op] = part.own;
}

}  // namespace elk::schedule
