#include "elk/train/play/step_bodies.hpp"

#include <algorithm>

#include "elk/base/rounding.hpp"
#include "elk/sim/flows/share.hpp"

namespace elk::train {
namespace {

/// In how many sends so many bytes go, as one bears only so much.
std::int64_t sends_of(Bytes bytes) {
  return std::max<std::int64_t>(1, ceil_div(bytes.value, sim::kMostFlowBytes));
}

}  // namespace

StepBodies::StepBodies(const TrainingPlan& plan, const chip::Chip& chip,
                       const sim::MachineNetwork& network, sim::TaskGraph& graph)
    : plan_(plan), movements_(chip, network), graph_(graph) {}

StagePiece StepBodies::kernel(PipelineStageId stage, const DeviceKernel& kernel, TimePart part) {
  DramTraffic traffic{.read = {0}, .written = {0}};
  if (movements_.has_memory()) {
    const SramUse& sram = plan_.stages[stage].sram;
    traffic = part == TimePart::Update ? update_traffic(sram, kernel) : dram_traffic(sram, kernel);
  }
  return moving(stage, kernel_time(plan_, kernel), traffic, part);
}

StagePiece StepBodies::read(PipelineStageId stage, Bytes bytes, TimePart part) {
  const Bytes off_core = movements_.has_memory() ? bytes : Bytes{0};
  return moving(stage, {0}, {.read = off_core, .written = {0}}, part);
}

StagePiece StepBodies::moving(PipelineStageId stage, Picoseconds compute, DramTraffic traffic,
                              TimePart part) {
  // What is too much for one send goes in several, with a share of the computation each.
  const std::int64_t times = sends_of(std::max(traffic.read, traffic.written));
  traffic = {.read = {ceil_div(traffic.read.value, times)},
             .written = {ceil_div(traffic.written.value, times)}};
  compute = {ceil_div(compute.value, times)};
  StagePiece piece{.body = std::nullopt,
                   .lead = {0},
                   .compute = compute,
                   .times = times,
                   .part = part,
                   .sent = {0}};
  const bool alone = traffic.read <= Bytes{0} && traffic.written <= Bytes{0};
  if (alone && !movements_.network().blocks()) {  // Nobody else uses the port of a core.
    return piece;
  }
  MadeBody& made = made_[{.stage = stage,
                          .kind = BodyKind::Compute,
                          .cut = kWhole,
                          .to = stage,
                          .bytes = traffic.read,
                          .written = traffic.written,
                          .compute = compute}];
  if (!made.id) {
    made.id = graph_.add(computing(plan_.stages[stage].devices, compute, traffic));
  }
  piece.body = made.id;
  return piece;
}

sim::Body StepBodies::computing(const StageDevices& devices, Picoseconds compute,
                                DramTraffic traffic) {
  sim::Body body;
  for (const CoreId device : devices.all()) {
    if (compute > Picoseconds{0}) {
      body.compute(movements_.network().sram_port(device), compute);
    }
    movements_.add_memory(device, traffic, body);
  }
  return body;
}

StagePiece StepBodies::exchange(PipelineStageId stage, const GroupExchange& exchange) {
  const bool twice = exchange.kind == RingKind::AllReduce;
  const BodyKey key{.stage = stage,
                    .kind = BodyKind::Ring,
                    .cut = exchange.cut,
                    .to = stage,
                    .bytes = {ceil_div(exchange.bytes.value, exchange.cut.parts)},
                    .written = {0},
                    .compute = {0}};
  return sending(key, (twice ? 2 : 1) * (exchange.cut.parts - 1), TimePart::TensorParallel,
                 [&] { return around(plan_.stages[stage].devices.sharing(exchange.cut)); });
}

StagePiece StepBodies::among_replicas(PipelineStageId stage, Bytes bytes, std::int64_t turns) {
  const StageDevices& devices = plan_.stages[stage].devices;
  const BodyKey key{.stage = stage,
                    .kind = BodyKind::Replicas,
                    .cut = kWhole,
                    .to = stage,
                    .bytes = {ceil_div(bytes.value, devices.dp())},
                    .written = {0},
                    .compute = {0}};
  return sending(key, turns * (devices.dp() - 1), TimePart::DataParallel,
                 [&] { return around(devices.replicas()); });
}

StagePiece StepBodies::pass(PipelineStageId from, PipelineStageId to, Bytes bytes) {
  const BodyKey key{.stage = from,
                    .kind = BodyKind::Pass,
                    .cut = kWhole,
                    .to = to,
                    .bytes = bytes,
                    .written = {0},
                    .compute = {0}};
  return sending(key, 1, TimePart::Pipeline, [&] {
    const std::vector<CoreId>& senders = plan_.stages[from].devices.all();
    const std::vector<CoreId>& receivers = plan_.stages[to].devices.all();
    std::vector<DeviceSend> sends;
    for (std::size_t i = 0; i < senders.size(); ++i) {
      sends.push_back({.from = senders[i], .to = receivers[i]});
    }
    return sends;
  });
}

StagePiece StepBodies::sending(BodyKey key, std::int64_t turns, TimePart part,
                               const std::function<std::vector<DeviceSend>()>& sends) {
  const std::int64_t times = sends_of(key.bytes);
  key.bytes = {ceil_div(key.bytes.value, times)};
  StagePiece piece{.body = std::nullopt,
                   .lead = {0},
                   .compute = {0},
                   .times = key.bytes > Bytes{0} ? turns * times : 0,
                   .part = part,
                   .sent = key.bytes};
  if (piece.times <= 0) {
    return piece;
  }
  MadeBody& made = made_[key];
  if (!made.id) {
    const std::vector<DeviceSend> all = sends();
    made = {.id = graph_.add(movements_.sending(all, key.bytes)), .lead = movements_.sync(all)};
  }
  piece.body = made.id;
  piece.lead = made.lead;
  return piece;
}

}  // namespace elk::train
