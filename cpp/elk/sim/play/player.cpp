#include "elk/sim/play/player.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "elk/base/watch.hpp"
#include "elk/sim/play/sums.hpp"

namespace elk::sim {
namespace {

constexpr Picoseconds kEndless{std::numeric_limits<std::int64_t>::max()};

Picoseconds until(Wide left, Wide speed) { return time_to_move(left, {speed, 1}); }

bool active(const Meeting& meeting) { return meeting.left > 0; }

/// At which a preload or store streams with no execute about: grains in a picosecond.
Wide lone_pace(const Demand& demand) {
  Wide pace = 0;
  for (const ResourceLoad& load : demand.kinds) {
    if (load.amount > 0) {
      const Wide cap = grains(load.rate) * demand.stream.value / load.amount;
      pace = pace == 0 ? cap : std::min(pace, cap);
    }
  }
  return pace;
}

}  // namespace

Picoseconds alone(const Demand& demand) {
  Picoseconds most{0};
  for (const ResourceLoad& load : demand.kinds) {
    if (load.amount > 0) {
      const Picoseconds moving = load.computes
                                     ? Picoseconds{load.amount}
                                     : until(grains(Bytes{load.amount}), grains(load.rate));
      most = std::max(most, moving + load.tail);
    }
  }
  return most + demand.latency;
}

Picoseconds streaming_alone(const Demand& demand) {
  return until(grains(demand.stream), lone_pace(demand));
}

Wide taken(const Meeting& meeting, Wide pace, const Demand& stream) {
  if (meeting.other == 0 || pace == 0) {
    return 0;
  }
  return std::min(pace * meeting.other / stream.stream.value, meeting.speed - 1);
}

Player::Player(const Trace& trace, Watcher watcher)
    : loads_(trace.loads),
      latency_(trace.machine.hbm_latency),
      refresh_(trace.machine.refresh),
      jobs_(trace.start.jobs),
      free_since_(trace.start.idle_since),
      left_(trace.start.left),
      now_(trace.start.now),
      watcher_(std::move(watcher)) {
  nothing_.kind_of.assign(trace.machine.resources, 0);
  nothing_.kinds.push_back(kNothing);
  while (jobs_.has(head_) && jobs_[head_].end >= Picoseconds{0}) {
    ++head_;
  }
  if (jobs_.has(head_)) {
    begun_ = true;
    alone_ = lone_pace(head());
  }
}

PlayState Player::state() const {
  return {.now = now_, .jobs = jobs_, .left = left_, .idle_since = free_since_};
}

void Player::push(const program::Instruction& instruction, LoadId load) {
  jobs_.push_back({.instruction = instruction, .load = load, .issued = now_});
  if (!begun_) {
    begin_job();
  }
}

void Player::begin_job() {
  while (jobs_.has(head_)) {
    QueueEntry& job = jobs_[head_];
    job.begin = now_;
    left_ = grains(head().stream);
    if (left_ > 0) {
      job.first = now_ + (free_since_ == now_ ? Picoseconds{0} : latency_);
      begun_ = true;
      alone_ = lone_pace(head());
      return;
    }
    job.first = now_;
    job.end = now_;
    ++head_;
  }
}

void Player::end_job() {
  jobs_[head_].end = now_;
  ++head_;
  begun_ = false;
  free_since_ = now_;
  begin_job();
}

bool Player::streaming() const { return begun_ && now_ >= jobs_[head_].first && !stands(); }

/// Whether the HBM refreshes.
bool Player::stands() const {
  return refresh_.interval.value > 0 && now_ >= refresh_.interval &&
         now_.value % refresh_.interval.value < refresh_.stall.value;
}

/// Until the first byte arrives, or a refresh begins or ends.
Picoseconds Player::until_next() const {
  if (!begun_) {
    return kEndless;
  }
  const Picoseconds first = jobs_[head_].first;
  Picoseconds next = now_ < first ? first - now_ : kEndless;
  if (refresh_.interval.value > 0) {
    const std::int64_t since = now_.value % refresh_.interval.value;
    next = std::min(
        next, Picoseconds{(stands() ? refresh_.stall.value : refresh_.interval.value) - since});
  }
  return next;
}

const Meetings& Player::meetings(const Demand& execute) {
  const Demand* load = begun_ ? &head() : &nothing_;
  const auto [found, is_new] = known_.try_emplace({&execute, load});
  if (is_new) {
    found->second = meet(execute, *load);
  }
  return found->second;
}

Player::Scene Player::scene(const Demand& execute) {
  const Meetings& origin = meetings(execute);
  return {.all = origin.all, .origin = &origin, .own = {}, .end = now_};
}

/// The head of the queue is over in the middle of an execute's demand.
void Player::change_scene(Scene& scene) {
  const Demand& load = begun_ ? head() : nothing_;
  const Meetings before{.all = scene.all,
                        .of = scene.origin != nullptr ? scene.origin->of : scene.own.of};
  scene.own = meet_again(before, load);
  scene.all = scene.own.all;
  scene.origin = nullptr;
}

void Player::set_pace(const Scene& scene) {
  pace_ = streaming() ? alone_ : Wide{0};
  if (pace_ == 0) {
    return;
  }
  const Wide whole = head().stream.value;
  for (const Meeting& meeting : scene.all) {
    if (meeting.other > 0 && meeting.flows && active(meeting)) {
      pace_ = std::min(pace_, std::max<Wide>(1, meeting.speed / 2 * whole / meeting.other));
    }
  }
}

/// Grains in a picosecond that the head of the queue takes where it meets an execute.
Wide Player::taken(const Meeting& meeting) const {
  return pace_ == 0 ? Wide{0} : sim::taken(meeting, pace_, head());
}

/// Until a stream or the last of the execute's amounts ends, or one ends that held a stream up.
Picoseconds Player::until_change(const Scene& scene) const {
  Picoseconds first = until_next();
  first = pace_ > 0 ? std::min(first, until(left_, pace_)) : first;
  Picoseconds last{0};
  for (const Meeting& meeting : scene.all) {
    if (active(meeting)) {
      const Picoseconds end = until(meeting.left, meeting.speed - taken(meeting));
      last = std::max(last, end);
      const bool holds = meeting.flows && meeting.other > 0 && pace_ < alone_;
      first = holds ? std::min(first, end) : first;
    }
  }
  return last.value > 0 ? std::min(first, last) : first;
}

void Player::account(const Scene& scene, Picoseconds time, bool executing) {
  if (!begun_ || !executing) {
    Picoseconds& alone = executing ? split_.execute : split_.interconnect;
    (begun_ ? split_.preload : alone) += time;
    return;
  }
  double least = 1.0;
  const auto see = [&](Wide rate, Wide whole) {
    least = std::min(least, static_cast<double>(rate) / static_cast<double>(whole));
  };
  if (pace_ > 0) {
    see(pace_, alone_);
  }
  for (const Meeting& meeting : scene.all) {
    if (meeting.flows && active(meeting)) {
      see(meeting.speed - taken(meeting), meeting.speed);
    }
  }
  const auto overlapped = static_cast<std::int64_t>(static_cast<double>(time.value) * least);
  split_.overlapped += Picoseconds{overlapped};
  split_.interconnect += Picoseconds{time.value - overlapped};
}

void Player::move(Scene& scene, Picoseconds time) {
  for (Meeting& meeting : scene.all) {
    if (!active(meeting)) {
      continue;
    }
    const Wide speed = meeting.speed - taken(meeting);
    const Wide moved = speed * time.value;
    if (moved >= meeting.left) {
      scene.end = std::max(scene.end, now_ + until(meeting.left, speed) + meeting.tail);
      meeting.left = 0;
    } else {
      meeting.left -= moved;
    }
  }
  left_ = std::max<Wide>(0, left_ - (pace_ * time.value));
  now_ += time;
}

void Player::advance(Scene& scene, Picoseconds most, bool executing) {
  Watch::check();
  set_pace(scene);
  const Picoseconds time = std::min(most, until_change(scene));
  account(scene, time, executing);
  show(scene, time);
  const bool was_streaming = streaming();
  if (begun_ && stands() && now_ >= jobs_[head_].first) {
    jobs_[head_].refreshed += time;
  }
  move(scene, time);
  if (begun_ && was_streaming && left_ == 0) {
    end_job();
    change_scene(scene);
  }
}

void Player::show(const Scene& scene, Picoseconds time) const {
  if (watcher_ && time > Picoseconds{0}) {
    watcher_({.time = {now_, now_ + time},
              .stream = begun_ ? &head() : nullptr,
              .left = left_,
              .pace = pace_,
              .meetings = scene.all,
              .of = scene.origin != nullptr ? scene.origin->of : scene.own.of,
              .lasting = scene.origin != nullptr});
  }
}

void Player::wait(JobId number) {
  jobs_[number].reached = now_;
  while (jobs_[number].end < Picoseconds{0}) {
    Scene none = scene(nothing_);
    advance(none, kEndless, false);
  }
}

PhaseRecord Player::pass(Picoseconds time) {
  const Picoseconds begin = now_;
  while (now_ < begin + time) {
    Scene none = scene(nothing_);
    advance(none, begin + time - now_, true);
  }
  return {.begin = begin, .end = now_, .alone = time};
}

PhaseRecord Player::play(const Demand& execute) {
  const Picoseconds begin = now_;
  Scene now = scene(execute);
  while (std::any_of(now.all.begin(), now.all.end(), active)) {
    advance(now, kEndless, true);
  }
  const Picoseconds end = std::max(now.end, now_) + execute.latency;
  pass(end - now_);
  return {.begin = begin, .end = end, .alone = alone(execute)};
}

}  // namespace elk::sim
