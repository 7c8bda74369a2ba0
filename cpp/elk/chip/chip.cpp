#include "elk/chip/chip.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "elk/base/errors.hpp"
#include "elk/base/text.hpp"

namespace elk::chip {
namespace {

constexpr double kMostRate = 1e18;            // bytes or cycles a second
constexpr double kMostSeconds = 1.0;          // of one latency
constexpr double kMostEnergy = 1e12;          // picojoules or watts
constexpr std::int64_t kMostCount = 1 << 24;  // of anything counted
constexpr std::int64_t kMostBytes = 1LL << 60;

template <class Value>
[[noreturn]] void refuse(std::string_view field, std::string_view rule, const Value& value,
                         std::string_view unit) {
  throw InvalidInput(text(field, " must be ", rule, ", got ", value, unit.empty() ? "" : " ", unit),
                     "invalid_chip");
}

/// Not a number fails, as every comparison with it is false.
template <class Value>
void in_range(std::string_view field, Value value, Value least, Value most, std::string_view unit) {
  const bool inside = value >= least && value <= most;
  if (!inside) {
    refuse(field, text("from ", least, " to ", most), value, unit);
  }
}

void rate(std::string_view field, double value, std::string_view unit = "bytes/s") {
  if (value <= 0.0 || !std::isfinite(value)) {
    refuse(field, "positive and finite", value, unit);
  }
  in_range(field, value, 1.0, kMostRate, unit);
}

void latency(std::string_view field, Seconds value) {
  in_range(field, value.value, 0.0, kMostSeconds, "s");
}

void count(std::string_view field, std::int64_t value) {
  in_range<std::int64_t>(field, value, 1, kMostCount, "");
}

void size(std::string_view field, Bytes value) {
  if (value <= Bytes{0}) {
    refuse(field, "positive", value.value, "bytes");
  }
  in_range<std::int64_t>(field, value.value, 1, kMostBytes, "bytes");
}

/// Of a grid, the nodes at each place of rows and columns: one, where a chip says nothing.
std::int64_t depth_of(const Core& core) { return std::max<std::int64_t>(core.depth, 1); }

void validate_grid(const Core& core, const TopologyEntry& kind) {
  if (kind.grid.empty()) {
    if (core.rows != 0 || core.cols != 0) {
      refuse("core.grid", "absent where cores do not lie in rows and columns: give core.count",
             text(core.rows, " x ", core.cols), "");
    }
    return;
  }
  const bool deep = kind.depth != Depth::None;
  const std::string shape = deep || core.depth > 1
                                ? text(core.rows, " x ", core.cols, " x ", core.depth)
                                : text(core.rows, " x ", core.cols);
  const auto outside = [](std::int64_t side) { return side < 1 || side > kMostCount; };
  if (outside(core.rows) || outside(core.cols) || (deep ? outside(core.depth) : core.depth > 1)) {
    refuse("core.grid", kind.grid, shape, "");
  }
  if (core.rows * core.cols * depth_of(core) != core.count) {
    refuse("core.grid", text("of core.count = ", core.count, " cores"), shape, "");
  }
}

void validate(const Core& core, const TopologyEntry& kind) {
  validate_grid(core, kind);
  count(kind.grid.empty() ? "core.count" : "core.grid", core.count);
  size("core.sram_bytes", core.sram);
  if (core.reserved < Bytes{0} || core.reserved >= core.sram) {
    refuse("core.reserved_bytes", text("at least 0 and below core.sram_bytes = ", core.sram.value),
           core.reserved.value, "bytes");
  }
  rate("core.clock_hz", core.clock_hz, "Hz");
  rate("core.sram_bytes_per_s", core.sram_rate);
  if (core.tile_model.empty()) {
    refuse("core.tile_model", "the name of a tile model", "an empty one", "");
  }
}

/// How many links lead away from a node in the middle of a network, ports alone being one.
std::int64_t links_of_node(const Network& network) {
  std::int64_t links = network.routed() ? 0 : 1;
  for (std::size_t dim = 0; dim < network.dims(); ++dim) {
    links += network.joint(dim) == Joint::None ? 0 : 2;
  }
  return links;
}

void validate(const Interconnect& interconnect) {
  rate("interconnect.link_bytes_per_s", interconnect.link_rate);
  latency("interconnect.hop_latency_s", interconnect.hop_latency);
  latency("interconnect.sync_latency_s", interconnect.sync_latency);
  latency("interconnect.fragment_latency_s", interconnect.fragment_latency);
}

/// The most modules that find a node to be attached to.
std::int64_t attachment_points(const Chip& chip, HbmPosition position) {
  const Network network = network_of(chip);
  const std::int64_t rows = network.length(0);
  const std::int64_t cols = network.length(1);
  const std::int64_t depth = network.length(2);
  switch (position) {
    case HbmPosition::Nodes:
      return network.routed() ? chip.core.count : kMostCount;
    case HbmPosition::EdgesLeftRight:
      return depth * rows * std::min<std::int64_t>(cols, 2);
    case HbmPosition::EdgesAll:
      return chip.core.count -
             (depth * std::max<std::int64_t>(rows - 2, 0) * std::max<std::int64_t>(cols - 2, 0));
  }
  throw InternalError("unknown HBM position");
}

void validate_refresh(const Hbm& hbm) {
  latency("hbm.refresh_interval_s", hbm.refresh_interval);
  latency("hbm.refresh_stall_s", hbm.refresh_stall);
  if (hbm.refresh_stall > Seconds{0} && hbm.refresh_stall >= hbm.refresh_interval) {
    refuse("hbm.refresh_stall_s",
           text("below hbm.refresh_interval_s = ", hbm.refresh_interval.value),
           hbm.refresh_stall.value, "s");
  }
}

void validate_hbm(const Chip& chip, const Hbm& hbm) {
  count("hbm.modules", hbm.modules);
  count("hbm.channels", hbm.channels);
  rate("hbm.bytes_per_s", hbm.rate);
  rate("hbm.port_bytes_per_s", hbm.port_rate);
  // A port that is rate / modules, rounded to a double, is wide enough.
  if (hbm.port_rate * static_cast<double>(hbm.modules) < hbm.rate * (1 - 1e-12)) {
    refuse("hbm.port_bytes_per_s",
           text("at least hbm.bytes_per_s / hbm.modules = ",
                hbm.rate / static_cast<double>(hbm.modules)),
           hbm.port_rate, "bytes/s");
  }
  latency("hbm.latency_s", hbm.latency);
  validate_refresh(hbm);
  size("hbm.outstanding_bytes", hbm.outstanding);
  size("hbm.capacity_bytes", hbm.capacity);
  if (hbm.position != HbmPosition::Nodes && !network_of(chip).has_edges()) {
    refuse("hbm.position", "\"nodes\" where cores do not lie in rows and columns", "edges", "");
  }
  const std::int64_t points = attachment_points(chip, hbm.position);
  if (hbm.modules > points) {
    refuse("hbm.modules", text("at most ", points, ", one a node of its position"), hbm.modules,
           "");
  }
}

void validate_inter_chip(const Chip& chip) {
  if (chip.inter_chip.has_value() != (chip.chips > 1)) {
    refuse("inter_chip", "present if, and only if, there are several chips",
           text(chip.inter_chip ? "it" : "none", " with chips = ", chip.chips), "");
  }
  if (!chip.inter_chip) {
    return;
  }
  const InterChip& inter = *chip.inter_chip;
  rate("inter_chip.bytes_per_s", inter.rate);
  latency("inter_chip.latency_s", inter.latency);
  latency("inter_chip.sync_latency_s", inter.sync_latency);
  in_range<std::int64_t>("inter_chip.port_cores", inter.port_cores, 1, chip.core.count, "cores");
  if (const TopologyEntry& kind = kind_of(inter.topology); !kind.joins_chips) {
    refuse("inter_chip.topology", "all_to_all, ring or mesh2d", kind.name, "");
  }
}

void validate(const Energy& energy) {
  const auto check = [](std::string_view field, double value) {
    in_range(field, value, 0.0, kMostEnergy, field == "energy.static_w" ? "W" : "pJ");
  };
  check("energy.pj_per_flop", energy.pj_per_flop);
  check("energy.pj_per_sram_byte", energy.pj_per_sram_byte);
  check("energy.pj_per_link_byte_hop", energy.pj_per_link_byte_hop);
  check("energy.pj_per_hbm_byte", energy.pj_per_hbm_byte);
  check("energy.pj_per_inter_chip_byte", energy.pj_per_inter_chip_byte);
  check("energy.static_w", energy.static_w);
}

}  // namespace

void validate(const Chip& chip) {
  if (chip.name.empty()) {
    refuse("name", "the name of the chip", "an empty one", "");
  }
  count("chips", chip.chips);
  validate(chip.core, kind_of(chip.interconnect.topology));
  in_range<std::int64_t>("chips", chip.chips, 1, (1LL << 30) / chip.core.count, "");
  validate(chip.interconnect);
  if (chip.interconnect.node_ports) {
    in_range<std::int64_t>("interconnect.node_ports", *chip.interconnect.node_ports, 1,
                           links_of_node(network_of(chip)), "");
  }
  if (chip.hbm) {
    validate_hbm(chip, *chip.hbm);
  }
  validate_inter_chip(chip);
  rate("host.bytes_per_s", chip.host_rate);
  if (chip.energy) {
    validate(*chip.energy);
  }
}

Chip one_of(const Chip& pod) {
  Chip chip = pod;
  chip.chips = 1;
  return chip;
}

std::int64_t total_cores(const Chip& chip) { return chip.chips * chip.core.count; }

Bytes room(const Chip& chip) { return chip.core.sram - chip.core.reserved; }

}  // namespace elk::chip
