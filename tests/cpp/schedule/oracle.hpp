#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/program/program.hpp"
#include "elk/schedule/policies/placement.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"
#include "elk/schedule/timing/evaluate.hpp"

/// The best schedule of a small model, by trial of all of them.
namespace elk::test {

/// `front` with at most `most` of its options: its fastest, and others spread evenly over its
/// order. All preload states stay.
inline cost::Front thinned(const cost::Front& front, std::size_t most) {
  const std::size_t count = front.options.size();
  if (count <= most) {
    return front;
  }
  std::vector<std::size_t> kept{static_cast<std::size_t>(front.fastest)};
  for (std::size_t i = 0; kept.size() < most; ++i) {
    const std::size_t at = i * (count - 1) / (most - 1);
    if (at != kept.front()) {
      kept.push_back(at);
    }
  }
  std::sort(kept.begin(), kept.end());
  cost::Front result = front;
  result.options.clear();
  for (const std::size_t at : kept) {
    result.fastest = static_cast<std::int32_t>(at) == front.fastest
                         ? static_cast<std::int32_t>(result.options.size())
                         : result.fastest;
    result.options.push_back(front.options[at]);
  }
  return result;
}

/// The most bytes that a program has in use on a core.
inline Bytes most_used(const program::Program& program) {
  const std::vector<Bytes> used = program::occupancy(program.buffers, program.code.size());
  return *std::max_element(used.begin(), used.end());
}

struct Optimum {
  schedule::Schedule schedule;
  double seconds;
};

/// What a trial found: no schedule where nothing fits, or where it gave up before it was through.
struct Trial {
  std::optional<Optimum> best;
  bool complete;
};

/// Tries every plan and preload state of every op, every order of preloads and every preload number
/// that the capacity rule allows (design 6.3, 7). What is left out is what a forecast without
/// contention, which is never later, already shows to be no better than the best so far.
///
/// The fronts of the problem are the space: after a search, with the plans that it added.
class Oracle {
 public:
  explicit Oracle(schedule::Problem& problem)
      : problem_(problem),
        room_(chip::room(problem.chip())),
        count_(static_cast<std::size_t>(problem.op_count())),
        choices_(count_, {.option = 0, .state = 0}),
        execute_(count_, 0.0),
        load_(count_, 0.0),
        rests_(count_, Bytes{0}),
        slot_(count_, 0),
        ready_(count_, 0.0) {
    list_lives();
    find_least();
  }

  /// Looks at no more than `most` beginnings of preload orders. Tries under a limit on time that
  /// grows until there is a schedule.
  Trial best(std::int64_t most) {
    constexpr double kFirst = 1.02;
    constexpr double kGrowth = 1.15;
    constexpr double kLast = 1e4;
    most_ = most;
    const double floor = bound(0, 0.0, first_latency());
    for (double growth = kFirst; !found_ && looked_ < most_; growth *= kGrowth) {
      const bool last = growth > kLast;
      limit_ = last ? std::numeric_limits<double>::infinity() : floor * growth;
      choose(0, 0.0, first_latency());
      if (last) {
        break;
      }
    }
    return {.best = std::move(found_), .complete = looked_ < most_};
  }

 private:
  /// What is made by one op, and used up to another.
  struct Life {
    std::int32_t first;
    std::int32_t last;
  };

  void list_lives() {
    const program::Lifetimes& lives = problem_.lives();
    for (std::size_t tensor = 0; tensor < lives.producer.size(); ++tensor) {
      if (lives.producer[tensor] >= 0) {
        lives_.push_back({.first = lives.producer[tensor],
                          .last = std::max(lives.producer[tensor], lives.last_reader[tensor])});
        const std::int32_t until = schedule::last_use(problem_, tensor);
        kept_.push_back({.first = lives_.back().last + 1, .last = until});
      }
    }
  }

  [[nodiscard]] double first_latency() const {
    return problem_.loaded().empty() ? 0.0 : problem_.chip().hbm->latency.value;
  }

  /// Calls `visit` for every choice of `op`.
  template <class Visit>
  void for_each_choice(std::size_t op, const Visit& visit) {
    const auto& options = problem_.front(static_cast<std::int32_t>(op)).options;
    for (std::size_t option = 0; option < options.size(); ++option) {
      for (std::size_t state = 0; state < options[option].states.size(); ++state) {
        choices_[op] = {.option = static_cast<std::int32_t>(option),
                        .state = static_cast<std::int32_t>(state)};
        visit();
      }
    }
    choices_[op] = {.option = 0, .state = 0};
  }

  [[nodiscard]] schedule::OpSituation part(std::size_t op) {
    const auto id = static_cast<std::int32_t>(op);
    return schedule::part(problem_, id, choices_[op], problem_.in_place(id, choices_));
  }

  /// Ops whose plans decide where what `op` reads lies.
  [[nodiscard]] std::vector<std::size_t> makers(std::size_t op) const {
    std::vector<std::size_t> result;
    for (std::size_t maker = 0; maker < op; ++maker) {
      const std::vector<std::int32_t>& readers = problem_.readers(static_cast<std::int32_t>(maker));
      if (std::count(readers.begin(), readers.end(), static_cast<std::int32_t>(op)) > 0) {
        result.push_back(maker);
      }
    }
    return result;
  }

  /// The least that each op takes by itself, among all pairs of layouts.
  void find_least() {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    least_execute_.assign(count_, kNever);
    least_load_.assign(count_, kNever);
    for (std::size_t op = 0; op < count_; ++op) {
      for_each_pair(op, makers(op), 0);
    }
  }

  void for_each_pair(std::size_t op, const std::vector<std::size_t>& makers, std::size_t at) {
    if (at < makers.size()) {
      const auto& options = problem_.front(static_cast<std::int32_t>(makers[at])).options;
      for (std::size_t option = 0; option < options.size(); ++option) {
        choices_[makers[at]].option = static_cast<std::int32_t>(option);
        for_each_pair(op, makers, at + 1);
      }
      choices_[makers[at]].option = 0;
      return;
    }
    for_each_choice(op, [&] {
      const schedule::OpSituation now = part(op);
      least_execute_[op] = std::min(least_execute_[op], now.work.alone().value);
      least_load_[op] = std::min(least_load_[op], now.load.time.value);
    });
  }

  /// The least end of a model whose ops before `op` are chosen: their executes end at `execute`,
  /// their preloads at `load`.
  [[nodiscard]] double bound(std::size_t op, double execute, double load) const {
    for (; op < count_; ++op) {
      load += least_load_[op];
      execute = std::max(execute, least_load_[op] > 0.0 ? load : 0.0) + least_execute_[op];
    }
    return execute * kRoundDown;
  }

  void choose(std::size_t op, double execute, double load) {
    if (op == count_) {
      now_ = schedule::situation(problem_, choices_);
      forget_stores();
      issue(now_.base, -1);
      return;
    }
    for_each_choice(op, [&] {
      const schedule::OpSituation here = part(op);
      rests_[op] = problem_.option(static_cast<std::int32_t>(op), choices_[op]).footprint.rest;
      execute_[op] = here.work.alone().value;
      load_[op] = here.load.time.value;
      const double loaded = load + load_[op];
      const double ends = std::max(execute, load_[op] > 0.0 ? loaded : 0.0) + execute_[op];
      if (here.own + here.piece + at_rest(op) <= room_ && looked_ < most_ &&
          bound(op + 1, ends, loaded) < limit_) {
        choose(op + 1, ends, loaded);
      }
    });
  }

  /// Bytes of what ops up to `op` made and it or later ones read.
  [[nodiscard]] Bytes at_rest(std::size_t op) const {
    Bytes sum{0};
    for (const Life& life : lives_) {
      if (life.first <= static_cast<std::int32_t>(op) &&
          static_cast<std::int32_t>(op) <= life.last) {
        sum += rests_[static_cast<std::size_t>(life.first)];
      }
    }
    return sum;
  }

  /// How long a stored tensor rests after its last use depends on the order of preloads: the
  /// buffers of the program tell.
  void forget_stores() {
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      for (std::int32_t k = kept_[i].first; k <= kept_[i].last; ++k) {
        now_.base[static_cast<std::size_t>(k)] -= rests_[static_cast<std::size_t>(lives_[i].first)];
      }
    }
  }

  /// All that may come after the preloads in `order_`, with `used` bytes at each execute.
  void issue(const std::vector<Bytes>& used, std::int32_t last_slot) {
    if (order_.size() == problem_.loaded().size()) {
      consider(used);
      return;
    }
    for (const std::int32_t op : problem_.loaded()) {
      const bool issued = std::count(order_.begin(), order_.end(), op) > 0;
      if (!issued && op >= last_slot) {
        issue_one(used, last_slot, op);
      }
    }
  }

  /// All slots of the preload of `op`, the next in order, from its own execute on back.
  void issue_one(const std::vector<Bytes>& used, std::int32_t last_slot, std::int32_t op) {
    std::vector<Bytes> with(used);
    order_.push_back(op);
    const std::int32_t first = std::max({last_slot, problem_.not_before(op), 0});
    for (std::int32_t slot = op; slot >= first; --slot) {
      Bytes& at = with[static_cast<std::size_t>(slot)];
      at += now_.piece[static_cast<std::size_t>(op)];
      if (at > room_) {
        break;
      }
      slot_[static_cast<std::size_t>(op)] = slot;
      ++looked_;
      if (looked_ < most_ && soonest(slot) < limit_) {
        issue(with, slot);
      }
    }
    order_.pop_back();
  }

  /// The end without contention, stores and waits of the HBM, if the preloads that are not in
  /// `order_` follow as soon as they may, in the order of their executes: none is sooner.
  [[nodiscard]] double soonest(std::int32_t last_slot) {
    tail_ = order_;
    for (const std::int32_t op : problem_.loaded()) {
      if (std::find(order_.begin(), order_.end(), op) == order_.end()) {
        tail_.push_back(op);
        slot_[static_cast<std::size_t>(op)] = last_slot;
      }
    }
    double execute = 0.0;
    double load = first_latency();
    std::size_t next = 0;
    for (std::size_t op = 0; op < count_; ++op) {
      for (; next < tail_.size(); ++next) {
        const auto issued = static_cast<std::size_t>(tail_[next]);
        if (slot_[issued] > static_cast<std::int32_t>(op)) {
          break;
        }
        load = std::max(load, execute) + load_[issued];
        ready_[issued] = load;
      }
      execute = std::max(execute, load_[op] > 0.0 ? ready_[op] : 0.0) + execute_[op];
    }
    return execute * kRoundDown;
  }

  void consider(const std::vector<Bytes>& used) {
    if (*std::max_element(used.begin(), used.end()) > room_) {
      return;
    }
    schedule::Schedule schedule{.ops = choices_,
                                .preload_order = order_,
                                .issued_before = std::vector<std::int32_t>(count_, 0)};
    for (const std::int32_t op : order_) {
      for (auto k = static_cast<std::size_t>(slot_[static_cast<std::size_t>(op)]); k < count_;
           ++k) {
        ++schedule.issued_before[k];
      }
    }
    const double seconds =
        schedule::timing(problem_, now_, order_, schedule.issued_before).total.value;
    if (seconds >= limit_ || (!problem_.graph().stores.empty() &&
                              most_used(schedule::unplaced_program(problem_, schedule)) > room_)) {
      return;
    }
    limit_ = seconds;
    found_ = Optimum{.schedule = std::move(schedule), .seconds = seconds};
  }

  static constexpr double kRoundDown = 1.0 - 1e-12;

  schedule::Problem& problem_;
  Bytes room_;
  std::size_t count_;
  std::vector<Life> lives_;
  std::vector<Life> kept_;  // as `lives_`: executes at which it only waits for its store
  std::vector<double> least_execute_;
  std::vector<double> least_load_;

  std::vector<schedule::Choice> choices_;
  std::vector<double> execute_;  // of each op, alone
  std::vector<double> load_;
  std::vector<Bytes> rests_;
  schedule::Situation now_;
  std::vector<std::int32_t> order_;
  std::vector<std::int32_t> slot_;
  std::vector<std::int32_t> tail_;  // `order_` and what may follow
  std::vector<double> ready_;       // ends of preloads
  double limit_ = 0.0;
  std::int64_t looked_ = 0;
  std::int64_t most_ = 0;
  std::optional<Optimum> found_;
};

}  // namespace elk::test
