#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/base/random.hpp"
#include "elk/sim/flows/fold.hpp"
#include "elk/sim/network/machine_network.hpp"

namespace elk::sim {
namespace {

/// Flows with their bytes: what both machines play.
struct Batch {
  Crossings crossings;
  std::vector<Path> paths;
  std::vector<std::int64_t> bytes;

  void add(const Path& path, std::int64_t amount) {
    crossings.kind.push_back(amount);
    crossings.begin.push_back(static_cast<std::int32_t>(crossings.uses.size()));
    crossings.uses.insert(crossings.uses.end(), path.uses.begin(), path.uses.end());
    paths.push_back(path);
    bytes.push_back(amount);
  }
};

std::vector<Picoseconds> ends(const Machine& machine, std::size_t count,
                              const std::function<Flow(std::size_t)>& flow) {
  Engine engine(machine);
  for (std::size_t k = 0; k < count; ++k) {
    Flow started = flow(k);
    started.tag = static_cast<Tag>(k);
    engine.start(started, {0});
  }
  std::vector<Picoseconds> end(count);
  for (auto events = engine.next(); !events.empty(); events = engine.next()) {
    for (const Event& event : events) {
      end[static_cast<std::size_t>(event.tag)] = event.time;
    }
  }
  return end;
}

/// The classes that `batch` folds to, after checking that both machines end it alike.
std::size_t check(const MachineNetwork& network, Batch batch) {
  batch.crossings.begin.push_back(static_cast<std::int32_t>(batch.crossings.uses.size()));
  const auto whole = ends(network.machine(), batch.paths.size(), [&](std::size_t k) {
    return Flow{.tag = 0,
                .bytes = {batch.bytes[k]},
                .cap = {0},
                .latency = {0},
                .uses = batch.paths[k].uses};
  });
  const FoldedMachine folded = fold(network.machine(), batch.crossings);
  const auto parts = ends(folded.machine, folded.item_first.size(), [&](std::size_t k) {
    return Flow{.tag = 0,
                .bytes = {batch.bytes[static_cast<std::size_t>(folded.item_first[k])]},
                .cap = {0},
                .latency = {0},
                .uses = folded.uses_of(static_cast<std::int32_t>(k))};
  });
  for (std::size_t k = 0; k < whole.size(); ++k) {
    EXPECT_EQ(whole[k], parts[static_cast<std::size_t>(folded.item_class[k])]) << k;
  }
  return folded.item_first.size();
}

TEST(Fold, ARotationOfAllCoresIsOneFlow) {
  const MachineNetwork network(chip::small_chip());
  Batch batch;
  for (std::int32_t core = 0; core < 64; ++core) {
    for (const std::int32_t ahead : {1, 2, 3}) {
      batch.add(network.path({core}, {(core + ahead) % 64}), 4096);
    }
  }
  EXPECT_EQ(check(network, batch), 1U);
}

TEST(Fold, APreloadBesideAnExchangeIsTwo) {
  const MachineNetwork network(chip::small_chip());
  Batch batch;
  for (std::int32_t core = 0; core < 64; ++core) {
    const CoreId to{core};
    batch.add(network.read_paths({0}, {&to, 1}, kHbmWeight, 0).front(), 30'000);
    batch.add(network.path({core}, {core ^ 1}), 4096);
  }
  EXPECT_EQ(check(network, batch), 2U);
}

TEST(Fold, ACoreThatDiffersSplitsWhatItMeets) {
  // In a ring of 64 senders one sends less. Others differ by how far from it they are, on either
  // side: 1 + 31 pairs + 1.
  const MachineNetwork network(chip::small_chip());
  Batch batch;
  for (std::int32_t core = 0; core < 64; ++core) {
    batch.add(network.path({core}, {(core + 1) % 64}), core == 0 ? 1000 : 4096);
  }
  EXPECT_EQ(check(network, batch), 33U);
}

TEST(Fold, TimesAreThoseOfTheWholeMachine) {
  Random random{5};
  for (int round = 0; round < 60; ++round) {
    chip::Chip chip = round % 2 == 0 ? chip::small_chip() : chip::small_mesh(8, 8);
    chip.interconnect.multicast = round % 3 != 0;
    const MachineNetwork network(chip);
    Batch batch;
    const std::int64_t groups = 1 + random.below(3);
    for (std::int64_t g = 0; g < groups; ++g) {
      const auto mask = static_cast<std::int32_t>(1 + random.below(63));
      const std::int64_t bytes = 1000 + random.below(5000);
      const std::int64_t odd = random.below(64);
      for (std::int32_t core = 0; core < 64; ++core) {
        const std::vector<CoreId> to = {{core ^ mask}, {(core + 7) % 64}};
        for (const Path& path : network.paths({core}, to)) {
          batch.add(path, bytes + (core == odd ? random.below(2) : 0));
        }
      }
    }
    check(network, batch);
  }
}

}  // namespace
}  // namespace elk::sim
