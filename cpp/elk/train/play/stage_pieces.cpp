#include "elk/train/play/stage_pieces.hpp"

#include <map>
#include <utility>

#include "elk/base/rounding.hpp"
#include "elk/base/watch.hpp"
#include "elk/train/plan/stage_memory.hpp"

namespace elk::train {
namespace {

constexpr std::int64_t kOnce = 1;   // a reduce-scatter or an all-gather
constexpr std::int64_t kTwice = 2;  // an all-reduce: both

class PieceMaker {
 public:
  PieceMaker(const TrainingPlan& plan, StepBodies& bodies) : plan_(plan), bodies_(bodies) {}

  Table<PipelineStageId, StagePieces> make() {
    for (const PipelineStageId s : plan_.stages.ids()) {
      StagePieces& stage = pieces_.emplace_back();
      for (const ChunkId c : plan_.stages[s].chunks.ids()) {
        Watch::check();
        stage.chunks.push_back(chunk_pieces(s, c));
      }
      stage.end = end_pieces(s);
    }
    for (const PipelineStageId s : plan_.stages.ids()) {
      for (const ChunkId c : plan_.stages[s].chunks.ids()) {
        add_handovers(s, c, pieces_[s].chunks[c]);
      }
    }
    return std::move(pieces_);
  }

 private:
  ChunkPieces chunk_pieces(PipelineStageId stage, ChunkId chunk) {
    const PartPlan& part = plan_.stages[stage].chunks[chunk];
    ChunkPieces pieces;
    for (const UnitPlan& unit : part.units) {
      pieces.forward.units.push_back(forward_unit(stage, unit));
    }
    if (part.input > Bytes{0}) {
      PieceList& first = pieces.forward.units.front().work;
      first.insert(first.begin(), bodies_.read(stage, part.input, TimePart::Forward));
    }
    for (std::size_t u = part.units.size(); u-- > 0 && plan_.pipeline.backward;) {
      pieces.backward.units.push_back(backward_unit(stage, part.units[u]));
    }
    return pieces;
  }

  void add_work(PipelineStageId stage, const std::vector<WorkStep>& steps, TimePart part,
                PieceList& pieces) {
    for (const WorkStep& step : steps) {
      pieces.push_back(step.kernel ? bodies_.kernel(stage, *step.kernel, part)
                                   : bodies_.exchange(stage, *step.exchange));
    }
  }

  UnitPieces forward_unit(PipelineStageId stage, const UnitPlan& unit) {
    UnitPieces pieces;
    if (plan_.strategy.zero == 3) {
      pieces.gather.push_back(bodies_.among_replicas(stage, unit.weights, kOnce));
    }
    add_work(stage, unit.forward, TimePart::Forward, pieces.work);
    return pieces;
  }

  UnitPieces backward_unit(PipelineStageId stage, const UnitPlan& unit) {
    UnitPieces pieces;
    if (plan_.strategy.zero == 3) {
      pieces.gather.push_back(bodies_.among_replicas(stage, unit.weights, kOnce));
    }
    if (plan_.stages[stage].recompute && unit.layer) {
      add_work(stage, unit.forward, TimePart::Recompute, pieces.work);
    }
    add_work(stage, unit.backward, TimePart::Backward, pieces.work);
    const Bytes gradients{unit.parameters * state_bytes(plan_.strategy.optimizer, unit).gradient};
    if (plan_.strategy.zero >= 2) {
      pieces.reduce.push_back(bodies_.among_replicas(stage, gradients, kOnce));
    } else if (plan_.strategy.overlap_dp) {
      pieces.last.push_back(
          bodies_.among_replicas(stage, gradients, plan_.strategy.zero == 0 ? kTwice : kOnce));
    }
    return pieces;
  }

  void add_handovers(PipelineStageId stage, ChunkId chunk, ChunkPieces& pieces) {
    const PartId next_part = plan_.pipeline.part_of(stage, chunk) + 1;
    if (next_part.value == plan_.pipeline.parts()) {
      return;
    }
    const PipelineStageId next = plan_.pipeline.stage_of(next_part);
    const ChunkId next_chunk = plan_.pipeline.chunk_of(next_part);
    ChunkPieces& other = pieces_[next].chunks[next_chunk];
    const StageHandover& handed = plan_.stages[stage].chunks[chunk].handed;
    pieces.forward.send = {send_piece(stage, next, handed.activations)};
    other.forward.receive = gather_pieces(next, handed.activations);
    if (plan_.pipeline.backward) {
      other.backward.send = {send_piece(next, stage, handed.gradients)};
      pieces.backward.receive = gather_pieces(stage, handed.gradients);
    }
  }

  /// Of what all need whole each device sends one part to its peer, and the peers gather it.
  StagePiece send_piece(PipelineStageId from, PipelineStageId to, const HandedBytes& handed) {
    const Bytes part{ceil_div(handed.whole.value, plan_.strategy.tp)};
    return bodies_.pass(from, to, part + handed.parts);
  }
  PieceList gather_pieces(PipelineStageId to, const HandedBytes& handed) {
    if (plan_.strategy.tp == 1) {
      return {};
    }
    StagePiece gather = bodies_.exchange(to, {.kind = RingKind::AllGather,
                                              .cut = {.parts = plan_.strategy.tp, .stride = 1},
                                              .bytes = handed.whole});
    gather.part = TimePart::Pipeline;
    return {gather};
  }

  /// Gradients that nobody has reduced yet, the update, and what replicas gather of it.
  PieceList end_pieces(PipelineStageId stage) {
    PieceList pieces;
    if (!plan_.pipeline.backward) {
      return pieces;
    }
    const StagePlan& plan = plan_.stages[stage];
    std::map<GroupCut, Bytes> sums;
    Bytes gradients{0};
    Bytes weights{0};
    for (const PartPlan& part : plan.chunks) {
      for (const UnitPlan& unit : part.units) {
        for (const auto& [cut, bytes] : unit.sums) {
          sums[cut] += bytes;
        }
        gradients += Bytes{unit.parameters * state_bytes(plan_.strategy.optimizer, unit).gradient};
        weights += unit.weights;
      }
    }
    for (const auto& [cut, bytes] : sums) {
      pieces.push_back(
          bodies_.exchange(stage, {.kind = RingKind::AllReduce, .cut = cut, .bytes = bytes}));
    }
    const std::int32_t zero = plan_.strategy.zero;
    if (zero < 2 && !plan_.strategy.overlap_dp) {
      pieces.push_back(bodies_.among_replicas(stage, gradients, zero == 0 ? kTwice : kOnce));
    }
    const DeviceKernel update = update_kernel(plan_.strategy, plan);
    pieces.push_back(bodies_.kernel(stage, update, TimePart::Update));
    if (zero == 1 || zero == 2) {
      pieces.push_back(bodies_.among_replicas(stage, weights, kOnce));
    }
    return pieces;
  }

  const TrainingPlan& plan_;
  StepBodies& bodies_;
  Table<PipelineStageId, StagePieces> pieces_;
};

}  // namespace

Table<PipelineStageId, StagePieces> pieces_of(const TrainingPlan& plan, StepBodies& bodies) {
  return PieceMaker(plan, bodies).make();
}

}  // namespace elk::train
