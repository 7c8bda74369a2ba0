#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/floor/layout_floor.hpp"
#include "elk/schedule/problem/neighbour_sums.hpp"

namespace elk::schedule {

using CutId = Id<struct CutKind>;  // a cut of those that an op lists

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// What tells cuts of a front apart on one side: how their results lie, or what they need; or what
/// tells ops apart.
template <class IdType, class Shape>
struct ShapeClasses {
  std::vector<Shape> shapes;
  Table<IdType, std::size_t> of;  // each cut, or op
};

/// What cuts read, and by how much `whole` and `turned` exceed `execute` in all that read it.
struct Reading {
  std::vector<std::int64_t> read;
  bool moves;
  double whole = kInfinite;
  cost::TimeOfSteps turned = cost::kNotTurned;
};

/// What counts of each op's times: all of them where none is given.
[[nodiscard]] ShapeClasses<OpId, ExtraTime> distinct(std::span<const ExtraTime> extra,
                                                     std::size_t ops);

/// The cuts of an op that may be the best beside its neighbours.
struct CutShortlist {
  Table<CutId, const cost::LayoutCut*> cuts;
  double most;  // seconds of those that the last stands for, at least
};

/// `times`: of all cuts; what takes longer than the fastest by more than it takes to fetch what an
/// op reads and what it makes, and by more than `free` that does not count, is left out.
[[nodiscard]] CutShortlist listed(const cost::LayoutFloor& layout_floor,
                                  std::span<const double> times, double free);

/// Cuts come by what they read.
[[nodiscard]] ShapeClasses<CutId, Reading> readings(
    TableView<CutId, const cost::LayoutCut* const> cuts);

/// How the results of cuts lie, in order.
[[nodiscard]] ShapeClasses<CutId, std::vector<std::int64_t>> results(
    TableView<CutId, const cost::LayoutCut* const> cuts);

/// What the core needs that needs most of a tensor, and what it may find, in elements. A dimension
/// of which it is not told how much is needed counts once.
struct PieceNeed {
  bool alike = true;  // the most that a core needs is the most that a core holds
  double needed = 1.0;
  double found = 1.0;        // with itself or with any other, at most
  double held = 1.0;         // of what it needs, by any core at most
  double run = 1.0;          // at most, of what arrives together
  double steps = kInfinite;  // of the execute, from which on runs may be longer
};

/// Whether cores may hold just what they need, or nothing is told that says otherwise.
[[nodiscard]] bool may_agree(std::span<const std::int64_t> shape,
                             std::span<const std::int64_t> read);

/// Of readings that need no exchange of their own, those that may agree with a shape.
class ReadingIndex {
 public:
  explicit ReadingIndex(std::span<const Reading> readings);

  /// Calls `visit` with the number of each.
  template <class Visit>
  void each(std::span<const std::int64_t> shape, const Visit& visit) const {
    if (const auto known = told_.find({shape.begin(), shape.end()}); known != told_.end()) {
      std::for_each(known->second.begin(), known->second.end(), visit);
    }
    const bool told = std::find(shape.begin(), shape.end(), 0) == shape.end();
    for (const std::size_t number : told ? untold_ : all_) {
      if (may_agree(shape, readings_[number].read)) {
        visit(number);
      }
    }
  }

 private:
  std::span<const Reading> readings_;
  std::map<std::vector<std::int64_t>, std::vector<std::size_t>> told_;  // by what they need
  std::vector<std::size_t> untold_;  // of whose dimensions some are not told
  std::vector<std::size_t> all_;
};

/// For each shape the readings that may agree with it and need no exchange of their own.
[[nodiscard]] std::vector<std::vector<std::size_t>> agreeing(
    std::span<const std::vector<std::int64_t>> shapes, std::span<const Reading> readings);

/// What cores need of a tensor of which any needs `read` and holds `shape` at most; none where
/// there is a dimension of which nothing is told.
[[nodiscard]] std::optional<PieceNeed> piece_of(std::span<const std::int64_t> shape,
                                                std::span<const std::int64_t> read);

/// Runs in which what a core lacks arrives at least, and one of any exchange, if it fetches no less
/// than one of `steps` parts before the first step.
[[nodiscard]] double fragments(const PieceNeed& piece, double steps);

/// Seconds that the fragments of a piece add at least to an execute that has an exchange anyway,
/// with what it takes longer in fewer steps, or more, but for `free` of that.
[[nodiscard]] double fragmented(const PieceNeed& piece, const Reading& need, double fragment,
                                double free);

}  // namespace elk::schedule
