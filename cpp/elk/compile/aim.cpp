#include "elk/compile/aim.hpp"

#include <algorithm>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/text.hpp"
#include "elk/compile/simulate.hpp"
#include "elk/schedule/policies/finals.hpp"

namespace elk::compile {
namespace {

constexpr double kJoules = 1e-12;  // of a picojoule

double number(Bytes bytes) { return static_cast<double>(bytes.value); }

/// By simulation, where cores are equal and simulated once; on a grid forecasts decide.
schedule::Appraisal appraisal(const schedule::Problem& problem, const schedule::Aim& aim) {
  if (chip::routed(problem.chip())) {
    return {};
  }
  return [&problem, aim](const program::Program& program) {
    const sim::Run run = simulate(problem.graph(), problem.chip(), program, problem.tiles(),
                                  sim::Fidelity::Symmetric);
    return aim.worth(to_seconds(run.total), work_joules(run, problem.chip()));
  };
}

}  // namespace

void check_objective(const chip::Chip& chip, const Options& options) {
  if (options.objective == schedule::Objective::Latency) {
    return;
  }
  if (!chip.energy) {
    throw InvalidInput(text("chip '", chip.name,
                            "' must have energy (energy.pj_per_flop, energy.pj_per_sram_byte, "
                            "energy.pj_per_link_byte_hop, energy.pj_per_hbm_byte, "
                            "energy.pj_per_inter_chip_byte, energy.static_w) for an objective that "
                            "counts it, got none: add an [energy] table to the chip, or take "
                            "objective latency"),
                       "no_energy");
  }
  if (!schedule::entry(options.policy).counts_energy) {
    std::string known;
    for (const schedule::PolicyEntry& one : schedule::policies()) {
      known += one.counts_energy ? text(known.empty() ? "" : " or ", one.name) : "";
    }
    throw InvalidInput(text("policy must be ", known, " for an objective other than latency, got ",
                            schedule::name(options.policy)));
  }
}

std::vector<schedule::Policy> policies_from(const Options& options) {
  std::vector<schedule::Policy> result = schedule::policies_to(options.policy);
  if (options.objective != schedule::Objective::Latency) {
    std::erase_if(result, [](schedule::Policy one) { return !schedule::entry(one).counts_energy; });
  }
  std::reverse(result.begin(), result.end());
  return result;
}

double work_joules(const sim::Run& run, const chip::Chip& chip) {
  const chip::Energy& each = *chip.energy;
  const sim::Totals& totals = run.totals;
  const Bytes sram = totals.operands + (2 * (totals.received - totals.loaded)) + totals.loaded;
  return kJoules * ((each.pj_per_flop * totals.flops) + (each.pj_per_sram_byte * number(sram)) +
                    (each.pj_per_link_byte_hop * number(totals.hops)) +
                    (each.pj_per_hbm_byte * number(totals.hbm)) +
                    (each.pj_per_inter_chip_byte * number(totals.between)));
}

std::optional<Aimed> aim(schedule::Problem& problem, const Options& options,
                         schedule::Found& found) {
  if (options.objective == schedule::Objective::Latency) {
    return std::nullopt;
  }
  const chip::Chip& chip = problem.chip();
  const schedule::Aim aimed{.objective = options.objective,
                            .static_w = chip.energy->static_w * static_cast<double>(chip.chips)};
  schedule::Ledger ledger(problem);
  const auto joules = [&] {
    return aimed.joules(found.times.total, ledger.joules(found.schedule.ops));
  };
  Aimed result{.objective = options.objective,
               .joules = 0.0,
               .worth = 0.0,
               .shortest = to_picoseconds(found.times.total),
               .shortest_joules = joules()};
  auto better = schedule::economize(problem, found,
                                    {.aim = aimed,
                                     .policy = options.policy,
                                     .constraints = options.constraints,
                                     .appraise = appraisal(problem, aimed),
                                     .threads = options.threads});
  if (better) {
    found = std::move(*better);
  }
  result.joules = joules();
  result.worth = options.objective == schedule::Objective::Energy
                     ? result.joules
                     : result.joules * found.times.total.value;
  return result;
}

double worth(const Plan& plan) {
  return plan.aimed ? plan.aimed->worth : static_cast<double>(plan.predicted.total.value);
}

void count_chips(std::int64_t chips, std::optional<Aimed>& aimed) {
  if (aimed) {
    aimed->joules *= static_cast<double>(chips);
    aimed->shortest_joules *= static_cast<double>(chips);
    aimed->worth *= static_cast<double>(chips);
  }
}

}  // namespace elk::compile
