#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/sim/network/machine_network.hpp"
#include "elk/sim/tasks/task_graph.hpp"
#include "elk/train/plan/plan_training.hpp"
#include "elk/train/play/movements.hpp"

namespace elk::train {

/// What the devices of a stage spend their time on. Memory is what kernels wait for data beyond
/// their computation; a bubble is none of these.
enum class TimePart : std::uint8_t {
  Forward,
  Backward,
  Recompute,
  Update,
  TensorParallel,
  DataParallel,
  Pipeline,
  Memory,
  Bubble,
};
inline constexpr std::size_t kTimeParts = 9;
using PartTimes = std::array<Picoseconds, kTimeParts>;
/// The amount of one part.
template <class Amount>
[[nodiscard]] Amount& of_part(std::array<Amount, kTimeParts>& amounts, TimePart part) {
  return amounts[static_cast<std::size_t>(part)];
}

/// Something that all devices of a stage do together, `times` times over: what they compute, what
/// moves, or both at once.
struct StagePiece {
  std::optional<sim::BodyId> body;  // what moves; none: nothing does
  Picoseconds lead;                 // before that
  Picoseconds compute;
  std::int64_t times;
  TimePart part;
  Bytes sent;  // to other devices, by each, each time
};

/// Makes the bodies of a stage's pieces, each distinct one once.
class StepBodies {
 public:
  StepBodies(const TrainingPlan& plan, const chip::Chip& chip, const sim::MachineNetwork& network,
             sim::TaskGraph& graph);

  [[nodiscard]] StagePiece kernel(PipelineStageId stage, const DeviceKernel& kernel, TimePart part);
  [[nodiscard]] StagePiece exchange(PipelineStageId stage, const GroupExchange& exchange);
  /// Turns of a ring over the replicas of a stage, each of which moves all of `bytes` but one part.
  [[nodiscard]] StagePiece among_replicas(PipelineStageId stage, Bytes bytes, std::int64_t turns);
  /// What each device of a stage sends to its peer on another.
  [[nodiscard]] StagePiece pass(PipelineStageId from, PipelineStageId to, Bytes bytes);
  /// What each device reads from its memory.
  [[nodiscard]] StagePiece read(PipelineStageId stage, Bytes bytes, TimePart part);

 private:
  enum class BodyKind : std::uint8_t { Compute, Ring, Replicas, Pass };
  /// Equal for pieces that move alike.
  struct BodyKey {
    PipelineStageId stage;
    BodyKind kind;
    GroupCut cut;
    PipelineStageId to;  // another stage
    Bytes bytes;         // sent each time, or read
    Bytes written;
    Picoseconds compute;

    friend auto operator<=>(const BodyKey&, const BodyKey&) = default;
  };
  struct MadeBody {
    std::optional<sim::BodyId> id;
    Picoseconds lead;
  };
  [[nodiscard]] StagePiece moving(PipelineStageId stage, Picoseconds compute, DramTraffic traffic,
                                  TimePart part);
  [[nodiscard]] sim::Body computing(const StageDevices& devices, Picoseconds compute,
                                    DramTraffic traffic);
  /// `turns` times what `sends` says, unless nothing is sent.
  [[nodiscard]] StagePiece sending(BodyKey key, std::int64_t turns, TimePart part,
                                   const std::function<std::vector<DeviceSend>()>& sends);

  const TrainingPlan& plan_;
  Movements movements_;
  sim::TaskGraph& graph_;
  std::map<BodyKey, MadeBody> made_;
};

}  // namespace elk::train
