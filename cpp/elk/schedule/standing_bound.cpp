#include "elk/schedule/standing_bound.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "elk/base/ids.hpp"

namespace elk::schedule {
namespace {

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
  }

  StandingBound bound() {
    StandingBound result{.ops = {}, .time = {0.0}};
    for (std::size_t op = below_.size(); op-- > 0;) {
      const auto number = static_cast<std::int32_t>(op);
      if (!hangs(number)) {
        continue;
      }
      result.ops.push_back(number);
      const std::size_t kind = kind_of(number);
      const std::int32_t above = maker(number);
      if (above >= 0) {
        below_[subscript(above)].push_back(kind);
      } else {
        result.time.value +=
            *std::min_element(kinds_[kind].least.begin(), kinds_[kind].least.end());
      }
    }
    return result;
  }

 private:
  /// An op with all that hangs on it.
  struct Kind {
    std::int32_t front;
    std::vector<double> least;         // behind what lies as needed, for each of its needs
    std::vector<std::size_t> by_time;  // its needs
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

  std::size_t kind_of(std::int32_t op) {
    const std::int32_t front = problem_.front_of()[subscript(op)];
    std::vector<std::size_t> below = below_[subscript(op)];
    std::sort(below.begin(), below.end());
    const auto [place, fresh] = known_.emplace(std::pair(front, below), kinds_.size());
    if (fresh) {
      kinds_.push_back(make(front, below));
    }
    return place->second;
  }

  Kind make(std::int32_t front, const std::vector<std::size_t>& below) {
    const Side& result = results_[subscript(front)];
    const Side& need = needs_[subscript(front)];
    std::vector<double> after(result.shapes.size(), 0.0);
    for (const std::size_t kind : below) {
      const std::vector<double>& one = behind(front, kind);
      for (std::size_t shape = 0; shape < after.size(); ++shape) {
        after[shape] += one[shape];
      }
    }
    Kind kind{
        .front = front,
        .least = std::vector<double>(need.shapes.size(), std::numeric_limits<double>::infinity()),
        .by_time = std::vector<std::size_t>(need.shapes.size())};
    const auto& cuts = problem_.fronts()[subscript(front)].floor.standing.cuts;
    for (std::size_t cut = 0; cut < cuts.size(); ++cut) {
      double& least = kind.least[need.of[cut]];
      const Seconds own = standings_ == Standings::Executes ? cuts[cut].execute : cuts[cut].ports;
      least = std::min(least, own.value + after[result.of[cut]]);
    }
    std::iota(kind.by_time.begin(), kind.by_time.end(), std::size_t{0});
    std::stable_sort(kind.by_time.begin(), kind.by_time.end(),
                     [&](std::size_t a, std::size_t b) { return kind.least[a] < kind.least[b]; });
    return kind;
  }

  /// What a kind takes at least behind each of the shapes in which results of `front` rest.
  const std::vector<double>& behind(std::int32_t front, std::size_t kind) {
    const auto [place, fresh] = behind_.emplace(std::pair(front, kind), std::vector<double>{});
    if (fresh) {
      for (const std::vector<std::int64_t>& shape : results_[subscript(front)].shapes) {
        place->second.push_back(least_behind(shape, kinds_[kind]));
      }
    }
    return place->second;
  }

  [[nodiscard]] double least_behind(std::span<const std::int64_t> shape, const Kind& kind) const {
    const cost::Standing& own = problem_.fronts()[subscript(kind.front)].floor.standing;
    const Side& need = needs_[subscript(kind.front)];
    double best = std::numeric_limits<double>::infinity();
    for (const std::size_t place : kind.by_time) {
      if (kind.least[place] >= best) {
        break;
      }
      best = std::min(best, kind.least[place] + moving(shape, need.shapes[place], own));
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
    bool alike = true;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      const auto [less, more] = std::minmax(shape[dim], need[dim]);
      if (more == 0) {
        return 0.0;
      }
      alike = alike && (less == more || less == 0);
      here *= static_cast<double>(less == 0 ? more : less);
    }
    const double apart = alike || need.back() != 0 ? 0.0 : own.exchange.value;
    return apart + (std::max(0.0, static_cast<double>(own.elements) - here) * own.element_time);
  }

  const Problem& problem_;
  Standings standings_;
  double cores_;
  std::vector<Side> results_;  // of each front
  std::vector<Side> needs_;
  std::vector<std::vector<std::size_t>> below_;  // of each op, the kinds that hang on it
  std::vector<Kind> kinds_;
  std::map<std::pair<std::int32_t, std::vector<std::size_t>>, std::size_t> known_;
  std::map<std::pair<std::int32_t, std::size_t>, std::vector<double>> behind_;
};

}  // namespace

StandingBound standing_bound(const Problem& problem, Standings standings) {
  return Trees(problem, standings).bound();
}

}  // namespace elk::schedule
