#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/chip/chip.hpp"

namespace elk::cost {

/// Bytes over every directed link, and through every port of a full line, of chips whose cores lie
/// in lines; each chip has its own.
///
/// Dimension order: the tree from a core to others runs along the first dimension as far as the
/// outermost of their places, from each place there that leads on along the second, and so forth.
/// So a tree is a run of links on each line that it uses, and a run adds to the first difference of
/// the loads of its line in two places: the loads are the prefix sums. On a circle the shorter way
/// round, onwards if both are equally long. On a full line the tree leaves through one port and
/// comes in through that of every place that it leads to.
class LinkLoads {
 public:
  explicit LinkLoads(const chip::Chip& chip);
  LinkLoads(const chip::Network& network, std::int64_t chips);

  /// One tree that carries `bytes` from a core to all of `to` on its chip.
  void add(std::int32_t from, std::span<const std::int32_t> to, chip::DimOrder turn,
           std::int64_t bytes);

  /// Of each link, in the order of `chip::Hop`; of each of these dimension by dimension, chip by
  /// chip and line by line.
  [[nodiscard]] std::vector<std::int64_t> loads() const;
  [[nodiscard]] std::int64_t busiest() const;
  /// Links of the longest way so far.
  [[nodiscard]] std::int64_t hops() const { return hops_; }

 private:
  /// Steps from a place on a line, forwards and backwards.
  struct LineReach {
    std::int64_t ahead = 0;
    std::int64_t back = 0;

    void extend(std::int64_t steps);
  };

  /// All lines of one dimension; line by line the first differences, one more than there are links.
  struct LineDeltas {
    std::int64_t count;  // of one chip
    std::int64_t length;
    chip::PerDim across;  // from a line to the next one along each dimension, in numbers
    std::array<std::vector<std::int64_t>, 2> change;  // forwards, backwards
  };

  /// Where a core of a chip lies, and the line along each dimension that it lies on.
  struct CorePlace {
    chip::PerDim place;
    chip::PerDim line;
  };
  /// A line that the tree at hand takes: the number of the place where it comes to it, and a core
  /// that lies on beyond.
  struct TreeLine {
    std::size_t place;
    const CorePlace* beyond;
  };
  /// What the tree at hand does along the dimension that it takes as such a number: by places along
  /// the dimensions before. Of `taken` the first `count` are.
  struct TreeLevel {
    std::vector<LineReach> reach;
    std::vector<char> reached;
    std::vector<TreeLine> taken;
    std::size_t count = 0;

    void make_room(std::size_t places);
    /// Whether the tree had not come there yet.
    bool take(std::size_t place, const CorePlace& beyond) {
      if (reached[place] != 0) {
        return false;
      }
      reached[place] = 1;
      taken[count++] = {.place = place, .beyond = &beyond};
      return true;
    }
  };

  /// Where a tree begins, and one of its ends.
  struct TreeEnds {
    const CorePlace* from;
    const CorePlace* to;
  };

  template <std::size_t Dims, bool Ports>
  void add_tree(std::int32_t from, std::span<const std::int32_t> to, chip::DimSequence order,
                std::int64_t bytes);
  void lay_cores();
  void lay_lines(std::size_t dim);
  template <std::size_t Dims, bool Ports>
  std::int64_t reach_core(const TreeEnds& ends, const chip::Network& network,
                          chip::DimSequence order, LineReach& along);
  void add_ports(const CorePlace& from, std::int64_t chip, std::size_t level,
                 chip::DimSequence order, std::int64_t bytes);
  void reach_port(std::size_t level, std::size_t place, const TreeEnds& ends,
                  chip::DimSequence order, LineReach& reach);
  template <std::size_t Dims, bool Ports>
  void add_level(std::size_t level, const CorePlace& from, std::int64_t chip,
                 chip::DimSequence order, std::int64_t bytes);
  [[nodiscard]] std::int64_t line_at(const CorePlace& from, const CorePlace& beyond,
                                     std::size_t level, chip::DimSequence order) const;
  static void add_runs(LineDeltas& lines, std::int64_t line, std::int64_t place,
                       const LineReach& reach, std::int64_t bytes);

  chip::Network network_;
  bool has_ports_;  // whether a dimension is full
  std::int64_t chips_;
  std::vector<LineDeltas> lines_;                     // of each dimension
  std::vector<CorePlace> cores_;                      // of a chip
  std::array<TreeLevel, chip::kMostDims + 1> level_;  // the cores to which ports lead, too
  std::int64_t hops_ = 0;
};

}  // namespace elk::cost
