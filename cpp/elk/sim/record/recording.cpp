#include "elk/sim/record/recording.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/text.hpp"
#include "elk/base/watch.hpp"
#include "elk/sim/network/machine_network.hpp"
#include "elk/sim/play/meeting.hpp"
#include "elk/sim/play/play_trace.hpp"
#include "elk/sim/play/sums.hpp"
#include "elk/sim/record/named_links.hpp"

namespace elk::sim {
namespace {

using Remade = std::function<Demand(const Demand&)>;

/// Makes every demand of a trace anew; equal ones stay shared.
void remake(Trace& trace, const Remade& remade) {
  std::map<const Demand*, DemandOnce> known;
  const auto made = [&](const DemandOnce& demand) {
    DemandOnce& found = known[demand.get()];
    if (!found) {
      Watch::check();
      found = std::make_shared<const Demand>(remade(*demand));
    }
    return found;
  };
  const Trace kept = trace;  // Addresses stay apart while demands are made.
  for (DemandOnce& load : trace.loads) {
    load = made(load);
  }
  for (ExecutedOnce& executed : trace.executions) {
    ExecuteRecord next = *executed;
    for (Stage& stage : next.work.stages) {
      stage.asks = made(stage.asks);
    }
    executed = std::make_shared<const ExecuteRecord>(std::move(next));
  }
}

/// Calls `visit` with every distinct demand of a trace, in order.
void each_demand(const Trace& trace, const std::function<void(const Demand&)>& visit) {
  std::set<const Demand*> seen;
  const auto see = [&](const DemandOnce& demand) {
    if (seen.insert(demand.get()).second) {
      Watch::check();
      visit(*demand);
    }
  };
  std::for_each(trace.loads.begin(), trace.loads.end(), see);
  for (const ExecutedOnce& executed : trace.executions) {
    for (const Stage& stage : executed->work.stages) {
      see(stage.asks);
    }
  }
}

/// All resources of a network, and what they are.
std::vector<RecordedResource> each_resource(const MachineNetwork& network, const chip::Chip& chip) {
  std::vector<RecordedResource> all;
  const std::vector<Resource>& resources = network.machine().resources;
  for (std::size_t r = 0; r < resources.size(); ++r) {
    all.push_back({Purpose::Sram, -1, -1, 1, resources[r].capacity});
  }
  const std::vector<Purpose> purposes = purposes_of(network, chip);
  for (std::size_t r = 0; r < all.size(); ++r) {
    all[r].purpose = purposes[r];
  }
  const auto from = [&](ResourceId resource, std::int64_t where) {
    all[resource.index()].from = static_cast<std::int32_t>(where);
  };
  for (std::int64_t c = 0; c < network.cores(); ++c) {
    from(network.sram_port(id_at<CoreId>(c)), c);
  }
  for (std::int64_t m = 0; m < network.modules(); ++m) {
    from(network.memory(id_at<ModuleId>(m)), m);
  }
  for (std::int64_t c = 0; c < network.chips() && chip.inter_chip; ++c) {
    for (std::int32_t link = 0; link < kLinksOfChip; ++link) {
      from(network.chip_link(c, link), c);
      all[network.chip_link(c, link).index()].to = link;
    }
  }
  for (const NamedLink& link : named_links(network, chip)) {
    from(link.resource, link.from);
    all[link.resource.index()].to = link.to;
  }
  return all;
}

/// One resource for each purpose, as busy as the busiest.
std::vector<RecordedResource> one_of_each(std::span<const RecordedResource> all) {
  std::map<Purpose, RecordedResource> busiest;
  for (std::size_t p = 0; p < kPurposes; ++p) {
    const auto purpose = static_cast<Purpose>(p);
    busiest[purpose] = {.purpose = purpose, .from = -1, .to = -1, .count = 0, .rate = {0}};
  }
  for (const RecordedResource& one : all) {
    ++busiest[one.purpose].count;
    busiest[one.purpose].rate = one.rate;
  }
  std::vector<RecordedResource> out;
  for (const auto& [purpose, resource] : busiest) {
    out.push_back(resource);
  }
  return out;
}

/// Numbers what a list of pairs tells apart.
std::vector<ResourceClassId> told_apart(std::span<const ResourceClassId> a,
                                        std::span<const std::int32_t> b) {
  PairNumbers numbers;
  std::vector<ResourceClassId> out;
  out.reserve(a.size());
  for (std::size_t r = 0; r < a.size(); ++r) {
    out.push_back(ResourceClassId{numbers(a[r].value, b[r]).first});
  }
  return out;
}

/// The first resource of every class.
std::vector<std::size_t> firsts(std::span<const ResourceClassId> class_of) {
  std::vector<std::size_t> first;
  for (std::size_t r = 0; r < class_of.size(); ++r) {
    if (class_of[r].index() == first.size()) {
      first.push_back(r);
    }
  }
  return first;
}

/// A demand on resources of which each of `parts` is one of a class at some speed.
Demand slower(const Demand& demand, std::span<const std::pair<ResourceClassId, double>> parts) {
  Demand out = demand;
  out.kind_of.clear();
  out.kinds.resize(1);
  std::map<std::pair<std::int32_t, double>, std::int32_t> known;
  for (const auto& [of, speed] : parts) {
    const std::int32_t kind = demand.kind_of[of.index()];
    const auto next = static_cast<std::int32_t>(out.kinds.size());
    const auto [found, is_new] = known.try_emplace({kind, speed}, kind == 0 ? 0 : next);
    if (is_new && kind != 0) {
      ResourceLoad load = demand.kinds[subscript(kind)];
      load.rate = to_rate(std::max(1.0, static_cast<double>(load.rate.value) * speed));
      out.kinds.push_back(load);
    }
    out.kind_of.push_back(found->second);
  }
  return out;
}

/// Leaves out of `items` what none of `named` means, and numbers those that are left.
template <class IdType, class Item>
void keep_named(Table<IdType, Item>& items, const std::vector<IdType*>& named) {
  std::map<IdType, IdType> number;
  Table<IdType, Item> kept;
  for (IdType* one : named) {
    const auto [found, is_new] = number.try_emplace(*one, kept.end_id());
    if (is_new) {
      kept.push_back(items[*one]);
    }
    *one = found->second;
  }
  items = std::move(kept);
}

/// Leaves out preloads and stores that are over and that no step waits for.
void keep_jobs(Trace& trace) {
  Table<JobId, QueueEntry>& jobs = trace.start.jobs;
  std::set<JobId> needed;
  for (const JobId job : jobs.ids()) {
    if (jobs[job].end < Picoseconds{0}) {
      needed.insert(job);
    }
  }
  for (const TraceStep& step : trace.steps) {
    if (jobs.has(step.waits)) {
      needed.insert(step.waits);
    }
  }
  const std::size_t gone = jobs.size() - needed.size();
  for (TraceStep& step : trace.steps) {
    if (jobs.has(step.waits)) {
      step.waits = id_at<JobId>(std::distance(needed.begin(), needed.find(step.waits)));
    } else if (step.waits != JobId::none) {
      step.waits = step.waits - gone;
    }
  }
  Table<JobId, QueueEntry> kept;
  for (const JobId job : needed) {
    kept.push_back(jobs[job]);
  }
  jobs = std::move(kept);
}

}  // namespace

Recording fold(Trace trace, const chip::Chip& chip) {
  const MachineNetwork network(chip);
  Recording out{
      .trace = std::move(trace), .resources = each_resource(network, chip), .class_of = {}};
  if (out.trace.fidelity == Fidelity::Symmetric) {
    out.resources = one_of_each(out.resources);
  }
  std::vector<ResourceClassId> purpose;
  std::vector<std::int32_t> rate;
  std::map<Rate, std::int32_t> rates;
  for (const RecordedResource& resource : out.resources) {
    purpose.push_back(ResourceClassId{static_cast<std::int32_t>(resource.purpose)});
    const auto next = static_cast<std::int32_t>(rates.size());
    rate.push_back(rates.try_emplace(resource.rate, next).first->second);
  }
  out.class_of = told_apart(purpose, rate);
  each_demand(out.trace, [&](const Demand& demand) {
    out.class_of = told_apart(out.class_of, demand.kind_of);
  });
  const std::vector<std::size_t> first = firsts(out.class_of);
  remake(out.trace, [&](const Demand& demand) {
    Demand folded = demand;
    folded.kind_of.clear();
    for (const std::size_t r : first) {
      folded.kind_of.push_back(demand.kind_of[r]);
    }
    return folded;
  });
  out.trace.machine.resources = first.size();
  return out;
}

Recording at_speeds(const Recording& recording, std::span<const double> speeds) {
  if (speeds.size() != recording.resources.size()) {
    throw InvalidInput(text("there must be a speed for each of ", recording.resources.size(),
                            " resources, got ", speeds.size()));
  }
  Recording out = recording;
  std::map<std::pair<ResourceClassId, double>, ResourceClassId> known;
  std::vector<std::pair<ResourceClassId, double>> parts;
  for (std::size_t r = 0; r < speeds.size(); ++r) {
    if (!std::isfinite(speeds[r]) || speeds[r] <= 0.0) {
      throw InvalidInput(text("a speed must be above 0, got ", speeds[r]));
    }
    const auto next = id_at<ResourceClassId>(parts.size());
    const auto [found, is_new] = known.try_emplace({recording.class_of[r], speeds[r]}, next);
    if (is_new) {
      parts.push_back(found->first);
    }
    out.class_of[r] = found->second;
    Rate& rate = out.resources[r].rate;
    rate =
        rate.value > 0 ? to_rate(std::max(1.0, static_cast<double>(rate.value) * speeds[r])) : rate;
  }
  remake(out.trace, [&](const Demand& demand) { return slower(demand, parts); });
  out.trace.machine.resources = parts.size();
  return out;
}

Recording window(const Recording& recording, Interval<std::size_t> steps) {
  const Trace& whole = recording.trace;
  if (steps.empty() || steps.end > whole.steps.size()) {
    throw InvalidInput(text("a window must hold some of ", whole.steps.size(),
                            " instructions, got ", steps.begin, " to ", steps.end));
  }
  Recording out = recording;
  Trace& trace = out.trace;
  trace.steps.assign(whole.steps.begin() + static_cast<std::ptrdiff_t>(steps.begin),
                     whole.steps.begin() + static_cast<std::ptrdiff_t>(steps.end));
  trace.ends = whole.ends && steps.end == whole.steps.size();
  trace.start = state_before(whole, steps.begin);
  keep_jobs(trace);
  std::vector<LoadId*> loads;
  std::vector<ExecutionId*> executions;
  for (QueueEntry& job : trace.start.jobs) {
    loads.push_back(&job.load);
  }
  for (TraceStep& step : trace.steps) {
    if (step.load != LoadId::none) {
      loads.push_back(&step.load);
    }
    if (step.execution != ExecutionId::none) {
      executions.push_back(&step.execution);
    }
  }
  keep_named(trace.loads, loads);
  keep_named(trace.executions, executions);
  return out;
}

}  // namespace elk::sim
