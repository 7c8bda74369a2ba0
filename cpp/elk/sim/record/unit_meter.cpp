#include "elk/sim/record/unit_meter.hpp"

#include <algorithm>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/text.hpp"
#include "elk/base/watch.hpp"
#include "elk/sim/play/play_trace.hpp"

namespace elk::sim {
namespace {

constexpr double kPs = 1e-12;

using MeetingId = Id<struct MeetingKind>;

/// What the resources of one meeting did since it was last written down, each of them.
struct MeetingUse {
  double amount = 0.0;  // bytes
  double busy = 0.0;    // picoseconds
};

class UnitMeter {
 public:
  UnitMeter(const Recording& recording, Interval<double> time, std::int64_t bins)
      : recording_(recording),
        begin_(time.begin),
        width_(time.length() / static_cast<double>(bins)),
        bins_(bins),
        classes_(recording.trace.machine.resources),
        in_bin_(classes_.size(), 0.0),
        carried_(classes_.size(), 0.0),
        busy_(classes_.size(), 0.0) {
    for (std::size_t r = 0; r < recording.resources.size(); ++r) {
      ResourceClass& one = classes_[recording.class_of[r]];
      const RecordedResource& resource = recording.resources[r];
      one.first = one.count == 0 ? static_cast<std::int32_t>(r) : one.first;
      one.purpose = resource.purpose;
      one.rate = static_cast<double>(resource.rate.value);
      ++one.count;
    }
    const auto size = static_cast<std::size_t>(bins);
    for (std::vector<double>* unit :
         {&out_.hbm, &out_.received, &out_.matrix, &out_.vector, &out_.other}) {
      unit->assign(size, 0.0);
    }
    for (PurposeBins& purpose : out_.purposes) {
      purpose = {std::vector<double>(size, 0.0), std::vector<double>(size, 0.0),
                 std::vector<std::int32_t>(size, -1)};
    }
  }

  /// Something happened evenly within `time`.
  void add(std::vector<double>& unit, Interval<double> time, double amount) const {
    const double length = time.end - time.begin;
    if (amount == 0.0 || length <= 0.0) {
      return;
    }
    for (std::int64_t bin = std::max<std::int64_t>(0, bin_of(time.begin));
         bin < bins_ && edge(bin) < time.end; ++bin) {
      const Interval<double> part = intersection(time, {edge(bin), edge(bin + 1)});
      unit[subscript(bin)] += part.empty() ? 0.0 : amount * ((part.end - part.begin) / length);
    }
  }

  void stretch(const Stretch& stretch, const TraceStep* step, const Stage* stage) {
    if (of_at_ != stretch.of.data() || !stretch.lasting) {
      write_down();
      of_.clear();
      for (const std::int32_t meeting : stretch.of) {
        of_.push_back(MeetingId{meeting});
      }
      of_at_ = stretch.lasting ? stretch.of.data() : nullptr;
      used_.assign(stretch.meetings.size(), {});
      count_cores(stretch.meetings.size());
    }
    const auto begin = static_cast<double>(stretch.time.begin.value);
    const auto length = static_cast<double>((stretch.time.end - stretch.time.begin).value);
    see_stream(stretch, begin, length);
    find_rates(stretch);
    see_calls(stretch, step, stage, {begin, begin + length});
    const double end = begin + length;
    std::int64_t bin = bin_of(begin);
    for (double now = begin; now < end; ++bin) {
      go_to(bin);
      const bool inside = bin >= 0 && bin < bins_;
      const double until = inside ? std::max(now, edge(bin + 1)) : (bin < 0 ? begin_ : end);
      const double next = std::min(end, until);
      if (inside) {
        see(now - begin, next - begin);
      }
      now = next;
    }
  }

  void stage(const TraceStep& step, const Stage& stage, Interval<Picoseconds> time) {
    const Interval<double> moving{static_cast<double>((time.begin + stage.sync).value),
                                  static_cast<double>(time.end.value)};
    add(out_.received, moving, static_cast<double>(stage.demand().received.value));
    if (recording_.trace.fidelity == Fidelity::Symmetric && stage.kind == PhaseKind::Compute) {
      add(unit_of(step, stage), moving, core_seconds(step, stage));
    }
  }

  UnitBins finish() {
    write_down();
    close_bin();
    for (std::size_t r = 0; r < recording_.resources.size(); ++r) {
      const ResourceClassId one = recording_.class_of[r];
      out_.carried.push_back(carried_[one]);
      out_.busy.push_back(busy_[one] * kPs);
    }
    return std::move(out_);
  }

 private:
  struct ResourceClass {
    Purpose purpose = Purpose::Sram;
    std::int32_t first = -1;
    std::int64_t count = 0;
    double rate = 0.0;
  };

  /// What a meeting does while a stretch lasts, from its beginning on.
  struct MeetingRates {
    double execute = 0.0;  // bytes in a picosecond
    double until = 0.0;    // picoseconds
    double stream = 0.0;
  };

  [[nodiscard]] double edge(std::int64_t bin) const {
    return begin_ + (width_ * static_cast<double>(bin));
  }
  /// -1: before the first; `bins_`: after the last.
  [[nodiscard]] std::int64_t bin_of(double time) const {
    if (time < begin_) {
      return -1;
    }
    return static_cast<std::int64_t>(
        std::min((time - begin_) / width_, static_cast<double>(bins_)));
  }

  [[nodiscard]] static double grain_bytes(Wide grain) {
    return static_cast<double>(grain) / (1e12 * static_cast<double>(kGrains));
  }

  /// How many cores compute in each meeting.
  void count_cores(std::size_t meetings) {
    cores_.assign(meetings, 0);
    for (const ResourceClassId c : of_.ids()) {
      if (cores_.has(of_[c]) && classes_[c].purpose == Purpose::Sram) {
        cores_[of_[c]] += classes_[c].count;
      }
    }
  }

  void see_stream(const Stretch& stretch, double begin, double length) {
    stream_until_ = 0.0;
    if (stretch.pace == 0) {
      return;
    }
    const auto left = static_cast<double>(stretch.left);
    stream_until_ = std::min(length, left / static_cast<double>(stretch.pace));
    const Demand& stream = *stretch.stream;
    const double share = static_cast<double>(stretch.pace) * stream_until_ /
                         static_cast<double>(grains(stream.stream));
    const Interval<double> time{begin, begin + stream_until_};
    add(out_.hbm, time, share * static_cast<double>(stream.hbm.value));
    add(out_.received, time, share * static_cast<double>(stream.received.value));
  }

  void find_rates(const Stretch& stretch) {
    rates_.assign(stretch.meetings.size(), {});
    for (const MeetingId m : rates_.ids()) {
      const Meeting& meeting = stretch.meetings[m.index()];
      Wide loss = 0;
      if (stretch.pace > 0 && meeting.other > 0) {
        loss = taken(meeting, stretch.pace, *stretch.stream);
        rates_[m].stream = grain_bytes(stretch.pace) * static_cast<double>(meeting.other) /
                           static_cast<double>(stretch.stream->stream.value);
      }
      if (meeting.left > 0) {
        const Wide speed = meeting.speed - loss;
        rates_[m].execute = meeting.flows ? grain_bytes(speed) : 0.0;
        rates_[m].until = static_cast<double>(meeting.left) / static_cast<double>(speed);
      }
    }
  }

  /// Tile calls, as fast as their cores' SRAM ports let them run.
  void see_calls(const Stretch& stretch, const TraceStep* step, const Stage* stage,
                 Interval<double> time) {
    if (stage == nullptr || stage->kind != PhaseKind::Compute ||
        recording_.trace.fidelity == Fidelity::Symmetric) {
      return;
    }
    for (const MeetingId m : rates_.ids()) {
      const Meeting& meeting = stretch.meetings[m.index()];
      if (meeting.left == 0 || meeting.flows) {
        continue;
      }
      const double until = std::min(rates_[m].until, time.end - time.begin);
      const double speed = static_cast<double>(meeting.left) /
                           (rates_[m].until * static_cast<double>(meeting.speed));
      add(unit_of(*step, *stage), {time.begin, time.begin + until},
          until * speed * static_cast<double>(cores_[m]) * kPs);
    }
  }

  [[nodiscard]] std::vector<double>& unit_of(const TraceStep& step, const Stage& stage) {
    if (stage.core_time.value == 0.0) {
      return out_.other;
    }
    return step.matrix ? out_.matrix : out_.vector;
  }

  /// Of the calls of a stage, over all cores, as if nothing drew them out.
  [[nodiscard]] double core_seconds(const TraceStep& step, const Stage& stage) const {
    if (stage.core_time.value > 0.0) {
      return stage.core_time.value;
    }
    const std::size_t cores = recording_.trace.executions[step.execution]->cores.size();
    return to_seconds(alone(stage.demand())).value * static_cast<double>(cores);
  }

  /// What meetings do from `begin` to `end`, both from the beginning of the stretch.
  void see(double begin, double end) {
    for (const MeetingId m : rates_.ids()) {
      const MeetingRates& rate = rates_[m];
      const double own = std::max(0.0, std::min(end, rate.until) - begin);
      const double streamed = std::max(0.0, std::min(end, stream_until_) - begin);
      used_[m].amount += (rate.execute * own) + (rate.stream * streamed);
      used_[m].busy += std::max(rate.execute > 0.0 ? own : 0.0, rate.stream > 0.0 ? streamed : 0.0);
    }
    fresh_ = true;
  }

  /// Gives what meetings did since to the resources that they stand for.
  void write_down() {
    if (!fresh_) {
      return;
    }
    fresh_ = false;
    for (const ResourceClassId c : of_.ids()) {
      if (used_.has(of_[c])) {
        const MeetingUse& use = used_[of_[c]];
        in_bin_[c] += use.amount;
        carried_[c] += use.amount;
        busy_[c] += use.busy;
      }
    }
    used_.assign(used_.size(), {});
  }

  void go_to(std::int64_t bin) {
    if (bin != bin_) {
      write_down();
      close_bin();
      bin_ = bin;
    }
  }

  void close_bin() {
    if (bin_ < 0 || bin_ >= bins_) {
      return;
    }
    Watch::check();
    const std::size_t bin = subscript(bin_);
    for (const ResourceClassId c : classes_.ids()) {
      const double amount = std::exchange(in_bin_[c], 0.0);
      if (amount == 0.0) {
        continue;
      }
      const ResourceClass& one = classes_[c];
      PurposeBins& purpose = out_.purposes[static_cast<std::size_t>(one.purpose)];
      purpose.amount[bin] += amount * static_cast<double>(one.count);
      const double share = amount / (one.rate * width_ * kPs);
      if (share > purpose.busiest[bin]) {
        purpose.busiest[bin] = share;
        purpose.busiest_is[bin] = one.first;
      }
    }
  }

  const Recording& recording_;
  double begin_;
  double width_;
  std::int64_t bins_;
  Table<ResourceClassId, ResourceClass> classes_;
  Table<ResourceClassId, double> in_bin_;  // bytes of each class in the bin
  Table<ResourceClassId, double> carried_;
  Table<ResourceClassId, double> busy_;  // picoseconds
  Table<ResourceClassId, MeetingId> of_;
  const std::int32_t* of_at_ = nullptr;
  Table<MeetingId, MeetingUse> used_;
  Table<MeetingId, MeetingRates> rates_;
  Table<MeetingId, std::int64_t> cores_;
  double stream_until_ = 0.0;  // of the stretch
  bool fresh_ = false;
  std::int64_t bin_ = -1;
  UnitBins out_;
};

}  // namespace

UnitBins units(const Recording& recording, Interval<double> time, std::int64_t bins) {
  if (bins < 1 || bins > kMostBins || !(time.begin >= 0.0 && time.begin < time.end)) {
    throw InvalidInput(text("there must be from 1 to ", kMostBins, " bins of some time, got ", bins,
                            " from ", time.begin, " to ", time.end, " ps"));
  }
  UnitMeter meter(recording, time, bins);
  (void)play(recording.trace,
             {.stretch = [&](const Stretch& stretch, const TraceStep* step,
                             const Stage* stage) { meter.stretch(stretch, step, stage); },
              .stage = [&](const TraceStep& step, const Stage& stage,
                           Interval<Picoseconds> when) { meter.stage(step, stage, when); }});
  return meter.finish();
}

}  // namespace elk::sim
