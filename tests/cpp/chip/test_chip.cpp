#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/base/errors.hpp"
#include "elk/chip/chip.hpp"

namespace elk::chip {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What `validate` says of `small_chip` after `change`; empty if it accepts it.
std::string complaint(const std::function<void(Chip&)>& change, Chip chip = small_chip()) {
  change(chip);
  try {
    validate(chip);
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.code(), "invalid_chip");
    return error.what();
  }
  return "";
}

bool names(const std::string& message, const std::string& field) {
  return message.rfind(field + " must be ", 0) == 0;
}

InterChip network_between_chips() {
  return {.rate = 160e9,
          .latency = {500e-9},
          .sync_latency = {111e-9},
          .port_cores = 64,
          .topology = Topology::AllToAll};
}

TEST(Validate, AcceptsAnAllToAllChipAndAMesh) {
  EXPECT_NO_THROW(validate(small_chip()));
  EXPECT_NO_THROW(validate(small_mesh(8, 8)));
}

TEST(Validate, NamesFieldRuleAndValue) {
  EXPECT_EQ(complaint([](Chip& c) { c.core.sram = {0}; }),
            "core.sram_bytes must be positive, got 0 bytes");
  EXPECT_EQ(complaint([](Chip& c) { c.interconnect.link_rate = -1; }),
            "interconnect.link_bytes_per_s must be positive and finite, got -1 bytes/s");
}

TEST(Validate, RefusesRatesThatAreNoPositiveNumber) {
  for (const double bad : {0.0, -5.0, kNan, kInfinity, 1e-300, 1e300}) {
    EXPECT_TRUE(names(complaint([&](Chip& c) { c.core.clock_hz = bad; }), "core.clock_hz"));
    EXPECT_TRUE(
        names(complaint([&](Chip& c) { c.core.sram_rate = bad; }), "core.sram_bytes_per_s"));
    EXPECT_TRUE(names(complaint([&](Chip& c) { c.hbm->rate = bad; }), "hbm.bytes_per_s"));
    EXPECT_TRUE(names(complaint([&](Chip& c) { c.hbm->port_rate = bad; }), "hbm.port_bytes_per_s"));
    EXPECT_TRUE(names(complaint([&](Chip& c) { c.host_rate = bad; }), "host.bytes_per_s"));
  }
}

TEST(Validate, RefusesLatenciesThatAreNegativeOrNoNumber) {
  for (const double bad : {-1e-9, kNan, kInfinity, 2.0}) {
    EXPECT_TRUE(names(complaint([&](Chip& c) { c.interconnect.hop_latency = {bad}; }),
                      "interconnect.hop_latency_s"));
    EXPECT_TRUE(names(complaint([&](Chip& c) { c.interconnect.sync_latency = {bad}; }),
                      "interconnect.sync_latency_s"));
    EXPECT_TRUE(names(complaint([&](Chip& c) { c.interconnect.fragment_latency = {bad}; }),
                      "interconnect.fragment_latency_s"));
    EXPECT_TRUE(names(complaint([&](Chip& c) { c.hbm->latency = {bad}; }), "hbm.latency_s"));
  }
}

TEST(Validate, RefusesCountsBelowOne) {
  EXPECT_TRUE(names(complaint([](Chip& c) { c.chips = 0; }), "chips"));
  EXPECT_TRUE(names(complaint([](Chip& c) { c.core.count = -64; }), "core.count"));
  EXPECT_TRUE(names(complaint([](Chip& c) { c.hbm->modules = 0; }), "hbm.modules"));
  EXPECT_TRUE(names(complaint([](Chip& c) { c.hbm->channels = 0; }), "hbm.channels"));
}

TEST(Validate, RefusesMoreCoresThanIdsCanNumber) {
  EXPECT_TRUE(names(complaint([](Chip& c) {
                      c.core.count = 1 << 24;
                      c.chips = 65;
                      c.inter_chip = network_between_chips();
                    }),
                    "chips"));
}

TEST(Validate, RefusesAnEmptyName) {
  EXPECT_TRUE(names(complaint([](Chip& c) { c.name = ""; }), "name"));
  EXPECT_TRUE(names(complaint([](Chip& c) { c.core.tile_model = ""; }), "core.tile_model"));
}

TEST(Validate, KeepsReservedBytesBelowTheSram) {
  EXPECT_EQ(complaint([](Chip& c) { c.core.reserved = c.core.sram - Bytes{1}; }), "");
  EXPECT_TRUE(
      names(complaint([](Chip& c) { c.core.reserved = c.core.sram; }), "core.reserved_bytes"));
  EXPECT_TRUE(names(complaint([](Chip& c) { c.core.reserved = {-1}; }), "core.reserved_bytes"));
}

TEST(Validate, ComparesTheGridWithTheCount) {
  EXPECT_EQ(complaint([](Chip& c) { c.core.count = 63; }, small_mesh(8, 8)),
            "core.grid must be of core.count = 63 cores, got 8 x 8");
  EXPECT_TRUE(names(complaint([](Chip& c) { c.core.rows = 8; }), "core.grid"));
  EXPECT_TRUE(names(complaint([](Chip& c) { c.core.rows = 0; }, small_mesh(8, 8)), "core.grid"));
}

TEST(Validate, WantsPortsThatCarryTheHbmRate) {
  EXPECT_EQ(complaint([](Chip& c) { c.hbm->port_rate = 100e9; }), "");
  EXPECT_EQ(complaint([](Chip& c) { c.hbm->port_rate = 32e9; }),
            "hbm.port_bytes_per_s must be at least hbm.bytes_per_s / hbm.modules = 6.4e+10, "
            "got 3.2e+10 bytes/s");
  EXPECT_EQ(complaint([](Chip& c) {
              c.hbm->modules = 3;
              c.hbm->rate = 1e12;
              c.hbm->port_rate = 1e12 / 3;
            }),
            "");
}

TEST(Validate, WantsRefreshesThatLeaveTimeToServe) {
  const auto refresh = [](double interval, double stall) {
    return complaint([&](Chip& c) {
      c.hbm->refresh_interval = {interval};
      c.hbm->refresh_stall = {stall};
    });
  };
  EXPECT_EQ(refresh(3.9e-6, 390e-9), "");
  EXPECT_EQ(refresh(3.9e-6, 0), "");
  EXPECT_TRUE(names(refresh(3.9e-6, 3.9e-6), "hbm.refresh_stall_s"));
  EXPECT_TRUE(names(refresh(0, 390e-9), "hbm.refresh_stall_s"));
}

TEST(Validate, WantsNodesToAttachModulesTo) {
  EXPECT_TRUE(
      names(complaint([](Chip& c) { c.hbm->position = HbmPosition::EdgesAll; }), "hbm.position"));
  EXPECT_EQ(complaint([](Chip& c) { c.hbm->modules = 4; }, small_mesh(2, 2)), "");
  EXPECT_TRUE(
      names(complaint([](Chip& c) { c.hbm->modules = 5; }, small_mesh(2, 2)), "hbm.modules"));
}

TEST(Validate, WantsANetworkBetweenSeveralChipsOnly) {
  EXPECT_TRUE(names(complaint([](Chip& c) { c.chips = 2; }), "inter_chip"));
  EXPECT_TRUE(
      names(complaint([](Chip& c) { c.inter_chip = network_between_chips(); }), "inter_chip"));
  const auto pair = [](Chip& c) {
    c.chips = 2;
    c.inter_chip = network_between_chips();
  };
  EXPECT_EQ(complaint(pair), "");
  EXPECT_TRUE(names(complaint([&](Chip& c) {
                      pair(c);
                      c.inter_chip->port_cores = 65;
                    }),
                    "inter_chip.port_cores"));
  EXPECT_TRUE(names(complaint([&](Chip& c) {
                      pair(c);
                      c.inter_chip->topology = Topology::Torus2d;
                    }),
                    "inter_chip.topology"));
}

TEST(Validate, RefusesNegativeEnergies) {
  const Energy free{.pj_per_flop = 0,
                    .pj_per_sram_byte = 0,
                    .pj_per_link_byte_hop = 0,
                    .pj_per_hbm_byte = 0,
                    .pj_per_inter_chip_byte = 0,
                    .static_w = 0};
  EXPECT_EQ(complaint([&](Chip& c) { c.energy = free; }), "");
  EXPECT_TRUE(names(complaint([&](Chip& c) {
                      c.energy = free;
                      c.energy->static_w = -1;
                    }),
                    "energy.static_w"));
}

TEST(Chip, CountsTheCoresOfAllItsChips) {
  Chip chip = small_chip();
  chip.chips = 4;
  EXPECT_EQ(total_cores(chip), 256);
}

TEST(Chip, LeavesPlansTheSramThatIsNotReserved) { EXPECT_EQ(room(small_chip()), Bytes{57344}); }

}  // namespace
}  // namespace elk::chip
