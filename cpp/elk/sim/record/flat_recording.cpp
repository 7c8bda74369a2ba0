#include "elk/sim/record/flat_recording.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <utility>

namespace elk::sim {
namespace {

class Flattening {
 public:
  explicit Flattening(const Recording& recording) : recording_(recording) {}

  FlatRecording flat() {
    const Trace& trace = recording_.trace;
    out_.trace = trace;
    out_.trace.loads.clear();
    out_.trace.executions.clear();
    out_.resources = recording_.resources;
    out_.class_of = recording_.class_of;
    for (const DemandOnce& load : trace.loads) {
      out_.loads.push_back(number(load));
    }
    for (const ExecutedOnce& executed : trace.executions) {
      add(*executed);
    }
    return std::move(out_);
  }

 private:
  DemandId number(const DemandOnce& demand) {
    const auto [found, is_new] = numbers_.try_emplace(demand.get(), out_.demands.end_id());
    if (is_new) {
      out_.demands.push_back(*demand);
      Demand& added = out_.demands.back();
      out_.kind_of.insert(out_.kind_of.end(), added.kind_of.begin(), added.kind_of.end());
      out_.kinds_of.push_back(static_cast<std::int64_t>(added.kinds.size()));
      out_.kinds.insert(out_.kinds.end(), added.kinds.begin(), added.kinds.end());
      added.kind_of.clear();
      added.kinds.clear();
    }
    return found->second;
  }

  void add(const ExecuteRecord& executed) {
    out_.executions.push_back(executed);
    ExecuteRecord& added = out_.executions.back();
    out_.stages_of.push_back(static_cast<std::int64_t>(added.work.stages.size()));
    out_.cores_of.push_back(static_cast<std::int64_t>(added.cores.size()));
    out_.cores.insert(out_.cores.end(), added.cores.begin(), added.cores.end());
    for (Stage& stage : added.work.stages) {
      out_.asks.push_back(number(stage.asks));
      stage.asks = nullptr;
      out_.stages.push_back(std::move(stage));
    }
    added.work.stages.clear();
    added.cores.clear();
  }

  const Recording& recording_;
  FlatRecording out_;
  std::map<const Demand*, DemandId> numbers_;
};

/// The next items of a list of lists.
template <class Item>
std::vector<Item> take(const std::vector<Item>& all, std::ptrdiff_t& at, std::int64_t count) {
  const auto first = all.begin() + at;
  at += count;
  return {first, first + count};
}

}  // namespace

FlatRecording flatten(const Recording& recording) { return Flattening(recording).flat(); }

Recording unflatten(const FlatRecording& flat) {
  validate(flat);
  Recording out{.trace = flat.trace, .resources = flat.resources, .class_of = flat.class_of};
  const auto classes = static_cast<std::int64_t>(flat.trace.machine.resources);
  Table<DemandId, DemandOnce> demands;
  std::ptrdiff_t at_kind_of = 0;
  std::ptrdiff_t at_kind = 0;
  for (const DemandId d : flat.demands.ids()) {
    Demand demand = flat.demands[d];
    demand.kind_of = take(flat.kind_of, at_kind_of, classes);
    demand.kinds = take(flat.kinds, at_kind, flat.kinds_of[d]);
    demands.push_back(std::make_shared<const Demand>(std::move(demand)));
  }
  for (const DemandId load : flat.loads) {
    out.trace.loads.push_back(demands[load]);
  }
  std::ptrdiff_t at_stage = 0;
  std::ptrdiff_t at_core = 0;
  auto asks = flat.asks.begin();
  for (const ExecutionId e : flat.executions.ids()) {
    ExecuteRecord executed = flat.executions[e];
    executed.work.stages = take(flat.stages, at_stage, flat.stages_of[e]);
    for (Stage& stage : executed.work.stages) {
      stage.asks = demands[*asks++];
    }
    executed.cores = take(flat.cores, at_core, flat.cores_of[e]);
    out.trace.executions.push_back(std::make_shared<const ExecuteRecord>(std::move(executed)));
  }
  return out;
}

}  // namespace elk::sim
