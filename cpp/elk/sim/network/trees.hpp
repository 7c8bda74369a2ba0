#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/chip/network.hpp"
#include "elk/sim/network/network.hpp"

namespace elk::sim {

/// Counts what trees of ways over the lines of chips carry: each link of a tree once, however many
/// of its ways pass it, and of a full line the port out once and the port in of each place.
///
/// A tree is a run of links each way from its core along the line that ways take first, one from
/// each place there along the next line that a receiver is on, and so forth. A run changes the load
/// from one link of its line to the next in two places, so that adding a tree costs as much as it
/// has lines, and links get their loads when all are known.
class Trees {
 public:
  explicit Trees(const Network& network);

  /// Trees from now on lead to `to`, cores of one chip. Keeps the span.
  void aim(std::span<const CoreId> to);

  /// A tree that carries `bytes` from a core of that chip. Returns how many links it has.
  std::int64_t add(CoreId from, chip::Turn turn, std::int64_t bytes);

  /// Hops of the longest way of all trees.
  [[nodiscard]] std::int64_t longest() const { return longest_; }

  /// Adds what every link carries to its `amount`, and forgets all trees.
  void settle(std::vector<std::int64_t>& amount);

 private:
  /// Links that a tree takes from one place of a line.
  struct Runs {
    std::int64_t ahead = 0;
    std::int64_t back = 0;

    void extend(std::int64_t steps);
    [[nodiscard]] std::int64_t most() const { return ahead > back ? ahead : back; }
  };

  /// A line that leads to receivers, or at last a receiver: the places along the dimensions that
  /// ways take before, and of a line the first and the last along its own.
  struct Aimed {
    chip::Places at;
    std::int64_t begin;
    std::int64_t last;
  };

  /// The lines of one dimension that lead to receivers.
  struct Level {
    std::vector<std::int32_t> known;  // where in `aimed`, -1: nowhere; by the number of the places
    std::vector<Aimed> aimed;
    std::vector<Runs> runs;  // of each, of the tree at hand that may go around

    void look(std::size_t number, const chip::Places& at, std::int64_t here);
  };
  /// Of ways that turn alike: of every dimension in their order, and of the receivers.
  struct Aim {
    bool known = false;
    std::array<Level, chip::kMostDims + 1> level;
  };

  /// All lines along one dimension, chip by chip. Places lie in the order of nodes, so that what a
  /// tree touches on lines next to each other lies together; every line has one place more.
  struct Lines {
    std::int64_t length;  // places of one
    chip::Places stride;  // in `change`, from one place to the next along each dimension
    std::int64_t size;    // places of one chip
    std::array<std::vector<std::int64_t>, 2> change;   // of load at each place, forwards, backwards
    std::array<std::vector<std::int64_t>, 2> carried;  // of each line of a chip, while settling
    chip::Places across;  // in `carried`, from one line to the next along each other dimension
  };

  using Order = std::span<const std::uint8_t>;

  [[nodiscard]] const chip::Places& place(CoreId core) const {
    return places_[subscript(core.value - first_)];
  }
  [[nodiscard]] Aim& aim_of(chip::Turn turn);
  void lay_lines(std::size_t dim);
  void look(Order order, Aim& aim) const;
  [[nodiscard]] std::size_t number_of(const chip::Places& at, Order dims) const;
  std::int64_t add_straight(const chip::Places& from, Order order, Aim& aim, std::int64_t bytes);
  std::int64_t add_around(const chip::Places& from, Order order, Aim& aim, std::int64_t bytes);
  void reach(const chip::Places& from, Order order, Aim& aim);
  std::int64_t add_ports(const chip::Places& from, Order order, std::size_t level, Aim& aim,
                         std::int64_t bytes);
  std::int64_t add_runs(std::size_t dim, const chip::Places& from, const Runs& runs,
                        std::int64_t bytes);
  void settle_links(std::int64_t chip, std::size_t dim, std::size_t way,
                    std::vector<std::int64_t>& amount);

  const Network& network_;
  chip::Network cores_;   // of one chip
  bool straight_ = true;  // whether all lines have two ends
  std::vector<chip::Places> places_;
  std::vector<Lines> lines_;  // of each dimension
  std::array<Aim, 2> aims_;   // of each turn
  std::span<const CoreId> to_;
  std::int64_t chip_ = 0;   // that is aimed at
  std::int32_t first_ = 0;  // its first core
  std::vector<char> used_;  // of each chip, whether links of it carry anything
  std::int64_t longest_ = 0;
};

}  // namespace elk::sim
