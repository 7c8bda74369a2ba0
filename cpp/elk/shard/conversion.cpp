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

Conversion exchange(Form from, Form to) {
  if (from == to || from.kind == Form::Kind::Whole) {
    return Conversion::None;
  }
  if (to.kind == Form::Kind::Partial) {
    throw InternalError("exchange: no tensor turns into addends");
  }
  if (from.kind == Form::Kind::Partial) {
    return to.kind == Form::Kind::Whole ? Conversion::AllReduce : Conversion::ReduceScatter;
  }
  return to.kind == Form::Kind::Whole ? Conversion::AllGather : Conversion::AllToAll;
}

const char* name(Conversion exchange) {
  switch (exchange) {
    case Conversion::None:
      return "none";
    case Conversion::AllReduce:
      return "all-reduce";
    case Conversion::ReduceScatter:
      return "reduce-scatter";
    case Conversion::AllGather:
      return "all-gather";
    case Conversion::AllToAll:
      return "all-to-all";
  }
  return "";
}

ir::OpKind kind(Conversion exchange) {
  switch (exchange) {
    case Conversion::AllReduce:
      return ir::OpKind::AllReduce;
    case Conversion::ReduceScatter:
      return ir::OpKind::ReduceScatter;
    case Conversion::AllGather:
      return ir::OpKind::AllGather;
    case Conversion::AllToAll:
      return ir::OpKind::AllToAll;
    case Conversion::None:
      break;
  }
  throw InternalError("no op exchanges nothing");
}

CollectiveCost cost(const FormChange& passing, const chip::Chip& chip) {
  if (!chip.inter_chip ||
      (passing.exchange == Conversion::None && passing.after == passing.before)) {
    return {.time = {0.0}, .sent = {0}};
  }
  if (passing.exchange == Conversion::None) {
    return {.time = slice_time(passing.after, chip), .sent = {0}};
  }
  const std::int64_t ports = chip.inter_chip->port_cores;
  const partition::CollectiveBytes all{.before = passing.before.value,
                                       .after = passing.after.value};
  const partition::CollectiveBytes port{.before = ceil_div(all.before, ports),
                                        .after = ceil_div(all.after, ports)};
  const cost::LinkPhase link =
      cost::link_phase(kind(passing.exchange), all, port, chip.chips, chip);
  const auto inside = static_cast<double>(port.before + port.after);
  const bool sums =
      passing.exchange == Conversion::AllReduce || passing.exchange == Conversion::ReduceScatter;
  const auto chips = static_cast<double>(chip.chips);
  const double added = sums ? static_cast<double>(all.before) * (chips - 1.0) / chips : 0.0;
  return {.time = {link.time.value + (inside / chip.interconnect.link_rate) +
                   (2.0 * chip.interconnect.sync_latency.value) + (3.0 * added / sram_rate(chip))},
          .sent = link.sent};
}

}  // namespace elk::shard
