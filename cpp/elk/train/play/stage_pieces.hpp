#pragma once

#include <vector>

#include "elk/train/play/step_bodies.hpp"

namespace elk::train {

using PieceList = std::vector<StagePiece>;
/// What a unit does in a pass: its weights are gathered, it computes, its gradients are reduced.
struct UnitPieces {
  PieceList gather;
  PieceList work;
  PieceList reduce;
  PieceList last;  // of the last micro-batch, if gradients move a unit at a time
};
/// A part of the model in one direction.
struct PassPieces {
  PieceList receive;  // by the stage itself
  std::vector<UnitPieces> units;
  PieceList send;  // to the next in this direction
};
struct ChunkPieces {
  PassPieces forward;
  PassPieces backward;
};
struct StagePieces {
  Table<ChunkId, ChunkPieces> chunks;
  PieceList end;
};

/// What every stage of a plan does, piece by piece; distinct bodies are added to those of `bodies`.
[[nodiscard]] Table<PipelineStageId, StagePieces> pieces_of(const TrainingPlan& plan,
                                                            StepBodies& bodies);

}  // namespace elk::train
