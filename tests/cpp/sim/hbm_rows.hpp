#pragma once

/// The rows of data/hbm that the model of a channel speaks of, and the channels fitted to them.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "elk/base/rounding.hpp"
#include "elk/base/units.hpp"
#include "elk/sim/flows/engine.hpp"
#include "elk/sim/network/hbm.hpp"

namespace elk::sim {

/// One channel, as measurements show it.
struct Channel {
  Rate peak;
  Rate sustained;  // what its queue allows once rows have to be closed; peak: no limit
  Picoseconds latency;
  Refresh refresh;
  ChannelCosts costs;

  friend bool operator==(const Channel&, const Channel&) = default;
};

/// A machine of this channel alone. Writes wait for no answer: of them the queue holds up none.
inline Machine machine_of(const Channel& channel, const ChannelTraffic& traffic) {
  const auto peak = static_cast<double>(channel.peak.value);
  const auto sustained = static_cast<double>(channel.sustained.value);
  const double held_up =
      1.0 / (((1.0 - traffic.write_share) / sustained) + (traffic.write_share / peak));
  return {.resources = {{.capacity = channel.peak * kHbmWeight,
                         .sustained = to_rate(std::round(held_up * kHbmWeight)),
                         .refreshes = true}},
          .refresh = channel.refresh};
}

/// The time that the engine takes for `bytes` over the idle channel.
inline Picoseconds service_time(const Channel& channel, Bytes bytes,
                                const ChannelTraffic& traffic) {
  Engine engine(machine_of(channel, traffic));
  const ResourceUse use{ResourceId{0}, byte_weight(channel.costs, channel.peak, traffic)};
  engine.start({.tag = 0, .bytes = bytes, .cap = {0}, .latency = {0}, .uses = {&use, 1}},
               channel.latency);
  return engine.next().front().time;
}

using Record = std::map<std::string, std::string>;

inline std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> found;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) {
    found.push_back(cell);
  }
  return found;
}

/// The lines of a CSV file without quotes; empty if there is no such file.
inline std::vector<Record> read_csv(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> names = cells(line);
  std::vector<Record> records;
  while (std::getline(in, line)) {
    const std::vector<std::string> values = cells(line);
    Record& record = records.emplace_back();
    for (std::size_t k = 0; k < names.size(); ++k) {
      record[names[k]] = k < values.size() ? values[k] : "";
    }
  }
  return records;
}

/// One measurement, as one channel sees it.
struct HbmRow {
  std::string set;   // simulator's configuration and queue
  std::string kind;  // of rows that are like each other but for one size
  bool refreshes;
  Rate peak;
  Bytes bytes;
  ChannelTraffic traffic;
  Picoseconds measured;
  bool used_in_fit;
};

/// DRAMsim3 has 2 KiB of a tensor on one channel, then goes to the next; Ramulator's is even.
inline HbmRow hbm_row(const Record& record, bool dramsim) {
  const auto number = [&](const char* name) { return std::stod(record.at(name)); };
  const auto whole = [&](const char* name) { return std::stoll(record.at(name)); };
  const std::int64_t channels = whole("channels");
  const std::int64_t bytes = whole("tensor_bytes");
  const std::int64_t even = ceil_div(bytes, channels);
  const std::string depth = dramsim ? "32" : record.at("queue_depth");
  const double peak = number("peak_GBps") * 1e9 / static_cast<double>(channels);
  HbmRow row{
      .set = record.at("config") + "," + depth,
      .kind = record.at("refresh") + " " + record.at("pattern"),
      .refreshes = record.at("refresh") == "allbank",
      .peak = {static_cast<std::int64_t>(peak + 0.5)},
      .bytes = {dramsim ? std::max(even, std::min<std::int64_t>(bytes, 2048)) : even},
      .traffic = {.run = {whole(dramsim ? "contiguous_bytes" : "contiguous_bytes_per_channel")},
                  .write_share = number("write_fraction")},
      .measured = {static_cast<std::int64_t>((number("time_ns") * 1000) + 0.5)},
      .used_in_fit = false};
  row.kind += row.traffic.write_share > 0 ? " writes" : "";
  return row;
}

/// Sequential reads, scattered runs and mixed writes with all-bank refresh or none, for every
/// queue. Not: `perbank` (of which the data's README says not to calibrate to it), the untuned
/// address map `column_first`, the stream that stops at the first full queue (`in_order`), and
/// several tensors read in turns. Of the rows of a kind, in the order of the file, every other is
/// used in the fit.
inline std::vector<HbmRow> hbm_rows(const std::string& folder) {
  std::vector<HbmRow> rows;
  std::map<std::string, int> seen;
  for (const bool dramsim : {true, false}) {
    const std::string file = dramsim ? "dramsim3_hbm2.csv" : "ramulator21_hbm.csv";
    for (const Record& record : read_csv(folder + "/" + file)) {
      const bool plain =
          record.at("pattern") == "sequential" || record.at("pattern") == "random_chunks";
      const bool ordered = dramsim && record.at("issue_mode") == "in_order";
      if (plain && !ordered && record.at("refresh") != "perbank" &&
          record.at("mapping") != "column_first") {
        HbmRow row = hbm_row(record, dramsim);
        row.used_in_fit = seen[row.set + row.kind]++ % 2 == 0;
        rows.push_back(row);
      }
    }
  }
  return rows;
}

/// The channels of fitted.csv, by set.
inline std::map<std::string, Channel> fitted_channels(const std::string& folder) {
  std::map<std::string, Channel> channels;
  for (const Record& record : read_csv(folder + "/fitted.csv")) {
    const auto whole = [&](const char* name) { return std::stoll(record.at(name)); };
    channels[record.at("config") + "," + record.at("queue_depth")] = {
        .peak = {whole("peak_bytes_per_s")},
        .sustained = {whole("sustained_bytes_per_s")},
        .latency = {whole("latency_ps")},
        .refresh = {.interval = {whole("refresh_interval_ps")},
                    .stall = {whole("refresh_stall_ps")},
                    .fresh = {whole("fresh_ps")}},
        .costs = {.row = {whole("row_ps")},
                  .banks = whole("banks"),
                  .burst = {whole("burst_bytes")},
                  .gap = {whole("gap_ps")},
                  .wait = {whole("wait_ps")},
                  .queue = {whole("queue_depth") * whole("burst_bytes")},
                  .turnaround = std::stod(record.at("turnaround"))}};
  }
  return channels;
}

/// The model's time over the measured one, less 1.
inline double hbm_error(Channel channel, const HbmRow& row) {
  if (!row.refreshes) {
    channel.refresh.interval = {0};
    channel.refresh.stall = {0};
  }
  const Picoseconds time = service_time(channel, row.bytes, row.traffic);
  return (static_cast<double>(time.value) / static_cast<double>(row.measured.value)) - 1.0;
}

}  // namespace elk::sim
