#include "elk/schedule/standing_bound.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "elk/base/ids.hpp"

namespace elk::schedule {
namespace {

/// Times are rounded down to whole ticks, so that sums do not depend on where they begin.
using Ticks = std::int64_t;
constexpr double kTicks = 1e18;  // in what all ops could take at most

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;  // of products of ratios, below which they count as whole

/// What tells cuts of a front apart on one side: how their results lie, or what they need.
template <class Shape>
struct Side {
  std::vector<Shape> shapes;
  std::vector<std::size_t> of;  // each cut
};

using Results = Side<std::vector<std::int64_t>>;

Results results(const std::vector<cost::StandingCut>& cuts) {
  std::vector<std::size_t> order(cuts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return cuts[a].written < cuts[b].written; });
  Results found{.shapes = {}, .of = std::vector<std::size_t>(cuts.size())};
  for (const std::size_t cut : order) {
    if (found.shapes.empty() || found.shapes.back() != cuts[cut].written) {
      found.shapes.push_back(cuts[cut].written);
    }
    found.of[cut] = found.shapes.size() - 1;
  }
  return found;
}

/// Seconds of an op and its exchange at most.
double longest(const cost::Standing& standing, double cores) {
  double most = 0.0;
  for (const cost::StandingCut& cut : standing.cuts) {
    most = std::max({most, cut.execute.value, cut.ports.value});
  }
  return most + standing.exchange.value +
         (static_cast<double>(standing.elements) *
          ((cores * standing.element_time) + standing.fragment.value));
}

/// What cuts read, and by how much `whole` and `turned` exceed `execute` in all that read it.
struct Reading {
  std::vector<std::int64_t> read;
  bool moves;
  double whole = kInfinite;
  cost::TimeOfSteps turned = cost::kNotTurned;
};

using Readings = Side<Reading>;

/// What a cut reads, next to what others do that read as much.
std::size_t reading_of(const cost::StandingCut& cut, std::vector<Reading>& readings) {
  for (std::size_t at = readings.size(); at > 0 && readings[at - 1].read == cut.read; --at) {
    if (readings[at - 1].moves == cut.moves) {
      return at - 1;
    }
  }
  readings.push_back({.read = cut.read, .moves = cut.moves});
  return readings.size() - 1;
}

/// Cuts come by what they read.
Readings readings(const std::vector<cost::StandingCut>& cuts) {
  Readings found;
  for (const cost::StandingCut& cut : cuts) {
    found.of.push_back(reading_of(cut, found.shapes));
    Reading& need = found.shapes[found.of.back()];
    need.whole = std::min(need.whole, cut.whole.value - cut.execute.value);
    for (std::size_t steps = 0; steps < need.turned.size(); ++steps) {
      need.turned[steps] = std::min(need.turned[steps], cut.turned[steps] - cut.execute.value);
    }
  }
  return found;
}

/// What the core needs that needs most of a tensor, and what it may find, in elements. A dimension
/// of which it is not told how much is needed counts once.
struct Piece {
  bool alike = true;  // the most that a core needs is the most that a core holds
  double needed = 1.0;
  double found = 1.0;        // with itself or with any other, at most
  double held = 1.0;         // of what it needs, by any core at most
  double run = 1.0;          // at most, of what arrives together
  double steps = kInfinite;  // of the execute, from which on runs may be longer
};

/// Whether cores may hold just what they need, or nothing is told that says otherwise.
bool may_agree(std::span<const std::int64_t> shape, std::span<const std::int64_t> read) {
  if (shape.empty() || shape.size() != read.size()) {
    return true;
  }
  bool told = true;
  bool alike = true;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    told = told && (shape[dim] != 0 || read[dim] != 0);
    alike = alike && (shape[dim] == read[dim] || shape[dim] == 0 || read[dim] == 0);
  }
  return alike || !told;
}

/// Adds a dimension further out, of which any core holds `held` and needs `needed` at most.
void add_dim(std::int64_t held, std::int64_t needed, Piece& piece) {
  const auto [less, more] = std::minmax(held, needed);
  const auto found = static_cast<double>(less == 0 ? more : less);
  piece.alike = piece.alike && (less == more || less == 0);
  piece.held *= found;
  if (needed == 0) {
    return;
  }
  piece.needed *= static_cast<double>(needed);
  piece.found *= found;
  if (!std::isinf(piece.steps)) {
    return;  // Runs end further in, with the pieces of the senders.
  }
  piece.run *= found;
  if (held > 0 && 2 * held < needed) {
    piece.steps = static_cast<double>(needed) / (2.0 * found);
  }
}

/// What cores need of a tensor of which any needs `read` and holds `shape` at most; none where
/// there is a dimension of which nothing is told.
std::optional<Piece> piece_of(std::span<const std::int64_t> shape,
                              std::span<const std::int64_t> read) {
  if (shape.empty() || shape.size() != read.size()) {
    return {};
  }
  Piece piece;
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    if (shape[dim] == 0 && read[dim] == 0) {
      return {};
    }
    add_dim(shape[dim], read[dim], piece);
  }
  return piece;
}

/// Runs in which what a core lacks arrives at least, and one of any exchange, if it fetches no less
/// than one of `steps` parts before the first step.
double fragments(const Piece& piece, double steps) {
  const double fetched = (piece.needed / steps) - piece.found;
  const double run = steps < piece.steps ? piece.run : piece.found;
  return std::max(1.0, std::ceil((fetched / run) - kRounding));
}

/// Seconds that the fragments of a piece add at least to an execute that has an exchange anyway.
double fragmented(const Piece& piece, const Reading& need, double fragment) {
  double least = need.whole + ((fragments(piece, 1.0) - 1.0) * fragment);
  for (std::size_t at = 0; at < need.turned.size() && need.turned[at] < least; ++at) {
    const double most =
        at + 1 < need.turned.size() ? static_cast<double>(cost::kStepsTold[at + 1] - 1) : kInfinite;
    least = std::min(least, need.turned[at] + ((fragments(piece, most) - 1.0) * fragment));
  }
  return least;
}

class Trees {
 public:
  Trees(const Problem& problem, Standings standings, std::span<const std::int32_t> without)
      : problem_(problem),
        standings_(standings),
        cores_(static_cast<double>(chip::total_cores(problem.chip()))),
        below_(problem.front_of().size()),
        without_(problem.front_of().size(), false) {
    for (const std::int32_t op : without) {
      without_[subscript(op)] = true;
    }
    for (const cost::Front& front : problem.fronts()) {
      const std::vector<cost::StandingCut>& cuts = front.floor.standing.cuts;
      results_.push_back(results(cuts));
      readings_.push_back(readings(cuts));
    }
    double most = 0.0;
    for (const std::int32_t front : problem.front_of()) {
      most += longest(problem.fronts()[subscript(front)].floor.standing, cores_);
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
    std::vector<Ticks> more;           // than at least, for each reading of its front
    std::vector<std::size_t> by_time;  // of these
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
    return !without_[subscript(op)] && standing(op).operand >= 0 &&
           (small || standings_ == Standings::Executes);
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
    const Results& result = results_[subscript(front)];
    const Readings& need = readings_[subscript(front)];
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
    const std::vector<Reading>& readings = readings_[subscript(kind.front)].shapes;
    const Ticks exchange = ticks(own.exchange.value);
    Ticks best = std::numeric_limits<Ticks>::max();
    for (const std::size_t place : kind.by_time) {
      const Ticks more = kind.more[place];
      if (more >= best) {
        break;
      }
      const Reading& need = readings[place];
      if (need.moves || more < best - exchange || may_agree(shape, need.read)) {
        best = std::min(best, more + ticks(moving(shape, need, own)));
      }
    }
    return best;
  }

  /// d(c, c') for cuts c' of `own` that need `need` behind a result that rests in `shape`.
  [[nodiscard]] double moving(std::span<const std::int64_t> shape, const Reading& need,
                              const cost::Standing& own) const {
    const std::optional<Piece> piece = piece_of(shape, need.read);
    if (!piece) {
      return 0.0;
    }
    const bool executes = standings_ == Standings::Executes;
    const double missed = static_cast<double>(own.elements) - (cores_ * piece->held);
    double data = std::max(0.0, missed) * own.element_time;  // on average over all ports
    if (piece->alike) {
      return data;
    }
    if (need.moves) {
      return data + (executes ? fragmented(*piece, need, own.fragment.value) : 0.0);
    }
    if (executes) {
      data = std::max(data, (piece->needed - piece->found) * cores_ * own.element_time);
    }
    return data + own.exchange.value + ((fragments(*piece, 1.0) - 1.0) * own.fragment.value);
  }

  const Problem& problem_;
  Standings standings_;
  double cores_;
  double ticks_;                  // a second
  std::vector<Results> results_;  // of each front
  std::vector<Readings> readings_;
  std::vector<std::vector<std::size_t>> below_;  // of each op, the kinds that hang on it
  std::vector<bool> without_;                    // of each op, whether it is left out
  std::vector<Kind> kinds_;
  std::map<std::pair<std::int32_t, std::vector<Ticks>>, std::size_t> numbers_;
  std::map<std::pair<std::int32_t, std::vector<std::size_t>>, Hanging> known_;
  std::map<std::pair<std::int32_t, std::size_t>, std::vector<Ticks>> behind_;
};

}  // namespace

StandingBound standing_bound(const Problem& problem, Standings standings,
                             std::span<const std::int32_t> without) {
  return Trees(problem, standings, without).bound();
}

}  // namespace elk::schedule
