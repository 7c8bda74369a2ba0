#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/rounding.hpp"
#include "elk/sim/flows/share.hpp"
#include "elk/train/play/collectives.hpp"
#include "elk/train/play/movements.hpp"

namespace elk::train {
namespace {

using Rows = std::vector<PlainCollective>;
using Ends = std::vector<Picoseconds>;
using enum CollectiveKind;

/// A chip of 64 cores that reach each other through ports of `rate` bytes a second, after `sync`
/// nanoseconds.
chip::Chip ports(std::int64_t rate, std::int64_t sync) {
  chip::Chip chip = chip::small_chip();
  chip.interconnect.link_rate = static_cast<double>(rate);
  chip.interconnect.sync_latency = {static_cast<double>(sync) * 1e-9};
  return chip;
}

/// Distinct cores in an order drawn by chance.
std::vector<CoreId> random_members(Random& random, std::int64_t count) {
  std::vector<CoreId> cores;
  for (std::int32_t core = 0; core < 64; ++core) {
    cores.emplace_back(core);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::swap(cores[subscript(i)], cores[subscript(i + random.below(64 - i))]);
  }
  cores.resize(subscript(count));
  return cores;
}

/// Picoseconds in which `bytes` pass a link, rounded up as a transfer is.
std::int64_t transfer(std::int64_t bytes, std::int64_t rate) {
  return ceil_div(bytes * 1'000'000'000'000, rate);
}

/// Steps of a collective among so many, and how many parts of the tensor each step moves.
struct ClosedForm {
  std::int64_t steps;
  bool whole;
};

ClosedForm closed_form(CollectiveKind kind, std::int64_t members) {
  if (kind == Reduce || kind == Broadcast) {
    std::int64_t steps = 0;
    for (std::int64_t reached = 1; reached < members; reached *= 2) {
      ++steps;
    }
    return {.steps = steps, .whole = true};
  }
  return {.steps = (kind == AllReduce ? 2 : 1) * (members - 1), .whole = false};
}

TEST(Collectives, TakeTheStepsOfTheirClosedFormsOnEqualLinks) {
  Random random{1};
  for (int i = 0; i < 100; ++i) {
    const std::int64_t rate = 1'000'000 + random.below(4'000'000'000);
    const std::int64_t sync = random.below(1000);
    const chip::Chip chip = ports(rate, sync);
    const std::int64_t members = 1 + random.below(20);
    const std::int64_t part = random.below(300'000);
    for (const CollectiveKind kind :
         {ReduceScatter, AllGather, AllReduce, AllToAll, Reduce, Broadcast}) {
      const Rows rows{
          {.kind = kind, .members = random_members(random, members), .bytes = {part * members}}};
      const auto [steps, whole] = closed_form(kind, members);
      // A step of L + S/PB, or L + S/B, whose transfer ends with a whole picosecond.
      const std::int64_t step = (sync * 1000) + transfer(whole ? part * members : part, rate);
      // On each port there is one send at a time, so it does not matter how ports are shared.
      for (const sim::Links links : {sim::Links::Shared, sim::Links::Exclusive}) {
        EXPECT_EQ(play_collectives(chip, rows, links), (Ends{{steps * step}}))
            << members << " members, kind " << static_cast<int>(kind);
      }
    }
  }
}

TEST(Collectives, ReadsAndWritesShareTheMemory) {
  // A module of 64 GB/s behind ports of 4 GB/s: with more than 16 members the module is the limit.
  Random random{2};
  const chip::Chip chip = chip::small_chip();
  for (int i = 0; i < 50; ++i) {
    const std::int64_t members = 1 + random.below(40);
    const std::int64_t part = 1 + random.below(100'000);
    const std::int64_t time =
        std::max(transfer(part, 4'000'000'000), transfer(part * members, 64'000'000'000));
    for (const CollectiveKind kind : {Read, Write}) {
      const Rows rows{
          {.kind = kind, .members = random_members(random, members), .bytes = {part * members}}};
      EXPECT_EQ(play_collectives(chip, rows, sim::Links::Shared), (Ends{{100'000 + time}}));
    }
  }
}

TEST(Collectives, OnesOfOtherMembersDoNotMeetAndOnesOfTheSameShare) {
  const chip::Chip chip = ports(1'000'000'000, 10);
  const PlainCollective first{
      .kind = AllReduce, .members = {CoreId{0}, CoreId{1}, CoreId{2}}, .bytes = {3000}};
  PlainCollective other = first;
  other.members = {CoreId{3}, CoreId{5}, CoreId{4}};
  const Picoseconds alone{4 * (10'000 + 1'000'000)};
  const Picoseconds shared{4 * (10'000 + 2'000'000)};
  EXPECT_EQ(play_collectives(chip, Rows{first}, sim::Links::Shared), Ends{alone});
  EXPECT_EQ(play_collectives(chip, Rows{first, other}, sim::Links::Shared), (Ends{alone, alone}));
  EXPECT_EQ(play_collectives(chip, Rows{first, first}, sim::Links::Shared), (Ends{shared, shared}));
}

TEST(Collectives, BetweenChipsStepsSynchroniseAsChipsDo) {
  chip::Chip pod = ports(1'000'000'000, 10);
  pod.chips = 2;
  pod.inter_chip = chip::InterChip{.rate = 0.5e9,
                                   .latency = {500e-9},
                                   .sync_latency = {110e-9},
                                   .port_cores = 64,
                                   .topology = chip::Topology::AllToAll};
  const Rows rows{{.kind = AllReduce, .members = {CoreId{3}, CoreId{64}}, .bytes = {2000}}};
  EXPECT_EQ(play_collectives(pod, rows, sim::Links::Shared),
            (Ends{{2 * (110'000 + 500'000 + 2'000'000)}}));
}

TEST(Collectives, PairsOfATreeDoNotMeetWhereTheirWaysDoNot) {
  // Of 0 1, 6 7 and 3 4 on a line no two meet; from 6 to 1, which are no pair, others would.
  chip::Chip line = chip::small_mesh(1, 8);
  line.interconnect.link_rate = 1e9;
  line.interconnect.sync_latency = {0.0};
  line.interconnect.hop_latency = {10e-9};
  const std::vector<CoreId> members{CoreId{0}, CoreId{1}, CoreId{6},
                                    CoreId{7}, CoreId{3}, CoreId{4}};
  const std::int64_t hops = 1 + 6 + 3;  // then from 6 to 0 or back, and from 3 to 0
  for (const CollectiveKind kind : {Reduce, Broadcast}) {
    const Rows rows{{.kind = kind, .members = members, .bytes = {1000}}};
    EXPECT_EQ(play_collectives(line, rows, sim::Links::Shared),
              (Ends{{(3 * 1'000'000) + (hops * 10'000)}}));
  }
}

TEST(Collectives, EachMemberOfARingSendsAndReceivesOnce) {
  Random random{3};
  for (int i = 0; i < 50; ++i) {
    const std::vector<CoreId> cores = random_members(random, 2 + random.below(40));
    const std::int64_t split = 1 + random.below(std::ssize(cores) - 1);
    const DeviceGroups groups{{cores.begin(), cores.begin() + split},
                              {cores.begin() + split, cores.end()}};
    std::map<CoreId, int> sent;
    std::map<CoreId, int> received;
    std::map<CoreId, int> once;
    for (const DeviceSend& send : around(groups)) {
      ++sent[send.from];
      ++received[send.to];
      const auto group = [&](CoreId core) { return std::ranges::count(groups[0], core); };
      EXPECT_EQ(group(send.from), group(send.to)) << "a ring stays in its group";
    }
    for (const CoreId core : cores) {
      once[core] = 1;
    }
    EXPECT_EQ(sent, once);
    EXPECT_EQ(received, once);
  }
}

TEST(Collectives, OnesThatNoMachineCouldPlayAreRefusedByNumber) {
  const auto complaint = [](const PlainCollective& wrong, bool memory = true) {
    chip::Chip chip = chip::small_chip();
    if (!memory) {
      chip.hbm.reset();
    }
    const PlainCollective right{.kind = AllReduce, .members = {CoreId{0}}, .bytes = {1}};
    try {
      static_cast<void>(play_collectives(chip, Rows{right, wrong}, sim::Links::Shared));
    } catch (const InvalidInput& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const std::string members = "collective 1: members must be distinct cores from 0 to 63, got ";
  const std::vector<CoreId> two{CoreId{0}, CoreId{1}};
  EXPECT_EQ(complaint({.kind = AllReduce, .members = {CoreId{0}, CoreId{64}}, .bytes = {1}}),
            members + "64");
  EXPECT_EQ(complaint({.kind = AllReduce, .members = {CoreId{-1}}, .bytes = {1}}), members + "-1");
  EXPECT_EQ(complaint({.kind = AllReduce, .members = {CoreId{2}, CoreId{2}}, .bytes = {1}}),
            members + "2");
  EXPECT_EQ(complaint({.kind = AllReduce, .members = {}, .bytes = {1}}),
            "collective 1: there must be at least one member, got 0");
  const std::string bytes = "collective 1: bytes must be from 0 to 1099511627776, got ";
  EXPECT_EQ(complaint({.kind = AllReduce, .members = two, .bytes = {-1}}), bytes + "-1");
  EXPECT_EQ(complaint({.kind = AllReduce, .members = two, .bytes = {sim::kMostFlowBytes + 1}}),
            bytes + "1099511627777");
  for (const CollectiveKind kind : {Read, Write}) {
    EXPECT_EQ(complaint({.kind = kind, .members = two, .bytes = {1}}, false),
              "collective 1: reads and writes need a chip with HBM");
  }
}

}  // namespace
}  // namespace elk::train
