#include "elk/sim/play/player.hpp"

#include <algorithm>
#include <limits>

#include "elk/base/watch.hpp"

namespace elk::sim {
namespace {

constexpr Picoseconds kEndless{std::numeric_limits<std::int64_t>::max()};

Picoseconds until(Wide left, Wide speed) { return time_to_move(left, {speed, 1}); }

bool active(const Meeting& meeting) { return meeting.left > 0; }

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

Player::Player(const Demands& demands, Picoseconds hbm_latency)
    : latency_(hbm_latency),
      refresh_(demands.network().machine().refresh),
      nothing_(demands.nothing()) {}

std::size_t Player::push(const Demand* demand) {
  jobs_.push_back({.demand = demand, .begin = {0}, .end = {-1}});
  if (!begun_) {
    begin_job();
  }
  return jobs_.size() - 1;
}

void Player::begin_job() {
  while (head_ < jobs_.size()) {
    QueueEntry& job = jobs_[head_];
    job.begin = now_;
    arrives_ = now_ + (free_since_ == now_ ? Picoseconds{0} : latency_);
    left_ = grains(job.demand->stream);
    if (left_ > 0) {
      begun_ = true;
      set_alone();
      return;
    }
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

void Player::set_alone() {
  const Demand& demand = *jobs_[head_].demand;
  alone_ = 0;
  for (const ResourceLoad& load : demand.kinds) {
    if (load.amount > 0) {
      const Wide cap = grains(load.rate) * demand.stream.value / load.amount;
      alone_ = alone_ == 0 ? cap : std::min(alone_, cap);
    }
  }
}

bool Player::streaming() const { return begun_ && now_ >= arrives_ && !stands(); }

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
  Picoseconds next = now_ < arrives_ ? arrives_ - now_ : kEndless;
  if (refresh_.interval.value > 0) {
    const std::int64_t since = now_.value % refresh_.interval.value;
    next = std::min(
        next, Picoseconds{(stands() ? refresh_.stall.value : refresh_.interval.value) - since});
  }
  return next;
}

const Meetings& Player::meetings(const Demand& execute, std::int32_t id) {
  const Demand* load = begun_ ? jobs_[head_].demand : &nothing_;
  const auto [found, is_new] = known_.try_emplace({id, load});
  if (is_new) {
    found->second = meet(execute, *load);
  }
  return found->second;
}

Player::Scene Player::scene(const Demand& execute, std::int32_t id) {
  const Meetings& origin = meetings(execute, id);
  return {.all = origin.all, .origin = &origin, .own = {}, .end = now_};
}

/// The head of the queue is over in the middle of an execute's demand.
void Player::change_scene(Scene& scene) {
  const Demand& load = begun_ ? *jobs_[head_].demand : nothing_;
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
  const Wide whole = jobs_[head_].demand->stream.value;
  for (const Meeting& meeting : scene.all) {
    if (meeting.other > 0 && meeting.flows && active(meeting)) {
      pace_ = std::min(pace_, std::max<Wide>(1, meeting.speed / 2 * whole / meeting.other));
    }
  }
}

/// Grains in a picosecond that the head of the queue takes where it meets an execute.
Wide Player::taken(const Meeting& meeting) const {
  if (meeting.other == 0 || pace_ == 0) {
    return 0;
  }
  const Wide share = pace_ * meeting.other / jobs_[head_].demand->stream.value;
  return std::min(share, meeting.speed - 1);
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
  const bool was_streaming = streaming();
  move(scene, time);
  if (begun_ && was_streaming && left_ == 0) {
    end_job();
    change_scene(scene);
  }
}

void Player::wait(std::size_t number) {
  while (jobs_[number].end < Picoseconds{0}) {
    Scene none = scene(nothing_, -1);
    advance(none, kEndless, false);
  }
}

PhaseRecord Player::pass(Picoseconds time) {
  const Picoseconds begin = now_;
  while (now_ < begin + time) {
    Scene none = scene(nothing_, -1);
    advance(none, begin + time - now_, true);
  }
  return {.begin = begin, .end = now_, .alone = time};
}

PhaseRecord Player::play(const Demand& execute, std::int32_t id) {
  const Picoseconds begin = now_;
  Scene now = scene(execute, id);
  while (std::any_of(now.all.begin(), now.all.end(), active)) {
    advance(now, kEndless, true);
  }
  const Picoseconds end = std::max(now.end, now_) + execute.latency;
  pass(end - now_);
  return {.begin = begin, .end = end, .alone = alone(execute)};
}

}  // namespace elk::sim
