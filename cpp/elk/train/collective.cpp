#include "elk/train/collective.hpp"

#include <algorithm>

#include "elk/base/errors.hpp"
#include "elk/base/rounding.hpp"

namespace elk::train {
namespace {

/// Rounds in which every chip sends to each other one.
int rounds(Exchange exchange) {
  switch (exchange) {
    case Exchange::None:
      return 0;
    case Exchange::AllReduce:
      return 2;
    case Exchange::ReduceScatter:
    case Exchange::AllGather:
    case Exchange::AllToAll:
      return 1;
  }
  return 0;
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

CollectiveCost cost(Exchange exchange, Bytes whole, const chip::Chip& chip) {
  if (exchange == Exchange::None || !chip.inter_chip) {
    return {.time = {0.0}, .sent = {0}};
  }
  const chip::InterChip& between = *chip.inter_chip;
  const std::int64_t part = ceil_div(whole.value, chip.chips);
  const std::int64_t piece = exchange == Exchange::AllToAll ? ceil_div(part, chip.chips) : part;
  const std::int64_t others = chip.chips - 1;
  const std::int64_t sent = rounds(exchange) * others * piece;
  const double wire = static_cast<double>(sent) / between.rate;
  // A ring takes a step for each other chip; direct transfers pass chips in between on a ring.
  const double ring = wire + static_cast<double>(rounds(exchange) * others) *
                                 (between.latency + between.sync_latency).value;
  const double detour =
      between.topology == chip::Topology::AllToAll ? 1.0 : static_cast<double>(chip.chips) / 4.0;
  const double direct = (wire * std::max(1.0, detour)) +
                        rounds(exchange) * (between.latency + between.sync_latency).value;
  const double ports = static_cast<double>(between.port_cores) * chip.interconnect.link_rate;
  const double inside = static_cast<double>(sent) / ports + chip.interconnect.sync_latency.value;
  return {.time = {std::min(ring, direct) + (2.0 * inside)}, .sent = {sent}};
}

}  // namespace elk::train
