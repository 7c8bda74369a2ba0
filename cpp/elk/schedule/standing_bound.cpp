#include "elk/schedule/standing_bound.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "elk/base/ids.hpp"

namespace elk::schedule {
namespace {

/// Times are rounded down to whole ticks, so that sums do not depend on where they begin.
using Ticks = std::int64_t;
constexpr double kTicks = 1e18;  // in what all ops could take at most

constexpr double kRounding = 1e-9;  // of products of ratios, below which they count as whole

/// What tells cuts of a front apart on one side: how their results lie, or what they need.
struct Side {
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<std::size_t> of;  // each cut
};

template <class Shape>
Side side(const std::vector<cost::StandingCut>& cuts, const Shape& shape) {
  Side found;
  for (const cost::StandingCut& cut : cuts) {
    found.shapes.push_back(shape(cut));
  }
  std::sort(found.shapes.begin(), found.shapes.end());
  found.shapes.erase(std::unique(found.shapes.begin(), found.shapes.end()), found.shapes.end());
  for (const cost::StandingCut& cut : cuts) {
    const auto place = std::lower_bound(found.shapes.begin(), found.shapes.end(), shape(cut));
    found.of.push_back(static_cast<std::size_t>(place - found.shapes.begin()));
  }
  return found;
}

/// Seconds of an op and its exchange at most.
double longest(const cost::Standing& standing) {
  double most = 0.0;
  for (const cost::StandingCut& cut : standing.cuts) {
    most = std::max({most, cut.execute.value, cut.ports.value});
  }
  return most + standing.exchange.value +
         (static_cast<double>(standing.elements) *
          (standing.element_time + standing.fragment.value));
}

/// What a cut reads, and last whether it has an exchange in any case.
std::vector<std::int64_t> needed(const cost::StandingCut& cut) {
  std::vector<std::int64_t> result = cut.read;
  result.push_back(cut.moves ? 1 : 0);
  return result;
}

class Trees {
 public:
  Trees(const Problem& problem, Standings standings)
      : problem_(problem),
        standings_(standings),
        cores_(static_cast<double>(chip::total_cores(problem.chip()))),
        below_(problem.front_of().size()) {
    for (const cost::Front& front : problem.fronts()) {
      const std::vector<cost::StandingCut>& cuts = front.floor.standing.cuts;
      results_.push_back(side(cuts, [](const cost::StandingCut& cut) { return cut.written; }));
      needs_.push_back(side(cuts, needed));
    }
    double most = 0.0;
    for (const std::int32_t front : problem.front_of()) {
      most += longest(problem.fronts()[subscript(front)].floor.standing);
    }
    ticks_ = most > 0.0 ? kTicks / most : 1.0;
  }

  StandingBound bound() {
    StandingBound result{.ops = {}, .time = {0.0}};
    std::vector<Ticks> behind(below_.size(), 0);  // what all that hangs on an op takes in any case
    Ticks sum = 0;
    for (std::size_t op = below_.size(); op-- > 0;) {
      const auto number = static_cast<std::int32_t>(op);
      if (!hangs(number)) {
        continue;
      }
      result.ops.push_back(number);
      const Hanging& all = hanging(number);
      const Ticks least = behind[op] + all.least;
      const std::int32_t above = maker(number);
      if (above >= 0) {
        below_[subscript(above)].push_back(all.kind);
        behind[subscript(above)] += least;
      } else {
        sum += least;
      }
    }
    result.time.value = static_cast<double>(sum) / ticks_;
    return result;
  }

 private:
  /// An op with all that hangs on it, whatever that takes in any case. Layers soon are of the same
  /// kinds, for what lies far behind tells no choices apart.
  struct Kind {
    std::int32_t front;
    std::vector<Ticks> more;           // than at least, for each of its needs
    std::vector<std::size_t> by_time;  // its needs
  };
  struct Hanging {
    std::size_t kind;
    Ticks least;
  };

  [[nodiscard]] const cost::Standing& standing(std::int32_t op) const {
    return problem_.front(op).floor.standing;
  }

  /// Whether the cuts of an op are known, and it is one of those asked for.
  [[nodiscard]] bool hangs(std::int32_t op) const {
    const bool small = problem_.graph().ops[subscript(op)].kind != ir::OpKind::MatMul;
    return standing(op).operand >= 0 && (small || standings_ == Standings::Executes);
  }

  /// The op that makes what `op` reads, -1 if its cuts are not known.
  [[nodiscard]] std::int32_t maker(std::int32_t op) const {
    const ir::Op& node = problem_.graph().ops[subscript(op)];
    const std::int32_t tensor = node.operands[subscript(standing(op).operand)].tensor;
    const std::int32_t made_by = problem_.lives().producer[subscript(tensor)];
    return made_by >= 0 && hangs(made_by) ? made_by : -1;
  }

  [[nodiscard]] Ticks ticks(double seconds) const { return static_cast<Ticks>(seconds * ticks_); }

  const Hanging& hanging(std::int32_t op) {
    const std::int32_t front = problem_.front_of()[subscript(op)];
    std::vector<std::size_t> below = below_[subscript(op)];
    std::sort(below.begin(), below.end());
    const auto [place, fresh] = known_.emplace(std::pair(front, below), Hanging{});
    if (fresh) {
      place->second = make(front, below);
    }
    return place->second;
  }

  Hanging make(std::int32_t front, const std::vector<std::size_t>& below) {
    const Side& result = results_[subscript(front)];
    const Side& need = needs_[subscript(front)];
    std::vector<Ticks> after(result.shapes.size(), 0);
    for (const std::size_t kind : below) {
      const std::vector<Ticks>& one = behind(front, kind);
      for (std::size_t shape = 0; shape < after.size(); ++shape) {
        after[shape] += one[shape];
      }
    }
    std::vector<Ticks> times(need.shapes.size(), std::numeric_limits<Ticks>::max());
    const auto& cuts = problem_.fronts()[subscript(front)].floor.standing.cuts;
    for (std::size_t cut = 0; cut < cuts.size(); ++cut) {
      Ticks& time = times[need.of[cut]];
      const Seconds own = standings_ == Standings::Executes ? cuts[cut].execute : cuts[cut].ports;
      time = std::min(time, ticks(own.value) + after[result.of[cut]]);
    }
    const Ticks least = *std::min_element(times.begin(), times.end());
    for (Ticks& time : times) {
      time -= least;
    }
    return {.kind = number(front, std::move(times)), .least = least};
  }

  /// The kind of an op that takes `more` than at least.
  std::size_t number(std::int32_t front, std::vector<Ticks> more) {
    const auto [place, fresh] = numbers_.emplace(std::pair(front, more), kinds_.size());
    if (fresh) {
      std::vector<std::size_t> by_time(more.size());
      std::iota(by_time.begin(), by_time.end(), std::size_t{0});
      std::stable_sort(by_time.begin(), by_time.end(),
                       [&](std::size_t a, std::size_t b) { return more[a] < more[b]; });
      kinds_.push_back({.front = front, .more = std::move(more), .by_time = std::move(by_time)});
    }
    return place->second;
  }

  /// What a kind takes more behind each of the shapes in which results of `front` rest.
  const std::vector<Ticks>& behind(std::int32_t front, std::size_t kind) {
    const auto [place, fresh] = behind_.emplace(std::pair(front, kind), std::vector<Ticks>{});
    if (fresh) {
      for (const std::vector<std::int64_t>& shape : results_[subscript(front)].shapes) {
        place->second.push_back(least_behind(shape, kinds_[kind]));
      }
    }
    return place->second;
  }

  [[nodiscard]] Ticks least_behind(std::span<const std::int64_t> shape, const Kind& kind) const {
    const cost::Standing& own = problem_.fronts()[subscript(kind.front)].floor.standing;
    const Side& need = needs_[subscript(kind.front)];
    Ticks best = std::numeric_limits<Ticks>::max();
    for (const std::size_t place : kind.by_time) {
      if (kind.more[place] >= best) {
        break;
      }
      best = std::min(best, kind.more[place] + ticks(moving(shape, need.shapes[place], own)));
    }
    return best;
  }

  /// d(c, c') for cuts c' of `own` that need `need` behind a result that rests in `shape`.
  [[nodiscard]] double moving(std::span<const std::int64_t> shape,
                              std::span<const std::int64_t> need, const cost::Standing& own) const {
    if (shape.empty() || shape.size() + 1 != need.size()) {
      return 0.0;
    }
    double here = cores_;  // elements
    double parts = 1.0;    // of a core's piece, each as much as it finds with one core at most
    bool alike = true;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      const auto [less, more] = std::minmax(shape[dim], need[dim]);
      if (more == 0) {
        return 0.0;
      }
      alike = alike && (less == more || less == 0);
      here *= static_cast<double>(less == 0 ? more : less);
      parts *= less == 0 ? 1.0 : static_cast<double>(need[dim]) / static_cast<double>(less);
    }
    const double senders = std::max(1.0, std::ceil(parts - 1.0 - kRounding));
    const double apart = alike || need.back() != 0
                             ? 0.0
                             : own.exchange.value + ((senders - 1.0) * own.fragment.value);
    return apart + (std::max(0.0, static_cast<double>(own.elements) - here) * own.element_time);
  }

  const Problem& problem_;
  Standings standings_;
  double cores_;
  double ticks_;               // a second
  std::vector<Side> results_;  // of each front
  std::vector<Side> needs_;
  std::vector<std::vector<std::size_t>> below_;  // of each op, the kinds that hang on it
  std::vector<Kind> kinds_;
  std::map<std::pair<std::int32_t, std::vector<Ticks>>, std::size_t> numbers_;
  std::map<std::pair<std::int32_t, std::vector<std::size_t>>, Hanging> known_;
  std::map<std::pair<std::int32_t, std::size_t>, std::vector<Ticks>> behind_;
};

}  // namespace

StandingBound standing_bound(const Problem& problem, Standings standings) {
  return Trees(problem, standings).bound();
}

}  // namespace elk::schedule
