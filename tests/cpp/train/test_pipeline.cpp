#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/train/pipeline.hpp"

namespace elk::train {
namespace {

/// How long the passes of one chunk of a stage take.
struct ChunkTimes {
  std::int64_t forward;
  std::int64_t backward;

  [[nodiscard]] std::int64_t both() const { return forward + backward; }
};

/// The stages of a pipeline in order.
Ids<PipelineStageId> stages_of(const Pipeline& pipeline) {
  return first_ids<PipelineStageId>(pipeline.stages);
}

/// Plays all passes of a pipeline, each as soon as its stage is free and what it reads is there.
class ReferencePlayer {
 public:
  /// `times`: of a chunk of each stage.
  ReferencePlayer(const Pipeline& pipeline, Table<PipelineStageId, ChunkTimes> times)
      : pipeline_(pipeline),
        times_(std::move(times)),
        free_(subscript(pipeline.stages), 0),
        next_(subscript(pipeline.stages), 0),
        forward_(ends()),
        backward_(ends()) {
    for (const PipelineStageId s : stages_of(pipeline)) {
      passes_.push_back(passes_of(pipeline, s));
    }
  }

  /// When the last pass ends; none if passes wait for each other for ever.
  std::optional<std::int64_t> step() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (const PipelineStageId s : stages_of(pipeline_)) {
        while (play_next(s)) {
          moved = true;
        }
      }
    }
    for (const PipelineStageId s : stages_of(pipeline_)) {
      if (next_[s] != passes_[s].size()) {
        return std::nullopt;
      }
    }
    return *std::ranges::max_element(free_);
  }

 private:
  using Ends = Table<PartId, Table<MicroId, std::optional<std::int64_t>>>;

  [[nodiscard]] PartId last_part() const {
    return PartId{(pipeline_.stages * pipeline_.chunks) - 1};
  }
  [[nodiscard]] Ends ends() const {
    const Table<MicroId, std::optional<std::int64_t>> none(subscript(pipeline_.micros));
    return Ends(last_part().index() + 1, none);
  }

  /// When what a pass reads is there; none if that is not known yet.
  [[nodiscard]] std::optional<std::int64_t> ready(const PipelinePass& pass, PartId part) const {
    if (!pass.backward) {
      return part == PartId{0} ? std::optional<std::int64_t>(0) : forward_[part - 1][pass.micro];
    }
    return part == last_part() ? forward_[part][pass.micro] : backward_[part + 1][pass.micro];
  }

  bool play_next(PipelineStageId s) {
    if (next_[s] == passes_[s].size()) {
      return false;
    }
    const PipelinePass& pass = passes_[s][next_[s]];
    const PartId part{(pass.chunk.value * pipeline_.stages) + s.value};
    const std::optional<std::int64_t> begin = ready(pass, part);
    if (!begin) {
      return false;
    }
    free_[s] =
        std::max(free_[s], *begin) + (pass.backward ? times_[s].backward : times_[s].forward);
    (pass.backward ? backward_ : forward_)[part][pass.micro] = free_[s];
    ++next_[s];
    return true;
  }

  Pipeline pipeline_;
  Table<PipelineStageId, ChunkTimes> times_;
  Table<PipelineStageId, std::vector<PipelinePass>> passes_;
  Table<PipelineStageId, std::int64_t> free_;  // when each is
  Table<PipelineStageId, std::size_t> next_;   // of its passes
  Ends forward_;
  Ends backward_;
};

constexpr int kPipelines = 300;

/// A pipeline drawn by chance; interleaved ones have several chunks and full rounds.
Pipeline random_pipeline(Random& random, PipelineSchedule schedule) {
  const bool interleaved = schedule == PipelineSchedule::Interleaved;
  const auto some = [&](std::int64_t least, std::int64_t count) {
    return static_cast<std::int32_t>(least + random.below(count));
  };
  const std::int32_t stages = some(interleaved ? 2 : 1, 7);
  return {.schedule = schedule,
          .stages = stages,
          .chunks = interleaved ? some(2, 3) : 1,
          .micros = interleaved ? stages * some(1, 4) : some(1, 16),
          .backward = true};
}

ChunkTimes random_times(Random& random) {
  return {.forward = 1 + random.below(50), .backward = 1 + random.below(100)};
}

/// Forward passes before the first backward one, but for the one just before it.
std::int64_t warm_up(const std::vector<PipelinePass>& passes) {
  return std::ranges::find(passes, true, &PipelinePass::backward) - passes.begin() - 1;
}

/// The step of a pipeline whose stages are equal.
std::optional<std::int64_t> step_of_equal(const Pipeline& pipeline, ChunkTimes times) {
  return ReferencePlayer(pipeline,
                         Table<PipelineStageId, ChunkTimes>(subscript(pipeline.stages), times))
      .step();
}

TEST(Pipeline, EachPassOccursOnceOnEachStage) {
  Random random{1};
  for (int i = 0; i < kPipelines; ++i) {
    for (const PipelineSchedule schedule :
         {PipelineSchedule::GPipe, PipelineSchedule::OneForwardOneBackward,
          PipelineSchedule::Interleaved}) {
      const Pipeline pipeline = random_pipeline(random, schedule);
      for (const PipelineStageId s : stages_of(pipeline)) {
        const std::vector<PipelinePass> passes = passes_of(pipeline, s);
        std::set<std::tuple<bool, MicroId, ChunkId>> seen;
        for (const PipelinePass& pass : passes) {
          EXPECT_TRUE(pass.micro.value >= 0 && pass.micro.value < pipeline.micros);
          EXPECT_TRUE(pass.chunk.value >= 0 && pass.chunk.value < pipeline.chunks);
          seen.emplace(pass.backward, pass.micro, pass.chunk);
        }
        EXPECT_EQ(std::ssize(passes), 2 * pipeline.micros * pipeline.chunks);
        EXPECT_EQ(seen.size(), passes.size());
      }
    }
  }
}

TEST(Pipeline, GPipeAndPairsTakeAsLongAsTheFormulaSays) {
  Random random{2};
  for (int i = 0; i < kPipelines; ++i) {
    const ChunkTimes times = random_times(random);
    for (const PipelineSchedule schedule :
         {PipelineSchedule::GPipe, PipelineSchedule::OneForwardOneBackward}) {
      const Pipeline pipeline = random_pipeline(random, schedule);
      EXPECT_EQ(step_of_equal(pipeline, times),
                (pipeline.micros + pipeline.stages - 1) * times.both())
          << pipeline.stages << " stages, " << pipeline.micros << " micro-batches";
    }
  }
}

TEST(Pipeline, InterleavedStepsTakeAsLongAsTheFormulaSays) {
  Random random{3};
  for (int i = 0; i < kPipelines; ++i) {
    const ChunkTimes times = random_times(random);
    const Pipeline pipeline = random_pipeline(random, PipelineSchedule::Interleaved);
    // The formula is n (f + b) + (p - 1) (f + b) / v, with f and b those of all chunks of a stage.
    EXPECT_EQ(step_of_equal(pipeline, times),
              ((pipeline.micros * pipeline.chunks) + pipeline.stages - 1) * times.both())
        << pipeline.stages << " stages, " << pipeline.chunks << " chunks, " << pipeline.micros
        << " micro-batches";
  }
}

TEST(Pipeline, PalmsEquationIsExactWhereOnlyTheLastStageIsLonger) {
  Random random{4};
  for (int i = 0; i < kPipelines; ++i) {
    const ChunkTimes times = random_times(random);
    const ChunkTimes longer{.forward = times.forward + random.below(50),
                            .backward = times.backward + random.below(50)};
    for (const PipelineSchedule schedule :
         {PipelineSchedule::GPipe, PipelineSchedule::OneForwardOneBackward}) {
      const Pipeline pipeline = random_pipeline(random, schedule);
      Table<PipelineStageId, ChunkTimes> stages(subscript(pipeline.stages), times);
      stages.back() = longer;
      const std::int64_t sum = ((pipeline.stages - 1) * times.both()) + longer.both();
      EXPECT_EQ(ReferencePlayer(pipeline, stages).step(),
                ((pipeline.micros - 1) * longer.both()) + sum)
          << pipeline.stages << " stages, " << pipeline.micros << " micro-batches";
    }
  }
}

TEST(Pipeline, AsManyMicroBatchesAreInFlightAsTheTableSays) {
  Random random{6};
  for (int i = 0; i < kPipelines; ++i) {
    const Pipeline all = random_pipeline(random, PipelineSchedule::GPipe);
    const Pipeline pairs = random_pipeline(random, PipelineSchedule::OneForwardOneBackward);
    const Pipeline chunks = random_pipeline(random, PipelineSchedule::Interleaved);
    for (const PipelineStageId s : stages_of(all)) {
      EXPECT_EQ(most_in_flight(passes_of(all, s)), all.micros);
    }
    for (const PipelineStageId s : stages_of(pairs)) {
      EXPECT_EQ(most_in_flight(passes_of(pairs, s)),
                std::min(pairs.micros, pairs.stages - s.value));
    }
    for (const PipelineStageId s : stages_of(chunks)) {
      const std::int32_t of_all = chunks.micros * chunks.chunks;
      const std::int32_t first =
          chunks.micros == chunks.stages
              ? of_all
              : (2 * (chunks.stages - s.value - 1)) + ((chunks.chunks - 1) * chunks.stages);
      EXPECT_EQ(most_in_flight(passes_of(chunks, s)), std::min(of_all, first + 1));
    }
  }
}

TEST(Pipeline, OrdersAreThoseOfTheTable) {
  Random random{7};
  for (int i = 0; i < kPipelines; ++i) {
    for (const PipelineSchedule schedule :
         {PipelineSchedule::GPipe, PipelineSchedule::OneForwardOneBackward,
          PipelineSchedule::Interleaved}) {
      const Pipeline pipeline = random_pipeline(random, schedule);
      const std::int32_t round = pipeline.stages * pipeline.chunks;
      for (const PipelineStageId s : stages_of(pipeline)) {
        std::int32_t forward = 0;
        std::int32_t backward = 0;
        for (const PipelinePass& pass : passes_of(pipeline, s)) {
          std::int32_t k = pass.backward ? backward++ : forward++;
          if (pass.backward && schedule == PipelineSchedule::GPipe) {
            k = pipeline.micros - 1 - k;
          }
          std::int32_t micro = k;
          std::int32_t chunk = 0;
          if (schedule == PipelineSchedule::Interleaved) {
            micro = (k / round * pipeline.stages) + (k % pipeline.stages);
            chunk = k % round / pipeline.stages;
            chunk = pass.backward ? pipeline.chunks - 1 - chunk : chunk;
          }
          const PipelinePass expected{
              .backward = pass.backward, .micro = MicroId{micro}, .chunk = ChunkId{chunk}};
          EXPECT_EQ(pass, expected);
        }
      }
    }
    const Pipeline pairs = random_pipeline(random, PipelineSchedule::OneForwardOneBackward);
    for (const PipelineStageId s : stages_of(pairs)) {
      EXPECT_EQ(warm_up(passes_of(pairs, s)),
                std::min(pairs.micros - 1, pairs.stages - s.value - 1));
    }
  }
}

TEST(Pipeline, WithoutBackwardPassesEachStageTakesMicroBatchesInTheirOrder) {
  Random random{8};
  for (int i = 0; i < kPipelines; ++i) {
    for (const PipelineSchedule schedule :
         {PipelineSchedule::GPipe, PipelineSchedule::OneForwardOneBackward}) {
      Pipeline pipeline = random_pipeline(random, schedule);
      pipeline.backward = false;
      for (const PipelineStageId s : stages_of(pipeline)) {
        std::vector<PipelinePass> expected;
        for (const MicroId micro : first_ids<MicroId>(pipeline.micros)) {
          expected.push_back({.backward = false, .micro = micro, .chunk = ChunkId{0}});
        }
        EXPECT_EQ(passes_of(pipeline, s), expected);
      }
      const std::int64_t forward = random_times(random).forward;
      EXPECT_EQ(step_of_equal(pipeline, {.forward = forward, .backward = 0}),
                (pipeline.micros + pipeline.stages - 1) * forward);
    }
  }
}

}  // namespace
}  // namespace elk::train
