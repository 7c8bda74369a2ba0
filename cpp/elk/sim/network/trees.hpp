#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/sim/network/grid.hpp"
#include "elk/sim/network/network.hpp"

namespace elk::sim {

/// Counts what trees of ways over the grids of chips carry: each link of a tree once, however many
/// of its ways pass it.
///
/// A tree is a run of links each way from its core along the line that ways take first, and one
/// from there along every line across that a receiver is on. A run changes the load from one link
/// of its line to the next in two places, so that adding a tree costs as much as it has lines,
/// and links get their loads when all are known.
class Trees {
 public:
  explicit Trees(const Network& network);

  /// Trees from now on lead to `to`, cores of one chip. Keeps the span.
  void aim(std::span<const std::int32_t> to);

  /// A tree that carries `bytes` from a core of that chip. Returns how many links it has.
  std::int64_t add(CoreId from, Turn turn, std::int64_t bytes);

  /// Hops of the longest way of all trees.
  [[nodiscard]] std::int64_t longest() const { return longest_; }

  /// Adds what every link carries to its `amount`, and forgets all trees.
  void settle(std::vector<std::int64_t>& amount);

 private:
  /// Places of one line that are aimed at: the first and the last.
  struct Aimed {
    std::int32_t begin;
    std::int32_t last;
  };

  /// Links that a tree takes from one place of a line.
  struct Runs {
    std::int64_t ahead = 0;
    std::int64_t back = 0;

    void extend(std::int64_t steps);
    [[nodiscard]] std::int64_t most() const { return ahead > back ? ahead : back; }
  };

  /// All lines along one dimension, chip by chip. Places lie in the order of nodes, so that what a
  /// tree touches on lines next to each other lies together.
  struct Lines {
    std::int64_t count;   // of one chip
    std::int64_t length;  // places of one
    std::int64_t step;    // in `change`, from one place of a line to the next
    std::int64_t across;  // the same from one line to the next
    std::array<std::vector<std::int64_t>, 2> change;   // of load at each place, forwards, backwards
    std::array<std::vector<std::int64_t>, 2> carried;  // of each line of a chip, while settling
    std::vector<Aimed> aimed;                          // of each line of a chip
    std::vector<std::int32_t> crossing;  // the lines that are aimed at, once anybody asked

    /// Places of one chip, and one past the end of every line.
    [[nodiscard]] std::int64_t size() const { return count * (length + 1); }
  };

  /// A row and a column.
  using Place = std::array<std::int64_t, 2>;

  [[nodiscard]] Place place(std::int32_t core) const;
  const std::vector<std::int32_t>& crossing(std::size_t dim);
  std::int64_t add_around(const Place& from, std::size_t first, std::int64_t bytes);
  std::int64_t add_runs(Lines& lines, std::int64_t line, std::int64_t from, const Runs& runs,
                        std::int64_t bytes);
  void settle_links(std::int64_t chip, std::size_t dim, std::size_t way,
                    std::vector<std::int64_t>& amount);

  const Network& network_;
  Grid grid_;
  std::array<Lines, 2> lines_;  // rows, columns
  std::span<const std::int32_t> to_;
  std::int64_t chip_ = 0;   // that is aimed at
  std::vector<char> used_;  // of each chip, whether links of it carry anything
  std::vector<Runs> runs_;  // of each line across, of a tree that may go around
  std::int64_t longest_ = 0;
};

}  // namespace elk::sim
