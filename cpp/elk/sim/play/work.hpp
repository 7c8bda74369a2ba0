#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "elk/program/expand/execution.hpp"
#include "elk/program/expand/loading.hpp"
#include "elk/sim/play/call_times.hpp"
#include "elk/sim/play/demand.hpp"
#include "elk/sim/play/run.hpp"

namespace elk::sim {

/// What of an execution a stage sends; tile calls send nothing.
enum class SendKind : std::uint8_t { Nothing, Distribute, Gather, Shift, Crossing, Deliver, Round };

/// Where the sends of a stage stand in its execution.
struct StageSends {
  SendKind sending = SendKind::Nothing;
  // Of rotations, crossings or rounds. GCC wants the initializer.
  std::vector<std::size_t> numbers = {};  // NOLINT(readability-redundant-member-init)
  Picoseconds lag{0};  // of a hidden shift: its synchronisations, and copies into place
};

/// One thing after another that an execute does: a synchronisation, then a demand. Tile calls are
/// computations whatever they do, those that add up or copy what an exchange brought included.
struct Stage {
  PhaseKind kind;  // Compute: tile calls, with or without a shift hidden behind them
  Picoseconds sync;
  Picoseconds exposed;                 // by which a hidden shift alone outlasts the calls alone
  Seconds core_time;                   // of calls of the op's kernel, over all cores
  std::shared_ptr<const Demand> asks;  // equal stages share it
  StageSends origin = {};

  [[nodiscard]] const Demand& demand() const { return *asks; }
};

/// Everything that an execute does, in order, and what that adds up to.
struct ExecuteStages {
  std::vector<Stage> stages;
  Bytes received{0};  // as of OpRun
  Bytes exchange{0};
  Bytes distribute{0};
  Totals totals;  // `matrix_s` and `vector_s` together: core seconds
};

/// Turns expansions into stages.
class StageLowering {
 public:
  StageLowering(const chip::Chip& chip, Demands& demands, const CallTimes& tiles);

  [[nodiscard]] ExecuteStages of(std::int32_t op, const ir::Graph& graph,
                                 const program::Execution& execution);
  [[nodiscard]] Demand load(const program::Loading& loading);
  /// With which a byte of a preload or store loads its memory module.
  [[nodiscard]] std::int32_t weight(const program::Loading& loading) const;

 private:
  struct ExecuteBuilder;

  const chip::Chip& chip_;
  Demands& demands_;
  const CallTimes& tiles_;
};

}  // namespace elk::sim
