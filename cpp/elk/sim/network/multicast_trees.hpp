#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/chip/network.hpp"
#include "elk/sim/network/machine_network.hpp"

namespace elk::sim {

/// Counts what trees of ways over the lines of chips carry: each link of a tree once, however many
/// of its ways pass it, and of a full line the port out once and the port in of each place.
///
/// A tree is a run of links each way from its core along the line that ways take first, one from
/// each place there along the next line that a receiver is on, and so forth. A run changes the load
/// from one link of its line to the next in two places, so that adding a tree costs as much as it
/// has lines, and links get their loads when all are known.
class MulticastTrees {
 public:
  explicit MulticastTrees(const MachineNetwork& network);

  /// Trees from now on lead to `to`, cores of one chip. Keeps the span.
  void aim(std::span<const std::int32_t> to);

  /// A tree that carries `bytes` from a core of that chip. Returns how many links it has.
  std::int64_t add(CoreId from, chip::DimOrder turn, std::int64_t bytes);

  /// Hops of the longest way of all trees.
  [[nodiscard]] std::int64_t longest() const { return longest_; }

  /// Adds what every link carries to its `amount`, and forgets all trees.
  void settle(std::vector<std::int64_t>& amount);

 private:
  /// Links that a tree takes from one place of a line.
  struct LinkReach {
    std::int64_t ahead = 0;
    std::int64_t back = 0;

    void extend(std::int64_t steps);
    [[nodiscard]] std::int64_t most() const { return ahead > back ? ahead : back; }
  };

  /// A line that leads to receivers, or at last a receiver: the places along the dimensions that
  /// ways take before, and of a line the first and the last along its own.
  struct ReceiverLine {
    chip::PerDim at;
    std::int64_t begin;
    std::int64_t last;
  };

  /// The lines of one dimension that lead to receivers.
  struct ReceiverLevel {
    std::vector<std::int32_t> known;  // where in `aimed`, -1: nowhere; by the number of the places
    std::vector<ReceiverLine> aimed;
    std::vector<LinkReach> runs;  // of each, of the tree at hand that may go around

    void look(std::size_t number, const chip::PerDim& at, std::int64_t here);
  };
  /// Of ways that turn alike: of every dimension in their order, and of the receivers.
  struct ReceiverTree {
    bool known = false;
    std::array<ReceiverLevel, chip::kMostDims + 1> level;
  };

  /// All lines along one dimension, chip by chip. Places lie in the order of nodes, so that what a
  /// tree touches on lines next to each other lies together; every line has one place more.
  struct LineLoads {
    std::int64_t length;  // places of one
    chip::PerDim stride;  // in `change`, from one place to the next along each dimension
    std::int64_t size;    // places of one chip
    std::array<std::vector<std::int64_t>, 2> change;   // of load at each place, forwards, backwards
    std::array<std::vector<std::int64_t>, 2> carried;  // of each line of a chip, while settling
    chip::PerDim across;  // in `carried`, from one line to the next along each other dimension
  };

  [[nodiscard]] const chip::PerDim& place(std::int32_t core) const {
    return places_[subscript(core - first_)];
  }
  [[nodiscard]] ReceiverTree& aim_of(chip::DimOrder turn);
  void lay_lines(std::size_t dim);
  void look(chip::DimSequence order, ReceiverTree& aim) const;
  [[nodiscard]] std::size_t number_of(const chip::PerDim& at, chip::DimSequence dims) const;
  std::int64_t add_straight(const chip::PerDim& from, chip::DimSequence order, ReceiverTree& aim,
                            std::int64_t bytes);
  std::int64_t add_around(const chip::PerDim& from, chip::DimSequence order, ReceiverTree& aim,
                          std::int64_t bytes);
  void reach(const chip::PerDim& from, chip::DimSequence order, ReceiverTree& aim);
  std::int64_t add_ports(const chip::PerDim& from, chip::DimSequence order, std::size_t level,
                         ReceiverTree& aim, std::int64_t bytes);
  std::int64_t add_runs(std::size_t dim, const chip::PerDim& from, const LinkReach& runs,
                        std::int64_t bytes);
  void settle_links(std::int64_t chip, std::size_t dim, std::size_t way,
                    std::vector<std::int64_t>& amount);

  const MachineNetwork& network_;
  chip::Network cores_;   // of one chip
  bool straight_ = true;  // whether all lines have two ends
  std::vector<chip::PerDim> places_;
  std::vector<LineLoads> lines_;      // of each dimension
  std::array<ReceiverTree, 2> aims_;  // of each turn
  std::span<const std::int32_t> to_;
  std::int64_t chip_ = 0;   // aimed at
  std::int32_t first_ = 0;  // the first core of that chip
  std::vector<char> used_;  // of each chip, whether links of it carry anything
  std::int64_t longest_ = 0;
};

}  // namespace elk::sim
