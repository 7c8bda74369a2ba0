#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/sim/tasks/task_graph.hpp"
#include "elk/train/play/stage_pieces.hpp"
#include "elk/train/play/training_tasks.hpp"

namespace elk::train {

/// Where pieces go: the stream of a stage, or one beside it.
struct PieceStream {
  sim::StreamId stream;
  PipelineStageId stage;
  bool beside;
};

/// Consecutive tasks of one stream.
struct TaskSpan {
  sim::TaskId first;
  sim::TaskId last;
};

/// Turns pieces into tasks.
class PieceWriter {
 public:
  /// `alone`: lengths of bodies; null: bodies are played.
  PieceWriter(TrainingTasks& out, const AloneTimes* alone) : out_(out), alone_(alone) {}

  /// Adds pieces, at least one task. What nobody can hold up, one after another, is one wait.
  TaskSpan add(const PieceStream& to, const PieceList& pieces, std::vector<sim::TaskId> after);

 private:
  /// What is waited for before the next task.
  struct PendingWait {
    PartTimes times;
    Picoseconds total;
    bool any;
  };

  void add_alone(const StagePiece& piece);
  void flush(const PieceStream& to);
  void play(const PieceStream& to, const StagePiece& piece);
  void added(const PieceStream& to, sim::TaskId task, TaskUse use);
  std::int32_t known(const PartTimes& times);

  TrainingTasks& out_;
  const AloneTimes* alone_;
  std::map<PartTimes, std::int32_t> known_;  // where in `TrainingTasks::known`
  // Of the pieces being added:
  PendingWait pending_{};
  std::vector<sim::TaskId> after_;
  std::optional<TaskSpan> span_;
};

}  // namespace elk::train
