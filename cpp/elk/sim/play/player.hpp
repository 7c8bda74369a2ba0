#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/intervals.hpp"
#include "elk/sim/play/demand.hpp"
#include "elk/sim/play/meeting.hpp"
#include "elk/sim/play/run.hpp"
#include "elk/sim/play/trace.hpp"

namespace elk::sim {

/// What happened in one phase of an execute.
struct PhaseRecord {
  Picoseconds begin;
  Picoseconds end;
  Picoseconds alone;  // what the phase would have taken with nothing else on the machine
};

/// A time in which nothing changes its pace: what every resource does is what its meeting says.
struct Stretch {
  Interval<Picoseconds> time;
  const Demand* stream;               // the preload or store at the head; null: none
  Wide left;                          // grains of the stream
  Wide pace;                          // grains in a picosecond; 0: it waits
  std::span<const Meeting> meetings;  // as the time begins
  std::span<const std::int32_t> of;   // of every resource: its meeting; -1: none
  bool lasting;                       // whether `of` stays where it is while the trace is played
};

/// Looks on.
using Watcher = std::function<void(const Stretch&)>;

/// Grains in a picosecond that a stream of this pace takes where it meets an execute.
[[nodiscard]] Wide taken(const Meeting& meeting, Wide pace, const Demand& stream);

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
  explicit Player(const Trace& trace, Watcher watcher = {});

  /// Adds to the queue.
  void push(const program::Instruction& instruction, LoadId load);
  [[nodiscard]] const Table<JobId, QueueEntry>& jobs() const { return jobs_; }
  [[nodiscard]] std::size_t waiting() const { return jobs_.size() - head_.index(); }

  /// Lets time pass until job `number` is over.
  void wait(JobId number);
  /// Lets a fixed time of an execute pass.
  PhaseRecord pass(Picoseconds time);
  /// Plays what `execute` asks to its end.
  PhaseRecord play(const Demand& execute);

  [[nodiscard]] Picoseconds now() const { return now_; }
  [[nodiscard]] const RunBreakdown& split() const { return split_; }
  [[nodiscard]] PlayState state() const;

 private:
  /// What is going on: the meetings of the execute's demand and the head of the queue.
  struct Scene {
    std::vector<Meeting> all;
    const Meetings* origin;  // whose `of` says where resources stand; null: `own` does
    Meetings own;
    Picoseconds end;  // latest end so far of what is over, tails included
  };

  [[nodiscard]] Scene scene(const Demand& execute);
  void change_scene(Scene& scene);
  [[nodiscard]] const Meetings& meetings(const Demand& execute);

  void begin_job();
  void end_job();
  [[nodiscard]] const Demand& head() const { return *loads_[jobs_[head_].load]; }
  [[nodiscard]] bool streaming() const;
  [[nodiscard]] bool stands() const;
  [[nodiscard]] Picoseconds until_next() const;
  void set_pace(const Scene& scene);
  [[nodiscard]] Wide taken(const Meeting& meeting) const;
  void show(const Scene& scene, Picoseconds time) const;
  [[nodiscard]] Picoseconds until_change(const Scene& scene) const;
  void advance(Scene& scene, Picoseconds most, bool executing);
  void move(Scene& scene, Picoseconds time);
  void account(const Scene& scene, Picoseconds time, bool executing);

  TableView<LoadId, const DemandOnce> loads_;
  Picoseconds latency_;
  Refresh refresh_;
  Demand nothing_;
  Table<JobId, QueueEntry> jobs_;
  JobId head_{0};
  bool begun_ = false;
  Picoseconds free_since_{-1};  // when the HBM last fell idle
  Wide left_ = 0;               // of the head, at the HBM of the busiest chip
  Wide pace_ = 0;               // grains in a picosecond
  Wide alone_ = 0;              // `pace_` with no execute about
  Picoseconds now_{0};
  RunBreakdown split_;
  std::map<std::pair<const Demand*, const Demand*>, Meetings> known_;
  Watcher watcher_;
};

/// What a demand takes with nothing else on the machine.
[[nodiscard]] Picoseconds alone(const Demand& demand);

/// For how long a preload or store streams with nothing else on the machine, the HBM never still.
[[nodiscard]] Picoseconds streaming_alone(const Demand& demand);

}  // namespace elk::sim
