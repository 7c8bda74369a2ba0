#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "elk/cost/standing.hpp"

namespace elk::schedule {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// What tells cuts of a front apart on one side: how their results lie, or what they need.
template <class Shape>
struct Side {
  std::vector<Shape> shapes;
  std::vector<std::size_t> of;  // each cut
};

/// What cuts read, and by how much `whole` and `turned` exceed `execute` in all that read it.
struct Reading {
  std::vector<std::int64_t> read;
  bool moves;
  double whole = kInfinite;
  cost::TimeOfSteps turned = cost::kNotTurned;
};

/// Cuts come by what they read.
[[nodiscard]] Side<Reading> readings(const std::vector<cost::StandingCut>& cuts);

/// How the results of cuts lie, in order.
[[nodiscard]] Side<std::vector<std::int64_t>> results(const std::vector<cost::StandingCut>& cuts);

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
[[nodiscard]] bool may_agree(std::span<const std::int64_t> shape,
                             std::span<const std::int64_t> read);

/// What cores need of a tensor of which any needs `read` and holds `shape` at most; none where
/// there is a dimension of which nothing is told.
[[nodiscard]] std::optional<Piece> piece_of(std::span<const std::int64_t> shape,
                                            std::span<const std::int64_t> read);

/// Runs in which what a core lacks arrives at least, and one of any exchange, if it fetches no less
/// than one of `steps` parts before the first step.
[[nodiscard]] double fragments(const Piece& piece, double steps);

/// Seconds that the fragments of a piece add at least to an execute that has an exchange anyway,
/// with what it takes longer in fewer steps, or more, but for `free` of that.
[[nodiscard]] double fragmented(const Piece& piece, const Reading& need, double fragment,
                                double free);

}  // namespace elk::schedule
