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
#include "elk/base/table.hpp"
#include "elk/schedule/bound/neighbour_distance.hpp"
#include "elk/schedule/bound/neighbour_forest.hpp"
#include "elk/schedule/bound/neighbour_pieces.hpp"

namespace elk::schedule {
namespace {

/// Times are rounded down to whole ticks, so that sums do not depend on where they begin.
using Ticks = std::int64_t;
constexpr double kTicks = 1e18;  // in what all ops could take at most
constexpr Ticks kEver = std::numeric_limits<Ticks>::max();

using Results = ShapeClasses<CutId, std::vector<std::int64_t>>;
using Readings = ShapeClasses<CutId, Reading>;

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
    const double most = wiring.longest();
    ticks_ = most > 0.0 ? kTicks / most : 1.0;
  }

  NeighbourBound bound() {
    NeighbourBound result{.ops = {}, .time = {0.0}};
    Table<OpId, Ticks> behind(below_.size(), 0);  // what all that hangs on an op takes in any case
    Ticks sum = 0;
    for (OpId op = below_.end_id(); op-- > OpId{0};) {
      if (!wiring_.hangs(op)) {
        continue;
      }
      result.ops.push_back(op);
      const Hanging& all = hanging(op);
      const Ticks least = behind[op] + all.least;
      const OpId above = wiring_.maker(op);
      if (above != OpId::none) {
        below_[above].push_back(all.kind);
        behind[above] += least;
      } else {
        sum += least;
      }
    }
    result.time.value = static_cast<double>(sum) / ticks_;
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
    std::size_t kind;
    Ticks least;
  };

  [[nodiscard]] Type type_of(OpId op) const {
    return {.front = problem_.front_of()[op], .extra = extra_.of[op]};
  }

  [[nodiscard]] Ticks ticks(double seconds) const {
    const double exact = seconds * ticks_;
    const auto whole = static_cast<Ticks>(exact);
    return static_cast<double>(whole) > exact ? whole - 1 : whole;
  }

  const Hanging& hanging(OpId op) {
    const Type type = type_of(op);
    std::vector<std::size_t> below = below_[op];
    std::sort(below.begin(), below.end());
    const auto [place, fresh] = known_.emplace(std::pair(type, below), Hanging{});
    if (fresh) {
      place->second = make(type, below);
    }
    return place->second;
  }

  /// What each cut of a front takes with all that hangs on it.
  Table<CutId, Ticks> cut_times(const Type& type, const std::vector<std::size_t>& below) {
    const std::int32_t front = type.front;
    const Results& result = results_[subscript(front)];
    std::vector<Ticks> after(result.shapes.size(), 0);
    for (const std::size_t kind : below) {
      const std::vector<Ticks>& one = behind(front, kind);
      for (std::size_t shape = 0; shape < after.size(); ++shape) {
        after[shape] += one[shape];
      }
    }
    Table<CutId, Ticks> times;
    times.reserve(result.of.size());
    for (const CutId cut : result.of.ids()) {
      times.push_back(ticks(own_time(type, cut)) + after[result.of[cut]]);
    }
    return times;
  }

  [[nodiscard]] double own_time(const Type& type, CutId cut) const {
    const CutShortlist& known = listed_[subscript(type.front)];
    const double most = cut + 1 == known.cuts.end_id() ? known.most : kInfinite;
    const cost::LayoutCut& one = *known.cuts[cut];
    const bool executes = wiring_.summed() == NeighbourSum::Executes;
    return extra_.shapes[type.extra].of_cut(
        std::min(most, executes ? one.execute.value : one.ports.value));
  }

  Hanging make(const Type& type, const std::vector<std::size_t>& below) {
    const Readings& need = readings_[subscript(type.front)];
    std::vector<Ticks> times(need.shapes.size(), kEver);
    const Table<CutId, Ticks> of_cuts = cut_times(type, below);
    for (const CutId cut : of_cuts.ids()) {
      Ticks& time = times[need.of[cut]];
      time = std::min(time, of_cuts[cut]);
    }
    const Ticks least = *std::min_element(times.begin(), times.end());
    for (Ticks& time : times) {
      time -= least;
    }
    return {.kind = number(type, std::move(times)), .least = least};
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
    const double still = known_of(problem_.fronts()[subscript(kind.type.front)]).exchange.value;
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
  double ticks_;                         // a second
  ShapeClasses<OpId, ExtraTime> extra_;  // of each op
  std::vector<CutShortlist> listed_;     // of each front
  std::vector<Results> results_;
  std::vector<Readings> readings_;
  Table<OpId, std::vector<std::size_t>> below_;  // of each op, the kinds that hang on it
  std::vector<Subtree> kinds_;
  std::map<std::pair<Type, std::vector<Ticks>>, std::size_t> numbers_;
  std::map<std::pair<Type, std::vector<std::size_t>>, Hanging> known_;
  std::map<std::pair<std::int32_t, std::size_t>, std::vector<Ticks>> behind_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::vector<std::size_t>>> agreeing_;
};

}  // namespace

NeighbourBound neighbour_bound(const Problem& problem, NeighbourSum summed,
                               std::span<const ExtraTime> extra) {
  const NeighbourForest wiring(problem, summed, extra);
  if (problem.known() == nullptr) {
    return NeighbourTrees(wiring).bound();
  }
  KnownNeighbours& kept = problem.known()->neighbours;
  NeighbourKey key = wiring.key();
  if (const auto known = kept.find(key)) {
    return *known;
  }
  NeighbourBound fresh = NeighbourTrees(wiring).bound();
  kept.put(std::move(key), fresh, std::size_t{1} << 20U);
  return fresh;
}

}  // namespace elk::schedule
