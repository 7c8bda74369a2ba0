#include "elk/train/play/simulate_training.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/watch.hpp"
#include "elk/sim/network/machine_network.hpp"
#include "elk/sim/tasks/folded_tasks.hpp"
#include "elk/sim/tasks/link_rows.hpp"
#include "elk/sim/tasks/task_player.hpp"
#include "elk/train/train_tuning.hpp"

namespace elk::train {
namespace {

sim::TasksRun play(const sim::Machine& machine, const sim::TaskGraph& graph,
                   std::span<const std::uint8_t> exclusive) {
  if (!exclusive.empty()) {
    return play_tasks(machine, graph, exclusive);
  }
  const sim::FoldedTasks folded = fold_tasks(machine, graph);
  return folded.unfold(play_tasks(folded.machine, folded.graph));
}

/// A body with the resources that it uses, numbered in the order of their first use.
struct LoneBody {
  sim::Machine machine;
  std::vector<std::uint8_t> exclusive;
  sim::Body body;
  std::vector<std::int64_t> key;  // equal for bodies that play alike
};

/// Cuts bodies out of a machine, whose resources they leave as they were.
class LoneBodies {
 public:
  LoneBodies(const sim::Machine& machine, std::span<const std::uint8_t> exclusive)
      : machine_(machine), exclusive_(exclusive), number_(machine.resources.size(), -1) {}

  LoneBody cut_out(const sim::Body& body) {
    LoneBody out{.machine = {.resources = {}, .refresh = machine_.refresh},
                 .exclusive = {},
                 .body = {},
                 .key = {static_cast<std::int64_t>(body.sends().size())}};
    for (const sim::BodySend& send : body.sends()) {
      std::vector<sim::ResourceUse> uses;
      out.key.insert(out.key.end(), {send.bytes.value, send.tail.value, send.use_count});
      for (const sim::ResourceUse& use : body.uses_of(send)) {
        uses.push_back({renumbered(use.resource), use.weight});
        out.key.insert(out.key.end(), {uses.back().resource.value, use.weight});
      }
      std::ranges::sort(uses);
      out.body.send(send.bytes, send.tail, uses);
    }
    for (const sim::BodyCalls& calls : body.computations()) {
      const sim::ResourceId port = renumbered(calls.port);
      out.key.insert(out.key.end(), {port.value, calls.alone.value});
      out.body.compute(port, calls.alone);
    }
    for (const sim::ResourceId used : used_) {
      add(used, out);
      number_[used.index()] = -1;
    }
    used_.clear();
    return out;
  }

 private:
  sim::ResourceId renumbered(sim::ResourceId id) {
    std::int32_t& number = number_[id.index()];
    if (number < 0) {
      number = static_cast<std::int32_t>(used_.size());
      used_.push_back(id);
    }
    return sim::ResourceId{number};
  }

  void add(sim::ResourceId id, LoneBody& out) const {
    const sim::Resource& resource = machine_.resources[id.index()];
    const std::uint8_t exclusive = exclusive_.empty() ? 0 : exclusive_[id.index()];
    out.machine.resources.push_back(resource);
    out.key.insert(out.key.end(), {resource.capacity.value, resource.sustained.value,
                                   resource.refreshes ? 1 : 0, exclusive});
    if (!exclusive_.empty()) {
      out.exclusive.push_back(exclusive);
    }
  }

  const sim::Machine& machine_;
  std::span<const std::uint8_t> exclusive_;
  std::vector<std::int32_t> number_;  // of each resource in the body at hand; -1: none
  std::vector<sim::ResourceId> used_;
};

/// Each body played once, with nothing else on the machine; of those that are alike, one.
AloneTimes play_alone(const sim::Machine& machine, const sim::TaskGraph& bodies,
                      std::span<const std::uint8_t> exclusive) {
  LoneBodies lone(machine, exclusive);
  std::map<std::vector<std::int64_t>, Picoseconds> known;
  AloneTimes alone;
  for (std::size_t b = 0; b < bodies.bodies(); ++b) {
    Watch::check();
    LoneBody body = lone.cut_out(bodies.body(id_at<sim::BodyId>(b)));
    const auto [found, is_new] = known.try_emplace(std::move(body.key), Picoseconds{0});
    if (is_new) {
      sim::TaskGraph graph;
      graph.play(graph.add_stream(), graph.add(std::move(body.body)));
      found->second = play(body.machine, graph, body.exclusive).tasks.front().length();
    }
    alone.push_back(found->second);
  }
  return alone;
}

/// Divides what each stage did.
Table<PipelineStageId, PartTimes> split_of(const TrainingTasks& tasks, const sim::TasksRun& played,
                                           Picoseconds total, std::size_t stages) {
  Table<PipelineStageId, PartTimes> split(stages);
  for (std::size_t t = 0; t < tasks.uses.size(); ++t) {
    const TaskUse& use = tasks.uses[t];
    if (use.stage == PipelineStageId::none) {
      continue;
    }
    PartTimes& times = split[use.stage];
    if (use.known >= 0) {
      const PartTimes& known = tasks.known[subscript(use.known)];
      for (std::size_t p = 0; p < kTimeParts; ++p) {
        times[p] += known[p];
      }
      continue;
    }
    const Picoseconds length = played.tasks[t].length();
    const bool computes = use.part <= TimePart::Update;
    const Picoseconds own = computes ? std::min(length, use.compute) : length;
    of_part(times, use.part) += own;
    of_part(times, TimePart::Memory) += length - own;
  }
  for (PartTimes& times : split) {
    Picoseconds bubble = total;
    for (const Picoseconds part : times) {
      bubble = bubble - part;
    }
    of_part(times, TimePart::Bubble) = bubble;
  }
  return split;
}

}  // namespace

TrainingRun simulate_training(const TrainingPlan& plan, const chip::Chip& chip,
                              std::optional<sim::Fidelity> fidelity, sim::Links links) {
  if (fidelity == sim::Fidelity::Core) {
    throw InvalidInput("the fidelity of training must be auto, symmetric or flows, got core");
  }
  const sim::MachineNetwork network(chip);
  const std::vector<std::uint8_t> exclusive = exclusive_resources(network, chip, links, true);
  TrainingLowering lowering(plan, chip, network);
  const bool few = lowering.pieces() <= tuning::kMostPlayedTasks;
  const bool flows = fidelity ? *fidelity == sim::Fidelity::Flows : few;
  AloneTimes alone;
  if (!flows) {
    alone = play_alone(network.machine(), lowering.bodies(), exclusive);
  }
  const TrainingTasks tasks = lowering.lower(flows ? nullptr : &alone);
  const sim::TasksRun played = flows
                                   ? play(network.machine(), tasks.graph, exclusive)
                                   : sim::play_tasks({.resources = {}, .refresh = {}}, tasks.graph);
  TrainingRun run{.fidelity = flows ? sim::Fidelity::Flows : sim::Fidelity::Symmetric,
                  .total = {0},
                  .rows = {},
                  .split = {},
                  .sent = tasks.sent,
                  .links = {}};
  for (const Interval<Picoseconds>& task : played.tasks) {
    run.total = std::max(run.total, task.end);
  }
  for (const TaskRow& row : tasks.rows) {
    run.rows.push_back(
        {.stage = row.stage,
         .kind = row.kind,
         .micro = row.micro,
         .chunk = row.chunk,
         .time = {played.tasks[row.first.index()].begin, played.tasks[row.last.index()].end}});
  }
  run.split = split_of(tasks, played, run.total, plan.stages.size());
  if (flows) {
    run.links = link_rows(network, chip, played);
  }
  return run;
}

}  // namespace elk::train
