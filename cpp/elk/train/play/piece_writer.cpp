#include "elk/train/play/piece_writer.hpp"

#include <algorithm>
#include <utility>

namespace elk::train {

TaskSpan PieceWriter::add(const PieceStream& to, const PieceList& pieces,
                          std::vector<sim::TaskId> after) {
  after_ = std::move(after);
  span_.reset();
  for (const StagePiece& piece : pieces) {
    of_part(out_.sent[to.stage], piece.part) += piece.sent * piece.times;
    if (piece.body && alone_ == nullptr) {
      flush(to);
      play(to, piece);
    } else {
      add_alone(piece);
    }
  }
  pending_.any = pending_.any || !span_;
  flush(to);
  return *span_;
}

/// What a piece takes with the machine to itself.
void PieceWriter::add_alone(const StagePiece& piece) {
  const Picoseconds played =
      piece.body && alone_ != nullptr ? (*alone_)[piece.body->index()] : piece.compute;
  const Picoseconds length = (std::max(played, piece.compute) + piece.lead) * piece.times;
  const bool computes = piece.part <= TimePart::Update;
  const Picoseconds own = computes ? piece.compute * piece.times : length;
  of_part(pending_.times, piece.part) += own;
  of_part(pending_.times, TimePart::Memory) += length - own;
  pending_.total += length;
  pending_.any = true;
}

void PieceWriter::flush(const PieceStream& to) {
  const PendingWait wait = std::exchange(pending_, PendingWait{});
  if (wait.any) {
    added(
        to, out_.graph.wait(to.stream, wait.total, std::exchange(after_, {})),
        {.stage = to.stage, .part = TimePart::Bubble, .compute = {0}, .known = known(wait.times)});
  }
}

void PieceWriter::play(const PieceStream& to, const StagePiece& piece) {
  for (std::int64_t i = 0; i < piece.times; ++i) {
    added(to,
          out_.graph.add(sim::Task{.stream = to.stream,
                                   .lead = piece.lead,
                                   .when = sim::Lead::Always,
                                   .body = piece.body,
                                   .after = std::exchange(after_, {})}),
          {.stage = to.stage, .part = piece.part, .compute = piece.compute, .known = -1});
  }
}

void PieceWriter::added(const PieceStream& to, sim::TaskId task, TaskUse use) {
  use.stage = to.beside ? PipelineStageId::none : to.stage;
  out_.uses.push_back(use);
  span_ = TaskSpan{.first = span_ ? span_->first : task, .last = task};
}

std::int32_t PieceWriter::known(const PartTimes& times) {
  const auto [found, is_new] =
      known_.try_emplace(times, static_cast<std::int32_t>(out_.known.size()));
  if (is_new) {
    out_.known.push_back(times);
  }
  return found->second;
}

}  // namespace elk::train
