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

constexpr std::array kTopologies = {
    Kind{.topology = Topology::AllToAll,
         .name = "all_to_all",
         .grid = "",
         .depth = Depth::None,
         .joins_chips = true,
         .network = all_to_all},
    Kind{.topology = Topology::Mesh2d,
         .name = "mesh2d",
         .grid = "[rows, cols], both at least 1, on a mesh or torus",
         .depth = Depth::None,
         .joins_chips = true,
         .network = mesh2d},
    Kind{.topology = Topology::Torus2d,
         .name = "torus2d",
         .grid = "[rows, cols], both at least 1, on a mesh or torus",
         .depth = Depth::None,
         .joins_chips = false,
         .network = torus2d},
    Kind{.topology = Topology::Ring,
         .name = "ring",
         .grid = "",
         .depth = Depth::None,
         .joins_chips = true,
         .network = ring},
};

}  // namespace

std::span<const Kind> topologies() { return kTopologies; }

}  // namespace elk::chip
