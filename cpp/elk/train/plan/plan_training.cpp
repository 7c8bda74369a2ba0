#include "elk/train/plan/plan_training.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/table.hpp"
#include "elk/base/text.hpp"
#include "elk/base/watch.hpp"
#include "elk/train/plan/stage_memory.hpp"
#include "elk/train/plan/stages.hpp"
#include "elk/train/plan/step_forecast.hpp"

namespace elk::train {
namespace {

class TrainingPlanner {
 public:
  explicit TrainingPlanner(const TrainingJob& job)
      : job_(job),
        graph_(job.graph),
        cuts_(cut_over(job.graph, job.strategy.tp, job.strategy.degrees)),
        calls_(calls_of(job)),
        work_(job.graph, cuts_, calls_ ? &*calls_ : nullptr),
        plan_{.strategy = job.strategy,
              .pipeline = pipeline_of(job.strategy, job.batch),
              .stages = {},
              .gpu = job.gpu,
              .product_flops = 0.0,
              .repeated_flops = 0.0} {}

  TrainingPlan plan() {
    const Table<PartId, ModelPart> parts =
        parts_of(graph_, cuts_, job_.strategy, [this](const Unit& unit) { return cost(unit); });
    const Table<PartId, std::set<TensorId>> handed = handed_on(graph_, parts);
    Table<PipelineStageId, StageDevices> devices = devices_of_stages(job_.chip, job_.strategy);
    for (const PipelineStageId s : devices.ids()) {
      Watch::check();
      add_stage(s, std::move(devices[s]), parts, handed);
    }
    return std::move(plan_);
  }

 private:
  /// What of a stage's activations is kept, with and without making them again.
  struct SavedBytes {
    Table<ChunkId, Bytes> all;
    Table<ChunkId, Bytes> borders;  // of layers, and all of what is no layer
    Bytes largest_layer{0};
    Bytes largest_kernel{0};
  };

  static std::optional<CoreCalls> calls_of(const TrainingJob& job) {
    if (job.gpu) {
      return std::nullopt;
    }
    return std::optional<CoreCalls>(std::in_place, job.graph, job.chip, *job.tiles);
  }

  /// Of products, on all devices that share them.
  [[nodiscard]] double product_flops(const std::vector<OpId>& ops) const {
    double flops = 0.0;
    for (const OpId id : ops) {
      const ir::OpKind kind = graph_.ops[id].kind;
      const bool product = kind == ir::OpKind::MatMul || kind == ir::OpKind::Conv;
      flops += product ? static_cast<double>(graph_.ops[id].flops) : 0.0;
    }
    return flops;
  }

  /// About what a unit takes, forward and backward.
  [[nodiscard]] Picoseconds cost(const Unit& unit) const {
    Watch::check();
    const Work work = work_.of(unit.ops, job_.strategy.trains());
    const Picoseconds forward = about(plan_, job_.chip, nullptr, work.forward);
    const bool again = unit.layer && job_.strategy.recompute == Recompute::Full;
    return forward + about(plan_, job_.chip, nullptr, work.backward) +
           (again ? forward : Picoseconds{0});
  }

  void add_stage(PipelineStageId number, StageDevices devices,
                 const Table<PartId, ModelPart>& parts,
                 const Table<PartId, std::set<TensorId>>& handed) {
    const std::vector<PipelinePass> passes = passes_of(plan_.pipeline, number);
    StagePlan stage{.devices = std::move(devices),
                    .chunks = {},
                    .in_flight = job_.strategy.trains() ? most_in_flight(passes) : 1,
                    .recompute = false,
                    .memory = {},
                    .sram = {}};
    SavedBytes saved;
    std::set<TensorId> held;  // weights of the stage: several chunks may read one
    for (const ChunkId c : first_ids<ChunkId>(job_.strategy.chunks)) {
      const PartId part = plan_.pipeline.part_of(number, c);
      add_chunk(parts[part], handed[part], stage, saved, held);
      if (part == PartId{0}) {
        stage.chunks[c].input = inputs_of(parts[part]);
      }
    }
    const Bytes capacity = memory_of_device();
    const auto keep = [&](bool again) {
      stage.recompute = again;
      for (const ChunkId c : stage.chunks.ids()) {
        stage.chunks[c].saved = again ? saved.borders[c] : saved.all[c];
      }
      stage.memory = stage_memory(job_.strategy, stage, passes, saved.largest_layer);
      stage.memory.capacity = capacity;
    };
    keep(job_.strategy.trains() && job_.strategy.recompute == Recompute::Full);
    if (job_.strategy.recompute == Recompute::Auto && stage.memory.total() > capacity) {
      keep(job_.strategy.trains());
    }
    const StageMemory& memory = stage.memory;
    stage.sram = {.room = job_.gpu ? capacity : chip::room(job_.chip),
                  .weights = memory.weights + memory.gradients + memory.optimizer,
                  .activations = memory.activations + saved.largest_kernel};
    check(number, memory);
    for (const PartPlan& part : stage.chunks) {
      for (const UnitPlan& unit : part.units) {
        const double flops = product_flops(unit.ops);
        plan_.product_flops += flops;
        plan_.repeated_flops += stage.recompute && unit.layer ? flops : 0.0;
      }
    }
    plan_.stages.push_back(std::move(stage));
  }

  void add_chunk(const ModelPart& part, const std::set<TensorId>& handed, StagePlan& stage,
                 SavedBytes& saved, std::set<TensorId>& held) {
    PartPlan& chunk = stage.chunks.emplace_back(
        PartPlan{.units = {}, .saved = {0}, .input = {0}, .handed = handover_of(handed)});
    std::map<TensorId, Bytes> all;
    std::map<TensorId, Bytes> borders;
    for (const Unit& unit : part.units) {
      Work work = work_.of(unit.ops, job_.strategy.trains());
      Bytes of_unit{0};
      for (const auto& [tensor, bytes] : work.saved) {
        of_unit += bytes;
        all[tensor] = std::max(all[tensor], bytes);
      }
      add_borders(unit, work, borders);
      saved.largest_layer = std::max(saved.largest_layer, unit.layer ? of_unit : Bytes{0});
      saved.largest_kernel = std::max(saved.largest_kernel, work.largest);
      chunk.units.push_back(planned(unit, std::move(work), held));
    }
    const auto sum = [](const std::map<TensorId, Bytes>& bytes) {
      Bytes total{0};
      for (const auto& one : bytes) {
        total += one.second;
      }
      return total;
    };
    saved.all.push_back(sum(all));
    saved.borders.push_back(sum(borders));
  }

  /// What the first part reads of the graph's inputs.
  [[nodiscard]] Bytes inputs_of(const ModelPart& part) const {
    std::set<TensorId> inputs;
    for (const Unit& unit : part.units) {
      for (const OpId op : unit.ops) {
        add_inputs(graph_.ops[op], inputs);
      }
    }
    Bytes total{0};
    for (const TensorId input : inputs) {
      total += ir::bytes(graph_.tensors[input]);
    }
    return total;
  }

  /// What is kept of a unit whose activations are made again: what it reads of other units.
  void add_borders(const Unit& unit, const Work& work, std::map<TensorId, Bytes>& borders) const {
    if (!unit.layer) {
      borders.insert(work.saved.begin(), work.saved.end());
      return;
    }
    std::set<TensorId> made;
    for (const OpId op : unit.ops) {
      for (const ir::Operand& one : graph_.ops[op].operands) {
        const ir::Tensor& tensor = graph_.tensors[one.tensor];
        if (one.access == ir::Access::Write) {
          made.insert(one.tensor);
        } else if (!made.contains(one.tensor) && tensor.home == ir::Home::Activation &&
                   work_.has_gradient(one.tensor)) {
          borders[one.tensor] = work_.held(one.tensor);
        }
      }
    }
  }

  void add_inputs(const ir::Op& op, std::set<TensorId>& inputs) const {
    for (const ir::Operand& one : op.operands) {
      if (graph_.tensors[one.tensor].home == ir::Home::Input) {
        inputs.insert(one.tensor);
      }
    }
  }

  [[nodiscard]] static UnitPlan planned(const Unit& unit, Work work, std::set<TensorId>& held) {
    UnitPlan plan{.forward = std::move(work.forward),
                  .backward = std::move(work.backward),
                  .ops = unit.ops,
                  .layer = unit.layer,
                  .parameters = 0,
                  .weights = {0},
                  .sums = {}};
    for (const auto& [tensor, weight] : work.weights) {
      if (!held.insert(tensor).second) {
        continue;
      }
      plan.parameters += weight.elements;
      plan.weights += weight.bytes;
      for (const GroupCut& sum : weight.sums) {
        plan.sums[sum] += weight.bytes;
      }
    }
    return plan;
  }

  [[nodiscard]] StageHandover handover_of(const std::set<TensorId>& handed) const {
    StageHandover over{};
    for (const TensorId tensor : handed) {
      const bool whole = cuts_.held[tensor].empty();
      const Bytes bytes = work_.held(tensor);
      (whole ? over.activations.whole : over.activations.parts) += bytes;
      if (work_.has_gradient(tensor)) {
        (whole ? over.gradients.whole : over.gradients.parts) += bytes;
      }
    }
    return over;
  }

  /// Of a core its SRAM and its share of the memory of its chip.
  [[nodiscard]] Bytes memory_of_device() const {
    const Bytes room = chip::room(job_.chip);
    return job_.chip.hbm ? room + Bytes{job_.chip.hbm->capacity.value / job_.chip.core.count}
                         : room;
  }

  static void check(PipelineStageId stage, const StageMemory& memory) {
    if (memory.total() <= memory.capacity) {
      return;
    }
    throw Infeasible(
        text("stage ", stage, " needs ", memory.total().value, " bytes on each device, which has ",
             memory.capacity.value, ": weights ", memory.weights.value, ", gradients ",
             memory.gradients.value, ", optimizer ", memory.optimizer.value, ", activations ",
             memory.activations.value, ", working ", memory.working.value),
        "training_memory");
  }

  const TrainingJob& job_;
  const ir::Graph& graph_;
  TensorParallel cuts_;
  std::optional<CoreCalls> calls_;
  WorkOfOps work_;
  TrainingPlan plan_;
};

}  // namespace

TrainingPlan plan_training(const TrainingJob& job) {
  validate(job.strategy, job.batch, chip::total_cores(job.chip));
  return TrainingPlanner(job).plan();
}

Picoseconds kernel_time(const TrainingPlan& plan, const DeviceKernel& kernel) {
  return to_picoseconds(plan.gpu ? gpu_time(*plan.gpu, kernel) : kernel.on_core);
}

}  // namespace elk::train
