#include "elk/schedule/improve/sketch.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace elk::schedule {
namespace {

constexpr std::int32_t kLong = 100;  // ops of a layer
constexpr double kImpossible = 1e9;  // seconds, and one for each byte too many

/// Preloads of a second forecast: a schedule that is good only while exchanges just miss preloads
/// is good in no simulation.
constexpr double kSlower = 1.03;

/// The preloads that wait on chip reach over a few dozen ops: of long layers fewer settle.
SketchLayers layers_shown(const LayerPlaces& places) {
  return places.period() > kLong ? SketchLayers{.settled = 1, .measured = 2, .all = 5}
                                 : SketchLayers{.settled = 3, .measured = 3, .all = 8};
}

}  // namespace

Sketch::Sketch(Problem& problem, const Proposal& proposal)
    : problem_(problem),
      space_(proposal.space),
      places_(problem),
      shown_(layers_shown(places_)),
      layers_(std::min(places_.count(), shown_.all)),
      choices_(proposal.choices) {
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    const std::int32_t place = places_.of(op);
    const std::int32_t layer = places_.repeats(place) ? places_.count() / 2 : 0;
    choices_[static_cast<std::size_t>(op)] =
        proposal.choices[subscript(place + (layer * places_.period()))];
  }
  list_ops();
  list_lives();
  list_readers();
  rest_.resize(choices_.size(), Bytes{0});
  stores_.resize(choices_.size(), 0);
  for (const ir::Store& store : stores(problem)) {
    stores_[static_cast<std::size_t>(places_.of(store.op))] = 1;
  }
  const std::vector<Bytes> live = live_bytes(problem, choices_);
  own_.resize(ops_.size());
  situation_.works.resize(ops_.size());
  situation_.loads.resize(ops_.size());
  situation_.piece.resize(ops_.size());
  for (const std::int32_t op : ops_) {
    situation_.base.push_back(live[static_cast<std::size_t>(op)]);
    not_before_.push_back(index(problem.not_before(op)));
  }
  for (const std::int32_t place : places_.all()) {
    settle(place);
  }
  list_writes();
}

std::int32_t Sketch::index(std::int32_t op) const {
  const std::int32_t left_out = (places_.count() - layers_) * places_.period();
  const std::int32_t last = places_.begin() + ((layers_ - 1) * places_.period());
  if (op < last) {
    return op;
  }
  return op - left_out >= last ? op - left_out : last + ((op - places_.begin()) % places_.period());
}

void Sketch::list_ops() {
  const std::int32_t left_out = (places_.count() - layers_) * places_.period();
  const std::int32_t last = places_.begin() + ((layers_ - 1) * places_.period());
  for (std::int32_t at = 0; at < problem_.op_count() - left_out; ++at) {
    ops_.push_back(at < last ? at : at + left_out);
  }
}

void Sketch::list_lives() {
  lives_.resize(ops_.size());
  const std::vector<std::int32_t>& makers = problem_.lives().producer;
  for (std::size_t tensor = 0; tensor < makers.size(); ++tensor) {
    if (makers[tensor] < 0) {
      continue;
    }
    const std::int32_t at = index(makers[tensor]);
    if (ops_[static_cast<std::size_t>(at)] == makers[tensor]) {
      lives_[static_cast<std::size_t>(at)].push_back(
          {.first = at, .last = index(last_use(problem_, tensor))});
    }
  }
}

void Sketch::list_readers() {
  readers_.resize(static_cast<std::size_t>(problem_.op_count()));
  for (const std::int32_t op : ops_) {
    std::vector<std::int32_t>& found = readers_[static_cast<std::size_t>(places_.of(op))];
    for (const std::int32_t reader : problem_.readers(op)) {
      found.push_back(places_.of(reader));
    }
  }
  for (std::vector<std::int32_t>& found : readers_) {
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
  }
}

void Sketch::list_writes() {
  writes_.clear();
  for (const cost::WriteBack& write : write_backs(problem_, rest_)) {
    const std::int32_t at = index(write.op);
    if (ops_[static_cast<std::size_t>(at)] == write.op) {
      writes_.push_back({.op = at, .tensor = write.tensor, .load = write.load});
    }
  }
}

void Sketch::put(std::int32_t at, const OpSituation& part) {
  const auto i = static_cast<std::size_t>(at);
  situation_.works[i] = part.work;
  situation_.loads[i] = part.load;
  situation_.piece[i] = part.piece;
  situation_.base[i] += part.own - own_[i];
  own_[i] = part.own;
  rest_[static_cast<std::size_t>(ops_[i])] = part.rest;
}

/// The first layer may find its inputs elsewhere; all others are alike.
void Sketch::settle(std::int32_t place) {
  const Choice& choice = choices_[static_cast<std::size_t>(place)];
  const auto known = [&](std::int32_t op) {
    return part(problem_, op, choice, problem_.in_place(op, choices_));
  };
  put(index(place), known(place));
  if (!places_.repeats(place) || layers_ == 1) {
    return;
  }
  const OpSituation alike = known(place + places_.period());
  for (std::int32_t layer = 1; layer < layers_; ++layer) {
    put(place + (layer * places_.period()), alike);
  }
}

void Sketch::set(std::int32_t place, const Choice& choice) {
  const Choice before = choices_[static_cast<std::size_t>(place)];
  const Bytes rest =
      problem_.option(place, choice).footprint.rest - problem_.option(place, before).footprint.rest;
  const std::int32_t shown = places_.repeats(place) ? layers_ : 1;
  for (std::int32_t layer = 0; layer < shown && rest.value != 0; ++layer) {
    for (const Lifetime& life : lives_[subscript(index(place) + (layer * places_.period()))]) {
      for (std::int32_t at = life.first; at <= life.last; ++at) {
        situation_.base[static_cast<std::size_t>(at)] += rest;
      }
    }
  }
  const std::int32_t all = places_.repeats(place) ? places_.count() : 1;
  for (std::int32_t layer = 0; layer < all; ++layer) {
    choices_[subscript(place + (layer * places_.period()))] = choice;
  }
  settle(place);
  if (stores_[static_cast<std::size_t>(place)] != 0) {
    list_writes();
  }
  if (choice.option != before.option) {
    for (const std::int32_t reader : readers_[static_cast<std::size_t>(place)]) {
      settle(reader);
    }
  }
}

std::vector<std::int32_t> Sketch::order(const Arrangement& arrangement) const {
  std::vector<std::int32_t> result;
  const std::int32_t end = places_.begin() + (layers_ * places_.period());
  for (std::int32_t at = 0; at < places_.begin(); ++at) {
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
  for (auto at = static_cast<std::size_t>(end); at < ops_.size(); ++at) {
    if (problem_.is_loaded(ops_[at])) {
      result.push_back(static_cast<std::int32_t>(at));
    }
  }
  return result;
}

std::vector<std::int32_t> Sketch::earliest(const Arrangement& arrangement) const {
  std::vector<std::int32_t> result(not_before_);
  for (std::size_t number = 0; number < arrangement.ahead.size(); ++number) {
    for (std::int32_t layer = 0; arrangement.ahead[number] > 0 && layer < layers_; ++layer) {
      const std::int32_t at = places_.loaded()[number] + (layer * places_.period());
      std::int32_t& first = result[static_cast<std::size_t>(at)];
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
    const std::int32_t last = places_.begin() + ((layer + 1) * places_.period()) - 1;
    return times.executes[static_cast<std::size_t>(last)].end.value;
  };
  double queue = 0.0;
  for (const std::int32_t place : places_.loaded()) {
    queue += situation_.loads[subscript(place + places_.period())].time.value;
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
  return seconds(arrangement, forecaster, std::numeric_limits<double>::infinity());
}

double Sketch::seconds(const Arrangement& arrangement, cost::Forecaster& forecaster,
                       double most) const {
  const std::vector<std::int32_t> preloads = order(arrangement);
  const Issue issue = issue_in_order(situation_.base, situation_.piece, preloads,
                                     earliest(arrangement), space_.room);
  if (issue.shortage) {
    return kImpossible + static_cast<double>(issue.shortage->excess.value);
  }
  const auto play = [&](double slowness) {
    cost::ContentionRules sharing = schedule::sharing(problem_.chip());
    sharing.slowness = slowness;
    const cost::TimelineResult& times = forecaster.forecast({.works = situation_.works,
                                                             .loads = situation_.loads,
                                                             .preload_order = preloads,
                                                             .issued_before = issue.issued_before,
                                                             .write_backs = writes_},
                                                            sharing);
    return times.total.value + layers_left_out(times);
  };
  const double here = play(1.0);
  return here > most ? here : (here + play(kSlower)) / 2.0;
}

double Sketch::execute_seconds(std::int32_t place) const {
  const double count = places_.repeats(place) ? static_cast<double>(places_.count()) : 1.0;
  return count * situation_.works[static_cast<std::size_t>(index(place))].alone().value;
}

double Sketch::preload_seconds(std::int32_t place) const {
  const double count = places_.repeats(place) ? static_cast<double>(places_.count()) : 1.0;
  return count * situation_.loads[static_cast<std::size_t>(index(place))].time.value;
}

Bytes Sketch::used(std::int32_t place) const {
  return situation_.base[static_cast<std::size_t>(index(place))];
}

Bytes Sketch::piece(std::int32_t place) const {
  return situation_.piece[static_cast<std::size_t>(index(place))];
}

Proposal Sketch::proposal(const Arrangement& arrangement) const {
  PreloadLimits space = space_;
  space.not_before = first_slots(problem_, places_, arrangement);
  return {
      .choices = choices_, .space = space, .order = preload_order(problem_, places_, arrangement)};
}

}  // namespace elk::schedule
