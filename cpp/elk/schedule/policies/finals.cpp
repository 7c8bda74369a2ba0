#include "elk/schedule/policies/finals.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/mechanisms.hpp"

namespace elk::schedule {
namespace {

constexpr Seconds kEndless{std::numeric_limits<double>::infinity()};

bool is_shorter(const Found& a, const Found& b) { return a.times.total < b.times.total; }

/// Has the judge say what it has not said before.
void ask(const Judge& judge, const std::vector<Found*>& finals) {
  std::vector<Found*> asked;
  std::vector<const program::Program*> programs;
  for (Found* found : finals) {
    if (!found->judged) {
      asked.push_back(found);
      programs.push_back(&found->program);
    }
  }
  if (asked.empty()) {
    return;
  }
  const std::vector<Seconds> times = judge(programs);
  for (std::size_t i = 0; i < times.size(); ++i) {
    asked[i]->judged = times[i];
  }
}

/// The best of the finals, the shortest first; without what the judge said of one alone.
Found judged_best(const Judge& judge, std::vector<Found>& finals) {
  std::vector<Found*> rivals;
  for (Found& found : finals) {
    rivals.push_back(&found);
  }
  std::stable_sort(rivals.begin(), rivals.end(),
                   [](const Found* a, const Found* b) { return is_shorter(*a, *b); });
  if (!judge || !mechanisms().judge || rivals.size() == 1) {
    Found alone = *rivals.front();
    alone.judged.reset();
    return alone;
  }
  ask(judge, rivals);
  return **std::min_element(rivals.begin(), rivals.end(),
                            [](const Found* a, const Found* b) { return *a->judged < *b->judged; });
}

/// For each policy up to `asked` the shortest forecast of what it and those below it placed.
std::vector<Seconds> least_forecasts(const std::vector<Found>& finals, Policy asked) {
  std::vector<Seconds> result;
  for (const Policy policy : policies_to(asked)) {
    Seconds least = kEndless;
    for (const Found& found : finals) {
      least = found.origin <= policy ? std::min(least, found.times.total) : least;
    }
    result.push_back(least);
  }
  return result;
}

}  // namespace

std::optional<PlacedCandidate> shortest_placed(const Problem& problem, Policy policy,
                                               std::span<const Contender> contenders, Bytes room,
                                               int threads) {
  std::optional<PlacedCandidate> result;
  Seconds best = kEndless;
  for (const Contender& contender : contenders) {
    if (contender.policy != policy || best <= contender.times.total) {
      continue;
    }
    if (auto placed = place(problem, contender, best, room, threads)) {
      best = placed->times.total;
      result = std::move(placed);
    }
  }
  return result;
}

Found best_of(std::vector<Found>& finals, const SearchOptions& options) {
  Seconds raw = kEndless;
  for (const Found& found : finals) {
    raw = found.origin == options.policy ? std::min(raw, found.times.total) : raw;
  }
  std::vector<Seconds> least = least_forecasts(finals, options.policy);
  Found best = judged_best(options.judge, finals);
  best.raw = std::isinf(raw.value) ? least.back() : raw;
  best.least = std::move(least);
  return best;
}

void refuse(const Problem& problem, Bytes room, const std::optional<Shortage>& shortage) {
  if (!shortage) {
    throw Infeasible(text("no schedule could be placed in ", room.value,
                          " bytes of SRAM a core: buffers fit in sum but not in addresses; "
                          "give the chip more core.sram_bytes"),
                     "placement");
  }
  const ir::Op& op = problem.graph().ops[shortage->op];
  throw Infeasible(
      text("op '", op.name, "' (", op.onnx_type, ") does not fit: its smallest workable plan ",
           "beside the tensors that must stay on chip needs ", (room + shortage->excess).value,
           " bytes of SRAM a core, ", room.value,
           " are usable (core.sram_bytes - core.reserved_bytes): ", shortage->excess.value,
           " bytes too many; a smaller batch or sequence, more cores, or core.sram_bytes larger "
           "by that much would make it fit"),
      "sram_overflow");
}

}  // namespace elk::schedule
