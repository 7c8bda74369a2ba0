#include "elk/cost/floor/sram_floor.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <tuple>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/cost/floor/cuts.hpp"
#include "elk/cost/floor/cuts_below.hpp"
#include "elk/cost/floor/floor_search.hpp"

namespace elk::cost {
namespace {

constexpr std::int64_t kMostHeld = 100'000;  // cuts of an op
constexpr double kLonger = 1.15;             // than the fastest, what is listed takes at most
constexpr std::int64_t kLittle = 20;         // what part of a core's room is little

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

bool covers(const SramFloor& a, const SramFloor& b) {
  return a.execute <= b.execute && a.loaded <= b.loaded && a.beside <= b.beside;
}

/// Times the cuts of an op that take less than a limit.
class SramFloorSearch {
 public:
  SramFloorSearch(Pricer& pricer, tile::TileRates& rates, double limit)
      : pricer_(pricer),
        room_(chip::room(pricer.chip()).value),
        port_(pricer.chip().interconnect.link_rate),
        limit_(limit),
        below_(pricer, rates, limit) {}

  /// Every cut; false if a tile undercut the rates.
  bool run() {
    corners_.clear();
    sound_ = true;
    add({.execute = {limit_}, .loaded = {0}, .beside = {0}, .factors = {}});
    below_.each([this](const Cut& cut, const tile::TileTime& whole) { look(cut, whole); });
    return sound_;
  }

  /// By time.
  [[nodiscard]] std::vector<SramFloor> corners() const {
    std::vector<SramFloor> result = corners_;
    std::sort(result.begin(), result.end(), [](const SramFloor& a, const SramFloor& b) {
      return std::tie(a.execute, a.loaded, a.beside) < std::tie(b.execute, b.loaded, b.beside);
    });
    return result;
  }

 private:
  /// A core holds activations whole, or a part of them that takes more steps, the less it is.
  void look(const Cut& cut, const tile::TileTime& whole) {
    const FloorSearch::LeastTime least = below_.least(whole, true);
    sound_ = sound_ && least.sound;
    if (least.ports >= limit_) {
      return;  // The other times are not known.
    }
    std::int64_t held = activations(cut, 1);
    add(cut, least.execute, held);
    for (std::size_t steps = 0; steps < kStepsTold.size(); ++steps) {
      const std::int64_t part =
          activations(cut, steps + 1 < kStepsTold.size() ? kStepsTold[steps + 1] - 1 : kNoLimit);
      if (part < held) {
        add(cut, least.turned[steps], part);
        held = part;
      }
    }
  }

  /// Bytes of activations that a core holds at once, if there are `steps` at most.
  [[nodiscard]] std::int64_t activations(const Cut& cut, std::int64_t steps) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < pricer_.reads(); ++i) {
      const Slot& slot = pricer_.slots()[i];
      if (!slot.hbm && !slot.again) {
        const double share = part(cut, slot, {.dim = 0, .sharers = cut.held[i].sharers}, steps);
        const std::int64_t whole = partition::element_bytes(cut.held[i].elements, slot.bits).value;
        sum += static_cast<std::int64_t>(share * static_cast<double>(whole));
      }
    }
    return sum;
  }

  /// The dimensions of a slot that are not split over time yet, and by how much they may be.
  struct UnsplitDim {
    std::size_t dim;
    std::int64_t sharers;
  };

  /// The least part of a slot that a core may hold if all goes in `steps` at most.
  [[nodiscard]] double part(const Cut& cut, const Slot& slot, const UnsplitDim& rest,
                            std::int64_t steps) {
    if (rest.dim == slot.dims.size()) {
      return 1.0;
    }
    const SlotDim& dim = slot.dims[rest.dim];
    double least = part(cut, slot, {.dim = rest.dim + 1, .sharers = rest.sharers}, steps);
    if (!dim.rotates) {
      return least;
    }
    const std::int64_t tile = cut.tile[subscript(dim.axes[0])];
    for (const std::int64_t parts : below_.divisors(rest.sharers)) {
      const std::int64_t length = ceil_div(tile, parts);
      const std::int64_t own = ceil_div(tile, length);
      if (own <= steps) {
        const UnsplitDim further{.dim = rest.dim + 1, .sharers = rest.sharers / parts};
        least = std::min(least, static_cast<double>(length) / static_cast<double>(tile) *
                                    part(cut, slot, further, steps / own));
      }
    }
    return least;
  }

  /// Adds a cut that takes `execute` with `activations` bytes held at once. HBM data that have no
  /// room beside these come over the port.
  void add(const Cut& cut, double execute, std::int64_t activations) {
    const std::int64_t result = std::min(cut.result, cut.result_wide);
    const std::int64_t all = held_from_hbm(pricer_, cut);
    const std::int64_t counted = std::clamp<std::int64_t>(room_ - result, 0, all);
    const std::int64_t left = std::clamp<std::int64_t>(room_ - result - activations, 0, all);
    const double longer = execute + (static_cast<double>(counted - left) / port_);
    if (longer < limit_) {
      add({.execute = {longer},
           .loaded = {left},
           .beside = {result + activations},
           .factors = cut.factor});
    }
  }

  void add(const SramFloor& corner) {
    if (std::none_of(corners_.begin(), corners_.end(),
                     [&](const SramFloor& other) { return covers(other, corner); })) {
      std::erase_if(corners_, [&](const SramFloor& other) { return covers(corner, other); });
      corners_.push_back(corner);
    }
  }

  const Pricer& pricer_;
  std::int64_t room_;
  double port_;  // bytes a second into a core
  double limit_;
  CutsBelow below_;
  bool sound_ = true;
  std::vector<SramFloor> corners_;
};

}  // namespace

std::vector<SramFloor> sram_floors(Pricer& pricer, tile::TileRates& rates, const Floor& floor,
                                   Bytes fastest) {
  const chip::Chip& chip = pricer.chip();
  const std::int64_t cores = chip::total_cores(chip);
  if (pricer.op().kind != ir::OpKind::MatMul || chip::routed(chip) || !chip.hbm ||
      chip.interconnect.overlaps_compute || floor.corners.empty() ||
      kLittle * fastest.value < chip::room(chip).value ||
      count_cuts(all_factors(pricer.op(), cores), cores, kMostHeld) > kMostHeld) {
    return {};
  }
  SramFloorSearch search(pricer, rates, floor.execute.value * kLonger);
  while (!search.run()) {
  }
  return search.corners();
}

}  // namespace elk::cost
