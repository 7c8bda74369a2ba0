#include "elk/shard/conversion.hpp"

#include "elk/base/errors.hpp"
#include "elk/base/rounding.hpp"
#include "elk/cost/price/collective_price.hpp"

namespace elk::shard {
namespace {

/// Bytes a second of all cores' SRAM.
double sram_rate(const chip::Chip& chip) {
  return static_cast<double>(chip.core.count) * chip.core.sram_rate;
}

/// Of a chip's own part of what is whole.
Seconds slice_time(Bytes after, const chip::Chip& chip) {
  const auto bytes = static_cast<double>(after.value);
  const double links = static_cast<double>(chip.core.count) * chip.interconnect.link_rate;
  return {chip.interconnect.sync_latency.value + (bytes / links) + (2.0 * bytes / sram_rate(chip))};
}

}  // namespace

Exchange exchange(Form from, Form to) {
  if (from == to || from.kind == Form::Kind::Whole) {
    return Exchange::None;
  }
  if (to.kind == Form::Kind::Partial) {
    throw InternalError("exchange: no tensor turns into addends");
  }
  if (from.kind == Form::Kind::Partial) {
    return to.kind == Form::Kind::Whole ? Exchange::AllReduce : Exchange::ReduceScatter;
  }
  return to.kind == Form::Kind::Whole ? Exchange::AllGather : Exchange::AllToAll;
}

const char* name(Exchange exchange) {
  switch (exchange) {
    case Exchange::None:
      return "none";
    case Exchange::AllReduce:
      return "all-reduce";
    case Exchange::ReduceScatter:
      return "reduce-scatter";
    case Exchange::AllGather:
      return "all-gather";
    case Exchange::AllToAll:
      return "all-to-all";
  }
  return "";
}

ir::OpKind kind(Exchange exchange) {
  switch (exchange) {
    case Exchange::AllReduce:
      return ir::OpKind::AllReduce;
    case Exchange::ReduceScatter:
      return ir::OpKind::ReduceScatter;
    case Exchange::AllGather:
      return ir::OpKind::AllGather;
    case Exchange::AllToAll:
      return ir::OpKind::AllToAll;
    case Exchange::None:
      break;
  }
  throw InternalError("no op exchanges nothing");
}

CollectiveCost cost(const Passing& passing, const chip::Chip& chip) {
  if (!chip.inter_chip || (passing.exchange == Exchange::None && passing.after == passing.before)) {
    return {.time = {0.0}, .sent = {0}};
  }
  if (passing.exchange == Exchange::None) {
    return {.time = slice_time(passing.after, chip), .sent = {0}};
  }
  const std::int64_t ports = chip.inter_chip->port_cores;
  const partition::Held all{.before = passing.before.value, .after = passing.after.value};
  const partition::Held port{.before = ceil_div(all.before, ports),
                             .after = ceil_div(all.after, ports)};
  const cost::LinkPhase link =
      cost::link_phase(kind(passing.exchange), all, port, chip.chips, chip);
  const auto inside = static_cast<double>(port.before + port.after);
  const bool sums =
      passing.exchange == Exchange::AllReduce || passing.exchange == Exchange::ReduceScatter;
  const auto chips = static_cast<double>(chip.chips);
  const double added = sums ? static_cast<double>(all.before) * (chips - 1.0) / chips : 0.0;
  return {.time = {link.time.value + (inside / chip.interconnect.link_rate) +
                   (2.0 * chip.interconnect.sync_latency.value) + (3.0 * added / sram_rate(chip))},
          .sent = link.sent};
}

}  // namespace elk::shard
