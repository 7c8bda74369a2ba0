#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/sim/tasks/plain_transfers.hpp"

namespace elk::sim {
namespace {

using Rows = std::vector<PlainTransfer>;
using Ends = std::vector<Picoseconds>;

/// A mesh whose links move 1 GB/s and whose hops take 10 ns; one row of nodes is a line.
chip::Chip slow_mesh(std::int64_t rows, std::int64_t cols) {
  chip::Chip chip = chip::small_mesh(rows, cols);
  chip.interconnect.link_rate = 1e9;
  chip.interconnect.hop_latency = {10e-9};
  return chip;
}

PlainTransfer row(std::int32_t source, std::int32_t destination, std::int64_t bytes,
                  double start = 0.0) {
  return {.source = CoreId{source},
          .destination = CoreId{destination},
          .bytes = {bytes},
          .start = {start}};
}

TEST(PlainTransfers, ATransferTakesBytesOverRateAndItsHops) {
  EXPECT_EQ(play_transfers(slow_mesh(4, 4), Rows{row(0, 15, 1'000, 1e-6)}, Links::Shared),
            (Ends{{2'060'000}}));
}

TEST(PlainTransfers, WhatStaysOrIsNothingWaitsForNoLink) {
  EXPECT_EQ(play_transfers(slow_mesh(4, 4), Rows{row(3, 3, 1'000, 1e-6), row(0, 1, 0, 1e-6)},
                           Links::Shared),
            (Ends{{1'000'000}, {1'010'000}}));
}

TEST(PlainTransfers, SharedAndExclusiveLinksOfALine) {
  // 0 to 2 and 1 to 2 meet on the link from 1 to 2, the second asking half a microsecond later.
  // Shared: the first has 500 bytes left, a half each: it ends 1 us later, the other 0.5 us on.
  const Rows rows{row(0, 2, 1'000), row(1, 2, 1'000, 0.5e-6)};
  EXPECT_EQ(play_transfers(slow_mesh(1, 4), rows, Links::Shared), (Ends{{1'520'000}, {2'010'000}}));
  EXPECT_EQ(play_transfers(slow_mesh(1, 4), rows, Links::Exclusive),
            (Ends{{1'020'000}, {2'010'000}}));
}

TEST(PlainTransfers, AnExclusiveLinkTakesRowsOfOneStartInTheirOrder) {
  const Rows rows{row(1, 2, 2'000), row(0, 2, 1'000), row(0, 1, 500)};
  EXPECT_EQ(play_transfers(slow_mesh(1, 3), rows, Links::Exclusive),
            (Ends{{2'010'000}, {3'020'000}, {3'510'000}}));
}

TEST(PlainTransfers, SramPortsDoNotCount) {
  chip::Chip chip = slow_mesh(1, 3);
  chip.core.sram_rate = 1e6;
  EXPECT_EQ(play_transfers(chip, Rows{row(0, 1, 1'000)}, Links::Shared), (Ends{{1'010'000}}));
}

TEST(PlainTransfers, OnePortServesAllLinksOfItsNode) {
  // From the middle of a line both ways: with a port for each link at once, with one in turns.
  const Rows rows{row(1, 0, 1'000), row(1, 2, 1'000)};
  chip::Chip chip = slow_mesh(1, 3);
  EXPECT_EQ(play_transfers(chip, rows, Links::Shared), (Ends{{1'010'000}, {1'010'000}}));
  chip.interconnect.node_ports = 1;
  EXPECT_EQ(play_transfers(chip, rows, Links::Shared), (Ends{{2'010'000}, {2'010'000}}));
  EXPECT_EQ(play_transfers(chip, rows, Links::Exclusive), (Ends{{1'010'000}, {2'010'000}}));
  const Rows inwards{row(0, 1, 1'000), row(2, 1, 1'000)};
  EXPECT_EQ(play_transfers(chip, inwards, Links::Shared), (Ends{{2'010'000}, {2'010'000}}));
  chip.interconnect.node_ports = 2;
  EXPECT_EQ(play_transfers(chip, inwards, Links::Exclusive), (Ends{{1'010'000}, {1'010'000}}));
}

TEST(PlainTransfers, RowsThatNoMachineCouldPlayAreRefusedByNumber) {
  const auto refused = [](const PlainTransfer& wrong) {
    try {
      static_cast<void>(play_transfers(slow_mesh(2, 2), Rows{row(0, 1, 1), wrong}, Links::Shared));
    } catch (const InvalidInput& error) {
      return std::string(error.what()).find("row 1: ") == 0;
    }
    return false;
  };
  EXPECT_TRUE(refused(row(4, 0, 1)));
  EXPECT_TRUE(refused(row(0, -1, 1)));
  EXPECT_TRUE(refused(row(0, 1, -1)));
  EXPECT_TRUE(refused(row(0, 1, kMostFlowBytes + 1)));
  EXPECT_TRUE(refused(row(0, 1, 1, -1e-9)));
  EXPECT_TRUE(refused(row(0, 1, 1, 1e300)));
}

}  // namespace
}  // namespace elk::sim
