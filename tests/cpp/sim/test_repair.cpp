#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "chip/chips.hpp"
#include "elk/base/random.hpp"
#include "elk/sim/flows/engine.hpp"
#include "elk/sim/network/machine_network.hpp"
#include "sim/played.hpp"

/// Shares that the engine repairs, held against those of the whole machine filled anew.
namespace elk::sim {
namespace {

struct MeshTransfer {
  std::vector<ResourceUse> uses;
  Bytes bytes;
  Rate cap;
  Picoseconds start;
};

/// Transfers at random on a mesh, more of them to and from some nodes than others.
std::vector<MeshTransfer> random_transfers(const MachineNetwork& network, Random& random) {
  std::vector<MeshTransfer> transfers;
  const auto core = [&] {
    const std::int64_t count = random.below(3) == 0 ? 4 : network.cores();
    return id_at<CoreId>(static_cast<std::size_t>(random.below(count)));
  };
  for (int k = 0; k < 300; ++k) {
    std::vector<CoreId> to;
    for (std::int64_t more = random.below(5) == 0 ? 5 : 1; more > 0; --more) {
      to.push_back(core());
    }
    std::sort(to.begin(), to.end());
    to.erase(std::unique(to.begin(), to.end()), to.end());
    const Path path = network.paths(core(), to).front();
    if (!path.uses.empty()) {
      transfers.push_back({.uses = path.uses,
                           .bytes = {1 + (random.below(2) == 0 ? 4'000 : random.below(9'000))},
                           .cap = {random.below(6) == 0 ? 300'000'000 : 0},
                           .start = {1'000'000 * random.below(6)}});
    }
  }
  return transfers;
}

/// When transfers end if at every event all shares are found anew. As the engine does, it counts
/// what has moved when a share changes.
class WholeMachine {
 public:
  WholeMachine(const Machine& machine, const std::vector<MeshTransfer>& transfers)
      : machine_(machine), transfers_(transfers), flows_(transfers.size()) {
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      flows_[f].left = grains(transfers[f].bytes);
      flows_[f].end = {-1};
    }
  }

  std::vector<Picoseconds> ends() {
    for (Picoseconds now{0}; now.value >= 0; now = next(now)) {
      for (Flow& flow : flows_) {
        flow.over = flow.over || flow.end == now;
      }
      share(now);
    }
    std::vector<Picoseconds> ends;
    for (const Flow& flow : flows_) {
      ends.push_back(flow.end);
    }
    return ends;
  }

 private:
  struct Flow {
    Wide left = 0;
    Picoseconds since{0};
    Picoseconds end{0};
    FairShare share{0, 1};
    bool over = false;
  };

  void share(Picoseconds now) {
    FlowSet sharing;
    std::vector<std::size_t> under_way;
    for (const Resource& resource : machine_.resources) {
      sharing.capacity.push_back(grains(resource.capacity));
    }
    sharing.begin.push_back(0);
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      if (!flows_[f].over && transfers_[f].start <= now) {
        under_way.push_back(f);
        sharing.cap.push_back(grains(transfers_[f].cap));
        sharing.uses.insert(sharing.uses.end(), transfers_[f].uses.begin(),
                            transfers_[f].uses.end());
        sharing.begin.push_back(static_cast<std::int32_t>(sharing.uses.size()));
      }
    }
    FairScratch scratch;
    std::vector<FairShare> shares;
    fair_shares(sharing, scratch, shares);
    for (std::size_t k = 0; k < under_way.size(); ++k) {
      Flow& flow = flows_[under_way[k]];
      if (flow.share != shares[k]) {
        flow.left -= moved(flow.share, now - flow.since);
        flow.since = now;
        flow.share = shares[k];
        flow.end = now + time_to_move(flow.left, flow.share);
      }
    }
  }

  /// The next start or end; -1: there is none.
  [[nodiscard]] Picoseconds next(Picoseconds now) const {
    Picoseconds first{std::numeric_limits<std::int64_t>::max()};
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      const Picoseconds start = transfers_[f].start;
      const Picoseconds due = start > now ? start : flows_[f].end;
      first = !flows_[f].over && due > now ? std::min(first, due) : first;
    }
    return first.value == std::numeric_limits<std::int64_t>::max() ? Picoseconds{-1} : first;
  }

  const Machine& machine_;
  const std::vector<MeshTransfer>& transfers_;
  std::vector<Flow> flows_;
};

std::vector<Picoseconds> repaired(const Machine& machine,
                                  const std::vector<MeshTransfer>& transfers) {
  Engine engine(machine);
  for (std::size_t k = 0; k < transfers.size(); ++k) {
    engine.start(Flow{.tag = static_cast<Tag>(k),
                      .bytes = transfers[k].bytes,
                      .cap = transfers[k].cap,
                      .latency = {0},
                      .uses = transfers[k].uses},
                 transfers[k].start);
  }
  std::vector<Picoseconds> ends(transfers.size());
  for (const Event& event : play(engine)) {
    ends[static_cast<std::size_t>(event.tag)] = event.time;
  }
  return ends;
}

TEST(Repair, GivesTheSharesOfTheWholeMachineFilledAnew) {
  for (const bool blocks : {false, true}) {
    chip::Chip chip = chip::small_mesh(8, 8);
    chip.core.remote_access_blocks = blocks;
    const MachineNetwork network(chip);
    Random random{blocks ? 5U : 6U};
    for (int round = 0; round < 12; ++round) {
      const std::vector<MeshTransfer> transfers = random_transfers(network, random);
      EXPECT_EQ(repaired(network.machine(), transfers),
                WholeMachine(network.machine(), transfers).ends())
          << blocks << ' ' << round;
    }
  }
}

}  // namespace
}  // namespace elk::sim
