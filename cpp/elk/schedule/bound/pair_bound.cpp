#include "elk/schedule/bound/pair_bound.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "elk/base/ids.hpp"

namespace elk::schedule {
namespace {

constexpr std::size_t kPairsReach = 3;  // ops after one that it is held against

/// Tried for `PairStretch::slack`.
constexpr std::array<double, 6> kSlack = {8.0, 4.0, 2.0, 1.0, 0.5, 0.1};
constexpr double kTreesAdd = 0.03;  // to what ops take, about

/// The ops from the first to the last. It gains the same if those between take `slack` times as
/// much more as they do at least.
struct PairStretch {
  std::size_t first;
  std::size_t last;
  double inner;  // seconds of those between, each by itself
  double gain;   // over what all take each by itself
  double slack;
};

class PairSearch {
 public:
  PairSearch(const Problem& problem, const std::vector<double>& read, double rate)
      : problem_(problem),
        read_(read),
        rate_(rate),
        room_(static_cast<double>(chip::room(problem.chip()).value)),
        port_(problem.chip().interconnect.link_rate) {}

  /// The stretches that add most together, none of which meet.
  std::vector<PairStretch> best() {
    const std::vector<std::optional<PairStretch>> chosen = choose();
    std::vector<PairStretch> result;
    for (std::size_t end = chosen.size(); end > 0;) {
      if (chosen[end - 1]) {
        result.push_back(*chosen[end - 1]);
        end = chosen[end - 1]->first;
      } else {
        --end;
      }
    }
    return result;
  }

 private:
  [[nodiscard]] const cost::Floor& floor(std::size_t op) const {
    return problem_.front(static_cast<std::int32_t>(op)).floor;
  }

  /// Of each op, the stretch that ends with it if that is best for all up to there.
  std::vector<std::optional<PairStretch>> choose() {
    std::vector<std::optional<PairStretch>> chosen(read_.size());
    std::vector<double> gain(read_.size() + 1, 0.0);  // of the ops before
    std::vector<std::size_t> held;
    for (std::size_t op = 0; op < read_.size(); ++op) {
      gain[op + 1] = gain[op];
      if (floor(op).sram_floors.empty()) {
        continue;
      }
      for (std::size_t back = 0; back < std::min(kPairsReach, held.size()); ++back) {
        const PairStretch stretch = between(held[held.size() - 1 - back], op);
        const double worth = stretch.gain - lost(stretch);
        if (gain[stretch.first] + worth > gain[op + 1]) {
          gain[op + 1] = gain[stretch.first] + worth;
          chosen[op] = stretch;
        }
      }
      held.push_back(op);
    }
    return chosen;
  }

  /// About what trees lose where the ops between do not count beyond their least.
  [[nodiscard]] static double lost(const PairStretch& stretch) {
    return stretch.slack < 1.0 ? kTreesAdd * stretch.inner : 0.0;
  }

  PairStretch between(std::size_t first, std::size_t last) {
    double inner = 0.0;
    for (std::size_t op = first + 1; op < last; ++op) {
      inner += floor(op).execute.value;
    }
    const double load = read_[last] / rate_;
    const auto [place, fresh] =
        known_.emplace(std::tuple(front(first), front(last), inner, load), PairTime{});
    if (fresh) {
      const std::vector<cost::SramFloor>& before = floor(first).sram_floors;
      const std::vector<cost::SramFloor>& after = floor(last).sram_floors;
      place->second.time = least(before, after, inner, load);
      for (const double slack : kSlack) {
        if (least(before, after, (1.0 + slack) * inner, load) >= place->second.time) {
          place->second.slack = slack;
          break;
        }
      }
    }
    const auto& [time, slack] = place->second;
    const double alone = floor(first).execute.value + floor(last).execute.value;
    return {.first = first, .last = last, .inner = inner, .gain = time - alone, .slack = slack};
  }

  struct PairTime {
    double time = 0.0;  // of the first op and the last
    double slack = 0.0;
  };

  [[nodiscard]] std::int32_t front(std::size_t op) const { return problem_.front_of()[op]; }

  /// What two ops take beside the `inner` seconds of those between them. The latter's HBM data take
  /// `load` seconds.
  [[nodiscard]] double least(const std::vector<cost::SramFloor>& before,
                             const std::vector<cost::SramFloor>& after, double inner,
                             double load) const {
    double best = std::numeric_limits<double>::infinity();
    for (const cost::SramFloor& one : before) {
      const double left = room_ - static_cast<double>(one.loaded.value + one.beside.value);
      for (const cost::SramFloor& other : after) {
        const auto loaded = static_cast<double>(other.loaded.value);
        const double beside = std::max(0.0, loaded - left) / port_;
        const double behind = std::max(0.0, std::max(loaded / port_, load) - inner);
        best = std::min(best, one.execute.value + other.execute.value + std::min(beside, behind));
      }
    }
    return best;
  }

  const Problem& problem_;
  const std::vector<double>& read_;
  double rate_;
  double room_;
  double port_;  // bytes a second into a core
  std::map<std::tuple<std::int32_t, std::int32_t, double, double>, PairTime> known_;
};

/// Leaves out of what counts of ops what a stretch may count again.
void spare(const PairStretch& stretch, std::vector<ExtraTime>& extra) {
  extra[stretch.first].free = stretch.gain;
  extra[stretch.last].free = stretch.gain;
  for (std::size_t op = stretch.first + 1; op < stretch.last; ++op) {
    extra[op].most = stretch.slack * extra[op].least / 2.0;
  }
}

}  // namespace

PairBound pair_bound(const Problem& problem, const std::vector<double>& read, double rate) {
  PairBound result{.ops = {}, .gain = {0.0}, .extra = {}};
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    result.extra.push_back({.least = problem.front(op).floor.execute.value});
  }
  for (const PairStretch& stretch : PairSearch(problem, read, rate).best()) {
    for (std::size_t op = stretch.first; op <= stretch.last; ++op) {
      result.ops.push_back(static_cast<std::int32_t>(op));
    }
    result.gain.value += stretch.gain;
    spare(stretch, result.extra);
  }
  return result;
}

}  // namespace elk::schedule
