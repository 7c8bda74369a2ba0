#pragma once

#include "elk/chip/chip.hpp"

namespace elk::chip {

/// A valid all-to-all chip of 64 cores with one HBM module of 64 GB/s.
inline Chip small_chip() {
  return {.name = "small",
          .chips = 1,
          .core = {.count = 64,
                   .rows = 0,
                   .cols = 0,
                   .depth = 0,
                   .sram = {65536},
                   .reserved = {8192},
                   .clock_hz = 1e9,
                   .sram_rate = 16e9,
                   .remote_access_blocks = true,
                   .tile_model = "ipu-mk2"},
          .interconnect = {.topology = Topology::AllToAll,
                           .link_rate = 4e9,
                           .hop_latency = {0},
                           .sync_latency = {10e-9},
                           .fragment_latency = {1e-9},
                           .multicast = true,
                           .overlaps_compute = false,
                           .native_shift = false},
          .hbm = Hbm{.modules = 1,
                     .rate = 64e9,
                     .port_rate = 64e9,
                     .latency = {100e-9},
                     .channels = 8,
                     .refresh_interval = {0},
                     .refresh_stall = {0},
                     .outstanding = {2048},
                     .capacity = {1'000'000'000},
                     .position = HbmPosition::Nodes},
          .inter_chip = std::nullopt,
          .host_rate = 16e9,
          .energy = std::nullopt};
}

/// `small_chip` with its cores in rows and columns and its HBM all around.
inline Chip small_mesh(std::int64_t rows, std::int64_t cols) {
  Chip chip = small_chip();
  chip.core.count = rows * cols;
  chip.core.rows = rows;
  chip.core.cols = cols;
  chip.interconnect.topology = Topology::Mesh2d;
  chip.hbm->position = HbmPosition::EdgesAll;
  return chip;
}

/// `small_mesh` of cores that lie in layers, or of groups of cores.
inline Chip small_deep(Topology topology, const PerDim& sides) {
  Chip chip = small_mesh(sides[0], sides[1]);
  chip.core.count *= sides[2];
  chip.core.depth = sides[2];
  chip.interconnect.topology = topology;
  return chip;
}

}  // namespace elk::chip
