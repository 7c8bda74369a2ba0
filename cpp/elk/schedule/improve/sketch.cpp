#include "elk/schedule/improve/sketch.hpp"

#include <algorithm>
#include <cstddef>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/schedule/problem/schedule_tuning.hpp"

namespace elk::schedule {
namespace {

constexpr double kImpossible = 1e9;  // seconds, and one for each byte too many

/// The preloads that wait on chip reach over a few dozen ops: of long layers fewer settle.
SketchLayers layers_shown(const LayerPlaces& places) {
  return places.period() > tuning::kLongLayer ? SketchLayers{.settled = 1, .measured = 2, .all = 5}
                                              : SketchLayers{.settled = 3, .measured = 3, .all = 8};
}

}  // namespace

Sketch::Sketch(Problem& problem, const Proposal& proposal)
    : problem_(problem),
      space_(proposal.space),
      places_(problem),
      shown_(layers_shown(places_)),
      layers_(std::min(places_.count(), shown_.all)),
      choices_(proposal.choices),
      idle_(problem) {
  for (const OpId op : first_ids<OpId>(problem.op_count())) {
    const OpId place = places_.of(op);
    const std::int32_t layer = places_.repeats(place) ? places_.count() / 2 : 0;
    choices_[op] = proposal.choices[place + (layer * places_.period())];
    idle_.add(op, choices_[op]);
  }
  list_ops();
  list_lives();
  list_readers();
  rest_.resize(choices_.size(), Bytes{0});
  stores_.resize(choices_.size(), 0);
  for (const ir::Store& store : stores(problem)) {
    stores_[places_.of(store.op)] = 1;
  }
  const Table<OpId, Bytes> live = live_bytes(problem, choices_);
  own_.resize(ops_.size());
  situation_.works.resize(ops_.size());
  situation_.loads.resize(ops_.size());
  situation_.piece.resize(ops_.size());
  for (const OpId op : ops_) {
    situation_.base.push_back(live[op]);
    not_before_.push_back(OpId{index(problem.not_before(op))});
  }
  for (const OpId place : places_.all()) {
    settle(place);
  }
  list_writes();
}

OpId Sketch::index(OpId op) const {
  const std::int32_t left_out = (places_.count() - layers_) * places_.period();
  const OpId last = places_.begin() + ((layers_ - 1) * places_.period());
  if (op < last) {
    return op;
  }
  return op - left_out >= last ? op - left_out : last + ((op - places_.begin()) % places_.period());
}

void Sketch::list_ops() {
  const std::int32_t left_out = (places_.count() - layers_) * places_.period();
  const OpId last = places_.begin() + ((layers_ - 1) * places_.period());
  for (const OpId at : first_ids<OpId>(problem_.op_count() - left_out)) {
    ops_.push_back(at < last ? at : at + left_out);
  }
}

void Sketch::list_lives() {
  lives_.resize(ops_.size());
  const Table<TensorId, OpId>& makers = problem_.lives().producer;
  for (const TensorId tensor : makers.ids()) {
    if (makers[tensor] == OpId::none) {
      continue;
    }
    const OpId at{index(makers[tensor])};
    if (ops_[at] == makers[tensor]) {
      lives_[at].push_back({.first = at, .last = OpId{index(last_use(problem_, tensor))}});
    }
  }
}

void Sketch::list_readers() {
  readers_.resize(static_cast<std::size_t>(problem_.op_count()));
  for (const OpId op : ops_) {
    std::vector<OpId>& found = readers_[places_.of(op)];
    for (const OpId reader : problem_.readers(op)) {
      found.push_back(places_.of(reader));
    }
  }
  for (std::vector<OpId>& found : readers_) {
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
  }
}

void Sketch::list_writes() {
  writes_.clear();
  for (const cost::WriteBack& write : write_backs(problem_, rest_)) {
    const OpId at{index(write.op)};
    if (ops_[at] == write.op) {
      writes_.push_back({.op = at, .tensor = write.tensor, .load = write.load});
    }
  }
}

void Sketch::put(OpId at, const OpSituation& part) {
  situation_.works[at] = part.work;
  situation_.loads[at] = part.load;
  situation_.piece[at] = part.piece;
  situation_.base[at] += part.own - own_[at];
  own_[at] = part.own;
  rest_[ops_[at]] = part.rest;
}

/// The first layer may find its inputs elsewhere; all others are alike.
void Sketch::settle(OpId place) {
  const Choice& choice = choices_[place];
  const auto known = [&](OpId op) {
    return part(problem_, op, choice, problem_.in_place(op, choices_));
  };
  put(OpId{index(place)}, known(place));
  if (!places_.repeats(place) || layers_ == 1) {
    return;
  }
  const OpSituation alike = known(place + places_.period());
  for (std::int32_t layer = 1; layer < layers_; ++layer) {
    put(place + (layer * places_.period()), alike);
  }
}

void Sketch::set(OpId place, const Choice& choice) {
  const Choice before = choices_[place];
  const Bytes rest =
      problem_.option(place, choice).footprint.rest - problem_.option(place, before).footprint.rest;
  const std::int32_t shown = places_.repeats(place) ? layers_ : 1;
  for (std::int32_t layer = 0; layer < shown && rest.value != 0; ++layer) {
    for (const Lifetime& life : lives_[index(place) + (layer * places_.period())]) {
      for (OpId at = life.first; at <= life.last; ++at) {
        situation_.base[at] += rest;
      }
    }
  }
  const std::int32_t all = places_.repeats(place) ? places_.count() : 1;
  for (std::int32_t layer = 0; layer < all; ++layer) {
    const OpId op = place + (layer * places_.period());
    idle_.take(op, choices_[op]);
    idle_.add(op, choice);
    choices_[op] = choice;
  }
  settle(place);
  if (stores_[place] != 0) {
    list_writes();
  }
  if (choice.option != before.option) {
    for (const OpId reader : readers_[place]) {
      settle(reader);
    }
  }
}

std::vector<OpId> Sketch::order(const Arrangement& arrangement) const {
  std::vector<OpId> result;
  const OpId end = places_.begin() + (layers_ * places_.period());
  for (OpId at{0}; at < places_.begin(); ++at) {
    if (problem_.is_loaded(at)) {
      result.push_back(at);
    }
  }
  for (std::int32_t layer = 0; layer < layers_; ++layer) {
    for (const std::int32_t number : arrangement.sequence) {
      result.push_back(places_.loaded()[static_cast<std::size_t>(number)] +
                       (layer * places_.period()));
    }
  }
  for (auto at = end; at.index() < ops_.size(); ++at) {
    if (problem_.is_loaded(ops_[at])) {
      result.push_back(at);
    }
  }
  return result;
}

Table<OpId, OpId> Sketch::earliest(const Arrangement& arrangement) const {
  Table<OpId, OpId> result(not_before_);
  for (std::size_t number = 0; number < arrangement.ahead.size(); ++number) {
    for (std::int32_t layer = 0; arrangement.ahead[number] > 0 && layer < layers_; ++layer) {
      const OpId at = places_.loaded()[number] + (layer * places_.period());
      OpId& first = result[at];
      first = std::max(first, at - arrangement.ahead[number]);
    }
  }
  return result;
}

/// Seconds of the layers that are not shown: each as one of those in the middle, where preloads
/// may still live on what they were ahead at the start, but not for ever.
double Sketch::layers_left_out(const cost::TimelineResult& times) const {
  if (layers_ == places_.count()) {
    return 0.0;
  }
  const auto end = [&](std::int32_t layer) {
    const OpId last = places_.begin() + ((layer + 1) * places_.period()) - 1;
    return times.executes[last].end.value;
  };
  double queue = 0.0;
  for (const OpId place : places_.loaded()) {
    queue += situation_.loads[place + places_.period()].time.value;
  }
  for (const cost::WriteBack& write : writes_) {
    queue += places_.begin() + places_.period() <= write.op &&
                     write.op < places_.begin() + (2 * places_.period())
                 ? write.load.time.value
                 : 0.0;
  }
  const double measured =
      (end(shown_.settled + shown_.measured) - end(shown_.settled)) / shown_.measured;
  return std::max(measured, queue) * static_cast<double>(places_.count() - layers_);
}

double Sketch::seconds(const Arrangement& arrangement) const {
  cost::Forecaster forecaster;
  return seconds(arrangement, forecaster);
}

double Sketch::seconds(const Arrangement& arrangement, cost::Forecaster& forecaster) const {
  const std::vector<OpId> preloads = order(arrangement);
  const Issue issue = issue_in_order(situation_.base, situation_.piece, preloads,
                                     earliest(arrangement), space_.room - idle_.total());
  if (issue.shortage) {
    return kImpossible + static_cast<double>(issue.shortage->excess.value);
  }
  const cost::TimelineResult& times = forecaster.forecast({.works = situation_.works,
                                                           .loads = situation_.loads,
                                                           .preload_order = preloads,
                                                           .issued_before = issue.issued_before,
                                                           .write_backs = writes_},
                                                          schedule::sharing(problem_.chip()));
  return times.total.value + layers_left_out(times);
}

double Sketch::execute_seconds(OpId place) const {
  const double count = places_.repeats(place) ? static_cast<double>(places_.count()) : 1.0;
  return count * situation_.works[index(place)].alone().value;
}

Bytes Sketch::used(OpId place) const { return situation_.base[index(place)]; }

Bytes Sketch::piece(std::int32_t place) const { return situation_.piece[index(OpId{place})]; }

Proposal Sketch::proposal(const Arrangement& arrangement) const {
  PreloadLimits space = space_;
  space.not_before = first_slots(problem_, places_, arrangement);
  return {
      .choices = choices_, .space = space, .order = preload_order(problem_, places_, arrangement)};
}

}  // namespace elk::schedule
