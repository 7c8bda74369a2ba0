#include <array>

#include "elk/chip/network.hpp"

/// What every topology is. A new one is a function that lays its lines, and a line of the registry.
namespace elk::chip {
namespace {

Network all_to_all(const Nodes& nodes) { return Network::of_ports(nodes.count); }

Network mesh2d(const Nodes& nodes) {
  return Network::of_lines(
      {{.length = nodes.rows, .joint = Joint::Open}, {.length = nodes.cols, .joint = Joint::Open}});
}

Network torus2d(const Nodes& nodes) {
  return Network::of_lines({{.length = nodes.rows, .joint = Joint::Circle},
                            {.length = nodes.cols, .joint = Joint::Circle}});
}

/// One row that is a circle.
Network ring(const Nodes& nodes) {
  return Network::of_lines(
      {{.length = 1, .joint = Joint::None}, {.length = nodes.count, .joint = Joint::Circle}});
}

/// Layers of a mesh, each core joined to those above and below. One layer is a mesh.
Network mesh3d(const Nodes& nodes) {
  if (nodes.depth == 1) {
    return mesh2d(nodes);
  }
  return Network::of_lines({{.length = nodes.rows, .joint = Joint::Open},
                            {.length = nodes.cols, .joint = Joint::Open},
                            {.length = nodes.depth, .joint = Joint::Open}});
}

/// Groups in rows and columns. Within a group every core reaches every other through ports, and
/// cores at one place of neighbouring groups are joined by links. One group has ports alone, and
/// groups of one core are a mesh.
Network groups(const Nodes& nodes) {
  if (nodes.rows * nodes.cols == 1) {
    return all_to_all(nodes);
  }
  if (nodes.depth == 1) {
    return mesh2d(nodes);
  }
  return Network::of_lines({{.length = nodes.rows, .joint = Joint::Open},
                            {.length = nodes.cols, .joint = Joint::Open},
                            {.length = nodes.depth, .joint = Joint::Full}});
}

constexpr std::array kTopologies = {
    TopologyEntry{.topology = Topology::AllToAll,
                  .name = "all_to_all",
                  .grid = "",
                  .depth = Depth::None,
                  .joins_chips = true,
                  .network = all_to_all},
    TopologyEntry{.topology = Topology::Mesh2d,
                  .name = "mesh2d",
                  .grid = "[rows, cols], both at least 1, on a mesh or torus",
                  .depth = Depth::None,
                  .joins_chips = true,
                  .network = mesh2d},
    TopologyEntry{.topology = Topology::Torus2d,
                  .name = "torus2d",
                  .grid = "[rows, cols], both at least 1, on a mesh or torus",
                  .depth = Depth::None,
                  .joins_chips = false,
                  .network = torus2d},
    TopologyEntry{.topology = Topology::Ring,
                  .name = "ring",
                  .grid = "",
                  .depth = Depth::None,
                  .joins_chips = true,
                  .network = ring},
    TopologyEntry{.topology = Topology::Mesh3d,
                  .name = "mesh3d",
                  .grid = "[rows, cols, layers], each at least 1, on a mesh3d",
                  .depth = Depth::Layers,
                  .joins_chips = false,
                  .network = mesh3d},
    TopologyEntry{
        .topology = Topology::Groups,
        .name = "groups",
        .grid = "[rows, cols] of groups, both at least 1, beside interconnect.group_cores",
        .depth = Depth::Groups,
        .joins_chips = false,
        .network = groups},
};

}  // namespace

std::span<const TopologyEntry> topologies() { return kTopologies; }

}  // namespace elk::chip
