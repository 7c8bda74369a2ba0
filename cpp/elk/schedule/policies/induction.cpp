#include "elk/schedule/policies/induction.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "elk/schedule/timing/evaluate.hpp"

namespace elk::schedule {
namespace {

using Time = std::int64_t;  // picoseconds before the end of the model

/// Moves compared after which the layer in hand stands for those before it, though the state may
/// still change from layer to layer: times are then guesses, plans and capacity stay sound.
constexpr std::int64_t kMostWork = 4'000'000;

Time ticks(double seconds) { return to_picoseconds({seconds}).value; }

/// What is known of a scheduled op, counted back from the end.
struct ScheduledOp {
  Choice choice;
  std::int32_t ahead;  // q: places of the preload order that are issued before the execute
  Time start;          // of the execute
  Time load_end;
  Time load_start;
};

/// One preload number for an op, with what it leads to.
struct PreloadNumber {
  Allocation allocation;
  std::int32_t ahead;
  Time start;
  Time key;
};

class Induction {
 public:
  Induction(const Problem& problem, const Contention& contention, Bytes room)
      : problem_(problem),
        contention_(contention),
        room_(room),
        loaded_(problem.loaded()),
        slots_(static_cast<std::size_t>(problem.op_count())) {
    for (const cost::Front& front : problem.fronts()) {
      stairs_.push_back(staircase(front, contention));
    }
    live_ = live_bytes(problem, cheapest());
  }

  InductionResult run() {
    std::int32_t solved = 0;
    std::map<std::vector<Time>, std::int32_t> known;  // the op at which a state was last met
    for (std::int32_t op = problem_.op_count() - 1; op >= 0; --op) {
      solve(op);
      if (!begins_layer(op)) {
        continue;
      }
      ++solved;
      const auto [before, added] = known.emplace(signature(op), op);
      const std::int32_t like = added ? op + problem_.graph().repeat->period : before->second;
      if ((!added || work_ > kMostWork) && copy_layers(op, like)) {
        op = problem_.graph().repeat->begin;
      }
      before->second = op;
    }
    return {.choices = choices(), .solved_layers = solved};
  }

 private:
  ScheduledOp& slot(std::int32_t op) { return slots_[static_cast<std::size_t>(op)]; }
  [[nodiscard]] const ScheduledOp& slot(std::int32_t op) const {
    return slots_[static_cast<std::size_t>(op)];
  }

  [[nodiscard]] const Staircase& stairs(std::int32_t op) const {
    return stairs_[static_cast<std::size_t>(problem_.front_of()[static_cast<std::size_t>(op)])];
  }

  [[nodiscard]] std::vector<Choice> cheapest() const {
    std::vector<Choice> result;
    result.reserve(slots_.size());
    for (std::int32_t op = 0; op < problem_.op_count(); ++op) {
      result.push_back(stairs(op).front().choice);
    }
    return result;
  }

  [[nodiscard]] std::vector<Choice> choices() const {
    std::vector<Choice> result;
    result.reserve(slots_.size());
    for (const ScheduledOp& slot : slots_) {
      result.push_back(slot.choice);
    }
    return result;
  }

  [[nodiscard]] bool begins_layer(std::int32_t op) const {
    const auto& repeat = problem_.graph().repeat;
    return repeat && op >= repeat->begin && op < repeat->begin + (repeat->period * repeat->count) &&
           (op - repeat->begin) % repeat->period == 0;
  }

  /// The first place of the preload order behind the op's own.
  [[nodiscard]] std::int32_t behind(std::int32_t op) const {
    return problem_.rank(op) + (problem_.is_loaded(op) ? 1 : 0);
  }

  /// When the preload at `place` starts; the end of the model behind the last.
  [[nodiscard]] Time load_start(std::int32_t place) const {
    const auto at = static_cast<std::size_t>(place);
    return at < loaded_.size() ? slot(loaded_[at]).load_start : 0;
  }

  [[nodiscard]] Time next_start(std::int32_t op) const {
    return op + 1 < problem_.op_count() ? slot(op + 1).start : 0;
  }

  /// Exhaustive over preload numbers that fit, until more of them cannot end the op later.
  void solve(std::int32_t op) {
    const std::int32_t least = behind(op);
    const std::int32_t most = op + 1 < problem_.op_count()
                                  ? std::max(slot(op + 1).ahead, least)
                                  : static_cast<std::int32_t>(loaded_.size());
    std::optional<PreloadNumber> best;
    for (std::int32_t ahead = least; ahead <= most; ++ahead) {
      PreloadNumber candidate = consider(op, ahead);
      work_ += candidate.allocation.work;
      if (!candidate.allocation.fits && best) {
        break;
      }
      if (!best || std::tie(candidate.key, candidate.start) <= std::tie(best->key, best->start)) {
        best = std::move(candidate);
      }
      if (!best->allocation.fits || load_start(ahead) <= next_start(op)) {
        break;
      }
    }
    commit(op, *best);
  }

  [[nodiscard]] PreloadNumber consider(std::int32_t op, std::int32_t ahead) const {
    std::vector<WaitingOp> residents;
    for (std::int32_t place = behind(op); place < ahead; ++place) {
      const std::int32_t other = loaded_[static_cast<std::size_t>(place)];
      residents.push_back({.op = other, .choice = slot(other).choice});
    }
    PreloadNumber result{.allocation = allocate(problem_, stairs(op), std::move(residents),
                                                room_ - others(op), contention_),
                         .ahead = ahead,
                         .start = 0,
                         .key = 0};
    const Choice& choice = result.allocation.choice;
    const Time end = std::max(next_start(op) + ticks(result.allocation.added), load_start(ahead));
    result.start = end + duration(op, choice, end, ahead);
    result.key = std::max(result.start, load_start(behind(op))) + late(op, choice);
    return result;
  }

  /// Bytes of tensors at rest that are not the op's own result.
  [[nodiscard]] Bytes others(std::int32_t op) const {
    return live_[static_cast<std::size_t>(op)] -
           problem_.option(op, stairs(op).front().choice).footprint.rest;
  }

  /// How much longer the op's preload takes than the quickest of its front.
  [[nodiscard]] Time late(std::int32_t op, const Choice& choice) const {
    if (!problem_.is_loaded(op)) {
      return 0;
    }
    double least = std::numeric_limits<double>::infinity();
    for (const cost::PlanOption& option : problem_.front(op).options) {
      least = std::min(least, option.states.back().time.value);
    }
    return ticks(std::max(0.0, problem_.state(op, choice).time.value - least));
  }

  /// The execute with the share of the port that preloads known so far take while it runs.
  [[nodiscard]] Time duration(std::int32_t op, const Choice& choice, Time end,
                              std::int32_t ahead) const {
    const cost::PlanOption& option = problem_.option(op, choice);
    const cost::ExecuteCost alone = work(option, problem_.state(op, choice), option.gather);
    const Time length = ticks(alone.alone().value);
    double wire = 0.0;
    for (std::int32_t place = behind(op); place < ahead; ++place) {
      const std::int32_t other = loaded_[static_cast<std::size_t>(place)];
      const Time overlap =
          std::min(end + length, slot(other).load_start) - std::max(end, slot(other).load_end);
      if (overlap > 0) {
        const cost::PreloadCost load_alone =
            load(problem_.state(other, slot(other).choice), problem_.chip());
        wire += static_cast<double>(overlap) * load_alone.share;
      }
    }
    const double share = length > 0 ? wire / static_cast<double>(length) : 0.0;
    return ticks(Contention{.share = share, .drag = contention_.drag}.seconds(alone));
  }

  void commit(std::int32_t op, const PreloadNumber& candidate) {
    std::int32_t last = op;
    for (const WaitingOp& resident : candidate.allocation.residents) {
      if (slot(resident.op).choice.state != resident.choice.state) {
        slot(resident.op).choice = resident.choice;
        last = resident.op;
      }
    }
    slot(op).choice = candidate.allocation.choice;
    slot(op).ahead = candidate.ahead;
    for (std::int32_t k = last; k >= op; --k) {
      settle(k);
    }
  }

  /// The op's times under the choices in force.
  void settle(std::int32_t op) {
    ScheduledOp& at = slot(op);
    const Time end = std::max(next_start(op), load_start(at.ahead));
    at.start = end + duration(op, at.choice, end, at.ahead);
    at.load_end = std::max(at.start, load_start(behind(op)));
    at.load_start = at.load_end;
    if (problem_.is_loaded(op)) {
      at.load_start += ticks(problem_.state(op, at.choice).time.value);
    }
  }

  /// Every number that a decision before `op` can depend on, relative to the start of `op`.
  [[nodiscard]] std::vector<Time> signature(std::int32_t op) const {
    std::vector<Time> result;
    const ScheduledOp& origin = slot(op);
    for (std::int32_t k = op; k <= last_waiting(op); ++k) {
      const ScheduledOp& at = slot(k);
      result.insert(result.end(), {at.choice.option, at.choice.state, at.ahead - problem_.rank(op),
                                   origin.start - at.start, origin.start - at.load_start,
                                   origin.start - at.load_end});
    }
    result.push_back(origin.start - load_start(origin.ahead));
    return result;
  }

  /// The last op whose preload may be on chip when `op` executes.
  [[nodiscard]] std::int32_t last_waiting(std::int32_t op) const {
    const std::int32_t ahead = slot(op).ahead;
    return ahead > behind(op) ? loaded_[static_cast<std::size_t>(ahead) - 1] : op;
  }

  /// Gives all layers before the one that begins at `op`, where the state is that met at `before`,
  /// what the layers behind it settled on. The state comes back every `turn` layers; a layer is
  /// final once no window of an earlier one reaches it. Whether there are layers enough.
  bool copy_layers(std::int32_t op, std::int32_t before) {
    const ir::Repeat& repeat = *problem_.graph().repeat;
    const std::int32_t layer = (op - repeat.begin) / repeat.period;
    const std::int32_t turn = (before - op) / repeat.period;
    const std::int32_t reach = ((last_waiting(op) - op) / repeat.period) + 1;
    if (layer == 0 || layer % turn != 0 || layer + reach + turn > repeat.count) {
      return false;
    }
    const Time step = slot(op).start - slot(before).start;
    const std::vector<ScheduledOp> model(slots_);
    for (std::int32_t to = 0; to < layer + reach; ++to) {
      const std::int32_t from = layer + (to < reach ? to : reach + ((to - reach) % turn));
      copy_layer(model, from, to, step * ((from - to) / turn));
    }
    return true;
  }

  void copy_layer(const std::vector<ScheduledOp>& model, std::int32_t from, std::int32_t to,
                  Time shift) {
    const ir::Repeat& repeat = *problem_.graph().repeat;
    const std::int32_t source = repeat.begin + (from * repeat.period);
    const std::int32_t target = repeat.begin + (to * repeat.period);
    const std::int32_t places = problem_.rank(source) - problem_.rank(target);
    for (std::int32_t k = 0; k < repeat.period; ++k) {
      ScheduledOp copy = model[static_cast<std::size_t>(source) + static_cast<std::size_t>(k)];
      copy.ahead -= places;
      copy.start += shift;
      copy.load_end += shift;
      copy.load_start += shift;
      slot(target + k) = copy;
    }
  }

  const Problem& problem_;
  const Contention& contention_;
  Bytes room_;
  const std::vector<std::int32_t>& loaded_;
  std::vector<ScheduledOp> slots_;
  std::vector<Staircase> stairs_;
  std::vector<Bytes> live_;
  std::int64_t work_ = 0;  // moves compared
};

}  // namespace

InductionResult induce(const Problem& problem, const Contention& contention, Bytes room) {
  return Induction(problem, contention, room).run();
}

Contention contention(const Problem& problem) {
  const Contention none{.share = 0.0, .drag = sharing(problem.chip()).port_drag};
  double wire = 0.0;
  double executes = 0.0;
  double loads = 0.0;
  std::vector<Staircase> stairs;
  for (const cost::Front& front : problem.fronts()) {
    stairs.push_back(staircase(front, none));
  }
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    const auto front = static_cast<std::size_t>(problem.front_of()[static_cast<std::size_t>(op)]);
    const StaircaseStep& cheapest = stairs[front].front();
    executes += cheapest.cost;
    const cost::PreloadCost alone = load(problem.state(op, cheapest.choice), problem.chip());
    loads += alone.time.value;
    wire += alone.time.value * alone.share;
  }
  const double whole = std::max(executes, loads);
  return {.share = whole > 0.0 ? std::min(0.5, wire / whole) : 0.0, .drag = none.drag};
}

}  // namespace elk::schedule
