#include "elk/train/play/training_tasks.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/watch.hpp"
#include "elk/train/play/piece_writer.hpp"

namespace elk::train {
namespace {

/// When each micro-batch is there for each part.
using SentTasks = Table<PartId, Table<MicroId, std::optional<sim::TaskId>>>;

class TrainingScheduler {
 public:
  TrainingScheduler(const TrainingPlan& plan, const Table<PipelineStageId, StagePieces>& pieces,
                    const AloneTimes* alone, TrainingTasks& out)
      : plan_(plan), pieces_(pieces), out_(out), writer_(out, alone) {
    out_.sent.assign(plan.stages.size(), {});
    next_.assign(plan.stages.size(), 0);
    for (const PipelineStageId s : plan_.stages.ids()) {
      streams_.push_back(out_.graph.add_stream());
      passes_.push_back(passes_of(plan_.pipeline, s));
    }
    add_streams_beside();
    for (const PartId part : first_ids<PartId>(plan_.pipeline.parts())) {
      for (SentTasks* sent : {&forward_, &backward_}) {
        sent->resize(part.index() + 1);
        (*sent)[part].resize(first_ids<MicroId>(plan_.pipeline.micros).size());
      }
    }
  }

  void schedule() {
    bool moved = true;
    while (moved) {
      Watch::check();
      moved = false;
      for (const PipelineStageId s : plan_.stages.ids()) {
        moved = add_ready(s) || moved;
      }
    }
    for (const PipelineStageId s : plan_.stages.ids()) {
      if (next_[s] != passes_[s].size()) {
        throw InternalError("the passes of a pipeline wait for each other");
      }
      add_end(s);
    }
  }

 private:
  void add_streams_beside() {
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      if (plan_.strategy.overlap_dp) {
        data_streams_.push_back(out_.graph.add_stream());
      }
      if (plan_.strategy.overlap_pp) {
        activation_streams_.push_back(out_.graph.add_stream());
        gradient_streams_.push_back(out_.graph.add_stream());
      }
    }
  }

  [[nodiscard]] const PassPieces& pieces_of(PipelineStageId stage, const PipelinePass& pass) const {
    const ChunkPieces& chunk = pieces_[stage].chunks[pass.chunk];
    return pass.backward ? chunk.backward : chunk.forward;
  }
  [[nodiscard]] PieceStream own(PipelineStageId stage) const {
    return {.stream = streams_[stage], .stage = stage, .beside = false};
  }
  [[nodiscard]] PieceStream data(PipelineStageId stage) const {
    return {.stream = data_streams_[stage], .stage = stage, .beside = true};
  }

  /// Adds the passes of a stage for which all is there. Whether there was one.
  bool add_ready(PipelineStageId stage) {
    bool added = false;
    while (next_[stage] < passes_[stage].size()) {
      const PipelinePass& pass = passes_[stage][next_[stage]];
      const PartId part = plan_.pipeline.part_of(stage, pass.chunk);
      const std::int32_t begin = pass.backward ? plan_.pipeline.parts() - 1 : 0;
      const std::optional<sim::TaskId> there =
          (pass.backward ? backward_ : forward_)[part][pass.micro];
      if (part.value != begin && !there) {
        return added;
      }
      add_pass(stage, pass, there ? std::vector{*there} : std::vector<sim::TaskId>{});
      ++next_[stage];
      added = true;
    }
    return added;
  }

  void add_pass(PipelineStageId stage, const PipelinePass& pass, std::vector<sim::TaskId> after) {
    const TaskSpan span = reduces_beside(stage, pass) ? add_beside(stage, pass, std::move(after))
                                                      : add_at_once(stage, pass, std::move(after));
    add_row(stage, pass.backward ? RowKind::Backward : RowKind::Forward, pass, span);
    const PartId part = plan_.pipeline.part_of(stage, pass.chunk);
    const PartId to = pass.backward ? part - 1 : part + 1;
    if (to.value >= 0 && to.value < plan_.pipeline.parts()) {
      (pass.backward ? backward_ : forward_)[to][pass.micro] =
          hand_over(stage, pass, plan_.pipeline.stage_of(to), span.last);
    }
  }

  void add_row(PipelineStageId stage, RowKind kind, const PipelinePass& pass,
               const TaskSpan& span) {
    out_.rows.push_back({.stage = stage,
                         .kind = kind,
                         .micro = pass.micro,
                         .chunk = pass.chunk,
                         .first = span.first,
                         .last = span.last});
  }

  /// Sends what a pass made. What the next stage waits for.
  sim::TaskId hand_over(PipelineStageId stage, const PipelinePass& pass, PipelineStageId to,
                        sim::TaskId made) {
    const PassPieces& pieces = pieces_of(stage, pass);
    if (std::ranges::none_of(pieces.send, [](const StagePiece& one) { return one.times > 0; })) {
      return made;
    }
    const bool beside = plan_.strategy.overlap_pp;
    PieceStream stream = own(stage);
    if (beside) {
      const auto& links = pass.backward ? gradient_streams_ : activation_streams_;
      stream = {.stream = links[stage], .stage = stage, .beside = true};
    }
    const TaskSpan sent = writer_.add(stream, pieces.send, {made});
    add_row(stage, pass.backward ? RowKind::SendGradients : RowKind::SendActivations, pass, sent);
    if (!beside) {
      return sent.last;
    }
    stream.stage = to;
    return writer_.add(stream, received_from(stage, pass), {}).last;
  }

  /// What the next stage gathers of what a pass hands over.
  [[nodiscard]] const PieceList& received_from(PipelineStageId stage,
                                               const PipelinePass& pass) const {
    const PartId part = plan_.pipeline.part_of(stage, pass.chunk);
    const PartId to = pass.backward ? part - 1 : part + 1;
    PipelinePass there = pass;
    there.chunk = plan_.pipeline.chunk_of(to);
    return pieces_of(plan_.pipeline.stage_of(to), there).receive;
  }

  /// Whether gradients of replicas move beside a pass: each time, or after the last of its chunk.
  [[nodiscard]] bool reduces_beside(PipelineStageId stage, const PipelinePass& pass) const {
    if (!plan_.strategy.overlap_dp || plan_.strategy.zero >= 2) {
      return plan_.strategy.overlap_dp;
    }
    const std::vector<PipelinePass>& passes = passes_[stage];
    const auto last = std::find_if(passes.rbegin(), passes.rend(), [&](const PipelinePass& other) {
      return other.backward && other.chunk == pass.chunk;
    });
    return pass.backward && *last == pass;
  }

  [[nodiscard]] PieceList received(const PassPieces& pieces) const {
    return plan_.strategy.overlap_pp ? PieceList{} : pieces.receive;
  }

  /// The units of a pass one after another, with all that they gather and reduce.
  TaskSpan add_at_once(PipelineStageId stage, const PipelinePass& pass,
                       std::vector<sim::TaskId> after) {
    const PassPieces& pieces = pieces_of(stage, pass);
    PieceList all = received(pieces);
    for (const UnitPieces& unit : pieces.units) {
      for (const PieceList* part : {&unit.gather, &unit.work, &unit.reduce}) {
        all.insert(all.end(), part->begin(), part->end());
      }
    }
    return writer_.add(own(stage), all, std::move(after));
  }

  /// The units of a pass, what they gather before and reduce afterwards beside them.
  TaskSpan add_beside(PipelineStageId stage, const PipelinePass& pass,
                      std::vector<sim::TaskId> after) {
    const PassPieces& pieces = pieces_of(stage, pass);
    PieceList now = received(pieces);
    std::vector<TaskSpan> spans;
    for (const UnitPieces& unit : pieces.units) {
      if (!unit.gather.empty()) {  // As soon as the weights of the unit before the last may go.
        const std::size_t u = spans.size();
        const auto gone = u >= 2 ? std::vector{spans[u - 2].last} : std::vector<sim::TaskId>{};
        after.push_back(writer_.add(data(stage), unit.gather, gone).last);
      }
      now.insert(now.end(), unit.work.begin(), unit.work.end());
      spans.push_back(writer_.add(own(stage), now, std::exchange(after, {})));
      now.clear();
      const PieceList& reduce = unit.reduce.empty() ? unit.last : unit.reduce;
      if (!reduce.empty()) {
        writer_.add(data(stage), reduce, {spans.back().last});
      }
    }
    return {.first = spans.front().first, .last = spans.back().last};
  }

  void add_end(PipelineStageId stage) {
    const PieceList& end = pieces_[stage].end;
    if (end.empty()) {
      return;
    }
    std::vector<sim::TaskId> after;
    if (plan_.strategy.overlap_dp) {
      after.push_back(writer_.add(data(stage), {}, {}).last);
    }
    const PipelinePass all{.backward = true, .micro = MicroId::none, .chunk = ChunkId::none};
    add_row(stage, RowKind::Update, all, writer_.add(own(stage), end, std::move(after)));
  }

  const TrainingPlan& plan_;
  const Table<PipelineStageId, StagePieces>& pieces_;
  TrainingTasks& out_;
  PieceWriter writer_;
  Table<PipelineStageId, sim::StreamId> streams_;
  Table<PipelineStageId, sim::StreamId> data_streams_;        // beside these: gradients
  Table<PipelineStageId, sim::StreamId> activation_streams_;  // beside these: hand-overs
  Table<PipelineStageId, sim::StreamId> gradient_streams_;
  Table<PipelineStageId, std::vector<PipelinePass>> passes_;
  Table<PipelineStageId, std::size_t> next_;  // of `passes_`
  SentTasks forward_;
  SentTasks backward_;
};

}  // namespace

TrainingLowering::TrainingLowering(const TrainingPlan& plan, const chip::Chip& chip,
                                   const sim::MachineNetwork& network)
    : plan_(plan) {
  StepBodies bodies(plan, chip, network, out_.graph);
  pieces_ = pieces_of(plan, bodies);
}

std::int64_t TrainingLowering::pieces() const {
  std::int64_t count = 0;
  const auto add = [&count](const PieceList& pieces) {
    for (const StagePiece& piece : pieces) {
      count += piece.body ? piece.times : 0;
    }
  };
  for (const StagePieces& stage : pieces_) {
    for (const ChunkPieces& chunk : stage.chunks) {
      for (const PassPieces* pass : {&chunk.forward, &chunk.backward}) {
        add(pass->receive);
        add(pass->send);
        for (const UnitPieces& unit : pass->units) {
          add(unit.gather);
          add(unit.work);
          add(unit.reduce);
        }
      }
    }
  }
  return count * plan_.pipeline.micros;
}

TrainingTasks TrainingLowering::lower(const AloneTimes* alone) {
  TrainingScheduler(plan_, pieces_, alone, out_).schedule();
  return std::move(out_);
}

}  // namespace elk::train
