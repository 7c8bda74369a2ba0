#include "elk/train/play/collectives.hpp"

#include <optional>
#include <set>

#include "elk/base/errors.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/text.hpp"
#include "elk/sim/flows/share.hpp"
#include "elk/sim/network/machine_network.hpp"
#include "elk/sim/tasks/task_player.hpp"
#include "elk/train/play/movements.hpp"

namespace elk::train {
namespace {

void validate(const PlainCollective& row, std::size_t number, const chip::Chip& chip) {
  const std::int64_t devices = chip::total_cores(chip);
  std::set<CoreId> seen;
  for (const CoreId member : row.members) {
    if (member.value < 0 || member.value >= devices || !seen.insert(member).second) {
      throw InvalidInput(text("collective ", number, ": members must be distinct cores from 0 to ",
                              devices - 1, ", got ", member));
    }
  }
  if (row.members.empty()) {
    throw InvalidInput(text("collective ", number, ": there must be at least one member, got 0"));
  }
  if (row.bytes < Bytes{0} || row.bytes.value > sim::kMostFlowBytes) {
    throw InvalidInput(text("collective ", number, ": bytes must be from 0 to ",
                            sim::kMostFlowBytes, ", got ", row.bytes.value));
  }
  if (row.kind >= CollectiveKind::Read && !chip.hbm) {
    throw InvalidInput(text("collective ", number, ": reads and writes need a chip with HBM"));
  }
}

/// Adds the steps of one collective to a stream of its own.
class CollectiveLowering {
 public:
  CollectiveLowering(Movements& movements, sim::TaskGraph& graph, const PlainCollective& row)
      : movements_(movements),
        graph_(graph),
        row_(row),
        stream_(graph.add_stream()),
        last_(graph.wait(stream_, {0})) {}

  /// The task with which it is over.
  sim::TaskId add() {
    const auto size = static_cast<std::int64_t>(row_.members.size());
    const Bytes part{ceil_div(row_.bytes.value, size)};
    switch (row_.kind) {
      case CollectiveKind::ReduceScatter:
      case CollectiveKind::AllGather:
        add(around({row_.members}), part, size - 1);
        break;
      case CollectiveKind::AllReduce:
        add(around({row_.members}), part, 2 * (size - 1));
        break;
      case CollectiveKind::AllToAll:
        for (std::size_t apart = 1; apart < row_.members.size(); ++apart) {
          add(apart_by(apart), part, 1);
        }
        break;
      case CollectiveKind::Reduce:
        for (std::size_t apart = 1; apart < row_.members.size(); apart *= 2) {
          add(tree(apart, true), row_.bytes, 1);
        }
        break;
      case CollectiveKind::Broadcast:
        for (std::size_t apart = power_below(row_.members.size()); apart > 0; apart /= 2) {
          add(tree(apart, false), row_.bytes, 1);
        }
        break;
      case CollectiveKind::Read:
        add_memory({.read = part, .written = {0}});
        break;
      case CollectiveKind::Write:
        add_memory({.read = {0}, .written = part});
        break;
    }
    return last_;
  }

 private:
  /// The largest power of two below `size`; 0 for one member.
  static std::size_t power_below(std::size_t size) {
    std::size_t power = 1;
    while (power * 2 < size) {
      power *= 2;
    }
    return size > 1 ? power : 0;
  }

  [[nodiscard]] std::vector<DeviceSend> apart_by(std::size_t apart) const {
    std::vector<DeviceSend> sends;
    const std::size_t size = row_.members.size();
    for (std::size_t i = 0; i < size; ++i) {
      sends.push_back({.from = row_.members[i], .to = row_.members[(i + apart) % size]});
    }
    return sends;
  }

  /// Of each run of `2 apart` members the first and the one in its middle.
  [[nodiscard]] std::vector<DeviceSend> tree(std::size_t apart, bool to_first) const {
    std::vector<DeviceSend> sends;
    for (std::size_t i = 0; i + apart < row_.members.size(); i += 2 * apart) {
      const CoreId first = row_.members[i];
      const CoreId other = row_.members[i + apart];
      sends.push_back(to_first ? DeviceSend{other, first} : DeviceSend{first, other});
    }
    return sends;
  }

  void add(const std::vector<DeviceSend>& sends, Bytes bytes, std::int64_t times) {
    if (times <= 0) {
      return;
    }
    const sim::BodyId body = graph_.add(movements_.sending(sends, bytes));
    for (std::int64_t i = 0; i < times; ++i) {
      last_ = graph_.add(sim::Task{.stream = stream_,
                                   .lead = movements_.sync(sends),
                                   .when = sim::Lead::Always,
                                   .body = body,
                                   .after = {}});
    }
  }

  void add_memory(DramTraffic traffic) {
    sim::Body body;
    for (const CoreId member : row_.members) {
      movements_.add_memory(member, traffic, body);
    }
    last_ = graph_.play(stream_, graph_.add(std::move(body)));
  }

  Movements& movements_;
  sim::TaskGraph& graph_;
  const PlainCollective& row_;
  sim::StreamId stream_;
  sim::TaskId last_;
};

}  // namespace

std::vector<Picoseconds> play_collectives(const chip::Chip& chip,
                                          std::span<const PlainCollective> rows, sim::Links links) {
  const sim::MachineNetwork network(chip);
  Movements movements(chip, network);
  sim::TaskGraph graph;
  std::vector<sim::TaskId> lasts;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    validate(rows[r], r, chip);
    lasts.push_back(CollectiveLowering(movements, graph, rows[r]).add());
  }
  const sim::TasksRun run =
      play_tasks(network.machine(), graph, exclusive_resources(network, chip, links, true));
  std::vector<Picoseconds> ends;
  ends.reserve(lasts.size());
  for (const sim::TaskId last : lasts) {
    ends.push_back(run.tasks[last.index()].end);
  }
  return ends;
}

}  // namespace elk::train
