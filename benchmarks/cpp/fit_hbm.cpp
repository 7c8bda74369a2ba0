/// Fits the simulator's model of an HBM channel to every other row of data/hbm and checks it on the
/// rest: `fit_hbm data/hbm > data/hbm/fitted.csv` writes the channels, and prints the errors aside.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/hbm_rows.hpp"

namespace elk::sim {
namespace {

constexpr Picoseconds kInterval{3'900'000};  // of all-bank refresh, in every set

using Chosen = std::vector<const HbmRow*>;

/// Of `rows`, those that are fitted to and that `wanted` picks.
Chosen choose(const std::vector<HbmRow>& rows, const std::function<bool(const HbmRow&)>& wanted) {
  Chosen chosen;
  for (const HbmRow& row : rows) {
    if (row.used_in_fit && wanted(row)) {
      chosen.push_back(&row);
    }
  }
  return chosen;
}

double squares(const Channel& channel, const Chosen& rows) {
  double sum = 0;
  for (const HbmRow* row : rows) {
    const double error = hbm_error(channel, *row);
    sum += error * error;
  }
  return sum;
}

/// One number of a channel that is fitted.
struct Knob {
  double value;
  std::function<void(Channel&, double)> set;
};

/// Turns one knob after another by a step, keeps what helps, and halves the step until it is below
/// 0.1 %.
void turn(Channel& channel, std::vector<Knob> knobs, const Chosen& rows) {
  const auto with = [&](std::size_t k, double value) {
    Channel changed = channel;
    knobs[k].set(changed, value);
    return changed;
  };
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    channel = with(k, knobs[k].value);
  }
  double best = squares(channel, rows);
  for (double step = 0.5; step > 0.001; step /= 2) {
    for (bool better = true; better;) {
      better = false;
      for (std::size_t k = 0; k < knobs.size(); ++k) {
        for (const double factor : {1 + step, 1 / (1 + step)}) {
          const Channel changed = with(k, knobs[k].value * factor);
          const double error = squares(changed, rows);
          if (error < best * (1 - 1e-9)) {
            best = error;
            knobs[k].value *= factor;
            channel = changed;
            better = true;
          }
        }
      }
    }
  }
}

std::int64_t whole(double value) { return std::llround(value); }

Knob latency() {
  return {33e3, [](Channel& c, double v) { c.latency = {whole(v)}; }};
}

Knob stall() {
  return {400e3, [](Channel& c, double v) { c.refresh.stall = {whole(v)}; }};
}

Knob sustained(const Channel& channel) {
  const auto peak = static_cast<double>(channel.peak.value);
  return {0.9 * peak, [peak](Channel& c, double v) { c.sustained = {whole(std::min(v, peak))}; }};
}

Knob fresh() {
  return {400e3, [](Channel& c, double v) { c.refresh.fresh = {whole(v)}; }};
}

Knob row(double first) {
  return {first, [](Channel& c, double v) { c.costs.row = {whole(v)}; }};
}

Knob gap(double first) {
  return {first, [](Channel& c, double v) { c.costs.gap = {whole(v)}; }};
}

Knob turnaround() {
  return {1.0, [](Channel& c, double v) { c.costs.turnaround = std::round(v * 1000) / 1000; }};
}

double squares(const std::map<std::string, Channel>& channels,
               const std::map<std::string, Chosen>& rows) {
  double sum = 0;
  for (const auto& [set, chosen] : rows) {
    sum += squares(channels.at(set), chosen);
  }
  return sum;
}

/// From several starts, for the larger of two costs leaves valleys in which a search stops.
Channel fit_runs(const Channel& channel, const Chosen& runs) {
  Channel best = channel;
  for (const std::int64_t banks : {1, 2, 4, 8, 16}) {
    for (const double row_ps : {1000.0, 2000.0, 4000.0, 8000.0}) {
      for (const double gap_ps : {200.0, 500.0, 2000.0}) {
        Channel tried = channel;
        tried.costs.banks = banks;
        turn(tried, {row(row_ps), gap(gap_ps)}, runs);
        if (squares(tried, runs) < squares(best, runs)) {
          best = tried;
        }
      }
    }
  }
  return best;
}

Chosen choose(const std::vector<HbmRow>& rows, const std::string& set, const char* kind) {
  return choose(rows, [&](const HbmRow& row) {
    return row.set == set && row.kind.find(kind) != std::string::npos;
  });
}

Channel fit_sequential(const std::vector<HbmRow>& rows, const std::string& set) {
  const Chosen sequential = choose(rows, [&](const HbmRow& row) {
    return row.set == set && row.kind.find("sequential") != std::string::npos &&
           row.traffic.write_share == 0.0;
  });
  const std::int64_t burst = set.find("x128") == std::string::npos ? 32 : 64;
  const std::int64_t depth = std::stoll(set.substr(set.find(',') + 1));
  Channel channel{.peak = sequential.front()->peak,
                  .sustained = sequential.front()->peak,
                  .latency = {0},
                  .refresh = {.interval = kInterval, .stall = {0}, .fresh = {0}},
                  .costs = {.row = {0},
                            .banks = 1,
                            .burst = {burst},
                            .gap = {0},
                            .wait = {0},
                            .queue = {depth * burst},
                            .turnaround = 0}};
  turn(channel, {latency(), stall()}, sequential);
  turn(channel,
       {{static_cast<double>(channel.latency.value), latency().set},
        {static_cast<double>(channel.refresh.stall.value), stall().set},
        sustained(channel),
        fresh()},
       sequential);
  return channel;
}

using Channels = std::map<std::string, Channel>;

/// How long a row takes to open is a matter of the memory's cells: one number for all sets.
Channels fit_runs(const Channels& channels, const std::map<std::string, Chosen>& runs) {
  Channels best;
  for (std::int64_t wait = 5'000; wait <= 100'000; wait += 5'000) {
    Channels tried = channels;
    for (const auto& [set, chosen] : runs) {
      Channel& channel = tried.at(set);
      channel.costs.wait = {wait};
      channel = fit_runs(channel, chosen);
    }
    if (best.empty() || squares(tried, runs) < squares(best, runs)) {
      best = std::move(tried);
    }
  }
  return best;
}

/// Fits in turn what sequential reads show, what scattered runs show, and what writes show.
Channels fit(const std::vector<HbmRow>& rows, const std::set<std::string>& sets) {
  Channels channels;
  std::map<std::string, Chosen> runs;
  for (const std::string& set : sets) {
    channels[set] = fit_sequential(rows, set);
    if (Chosen chosen = choose(rows, set, "random_chunks"); !chosen.empty()) {
      runs[set] = std::move(chosen);
    }
  }
  channels = fit_runs(channels, runs);
  for (auto& [set, channel] : channels) {
    if (const Chosen writes = choose(rows, set, "writes"); !writes.empty()) {
      turn(channel, {turnaround()}, writes);
    }
  }
  return channels;
}

void print(const std::string& set, const Channel& c) {
  std::printf(
      "%s,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%.3f\n", set.c_str(),
      static_cast<long long>(c.peak.value), static_cast<long long>(c.sustained.value),
      static_cast<long long>(c.latency.value), static_cast<long long>(c.refresh.interval.value),
      static_cast<long long>(c.refresh.stall.value), static_cast<long long>(c.refresh.fresh.value),
      static_cast<long long>(c.costs.row.value), static_cast<long long>(c.costs.banks),
      static_cast<long long>(c.costs.burst.value), static_cast<long long>(c.costs.gap.value),
      static_cast<long long>(c.costs.wait.value), c.costs.turnaround);
}

struct Errors {
  int rows = 0;
  double sum = 0;
  double most = 0;
  std::string where;

  void add(double error, const std::string& name) {
    ++rows;
    sum += std::abs(error);
    if (std::abs(error) > std::abs(most)) {
      most = error;
      where = name;
    }
  }

  void print(const std::string& name) const {
    std::fprintf(stderr, "%-52s %4d rows, mean %5.2f %%, largest %+6.2f %% (%s)\n", name.c_str(),
                 rows, 100 * sum / rows, 100 * most, where.c_str());
  }
};

int run(const std::string& folder) {
  const std::vector<HbmRow> rows = hbm_rows(folder);
  std::set<std::string> sets;
  for (const HbmRow& row : rows) {
    sets.insert(row.set);
  }
  std::puts(
      "config,queue_depth,peak_bytes_per_s,sustained_bytes_per_s,latency_ps,refresh_interval_ps,"
      "refresh_stall_ps,fresh_ps,row_ps,banks,burst_bytes,gap_ps,wait_ps,turnaround");
  std::map<std::string, Errors> checked;
  for (const auto& [set, channel] : fit(rows, sets)) {
    print(set, channel);
    for (const HbmRow& row : rows) {
      if (row.set == set) {
        const std::string name = set + " " + row.kind + ", " + std::to_string(row.bytes.value) +
                                 " B a channel in runs of " +
                                 std::to_string(row.traffic.run.value) + " B, writes " +
                                 std::to_string(row.traffic.write_share).substr(0, 4);
        const double error = hbm_error(channel, row);
        checked[row.used_in_fit ? "0 used in the fit" : "1 held out"].add(error, name);
        if (!row.used_in_fit) {
          checked["2 held out, " + row.kind].add(error, name);
        }
      }
    }
  }
  for (const auto& [name, errors] : checked) {
    errors.print(name.substr(2));
  }
  return 0;
}

}  // namespace
}  // namespace elk::sim

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: fit_hbm FOLDER > FOLDER/fitted.csv\n", stderr);
    return 2;
  }
  return elk::sim::run(arguments[1]);
}
