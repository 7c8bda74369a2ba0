#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "elk/base/ids.hpp"

namespace elk::chip {

struct Chip;

/// How cores, or chips, are connected. `chip/topologies.cpp` says what each one is.
enum class Topology : std::uint8_t { AllToAll, Mesh2d, Torus2d, Ring, Mesh3d, Groups };

/// Dimensions that a network has at most.
inline constexpr std::size_t kMostDims = 3;

/// A number for each dimension, outermost first: a place, or the sides of a box. Dimensions that a
/// network does not have stand for a place of 0 and a side of 1.
using PerDim = std::array<std::int64_t, kMostDims>;

/// How the places of a line are joined.
enum class Joint : std::uint8_t {
  None,    // there is one place
  Open,    // each with the next, by a link in either direction
  Circle,  // each with the next, and the last with the first
  Full,    // each with every other, through one port out and one port in of each place
};

/// One dimension of a network.
struct Line {
  std::int64_t length;
  Joint joint;

  friend bool operator==(const Line&, const Line&) = default;
};

/// The dimension that a way takes first, of the outer two; a third comes last.
enum class DimOrder : std::uint8_t { RowFirst, ColumnFirst };

/// Dimensions in the order in which a way takes them.
using DimSequence = std::span<const std::uint8_t>;

/// One of the directed links beside a node, numbered from 0 to `Network::links`: of every
/// dimension, in the order of `DimOrder::RowFirst`, the link onwards and the link back that leave
/// the node, or of a full line the node's ports out and in.
struct Hop {
  std::int64_t node;
  std::int32_t link;

  friend bool operator==(const Hop&, const Hop&) = default;
};

/// How nodes are joined: the cores of a chip, the cores of a machine, or its chips.
///
/// Either every node sends through a port of its own and receives through another, whoever the
/// partner is (all-to-all); or nodes lie in a box of up to three dimensions, numbered with the
/// innermost dimension fastest, and those that differ in one place alone form a line, whose links
/// carry what passes them. What is sent goes along one dimension after the other.
class Network {
 public:
  [[nodiscard]] static Network of_ports(std::int64_t nodes);
  /// Outermost dimension first.
  [[nodiscard]] static Network of_lines(std::initializer_list<Line> lines);

  /// Whether what is sent passes links beside other nodes; if not, there are ports alone.
  [[nodiscard]] bool routed() const { return dims_ > 0; }
  [[nodiscard]] std::int64_t nodes() const { return nodes_; }
  [[nodiscard]] std::size_t dims() const { return dims_; }
  [[nodiscard]] const Line& line(std::size_t dim) const { return lines_[dim]; }
  [[nodiscard]] std::int64_t length(std::size_t dim) const { return lines_[dim].length; }
  [[nodiscard]] Joint joint(std::size_t dim) const { return lines_[dim].joint; }
  [[nodiscard]] bool full(std::size_t dim) const { return joint(dim) == Joint::Full; }
  /// Lines along a dimension.
  [[nodiscard]] std::int64_t lines_along(std::size_t dim) const { return nodes_ / length(dim); }
  /// From a node to the next one along a dimension, in numbers.
  [[nodiscard]] std::int64_t stride(std::size_t dim) const { return strides_[dim]; }
  [[nodiscard]] PerDim sides() const;

  /// The place of a node, and the node at a place.
  [[nodiscard]] PerDim place(std::int64_t node) const;
  [[nodiscard]] std::int64_t node(const PerDim& place) const;

  /// The dimensions in the order in which ways take them.
  [[nodiscard]] DimSequence order(DimOrder turn) const;
  /// Directed links, or ports, beside each node; those of a dimension are `first_link` and the
  /// next.
  [[nodiscard]] std::int64_t links() const { return 2 * static_cast<std::int64_t>(dims_); }
  [[nodiscard]] static std::int32_t first_link(std::size_t dim);

  /// Links from one place of a line to another by the shorter way, onwards if both are equally
  /// long; negative: back. Through ports there is no hop.
  [[nodiscard]] std::int64_t steps(std::size_t dim, std::int64_t from, std::int64_t to) const {
    const Line& line = lines_[dim];
    const std::int64_t ahead = to - from;
    if (line.joint == Joint::Circle) {
      const std::int64_t onwards = ahead < 0 ? ahead + line.length : ahead;
      return 2 * onwards <= line.length ? onwards : onwards - line.length;
    }
    return line.joint == Joint::Full ? 0 : ahead;
  }
  /// Links on the way from one node to another.
  [[nodiscard]] std::int64_t hops(std::int64_t from, std::int64_t to) const;
  /// Appends the links, and ports, on that way.
  void way(std::int64_t from, std::int64_t to, DimOrder turn, std::vector<Hop>& hops) const;
  /// Calls `visit` for each node that a link, or a port and a port, lead to from `node`.
  template <class Visit>
  void for_each_neighbour(std::int64_t node, const Visit& visit) const;

  /// Whether rows and columns end, or begin again, at sides along which modules can lie.
  [[nodiscard]] bool has_edges() const { return dims_ > 1 && joint(0) != Joint::None; }

  /// Links over which a node can receive at once, of those that have most.
  [[nodiscard]] std::int64_t receiving_links() const;
  /// Links, or ports in, of all nodes together.
  [[nodiscard]] std::int64_t all_links() const;
  /// Links, or ports, that lead across a straight cut each way: `before` places of every line along
  /// `dim` lie before it.
  [[nodiscard]] std::int64_t links_across(std::size_t dim, std::int64_t before) const;
  /// Links, or ports, that lead from one half of the nodes to the other where fewest do.
  [[nodiscard]] double halving_links() const;
  /// Links between two nodes drawn at random, about; 1 through ports.
  [[nodiscard]] double mean_hops() const;

  /// Whether `cores` neighbours along `factor` places of `dim` go once around: the last is then as
  /// near to the first as neighbours are.
  [[nodiscard]] bool goes_around(std::size_t dim, std::int64_t factor, std::int64_t cores) const;
  /// Links of the longest way.
  [[nodiscard]] std::int64_t longest() const;
  /// Links of the longest step of a tour through all nodes that ends where it began.
  [[nodiscard]] std::int64_t tour_step() const;
  /// Links that one message from every node to each other node passes, on average over all nodes;
  /// without links one a message.
  [[nodiscard]] std::int64_t passed() const;

  /// The dimension along which equal networks are laid one after the other to be one.
  [[nodiscard]] std::size_t stacked() const;
  /// As many of them. Links that would lead from one to the next are of no concern.
  [[nodiscard]] Network times(std::int64_t count) const;

  friend bool operator==(const Network&, const Network&) = default;

 private:
  explicit Network(std::int64_t nodes) : nodes_(nodes) {}

  /// Calls `visit` for each place of a line that is joined to `place`.
  template <class Visit>
  static void for_each_beside(const Line& line, std::int64_t place, const Visit& visit);

  std::array<Line, kMostDims> lines_ = {Line{1, Joint::None}, Line{1, Joint::None},
                                        Line{1, Joint::None}};
  PerDim strides_ = {1, 1, 1};
  std::size_t dims_ = 0;
  std::int64_t nodes_;
};

template <class Visit>
void Network::for_each_neighbour(std::int64_t node, const Visit& visit) const {
  const PerDim here = place(node);
  for (std::size_t dim = 0; dim < dims_; ++dim) {
    const std::int64_t first = node - (here[dim] * strides_[dim]);  // of the line
    for_each_beside(lines_[dim], here[dim],
                    [&](std::int64_t at) { visit(first + (at * strides_[dim])); });
  }
}

template <class Visit>
void Network::for_each_beside(const Line& line, std::int64_t place, const Visit& visit) {
  const std::int64_t size = line.length;
  if (line.joint == Joint::Full) {
    for (std::int64_t apart = 1; apart < size; ++apart) {
      visit((place + apart) % size);
    }
    return;
  }
  const bool around = line.joint == Joint::Circle && size > 2;
  if (place > 0 || around) {
    visit(place > 0 ? place - 1 : size - 1);
  }
  if (place + 1 < size || around) {
    visit(place + 1 < size ? place + 1 : 0);
  }
}

/// What a chip says of how its cores, or a machine of how its chips, are laid out.
struct Nodes {
  std::int64_t count;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t depth;  // nodes at each place of rows and columns
};

/// What lies at each place of rows and columns.
enum class Depth : std::uint8_t { None, Layers, Groups };

/// A topology: a line of `topologies`.
struct TopologyEntry {
  Topology topology;
  std::string_view name;  // in chip files
  std::string_view grid;  // what a chip file has to say in `core.grid`; empty: nothing, but a count
  Depth depth;
  bool joins_chips;  // whether chips of a machine may be joined so
  Network (*network)(const Nodes& nodes);
};
/// All topologies there are, in the order of their enumerators.
[[nodiscard]] std::span<const TopologyEntry> topologies();
[[nodiscard]] const TopologyEntry& kind_of(Topology topology);

/// Of the cores of one chip.
[[nodiscard]] Network network_of(const Chip& chip);
/// Of the cores of all chips, whose numbers follow each other chip by chip.
[[nodiscard]] Network network_of_machine(const Chip& chip);
/// Of chips; a grid of them is the most even one, no taller than wide.
[[nodiscard]] Network network_of_chips(Topology topology, std::int64_t chips);

/// Whether what cores of a chip send passes links beside others (`Network::routed`).
[[nodiscard]] bool routed(const Chip& chip);
/// Whether what chips of a machine send each other passes links beside others.
[[nodiscard]] bool routed_between(const Chip& chip);

}  // namespace elk::chip
