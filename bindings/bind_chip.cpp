#include <optional>
#include <string>
#include <utility>

#include <pybind11/native_enum.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "elk/chip/chip.hpp"
#include "elk/chip/delivery.hpp"
#include "id_casters.hpp"

namespace py = pybind11;
using namespace pybind11::literals;
using elk::Bytes;
using elk::Seconds;
namespace chip = elk::chip;

namespace {

/// A read-only attribute that shows the number inside a quantity.
template <class Struct, class Quantity>
auto number(Quantity Struct::*field) {
  return [field](const Struct& self) { return (self.*field).value; };
}

void bind_enums(py::module_& m) {
  py::native_enum<chip::Topology>(m, "Topology", "enum.Enum", "How cores, or chips, are connected.")
      .value("AllToAll", chip::Topology::AllToAll)
      .value("Mesh2d", chip::Topology::Mesh2d)
      .value("Torus2d", chip::Topology::Torus2d)
      .value("Ring", chip::Topology::Ring)
      .value("Mesh3d", chip::Topology::Mesh3d)
      .value("Groups", chip::Topology::Groups)
      .finalize();
  py::native_enum<chip::HbmPosition>(m, "HbmPosition", "enum.Enum", "Where HBM modules attach.")
      .value("Nodes", chip::HbmPosition::Nodes)
      .value("EdgesLeftRight", chip::HbmPosition::EdgesLeftRight)
      .value("EdgesAll", chip::HbmPosition::EdgesAll)
      .finalize();
}

void bind_core(py::module_& m) {
  py::class_<chip::Core>(m, "Core", "The cores of one chip, all alike.")
      .def(py::init([](std::int64_t count, std::int64_t rows, std::int64_t cols, std::int64_t depth,
                       std::int64_t sram_bytes, std::int64_t reserved_bytes, double clock_hz,
                       double sram_bytes_per_s, bool remote_access_blocks, std::string tile_model) {
             return chip::Core{.count = count,
                               .rows = rows,
                               .cols = cols,
                               .depth = depth,
                               .sram = Bytes{sram_bytes},
                               .reserved = Bytes{reserved_bytes},
                               .clock_hz = clock_hz,
                               .sram_rate = sram_bytes_per_s,
                               .remote_access_blocks = remote_access_blocks,
                               .tile_model = std::move(tile_model)};
           }),
           py::kw_only(), "count"_a, "rows"_a, "cols"_a, "depth"_a, "sram_bytes"_a,
           "reserved_bytes"_a, "clock_hz"_a, "sram_bytes_per_s"_a, "remote_access_blocks"_a,
           "tile_model"_a)
      .def_readonly("count", &chip::Core::count)
      .def_readonly("rows", &chip::Core::rows)
      .def_readonly("cols", &chip::Core::cols)
      .def_readonly("depth", &chip::Core::depth)
      .def_property_readonly("sram_bytes", number(&chip::Core::sram))
      .def_property_readonly("reserved_bytes", number(&chip::Core::reserved))
      .def_readonly("clock_hz", &chip::Core::clock_hz)
      .def_readonly("sram_bytes_per_s", &chip::Core::sram_rate)
      .def_readonly("remote_access_blocks", &chip::Core::remote_access_blocks)
      .def_readonly("tile_model", &chip::Core::tile_model);
}

void bind_interconnect(py::module_& m) {
  using Network = chip::Interconnect;
  py::class_<Network>(m, "Interconnect", "The network of one chip.")
      .def(py::init([](chip::Topology topology, double link_bytes_per_s, double hop_latency_s,
                       double sync_latency_s, double fragment_latency_s, bool multicast,
                       bool overlaps_compute, bool native_shift,
                       std::optional<std::int64_t> node_ports) {
             return Network{.topology = topology,
                            .link_rate = link_bytes_per_s,
                            .hop_latency = Seconds{hop_latency_s},
                            .sync_latency = Seconds{sync_latency_s},
                            .fragment_latency = Seconds{fragment_latency_s},
                            .multicast = multicast,
                            .overlaps_compute = overlaps_compute,
                            .native_shift = native_shift,
                            .node_ports = node_ports};
           }),
           py::kw_only(), "topology"_a, "link_bytes_per_s"_a, "hop_latency_s"_a, "sync_latency_s"_a,
           "fragment_latency_s"_a, "multicast"_a, "overlaps_compute"_a, "native_shift"_a,
           "node_ports"_a = py::none())
      .def_readonly("topology", &Network::topology)
      .def_readonly("link_bytes_per_s", &Network::link_rate)
      .def_property_readonly("hop_latency_s", number(&Network::hop_latency))
      .def_property_readonly("sync_latency_s", number(&Network::sync_latency))
      .def_property_readonly("fragment_latency_s", number(&Network::fragment_latency))
      .def_readonly("multicast", &Network::multicast)
      .def_readonly("overlaps_compute", &Network::overlaps_compute)
      .def_readonly("native_shift", &Network::native_shift)
      .def_readonly("node_ports", &Network::node_ports);
}

void bind_hbm(py::module_& m) {
  using chip::Hbm;
  py::class_<Hbm>(m, "Hbm", "The memory modules of one chip.")
      .def(py::init([](std::int64_t modules, double bytes_per_s, double port_bytes_per_s,
                       double latency_s, std::int64_t channels, double refresh_interval_s,
                       double refresh_stall_s, std::int64_t outstanding_bytes,
                       std::int64_t capacity_bytes, chip::HbmPosition position) {
             return Hbm{.modules = modules,
                        .rate = bytes_per_s,
                        .port_rate = port_bytes_per_s,
                        .latency = Seconds{latency_s},
                        .channels = channels,
                        .refresh_interval = Seconds{refresh_interval_s},
                        .refresh_stall = Seconds{refresh_stall_s},
                        .outstanding = Bytes{outstanding_bytes},
                        .capacity = Bytes{capacity_bytes},
                        .position = position};
           }),
           py::kw_only(), "modules"_a, "bytes_per_s"_a, "port_bytes_per_s"_a, "latency_s"_a,
           "channels"_a, "refresh_interval_s"_a, "refresh_stall_s"_a, "outstanding_bytes"_a,
           "capacity_bytes"_a, "position"_a)
      .def_readonly("modules", &Hbm::modules)
      .def_readonly("bytes_per_s", &Hbm::rate)
      .def_readonly("port_bytes_per_s", &Hbm::port_rate)
      .def_property_readonly("latency_s", number(&Hbm::latency))
      .def_readonly("channels", &Hbm::channels)
      .def_property_readonly("refresh_interval_s", number(&Hbm::refresh_interval))
      .def_property_readonly("refresh_stall_s", number(&Hbm::refresh_stall))
      .def_property_readonly("outstanding_bytes", number(&Hbm::outstanding))
      .def_property_readonly("capacity_bytes", number(&Hbm::capacity))
      .def_readonly("position", &Hbm::position);
}

void bind_inter_chip(py::module_& m) {
  using chip::InterChip;
  py::class_<InterChip>(m, "InterChip", "The network between chips.")
      .def(py::init([](double bytes_per_s, double latency_s, double sync_latency_s,
                       std::int64_t port_cores, chip::Topology topology) {
             return InterChip{.rate = bytes_per_s,
                              .latency = Seconds{latency_s},
                              .sync_latency = Seconds{sync_latency_s},
                              .port_cores = port_cores,
                              .topology = topology};
           }),
           py::kw_only(), "bytes_per_s"_a, "latency_s"_a, "sync_latency_s"_a, "port_cores"_a,
           "topology"_a)
      .def_readonly("bytes_per_s", &InterChip::rate)
      .def_property_readonly("latency_s", number(&InterChip::latency))
      .def_property_readonly("sync_latency_s", number(&InterChip::sync_latency))
      .def_readonly("port_cores", &InterChip::port_cores)
      .def_readonly("topology", &InterChip::topology);
}

void bind_energy(py::module_& m) {
  using chip::Energy;
  py::class_<Energy>(m, "Energy", "What work and idling cost.")
      .def(py::init([](double pj_per_flop, double pj_per_sram_byte, double pj_per_link_byte_hop,
                       double pj_per_hbm_byte, double pj_per_inter_chip_byte, double static_w) {
             return Energy{.pj_per_flop = pj_per_flop,
                           .pj_per_sram_byte = pj_per_sram_byte,
                           .pj_per_link_byte_hop = pj_per_link_byte_hop,
                           .pj_per_hbm_byte = pj_per_hbm_byte,
                           .pj_per_inter_chip_byte = pj_per_inter_chip_byte,
                           .static_w = static_w};
           }),
           py::kw_only(), "pj_per_flop"_a, "pj_per_sram_byte"_a, "pj_per_link_byte_hop"_a,
           "pj_per_hbm_byte"_a, "pj_per_inter_chip_byte"_a, "static_w"_a)
      .def_readonly("pj_per_flop", &Energy::pj_per_flop)
      .def_readonly("pj_per_sram_byte", &Energy::pj_per_sram_byte)
      .def_readonly("pj_per_link_byte_hop", &Energy::pj_per_link_byte_hop)
      .def_readonly("pj_per_hbm_byte", &Energy::pj_per_hbm_byte)
      .def_readonly("pj_per_inter_chip_byte", &Energy::pj_per_inter_chip_byte)
      .def_readonly("static_w", &Energy::static_w);
}

void bind_whole_chip(py::module_& m) {
  using chip::Chip;
  py::class_<Chip>(m, "Chip", "A machine of equal chips. Validated when made.")
      .def(py::init([](std::string name, std::int64_t chips, const chip::Core& core,
                       const chip::Interconnect& interconnect, const std::optional<chip::Hbm>& hbm,
                       const std::optional<chip::InterChip>& inter_chip, double host_bytes_per_s,
                       const std::optional<chip::Energy>& energy) {
             Chip made{.name = std::move(name),
                       .chips = chips,
                       .core = core,
                       .interconnect = interconnect,
                       .hbm = hbm,
                       .inter_chip = inter_chip,
                       .host_rate = host_bytes_per_s,
                       .energy = energy};
             chip::validate(made);
             return made;
           }),
           py::kw_only(), "name"_a, "chips"_a, "core"_a, "interconnect"_a, "hbm"_a = py::none(),
           "inter_chip"_a = py::none(), "host_bytes_per_s"_a, "energy"_a = py::none())
      .def_readonly("name", &Chip::name)
      .def_readonly("chips", &Chip::chips)
      .def_readonly("core", &Chip::core)
      .def_readonly("interconnect", &Chip::interconnect)
      .def_readonly("hbm", &Chip::hbm)
      .def_readonly("inter_chip", &Chip::inter_chip)
      .def_readonly("host_bytes_per_s", &Chip::host_rate)
      .def_readonly("energy", &Chip::energy);
}

void bind_delivery(py::module_& m) {
  using chip::Delivery;
  py::class_<Delivery>(m, "Delivery", "What HBM data meets on its way to the cores of one chip.")
      .def_readonly("hbm_bytes_per_s", &Delivery::hbm)
      .def_readonly("injection_bytes_per_s", &Delivery::injection)
      .def_readonly("edge_cut_bytes_per_s", &Delivery::edge_cut)
      .def_readonly("crossing_bytes_per_s", &Delivery::crossing)
      .def_readonly("receive_bytes_per_s", &Delivery::receive)
      .def_readonly("bisection_bytes_per_s", &Delivery::bisection)
      .def_readonly("bytes_per_s", &Delivery::rate)
      .def_readonly("bound_by", &Delivery::bound_by);
}

}  // namespace

void bind_chip(py::module_& m) {
  bind_enums(m);
  bind_core(m);
  bind_interconnect(m);
  bind_hbm(m);
  bind_inter_chip(m);
  bind_energy(m);
  bind_whole_chip(m);
  bind_delivery(m);
  m.def("delivery", &chip::delivery, "chip"_a, py::call_guard<py::gil_scoped_release>(),
        "The limits of preloads into one chip.");
  m.def(
      "hbm_time",
      [](const chip::Chip& machine, double bytes, bool idle) {
        return chip::hbm_time(machine, bytes, idle).value;
      },
      "chip"_a, "bytes"_a, "idle"_a, py::call_guard<py::gil_scoped_release>(),
      "Seconds to read `bytes` that lie striped over all channels of one chip.");
  m.def("one_of", &chip::one_of, "pod"_a, "One chip of a pod, for which its shard is planned.");
  m.def("routed", &chip::routed, "chip"_a,
        "Whether what cores of a chip send passes links beside others.");
  m.def("total_cores", &chip::total_cores, "chip"_a, "Cores of the whole machine.");
  m.def(
      "room", [](const chip::Chip& machine) { return chip::room(machine).value; }, "chip"_a,
      "Bytes of one core's SRAM that plans may use.");
}
