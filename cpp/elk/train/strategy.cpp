#include "elk/train/strategy.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/text.hpp"
#include "elk/train/train_tuning.hpp"

namespace elk::train {
namespace {

/// What is wrong with a strategy, a line a field.
class StrategyComplaints {
 public:
  void require(bool holds, std::string_view field, std::string_view rule, std::int64_t value) {
    if (!holds) {
      lines_.push_back(text(field, " must ", rule, ", got ", value));
    }
  }

  std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

void check_sizes(const Strategy& strategy, StrategyComplaints& found) {
  found.require(strategy.pp >= 1, "pp", "be at least 1", strategy.pp);
  found.require(strategy.tp >= 1, "tp", "be at least 1", strategy.tp);
  found.require(strategy.dp >= 1, "dp", "be at least 1", strategy.dp);
  found.require(strategy.chunks >= 1, "chunks", "be at least 1", strategy.chunks);
  found.require(strategy.micro_batch >= 1, "micro_batch", "be at least 1", strategy.micro_batch);
  found.require(strategy.zero >= 0 && strategy.zero <= 3, "zero", "be from 0 to 3", strategy.zero);
}

/// Whether all degrees of parallelism are positive, so that others can be held against them.
bool has_sizes(const Strategy& strategy) {
  return strategy.pp >= 1 && strategy.tp >= 1 && strategy.dp >= 1 && strategy.micro_batch >= 1;
}

void check_devices(const Strategy& strategy, std::int64_t devices, StrategyComplaints& found) {
  const bool fits = strategy.pp <= devices && strategy.tp <= devices / strategy.pp &&
                    strategy.dp <= devices / strategy.pp / strategy.tp;
  const double product = static_cast<double>(strategy.pp) * static_cast<double>(strategy.tp) *
                         static_cast<double>(strategy.dp);
  constexpr double kMost = 9e18;  // a number that fits 64 bits
  found.require(fits, "pp * tp * dp", text("be at most the ", devices, " devices of the machine"),
                static_cast<std::int64_t>(std::min(product, kMost)));
}

void check_batch(const Strategy& strategy, std::int64_t batch, StrategyComplaints& found) {
  found.require(batch >= 1, "batch", "be at least 1", batch);
  if (batch < 1) {
    return;
  }
  const bool divides = batch % strategy.dp == 0 && batch / strategy.dp % strategy.micro_batch == 0;
  found.require(divides, "batch",
                text("be a multiple of dp * micro_batch, which are ", strategy.dp, " and ",
                     strategy.micro_batch),
                batch);
  const std::int64_t micros = batch / strategy.dp / strategy.micro_batch;
  found.require(micros <= tuning::kMostMicros, "batch / (dp * micro_batch)",
                text("be at most ", tuning::kMostMicros), micros);
  if (divides && strategy.schedule == PipelineSchedule::Interleaved) {
    found.require(micros % strategy.pp == 0, "batch / (dp * micro_batch)",
                  text("be a multiple of pp, ", strategy.pp, ", for the interleaved schedule"),
                  micros);
  }
}

void check_schedule(const Strategy& strategy, StrategyComplaints& found) {
  if (strategy.schedule == PipelineSchedule::Interleaved) {
    found.require(strategy.chunks >= 2, "chunks", "be at least 2 for the interleaved schedule",
                  strategy.chunks);
    found.require(strategy.pp >= 2, "pp", "be at least 2 for the interleaved schedule",
                  strategy.pp);
  } else {
    found.require(strategy.chunks <= 1, "chunks", "be 1 unless the schedule is interleaved",
                  strategy.chunks);
  }
}

void check_stages(const Strategy& strategy, std::optional<std::int64_t> devices,
                  StrategyComplaints& found) {
  if (strategy.stages.empty()) {
    return;
  }
  const auto given = static_cast<std::int64_t>(strategy.stages.size());
  const std::int64_t parts = std::int64_t{strategy.pp} * strategy.chunks;
  found.require(given == parts, "stages", text("be pp * chunks lists, ", parts), given);
  std::set<CoreId> seen;
  const auto placed = static_cast<std::int64_t>(std::ranges::count_if(
      strategy.stages, [](const GivenStage& stage) { return !stage.devices.empty(); }));
  found.require(placed == 0 || placed >= strategy.pp, "stages",
                text("name cores for all pp stages, ", strategy.pp, ", or for none"), placed);
  for (std::int64_t s = 0; s < given; ++s) {
    const std::string field = text("stages[", s, "]");
    const std::vector<CoreId>& cores = strategy.stages[subscript(s)].devices;
    const auto count = static_cast<std::int64_t>(cores.size());
    found.require(cores.empty() || s < strategy.pp, field,
                  "name no cores: the first pp parts do, for their stages", count);
    found.require(cores.empty() || count == strategy.tp * strategy.dp, field,
                  text("name tp * dp cores, ", strategy.tp * strategy.dp), count);
    for (const CoreId core : cores) {
      found.require(core.value >= 0 && (!devices || core.value < *devices), field,
                    text("name cores of the machine", devices ? text(", below ", *devices) : ""),
                    core.value);
      found.require(seen.insert(core).second, field, "name no core twice", core.value);
    }
  }
}

void check_degrees(const Strategy& strategy, StrategyComplaints& found) {
  for (const OpDegrees& one : strategy.degrees) {
    std::int64_t product = 1;
    for (const AxisDegree& axis : one.axes) {
      const std::string field = text("degrees[\"", one.op, "\"][\"", axis.axis, "\"]");
      const bool positive = axis.parts >= 1 && axis.parts <= strategy.tp;
      found.require(positive, field, text("be from 1 to tp, ", strategy.tp), axis.parts);
      product *= positive ? axis.parts : 1;
      if (product > strategy.tp) {
        break;
      }
    }
    found.require(product <= strategy.tp && strategy.tp % product == 0,
                  text("degrees[\"", one.op, "\"]"),
                  text("multiply to a divisor of tp, ", strategy.tp), product);
  }
}

}  // namespace

std::vector<std::string> complaints(const Strategy& strategy, std::optional<std::int64_t> batch,
                                    std::optional<std::int64_t> devices) {
  StrategyComplaints found;
  check_sizes(strategy, found);
  check_schedule(strategy, found);
  if (has_sizes(strategy)) {
    if (devices) {
      check_devices(strategy, *devices, found);
    }
    if (batch) {
      check_batch(strategy, *batch, found);
    }
    check_stages(strategy, devices, found);
    check_degrees(strategy, found);
  }
  return found.take();
}

void validate(const Strategy& strategy, std::int64_t batch, std::int64_t devices) {
  const std::vector<std::string> found = complaints(strategy, batch, devices);
  if (found.empty()) {
    return;
  }
  std::string message =
      found.size() == 1 ? "" : text(found.size(), " fields of the strategy are wrong:\n  ");
  for (std::size_t i = 0; i < found.size(); ++i) {
    message += (i == 0 ? "" : "\n  ") + found[i];
  }
  throw InvalidInput(message, "strategy");
}

Pipeline pipeline_of(const Strategy& strategy, std::int64_t batch) {
  return {.schedule = strategy.schedule,
          .stages = strategy.pp,
          .chunks = strategy.chunks,
          .micros = static_cast<std::int32_t>(batch / strategy.dp / strategy.micro_batch),
          .backward = strategy.trains()};
}

}  // namespace elk::train
