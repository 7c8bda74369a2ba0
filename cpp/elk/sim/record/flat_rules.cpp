#include <algorithm>
#include <bit>
#include <cstddef>
#include <set>
#include <span>
#include <string_view>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/text.hpp"
#include "elk/sim/play/player.hpp"
#include "elk/sim/play/sums.hpp"
#include "elk/sim/record/flat_recording.hpp"

namespace elk::sim {
namespace {

constexpr std::int64_t kMostMemoryRate = std::int64_t{1} << 58;  // of a memory, its weights counted
constexpr std::int64_t kMostStageRate = std::int64_t{1} << 48;   // bytes a second
constexpr std::int64_t kMostAmount = std::int64_t{1} << 50;      // bytes, weights counted
constexpr std::int64_t kMostTime = std::int64_t{1} << 44;        // picoseconds of one stage
constexpr std::int64_t kMostClock = std::int64_t{1} << 58;       // picoseconds of a trace
constexpr std::int64_t kMostStages = 10'000'000;                 // of all steps of a trace
constexpr double kMostRefreshes = 1e6;                           // of a trace
constexpr std::int64_t kMostItems = std::int64_t{1} << 30;       // of a list
constexpr int kMostStreamBits = 93;  // of a rate times the bytes of a stream

/// Refuses a value of row `row` of a column.
[[noreturn]] void refuse(std::string_view column, std::size_t row, std::int64_t value,
                         std::string_view rule) {
  throw InvalidInput(text(column, "[", row, "] is ", value, ": it must be ", rule));
}

/// Refuses a position that is of nothing.
template <class IdType, class Item>
void among(std::string_view column, std::size_t row, IdType id, const Table<IdType, Item>& items) {
  if (!items.has(id)) {
    refuse(column, row, id.value, text("one of ", items.size()));
  }
}

void within(std::string_view column, std::size_t row, std::int64_t value, std::int64_t least,
            std::int64_t most) {
  if (value < least || value > most) {
    refuse(column, row, value, text("from ", least, " to ", most));
  }
}

void same_length(std::string_view column, std::size_t length, std::size_t expected) {
  if (length != expected) {
    throw InvalidInput(text(column, " has ", length, " rows: it must have ", expected));
  }
}

/// Refuses lengths of lists that do not add up to the length of the list of them all.
void adds_up(std::string_view column, std::span<const std::int64_t> lengths, std::size_t all) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    within(column, i, lengths[i], 0, kMostItems);
    sum += lengths[i];
  }
  if (sum != static_cast<std::int64_t>(all)) {
    throw InvalidInput(text(column, " adds up to ", sum, ": there are ", all));
  }
}

int bits(std::int64_t value) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value)));
}

class FlatRules {
 public:
  explicit FlatRules(const FlatRecording& flat)
      : flat_(flat), trace_(flat.trace), classes_(flat.trace.machine.resources) {}

  void check() {
    check_machine();
    check_demands();
    check_executions();
    check_jobs();
    check_steps();
  }

 private:
  void check_machine() const {
    if (trace_.fidelity != Fidelity::Core && trace_.fidelity != Fidelity::Symmetric) {
      throw InvalidInput("a recording must be of fidelity core or symmetric");
    }
    const PlayedMachine& machine = trace_.machine;
    within("classes", 0, static_cast<std::int64_t>(classes_), 1,
           static_cast<std::int64_t>(flat_.resources.size()));
    within("ops", 0, static_cast<std::int64_t>(trace_.ops), 0, kMostItems);
    within("hbm_latency", 0, machine.hbm_latency.value, 0, kMostTime);
    const Refresh& refresh = machine.refresh;
    if (refresh.interval.value != 0) {
      within("refresh_interval", 0, refresh.interval.value, 1000, kMostTime);
      within("refresh_stall", 0, refresh.stall.value, 0, refresh.interval.value / 2);
    }
    same_length("class_of", flat_.class_of.size(), flat_.resources.size());
    Table<ResourceClassId, std::uint8_t> met(classes_, 0);
    for (std::size_t r = 0; r < flat_.class_of.size(); ++r) {
      among("class_of", r, flat_.class_of[r], met);
      within("resource_purpose", r, static_cast<std::int64_t>(flat_.resources[r].purpose), 0,
             static_cast<std::int64_t>(kPurposes) - 1);
      within("resource_count", r, flat_.resources[r].count, 0, kMostItems);
      within("resource_rate", r, flat_.resources[r].rate.value, 0, kMostMemoryRate);
      met[flat_.class_of[r]] = 1;
    }
    if (std::find(met.begin(), met.end(), 0) != met.end()) {
      throw InvalidInput("class_of leaves out a class");
    }
  }

  void check_demands() {
    const std::size_t count = flat_.demands.size();
    same_length("demand_kind_of", flat_.kind_of.size(), count * classes_);
    same_length("demand_kinds", flat_.kinds_of.size(), count);
    adds_up("demand_kinds", flat_.kinds_of, flat_.kinds.size());
    auto first = flat_.kinds.begin();
    auto kind_of = flat_.kind_of.begin();
    for (const DemandId d : flat_.demands.ids()) {
      const std::int64_t kinds = flat_.kinds_of[d];
      if (kinds < 1 || first->amount != 0) {
        refuse("demand_kinds", d.index(), kinds, "at least 1, the first of which asks nothing");
      }
      for (std::size_t c = 0; c < classes_; ++c) {
        within("demand_kind_of", d.index(), *kind_of++, 0, kinds - 1);
      }
      within("demand_stream", d.index(), flat_.demands[d].stream.value, 0, kMostFlowBytes);
      within("demand_latency", d.index(), flat_.demands[d].latency.value, 0, kMostTime);
      check_sums(d.index(), flat_.demands[d]);
      asked_.push_back(flat_.demands[d]);
      asked_.back().kind_of.assign(kind_of - static_cast<std::ptrdiff_t>(classes_), kind_of);
      asked_.back().kinds.assign(first, first + kinds);
      first += kinds;
    }
    for (std::size_t k = 0; k < flat_.kinds.size(); ++k) {
      within("kind_amount", k, flat_.kinds[k].amount, 0,
             flat_.kinds[k].computes ? kMostTime : kMostAmount);
      within("kind_tail", k, flat_.kinds[k].tail.value, 0, kMostTime);
      within("kind_rate", k, flat_.kinds[k].rate.value, 1, kMostMemoryRate);
    }
    for (const LoadId l : flat_.loads.ids()) {
      among("load_demand", l.index(), flat_.loads[l], asked_);
      check_load(l.index(), asked_[flat_.loads[l]]);
    }
  }

  /// What a demand moves in all can be summed up over all steps.
  void check_sums(std::size_t row, const Demand& asked) const {
    const std::int64_t most =
        (std::int64_t{1} << 60) / static_cast<std::int64_t>(trace_.steps.size() + 1);
    for (const Bytes bytes : {asked.hbm, asked.received, asked.hop_bytes, asked.chip_bytes,
                              asked.busiest, asked.most_received}) {
      within("demand_hbm", row, bytes.value, 0, most);
    }
  }

  /// A stream can be played: something carries it, and rates times bytes keep within 128 bits.
  void check_load(std::size_t load, const Demand& asked) {
    bool carried = false;
    for (std::int32_t number = 0; const ResourceLoad& kind : asked.kinds) {
      const bool met =
          std::find(asked.kind_of.begin(), asked.kind_of.end(), number++) != asked.kind_of.end();
      if (kind.amount > 0 && !met) {
        refuse("demand_kinds", load, kind.amount, "what some class asks");
      }
      carried = carried || kind.amount > 0;
      if (bits(kind.rate.value) + bits(asked.stream.value) > kMostStreamBits) {
        refuse("kind_rate", load, kind.rate.value, "less for so large a stream");
      }
    }
    if (asked.stream > Bytes{0} && (!carried || streaming_alone(asked).value > kMostTime)) {
      refuse("demand_stream", load, asked.stream.value, "a stream that some resource carries");
    }
    loads_take_.push_back(asked.stream > Bytes{0} ? streaming_alone(asked) : Picoseconds{0});
  }

  void check_executions() const {
    const std::size_t count = flat_.executions.size();
    same_length("execution_stages", flat_.stages_of.size(), count);
    same_length("execution_cores", flat_.cores_of.size(), count);
    same_length("stage_demand", flat_.asks.size(), flat_.stages.size());
    adds_up("execution_stages", flat_.stages_of, flat_.stages.size());
    adds_up("execution_cores", flat_.cores_of, flat_.cores.size());
    std::set<DemandId> seen;
    for (std::size_t s = 0; s < flat_.stages.size(); ++s) {
      const Stage& stage = flat_.stages[s];
      within("stage_kind", s, static_cast<std::int64_t>(stage.kind), 0,
             static_cast<std::int64_t>(kPhaseKinds) - 1);
      within("stage_sync", s, stage.sync.value, 0, kMostTime);
      within("stage_exposed", s, stage.exposed.value, 0, kMostTime);
      among("stage_demand", s, flat_.asks[s], asked_);
      if (!(stage.core_time.value >= 0.0 && stage.core_time.value < 1e12)) {
        throw InvalidInput(text("stage_core_s[", s, "] must be from 0 to 1e12 s"));
      }
      if (seen.insert(flat_.asks[s]).second) {
        check_stage(s, asked_[flat_.asks[s]]);
      }
    }
    check_work();
  }

  static void check_stage(std::size_t s, const Demand& asked) {
    for (const ResourceLoad& kind : asked.kinds) {
      within("kind_rate", s, kind.rate.value, 1, kMostStageRate);
    }
    within("stage_demand", s, alone(asked).value, 0, kMostTime);
  }

  /// Sums over a whole trace stay within 64 bits, and playing it comes to an end.
  void check_work() const {
    Table<ExecutionId, std::int64_t> times(flat_.executions.size(), 0);
    for (const TraceStep& step : trace_.steps) {
      if (times.has(step.execution)) {
        ++times[step.execution];
      }
    }
    std::int64_t stages = 0;
    double takes = 0.0;  // picoseconds
    auto stage = flat_.stages.begin();
    auto asks = flat_.asks.begin();
    for (const TraceStep& step : trace_.steps) {
      takes += loads_take_.has(step.load) ? static_cast<double>(loads_take_[step.load].value) : 0.0;
    }
    for (const ExecutionId e : times.ids()) {
      for (std::int64_t s = 0; s < flat_.stages_of[e]; ++s, ++stage) {
        const Picoseconds once = stage->sync + alone(asked_[*asks++]);
        takes += static_cast<double>(times[e]) * static_cast<double>(once.value);
      }
      const Totals& totals = flat_.executions[e].work.totals;
      for (const Bytes bytes : {totals.received, totals.hops, totals.between, totals.operands}) {
        within("execution_received", e.index(), bytes.value, 0,
               (std::int64_t{1} << 62) / std::max<std::int64_t>(1, times[e]) / 64);
      }
      stages += std::min(kMostStages, times[e] * flat_.stages_of[e]);
    }
    within("execution_stages", 0, stages, 0, kMostStages);
    takes += static_cast<double>(trace_.machine.hbm_latency.value) *
             static_cast<double>(trace_.steps.size());
    const auto interval = static_cast<double>(trace_.machine.refresh.interval.value);
    if (takes > static_cast<double>(kMostClock) / 4 ||
        (interval > 0.0 && takes / interval > kMostRefreshes)) {
      throw InvalidInput("stages and streams must take less time in all");
    }
  }

  void check_jobs() const {
    const PlayState& start = trace_.start;
    within("state_now", 0, start.now.value, 0, kMostClock);
    within("state_idle_since", 0, start.idle_since.value, -1, start.now.value);
    bool over = true;
    for (std::size_t j = 0; const QueueEntry& job : start.jobs) {
      among("job_load", j, job.load, flat_.loads);
      check_instruction("job_subject", j, job.instruction, false);
      within("job_issued", j, job.issued.value, 0, start.now.value);
      const bool ended = job.end >= Picoseconds{0};
      const bool head = !ended && over;
      within("job_end", j, job.end.value, -1, over ? start.now.value : -1);
      within("job_begin", j, job.begin.value, ended || head ? job.issued.value : -1,
             ended || head ? start.now.value : -1);
      within("job_first", j, job.first.value, ended || head ? job.begin.value : -1,
             ended ? job.end.value : (head ? start.now.value + kMostTime : -1));
      within("job_refreshed", j, job.refreshed.value, 0,
             ended ? (job.end - job.first).value : start.now.value);
      over = over && ended;
      if (head) {
        check_left(flat_.demands[flat_.loads[job.load]].stream);
      }
      ++j;
    }
  }

  void check_left(Bytes stream) const {
    if (trace_.start.left <= 0 || trace_.start.left > grains(stream)) {
      throw InvalidInput("state_left must be some of the stream at the head of the queue");
    }
  }

  void check_instruction(std::string_view column, std::size_t row,
                         const program::Instruction& instruction, bool executes) const {
    within(column, row, static_cast<std::int64_t>(instruction.opcode), 0, executes ? 2 : 1);
    const bool op = instruction.opcode != program::Opcode::Store;
    within(column, row, instruction.subject, 0,
           (op ? static_cast<std::int64_t>(trace_.ops) : kMostItems) - 1);
  }

  void check_steps() const {
    std::int64_t jobs = static_cast<std::int64_t>(trace_.start.jobs.size());
    for (std::size_t s = 0; s < trace_.steps.size(); ++s) {
      const TraceStep& step = trace_.steps[s];
      check_instruction("step_subject", s, step.instruction, true);
      const bool executes = step.instruction.opcode == program::Opcode::Execute;
      if (executes) {
        among("step_execution", s, step.execution, flat_.executions);
        within("step_load", s, step.load.value, -1, -1);
      } else {
        within("step_execution", s, step.execution.value, -1, -1);
        within("step_load", s, step.load.value, -1, flat_.loads.end_id().value - 1);
      }
      within("step_waits", s, step.waits.value, -1, executes ? jobs - 1 : -1);
      jobs += step.load != LoadId::none ? 1 : 0;
    }
  }

  const FlatRecording& flat_;
  const Trace& trace_;
  std::size_t classes_;
  Table<DemandId, Demand> asked_;  // with kinds
  Table<LoadId, Picoseconds> loads_take_;
};

}  // namespace

void validate(const FlatRecording& flat) { FlatRules(flat).check(); }

}  // namespace elk::sim
