#include "elk/schedule/bound/neighbour_bound.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/schedule/bound/neighbour_distance.hpp"
#include "elk/schedule/bound/neighbour_forest.hpp"
#include "elk/schedule/bound/neighbour_pieces.hpp"

namespace elk::schedule {
namespace {

/// Times are rounded down to whole ticks, so that sums do not depend on where they begin.
using Ticks = std::int64_t;
constexpr double kTicks = 1e18;  // in what all ops could take at most
constexpr Ticks kEver = std::numeric_limits<Ticks>::max();

using Results = ShapeClasses<std::vector<std::int64_t>>;
using Readings = ShapeClasses<Reading>;

class NeighbourTrees {
 public:
  explicit NeighbourTrees(const NeighbourForest& wiring)
      : wiring_(wiring),
        problem_(wiring.problem()),
        distance_(wiring),
        extra_(distinct(wiring.extra(), problem_.front_of().size())),
        below_(problem_.front_of().size()) {
    const std::vector<std::vector<double>> times = wiring.times();
    double free = 0.0;
    for (const ExtraTime& extra : wiring.extra()) {
      free = std::max(free, extra.free);
    }
    for (std::size_t front = 0; front < times.size(); ++front) {
      listed_.push_back(listed(known_of(problem_.fronts()[front]), times[front], free));
      results_.push_back(results(listed_.back().cuts));
      readings_.push_back(readings(listed_.back().cuts));
    }
    if (wiring.gather_times() != nullptr) {
      count(*wiring.gather_times());
    }
    const double most = wiring.longest();
    ticks_ = most > 0.0 ? kTicks / most : 1.0;
  }

  NeighbourBound bound() {
    NeighbourBound result{.ops = {}, .time = {0.0}};
    std::vector<Ticks> behind(below_.size(), 0);  // what all that hangs on an op takes in any case
    Ticks sum = 0;
    for (std::size_t op = below_.size(); op-- > 0;) {
      const auto number = static_cast<std::int32_t>(op);
      if (!wiring_.hangs(number)) {
        continue;
      }
      result.ops.push_back(number);
      const Hanging& all = hanging(number);
      const Ticks least = behind[op] + all.least;
      const std::int32_t above = wiring_.maker(number);
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

  /// The cuts of ops that take that least, after `bound`.
  [[nodiscard]] std::vector<std::vector<std::int64_t>> cuts() {
    using TypePlace = std::tuple<std::size_t, std::int32_t, std::size_t>;
    std::map<TypePlace, std::size_t>
        known;  // by what hangs on an op, and its maker's front and shape
    std::vector<std::size_t> rests(below_.size(), 0);  // the shape of each op's result
    std::vector<std::vector<std::int64_t>> result(below_.size());
    for (std::size_t op = 0; op < below_.size(); ++op) {
      const auto number = static_cast<std::int32_t>(op);
      if (!wiring_.hangs(number)) {
        continue;
      }
      const std::int32_t above = wiring_.maker(number);
      const std::int32_t from = above < 0 ? -1 : problem_.front_of()[subscript(above)];
      const std::size_t shape = above < 0 ? 0 : rests[subscript(above)];
      const auto [cut, fresh] = known.emplace(TypePlace{hanging(number).all, from, shape}, 0);
      if (fresh) {
        cut->second = best_cut(number, best_reading(number, from, shape));
      }
      rests[op] = results_[subscript(problem_.front_of()[op])].of[cut->second];
      result[op] = listed_[subscript(problem_.front_of()[op])].cuts[cut->second]->factors;
    }
    return result;
  }

 private:
  /// What tells ops apart by themselves.
  struct Type {
    std::int32_t front;
    std::size_t extra;  // what counts of it

    friend auto operator<=>(const Type&, const Type&) = default;
  };
  /// An op with all that hangs on it, whatever that takes in any case. Layers soon are of the same
  /// kinds, for what lies far behind tells no choices apart.
  struct Subtree {
    Type type;
    std::vector<Ticks> more;           // than at least, for each reading of its front
    std::vector<std::size_t> by_time;  // readings, by `more`
    std::vector<std::size_t> moving;   // readings that need an exchange of their own, by time
  };
  struct Hanging {
    std::size_t all;  // a number of it
    std::size_t kind;
    Ticks least;
  };

  /// Has other times count than executes take.
  void count(const GatherTimes& gather_times) {
    extra_ = {.shapes = std::vector<ExtraTime>(gather_times.times.size(), {.least = 0.0}),
              .of = gather_times.kind_of};
    for (std::size_t op = 0; op < extra_.of.size(); ++op) {
      const std::vector<GatherTimes::CutSeconds>& times = gather_times.times[extra_.of[op]];
      if (!times.empty()) {
        const std::size_t front = subscript(problem_.front_of()[op]);
        set_times(times, listed_[front].numbers, readings_[front]);
      }
    }
  }

  /// What of all that `op` may need is best behind the result of an op of front `from`, if any,
  /// that rests in `shape`.
  [[nodiscard]] std::size_t best_reading(std::int32_t op, std::int32_t from, std::size_t shape) {
    const Subtree& kind = kinds_[hanging(op).kind];
    if (from < 0) {
      return kind.by_time.front();
    }
    const std::vector<Reading>& needs = readings_[subscript(kind.type.front)].shapes;
    const std::vector<std::int64_t>& lies = results_[subscript(from)].shapes[shape];
    const auto time = [&](std::size_t reading) {
      return kind.more[reading] + moving(lies, needs[reading], kind.type, kEver);
    };
    return *std::min_element(kind.by_time.begin(), kind.by_time.end(),
                             [&](std::size_t a, std::size_t b) { return time(a) < time(b); });
  }

  /// The cut of `op` that needs that and takes least with all that hangs on it.
  [[nodiscard]] std::size_t best_cut(std::int32_t op, std::size_t reading) {
    const std::int32_t front = problem_.front_of()[subscript(op)];
    const std::vector<Ticks> times = cut_times(type_of(op), below_[subscript(op)]);
    std::size_t best = 0;
    Ticks least = kEver;
    for (std::size_t cut = 0; cut < times.size(); ++cut) {
      if (readings_[subscript(front)].of[cut] == reading && times[cut] < least) {
        least = times[cut];
        best = cut;
      }
    }
    return best;
  }

  [[nodiscard]] Type type_of(std::int32_t op) const {
    return {.front = problem_.front_of()[subscript(op)], .extra = extra_.of[subscript(op)]};
  }

  [[nodiscard]] Ticks ticks(double seconds) const {
    const double exact = seconds * ticks_;
    const auto whole = static_cast<Ticks>(exact);
    return static_cast<double>(whole) > exact ? whole - 1 : whole;
  }

  const Hanging& hanging(std::int32_t op) {
    const Type type = type_of(op);
    std::vector<std::size_t> below = below_[subscript(op)];
    std::sort(below.begin(), below.end());
    const auto [place, fresh] = known_.emplace(std::pair(type, below), Hanging{});
    if (fresh) {
      place->second = make(type, below);
      place->second.all = known_.size();
    }
    return place->second;
  }

  /// What each cut of a front takes with all that hangs on it.
  std::vector<Ticks> cut_times(const Type& type, const std::vector<std::size_t>& below) {
    const std::int32_t front = type.front;
    const Results& result = results_[subscript(front)];
    std::vector<Ticks> after(result.shapes.size(), 0);
    for (const std::size_t kind : below) {
      const std::vector<Ticks>& one = behind(front, kind);
      for (std::size_t shape = 0; shape < after.size(); ++shape) {
        after[shape] += one[shape];
      }
    }
    std::vector<Ticks> times;
    times.reserve(result.of.size());
    for (std::size_t cut = 0; cut < result.of.size(); ++cut) {
      times.push_back(ticks(own_time(type, cut)) + after[result.of[cut]]);
    }
    return times;
  }

  [[nodiscard]] double own_time(const Type& type, std::size_t cut) const {
    const CutShortlist& known = listed_[subscript(type.front)];
    const double most = cut + 1 == known.cuts.size() ? known.most : kInfinite;
    if (wiring_.gather_times() != nullptr) {
      return std::min(most, wiring_.gather_times()->times[type.extra][known.numbers[cut]].least);
    }
    const cost::LayoutCut& one = *known.cuts[cut];
    const bool executes = wiring_.summed() == NeighbourSum::Executes;
    return extra_.shapes[type.extra].of_cut(
        std::min(most, executes ? one.execute.value : one.ports.value));
  }

  Hanging make(const Type& type, const std::vector<std::size_t>& below) {
    const Readings& need = readings_[subscript(type.front)];
    std::vector<Ticks> times(need.shapes.size(), kEver);
    const std::vector<Ticks> of_cuts = cut_times(type, below);
    for (std::size_t cut = 0; cut < of_cuts.size(); ++cut) {
      Ticks& time = times[need.of[cut]];
      time = std::min(time, of_cuts[cut]);
    }
    const Ticks least = *std::min_element(times.begin(), times.end());
    for (Ticks& time : times) {
      time -= least;
    }
    return {.all = 0, .kind = number(type, std::move(times)), .least = least};
  }

  /// The kind of an op that takes `more` than at least.
  std::size_t number(const Type& type, std::vector<Ticks> more) {
    const auto [place, fresh] = numbers_.emplace(std::pair(type, more), kinds_.size());
    if (fresh) {
      std::vector<std::size_t> by_time(more.size());
      std::iota(by_time.begin(), by_time.end(), std::size_t{0});
      std::stable_sort(by_time.begin(), by_time.end(),
                       [&](std::size_t a, std::size_t b) { return more[a] < more[b]; });
      const std::vector<Reading>& readings = readings_[subscript(type.front)].shapes;
      std::vector<std::size_t> moving;
      std::copy_if(by_time.begin(), by_time.end(), std::back_inserter(moving),
                   [&](std::size_t reading) { return readings[reading].moves; });
      kinds_.push_back({.type = type,
                        .more = std::move(more),
                        .by_time = std::move(by_time),
                        .moving = std::move(moving)});
    }
    return place->second;
  }

  /// What a kind takes more behind each of the shapes in which results of `front` rest.
  const std::vector<Ticks>& behind(std::int32_t front, std::size_t kind) {
    const auto [place, fresh] = behind_.emplace(std::pair(front, kind), std::vector<Ticks>{});
    if (fresh) {
      const std::vector<std::vector<std::int64_t>>& shapes = results_[subscript(front)].shapes;
      const std::vector<std::vector<std::size_t>>& agree = agreeing(front, kinds_[kind].type.front);
      for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
        place->second.push_back(least_behind(shapes[shape], agree[shape], kinds_[kind]));
      }
    }
    return place->second;
  }

  /// For each shape in which results of `from` rest, the readings of `front` that may agree with it
  /// and need no exchange of their own.
  const std::vector<std::vector<std::size_t>>& agreeing(std::int32_t from, std::int32_t front) {
    const auto [place, fresh] = agreeing_.try_emplace(std::pair(from, front));
    if (fresh) {
      place->second =
          schedule::agreeing(results_[subscript(from)].shapes, readings_[subscript(front)].shapes);
    }
    return place->second;
  }

  [[nodiscard]] Ticks least_behind(std::span<const std::int64_t> shape,
                                   std::span<const std::size_t> agree, const Subtree& kind) const {
    const std::vector<Reading>& readings = readings_[subscript(kind.type.front)].shapes;
    const double still = distance_.still(known_of(problem_.fronts()[subscript(kind.type.front)]));
    const Ticks exchange = ticks(extra_.shapes[kind.type.extra].of_fetch(still));
    if (shape.empty()) {
      return kind.more[kind.by_time.front()];  // Nothing is told that says that anything moves.
    }
    Ticks best = kEver;
    const auto consider = [&](std::size_t reading) {
      const Ticks more = kind.more[reading];
      if (more < best) {
        const Ticks below = best - more;
        best = std::min(best, more + moving(shape, readings[reading], kind.type, below));
      }
    };
    std::for_each(agree.begin(), agree.end(), consider);
    Ticks until = 0;  // Readings that take less than this have been looked at.
    for (const std::size_t reading : kind.by_time) {
      until = kind.more[reading];
      if (until >= best - exchange) {
        break;
      }
      consider(reading);
    }
    const auto left =
        std::partition_point(kind.moving.begin(), kind.moving.end(),
                             [&](std::size_t reading) { return kind.more[reading] < until; });
    for (auto at = left; at != kind.moving.end() && kind.more[*at] < best; ++at) {
      consider(*at);
    }
    return best;
  }

  /// d(c, c') for cuts c' of ops of `type` that need `need` behind a result that rests in `shape`,
  /// or some of that if it is no less than `most`.
  [[nodiscard]] Ticks moving(std::span<const std::int64_t> shape, const Reading& need,
                             const Type& type, Ticks most) const {
    const std::optional<PieceNeed> piece = piece_of(shape, need.read);
    if (!piece) {
      return 0;
    }
    const cost::LayoutFloor& own = known_of(problem_.fronts()[subscript(type.front)]);
    const ExtraTime& counts = extra_.shapes[type.extra];
    const double spread = distance_.spread(*piece, own);
    const Ticks least = ticks(counts.of_fetch(spread));
    return piece->alike || least >= most
               ? least
               : ticks(counts.of_fetch(distance_.fetch(*piece, need, own, spread, counts.free)));
  }

  const NeighbourForest& wiring_;
  const Problem& problem_;
  NeighbourDistance distance_;
  double ticks_;                      // a second
  ShapeClasses<ExtraTime> extra_;     // of each op
  std::vector<CutShortlist> listed_;  // of each front
  std::vector<Results> results_;
  std::vector<Readings> readings_;
  std::vector<std::vector<std::size_t>> below_;  // of each op, the kinds that hang on it
  std::vector<Subtree> kinds_;
  std::map<std::pair<Type, std::vector<Ticks>>, std::size_t> numbers_;
  std::map<std::pair<Type, std::vector<std::size_t>>, Hanging> known_;
  std::map<std::pair<std::int32_t, std::size_t>, std::vector<Ticks>> behind_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::vector<std::size_t>>> agreeing_;
};

std::shared_ptr<const NeighbourCuts> found(const NeighbourForest& wiring) {
  NeighbourTrees trees(wiring);
  auto result = std::make_shared<NeighbourCuts>(NeighbourCuts{.bound = trees.bound(), .cuts = {}});
  if (wiring.summed() == NeighbourSum::Executes && wiring.extra().empty()) {
    result->cuts = trees.cuts();
  }
  return result;
}

/// What is known of a problem together, from an earlier compile if there was one.
std::shared_ptr<const NeighbourCuts> neighbours(const Problem& problem, NeighbourSum summed,
                                                std::span<const ExtraTime> extra) {
  const NeighbourForest wiring(problem, summed, extra);
  if (problem.known() == nullptr) {
    return found(wiring);
  }
  KnownNeighbours& kept = problem.known()->neighbours;
  NeighbourKey key = wiring.key();
  if (const auto known = kept.find(key)) {
    return *known;
  }
  std::shared_ptr<const NeighbourCuts> fresh = found(wiring);
  kept.put(std::move(key), fresh, std::size_t{1} << 20U);
  return fresh;
}

}  // namespace

NeighbourBound neighbour_bound(const Problem& problem, NeighbourSum summed,
                               std::span<const ExtraTime> extra) {
  return neighbours(problem, summed, extra)->bound;
}

NeighbourBound neighbour_bound(const Problem& problem, const GatherTimes& gather_times) {
  const NeighbourForest wiring(problem, NeighbourSum::Executes, {}, &gather_times);
  return NeighbourTrees(wiring).bound();
}

std::vector<std::vector<std::int64_t>> neighbour_cuts(const Problem& problem) {
  return neighbours(problem, NeighbourSum::Executes, {})->cuts;
}

}  // namespace elk::schedule
