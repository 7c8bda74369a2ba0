#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "elk/sim/play/demand.hpp"
#include "elk/sim/play/meeting.hpp"

namespace elk::sim {

/// How the time of a run divides (design 8). The parts add up to the whole, to the picosecond.
struct RunBreakdown {
  Picoseconds preload{0};       // a preload or store alone
  Picoseconds execute{0};       // an execute alone
  Picoseconds overlapped{0};    // both, as fast as each would be alone
  Picoseconds interconnect{0};  // both, the share by which the slower one is held up; and idle time

  friend bool operator==(const RunBreakdown&, const RunBreakdown&) = default;
};

/// One entry of the queue that preloads and stores share.
struct QueueEntry {
  const Demand* demand;
  Picoseconds begin{0};
  Picoseconds end{-1};  // -1: not yet
};

/// What happened in one phase of an execute.
struct PhaseRecord {
  Picoseconds begin;
  Picoseconds end;
  Picoseconds alone;  // what the phase would have taken with nothing else on the machine
};

/// Plays the phases of executes one after another, and in the background the queue of preloads and
/// stores, on one machine.
///
/// Of an exchange every port or link has its bytes to carry; it is over when all are done: cores
/// that know their exchanges beforehand can keep every port busy until its bytes have passed (an
/// edge colouring of who sends to whom). A preload or store is one stream: its parts arrive in
/// step, at the pace of the slowest resource on their way. Where both meet on a resource they share
/// it max-min fairly. A computation runs at `1 - load / capacity` of its core's SRAM port. Time is
/// in whole picoseconds, ends are rounded up, amounts are whole grains.
class Player {
 public:
  Player(const Demands& demands, Picoseconds hbm_latency);

  /// Adds to the queue; returns the job's number.
  std::size_t push(const Demand* demand);
  [[nodiscard]] const QueueEntry& job(std::size_t number) const { return jobs_[number]; }
  [[nodiscard]] std::size_t waiting() const { return jobs_.size() - head_; }

  /// Lets time pass until job `number` is over.
  void wait(std::size_t number);
  /// Lets a fixed time of an execute pass.
  PhaseRecord pass(Picoseconds time);
  /// Plays what `execute` asks, number `id` among such demands, to its end.
  PhaseRecord play(const Demand& execute, std::int32_t id);

  [[nodiscard]] Picoseconds now() const { return now_; }
  [[nodiscard]] const RunBreakdown& split() const { return split_; }

 private:
  /// What is going on: the meetings of the execute's demand and the head of the queue.
  struct Scene {
    std::vector<Meeting> all;
    const Meetings* origin;  // whose `of` says where resources stand; null: `own` does
    Meetings own;
    Picoseconds end;  // latest end so far of what is over, tails included
  };

  [[nodiscard]] Scene scene(const Demand& execute, std::int32_t id);
  void change_scene(Scene& scene);
  [[nodiscard]] const Meetings& meetings(const Demand& execute, std::int32_t id);

  void begin_job();
  void end_job();
  void set_alone();
  [[nodiscard]] bool streaming() const;
  [[nodiscard]] bool stands() const;
  [[nodiscard]] Picoseconds until_next() const;
  void set_pace(const Scene& scene);
  [[nodiscard]] Wide taken(const Meeting& meeting) const;
  [[nodiscard]] Picoseconds until_change(const Scene& scene) const;
  void advance(Scene& scene, Picoseconds most, bool executing);
  void move(Scene& scene, Picoseconds time);
  void account(const Scene& scene, Picoseconds time, bool executing);

  Picoseconds latency_;
  Refresh refresh_;
  Demand nothing_;
  std::vector<QueueEntry> jobs_;
  std::size_t head_ = 0;
  bool begun_ = false;
  Picoseconds arrives_{0};      // when the head's first byte does
  Picoseconds free_since_{-1};  // when the HBM last fell idle
  Wide left_ = 0;               // of the head, at the HBM of the busiest chip
  Wide pace_ = 0;               // grains in a picosecond
  Wide alone_ = 0;              // `pace_` with no execute about
  Picoseconds now_{0};
  RunBreakdown split_;
  std::map<std::pair<std::int32_t, const Demand*>, Meetings> known_;
};

/// What a demand takes with nothing else on the machine.
[[nodiscard]] Picoseconds alone(const Demand& demand);

}  // namespace elk::sim
