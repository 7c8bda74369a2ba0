#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/chip/network.hpp"
#include "elk/train/plan/devices.hpp"

namespace elk::train {
namespace {

/// As many chips as given, joined in a grid.
chip::Chip pod_of(chip::Chip chip, std::int64_t chips) {
  chip.chips = chips;
  if (chips > 1) {
    chip.inter_chip = chip::InterChip{.rate = 1e9,
                                      .latency = {500e-9},
                                      .sync_latency = {100e-9},
                                      .port_cores = chip.core.count,
                                      .topology = chip::Topology::Mesh2d};
  }
  return chip;
}

chip::Chip all_to_all(std::int64_t cores) {
  chip::Chip chip = chip::small_chip();
  chip.core.count = cores;
  return chip;
}

/// Of one mesh, a pod of meshes, cores that reach each other through ports, and a pod of those.
std::vector<chip::Chip> machines() {
  return {chip::small_mesh(4, 6),
          chip::small_mesh(5, 1),
          pod_of(chip::small_mesh(3, 2), 6),
          pod_of(chip::small_mesh(2, 3), 4),
          all_to_all(24),
          pod_of(all_to_all(4), 6),
          chip::small_deep(chip::Topology::Mesh3d, {2, 3, 4})};
}

std::int64_t random_divisor(Random& random, std::int64_t of) {
  std::int64_t divisor = 1 + random.below(of);
  while (of % divisor != 0) {
    --divisor;
  }
  return divisor;
}

/// A strategy that uses all devices of a machine, or some.
Strategy random_strategy(Random& random, std::int64_t devices) {
  Strategy strategy;
  strategy.pp = static_cast<std::int32_t>(random_divisor(random, devices));
  strategy.tp = random_divisor(random, devices / strategy.pp);
  const std::int64_t most = devices / strategy.pp / strategy.tp;
  strategy.dp = random.below(2) == 0 ? most : 1 + random.below(most);
  return strategy;
}

constexpr std::pair<StageLayout, Groups> kWays[] = {{StageLayout::SShape, Groups::Near},
                                                    {StageLayout::SShape, Groups::Far},
                                                    {StageLayout::Line, Groups::Near},
                                                    {StageLayout::Line, Groups::Far}};

TEST(Devices, EachDeviceIsOnOneStageOnce) {
  Random random{1};
  for (const chip::Chip& chip : machines()) {
    const std::int64_t devices = chip::total_cores(chip);
    for (int i = 0; i < 100; ++i) {
      Strategy strategy = random_strategy(random, devices);
      for (const auto& [layout, groups] : kWays) {
        strategy.layout = layout;
        strategy.groups = groups;
        const std::vector<StageDevices> stages = devices_of_stages(chip, strategy);
        ASSERT_EQ(std::ssize(stages), strategy.pp);
        std::set<CoreId> seen;
        for (const StageDevices& stage : stages) {
          EXPECT_EQ(stage.tp(), strategy.tp);
          EXPECT_EQ(stage.dp(), strategy.dp);
          for (const CoreId core : stage.all()) {
            EXPECT_TRUE(core.value >= 0 && core.value < devices);
            seen.insert(core);
          }
        }
        EXPECT_EQ(std::ssize(seen), strategy.pp * strategy.tp * strategy.dp);
      }
    }
  }
}

/// Whether each device of a list is a neighbour of the one before.
bool are_neighbours(const chip::Chip& chip, const std::vector<CoreId>& devices) {
  const chip::Network network = chip::network_of(chip);
  for (std::size_t i = 1; i < devices.size(); ++i) {
    if (network.hops(devices[i - 1].value, devices[i].value) != 1) {
      return false;
    }
  }
  return true;
}

TEST(Devices, NearGroupsAreNeighboursOnAMeshAndSoAreFarReplicas) {
  Random random{2};
  const chip::Chip chip = chip::small_mesh(4, 6);
  for (int i = 0; i < 200; ++i) {
    Strategy strategy = random_strategy(random, 24);
    const GroupCut all{.parts = strategy.tp, .stride = 1};
    for (const StageDevices& stage : devices_of_stages(chip, strategy)) {
      EXPECT_TRUE(are_neighbours(chip, stage.all())) << "stages follow a snake";
      for (const std::vector<CoreId>& group : stage.sharing(all)) {
        EXPECT_TRUE(are_neighbours(chip, group));
      }
    }
    strategy.groups = Groups::Far;
    for (const StageDevices& stage : devices_of_stages(chip, strategy)) {
      for (const std::vector<CoreId>& group : stage.replicas()) {
        EXPECT_TRUE(are_neighbours(chip, group));
      }
    }
  }
}

TEST(Devices, SShapePutsAStageOnEachChipWhereItFits) {
  const chip::Chip pod = pod_of(chip::small_mesh(3, 2), 6);
  const chip::Network chips = chip::network_of_chips(chip::Topology::Mesh2d, 6);
  Strategy strategy;
  for (strategy.pp = 1; strategy.pp <= 6; ++strategy.pp) {
    for (strategy.tp = 1; strategy.tp <= 6; ++strategy.tp) {
      std::int64_t before = -1;
      for (const StageDevices& stage : devices_of_stages(pod, strategy)) {
        const std::int64_t on = stage.all().front().value / 6;
        for (const CoreId core : stage.all()) {
          EXPECT_EQ(core.value / 6, on);
        }
        EXPECT_TRUE(before < 0 || chips.hops(before, on) == 1) << "next to the stage before";
        before = on;
      }
    }
  }
}

TEST(Devices, SShapeLetsStagesFollowEachOtherWhereChipsAreFewerOrSmaller) {
  const chip::Chip pod = pod_of(chip::small_mesh(2, 2), 2);
  Strategy strategy;
  strategy.pp = 4;  // on two chips of four cores: 0 1 3 2
  strategy.tp = 2;
  std::vector<std::vector<CoreId>> found;
  for (const StageDevices& stage : devices_of_stages(pod, strategy)) {
    found.push_back(stage.all());
  }
  using Ids = std::vector<CoreId>;
  EXPECT_EQ(found, (std::vector<Ids>{{CoreId{0}, CoreId{1}},
                                     {CoreId{3}, CoreId{2}},
                                     {CoreId{4}, CoreId{5}},
                                     {CoreId{7}, CoreId{6}}}));
}

TEST(Devices, LinesLieAlongTheShorterSide) {
  const auto order = [](const chip::Chip& chip) {
    Strategy strategy;
    strategy.tp = chip::total_cores(chip);
    strategy.layout = StageLayout::Line;
    const std::vector<StageDevices> stages = devices_of_stages(chip, strategy);
    std::vector<std::int32_t> numbers;
    for (const CoreId core : stages.front().all()) {
      numbers.push_back(core.value);
    }
    return numbers;
  };
  using Numbers = std::vector<std::int32_t>;
  EXPECT_EQ(order(chip::small_mesh(2, 3)), (Numbers{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(order(chip::small_mesh(3, 2)), (Numbers{0, 1, 2, 3, 4, 5}));
  // Two chips of 2 x 2 side by side are a grid of 2 x 4, whose columns are the lines.
  EXPECT_EQ(order(pod_of(chip::small_mesh(2, 2), 2)), (Numbers{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(order(all_to_all(4)), (Numbers{0, 1, 2, 3}));
}

TEST(Devices, GivenDevicesStandInPlaceOfTheLayout) {
  Strategy strategy;
  strategy.pp = 2;
  strategy.tp = 2;
  const std::vector<CoreId> given{CoreId{5}, CoreId{2}};
  strategy.stages = {{.ops = {OpId{0}}, .devices = {}}, {.ops = {OpId{1}}, .devices = given}};
  const std::vector<StageDevices> stages = devices_of_stages(chip::small_mesh(2, 3), strategy);
  EXPECT_EQ(stages[0].all(), (std::vector<CoreId>{CoreId{0}, CoreId{1}}));
  EXPECT_EQ(stages[1].all(), given);
}

/// Cuts whose parts multiply to a divisor of `tp`, as degrees give them: the last has stride one.
std::vector<GroupCut> random_cuts(Random& random, std::int64_t tp) {
  std::vector<GroupCut> cuts;
  std::int64_t stride = 1;
  for (int i = 0; i < 3; ++i) {
    std::int64_t parts = 1 + random.below(4);
    while (tp / stride % parts != 0) {
      --parts;
    }
    cuts.push_back({.parts = parts, .stride = stride});
    stride *= parts;
  }
  return cuts;
}

TEST(Devices, ThoseWhoShareACutDifferInThatCutAlone) {
  Random random{3};
  for (int i = 0; i < 300; ++i) {
    const std::int64_t tp = 1 + random.below(36);
    const std::int64_t dp = 1 + random.below(4);
    std::vector<CoreId> devices;
    for (std::int64_t d = 0; d < tp * dp; ++d) {
      devices.push_back(id_at<CoreId>(7 + (3 * d)));
    }
    const auto number = [](CoreId core) { return (core.value - 7) / 3; };
    const StageDevices stage(devices, tp);
    const std::vector<GroupCut> cuts = random_cuts(random, tp);
    // What a device has of each cut, and which of those there are that have the same.
    const auto places = [&](CoreId core) {
      const std::int64_t member = number(core) % tp;
      std::vector<std::int64_t> place{number(core) / tp};
      std::int64_t whole = 1;
      for (const GroupCut& cut : cuts) {
        place.push_back(member / cut.stride % cut.parts);
        whole *= cut.parts;
      }
      place.push_back(member / whole);
      return place;
    };
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      std::set<CoreId> seen;
      for (const std::vector<CoreId>& group : stage.sharing(cuts[c])) {
        ASSERT_EQ(std::ssize(group), cuts[c].parts);
        for (std::size_t g = 0; g < group.size(); ++g) {
          std::vector<std::int64_t> expected = places(group.front());
          expected[c + 1] = static_cast<std::int64_t>(g);
          EXPECT_EQ(places(group[g]), expected);
          seen.insert(group[g]);
        }
      }
      EXPECT_EQ(seen.size(), devices.size()) << "each device is in a group";
      EXPECT_EQ(std::ssize(stage.sharing(cuts[c])) * cuts[c].parts, std::ssize(devices));
    }
  }
}

TEST(Devices, ReplicasAreEqualMembersOfEachGroup) {
  std::vector<CoreId> devices(6);
  std::iota(devices.begin(), devices.end(), CoreId{10});
  const StageDevices stage(devices, 2);
  EXPECT_EQ(stage.dp(), 3);
  EXPECT_EQ(stage.at(2, 1), CoreId{15});
  EXPECT_EQ(stage.replicas(),
            (std::vector<std::vector<CoreId>>{{CoreId{10}, CoreId{12}, CoreId{14}},
                                              {CoreId{11}, CoreId{13}, CoreId{15}}}));
}

}  // namespace
}  // namespace elk::train
