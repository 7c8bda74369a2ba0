#include "elk/sim/tasks/flow_split.hpp"

#include <algorithm>
#include <cstddef>

namespace elk::sim {
namespace {

/// Goes along stretches as time passes.
class Cursor {
 public:
  explicit Cursor(std::span<const FlowSpan> all) : all_(all) {}

  /// The stretch at `now`, or null.
  [[nodiscard]] const FlowSpan* at(Picoseconds now) {
    while (next_ < all_.size() && all_[next_].time.end <= now) {
      ++next_;
    }
    return next_ < all_.size() && all_[next_].time.begin <= now ? &all_[next_] : nullptr;
  }

  /// When that changes; `end` at the latest.
  [[nodiscard]] Picoseconds until(Picoseconds now, Picoseconds end) const {
    if (next_ == all_.size()) {
      return end;
    }
    const Interval<Picoseconds>& time = all_[next_].time;
    return std::min(end, time.begin > now ? time.begin : time.end);
  }

 private:
  std::span<const FlowSpan> all_;
  std::size_t next_ = 0;
};

/// The share of its time by which a stretch was held up.
double held_up(const FlowSpan& stretch) {
  const auto took = static_cast<double>((stretch.time.end - stretch.time.begin).value);
  return std::clamp(1.0 - (static_cast<double>(stretch.alone.value) / took), 0.0, 1.0);
}

}  // namespace

RunBreakdown split_of(Picoseconds total, std::span<const FlowSpan> executes,
                      std::span<const FlowSpan> loads) {
  RunBreakdown split;
  Cursor execute(executes);
  Cursor load(loads);
  for (Picoseconds now{0}; now < total;) {
    const FlowSpan* executing = execute.at(now);
    const FlowSpan* loading = load.at(now);
    const Picoseconds next = std::min(execute.until(now, total), load.until(now, total));
    const Picoseconds time = next - now;
    now = next;
    if (executing != nullptr && loading != nullptr) {
      const double late = std::max(held_up(*executing), held_up(*loading));
      const Picoseconds held{static_cast<std::int64_t>(static_cast<double>(time.value) * late)};
      split.interconnect += held;
      split.overlapped += time - held;
    } else if (executing != nullptr) {
      split.execute += time;
    } else {
      (loading != nullptr ? split.preload : split.interconnect) += time;
    }
  }
  return split;
}

}  // namespace elk::sim
