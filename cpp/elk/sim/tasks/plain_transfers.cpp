#include "elk/sim/tasks/plain_transfers.hpp"

#include <cstddef>
#include <map>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/text.hpp"
#include "elk/sim/play/sums.hpp"
#include "elk/sim/tasks/task_graph.hpp"
#include "elk/sim/tasks/task_player.hpp"

namespace elk::sim {
namespace {

void validate(const PlainTransfer& row, std::size_t number, std::int64_t cores) {
  const auto core = [&](const char* name, CoreId id) {
    if (id.value < 0 || id.value >= cores) {
      throw InvalidInput(text("row ", number, ": the ", name, " must be a core from 0 to ",
                              cores - 1, ", got ", id));
    }
  };
  core("source", row.source);
  core("destination", row.destination);
  if (row.bytes < Bytes{0} || row.bytes.value > kMostFlowBytes) {
    throw InvalidInput(text("row ", number, ": bytes must be from 0 to ", kMostFlowBytes, ", got ",
                            row.bytes.value));
  }
  // Not a number fails, as every comparison with it is false.
  const double latest = to_seconds(kBeyondTime).value;
  if (!(row.start.value >= 0.0 && row.start.value < latest)) {
    throw InvalidInput(text("row ", number, ": the start must be from 0 to ", latest,
                            " seconds, got ", row.start.value));
  }
}

}  // namespace

std::vector<std::uint8_t> exclusive_resources(const MachineNetwork& network, const chip::Chip& chip,
                                              Links links, bool memories) {
  std::vector<std::uint8_t> exclusive;
  if (links == Links::Shared) {
    return exclusive;
  }
  const bool one_port = chip.interconnect.node_ports.value_or(0) == 1;
  for (const Purpose purpose : purposes_of(network, chip)) {
    const bool shares = purpose == Purpose::Sram || (purpose == Purpose::Memory && !memories) ||
                        (purpose == Purpose::Port && !one_port);
    exclusive.push_back(shares ? 0 : 1);
  }
  return exclusive;
}

std::vector<Picoseconds> play_transfers(const chip::Chip& chip, std::span<const PlainTransfer> rows,
                                        Links links) {
  chip::Chip plain = chip;
  plain.core.remote_access_blocks = false;
  const MachineNetwork network(plain);
  TaskGraph graph;
  std::map<Picoseconds, TaskId> starts;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    validate(rows[r], r, network.cores());
    starts.try_emplace(to_latency(rows[r].start));
  }
  for (auto& [start, task] : starts) {
    task = graph.wait(graph.add_stream(), start);
  }
  std::vector<TaskId> tasks;
  for (const PlainTransfer& row : rows) {
    Body body;
    if (row.source != row.destination) {
      const Path path = network.path(row.source, row.destination);
      body.send(row.bytes, path.latency, path.uses);
    }
    tasks.push_back(graph.play(graph.add_stream(), graph.add(std::move(body)),
                               {starts.at(to_latency(row.start))}));
  }
  const TasksRun run =
      play_tasks(network.machine(), graph, exclusive_resources(network, plain, links));
  std::vector<Picoseconds> ends;
  ends.reserve(tasks.size());
  for (const TaskId task : tasks) {
    ends.push_back(run.tasks[task.index()].end);
  }
  return ends;
}

}  // namespace elk::sim
