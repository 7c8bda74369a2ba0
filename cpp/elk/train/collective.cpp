#include "elk/train/collective.hpp"

#include "elk/base/errors.hpp"
#include "elk/base/rounding.hpp"
#include "elk/cost/collective.hpp"

namespace elk::train {
namespace {

/// What one of `chips` holds before and after an exchange of a tensor of `whole` bytes.
partition::Held held(Exchange exchange, std::int64_t whole, std::int64_t chips) {
  const std::int64_t part = ceil_div(whole, chips);
  switch (exchange) {
    case Exchange::None:
    case Exchange::AllReduce:
      return {.before = whole, .after = whole};
    case Exchange::ReduceScatter:
      return {.before = whole, .after = part};
    case Exchange::AllGather:
      return {.before = part, .after = whole};
    case Exchange::AllToAll:
      return {.before = part, .after = part};
  }
  return {.before = whole, .after = whole};
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

CollectiveCost cost(Exchange exchange, Bytes whole, const chip::Chip& chip) {
  if (exchange == Exchange::None || !chip.inter_chip) {
    return {.time = {0.0}, .sent = {0}};
  }
  const std::int64_t ports = chip.inter_chip->port_cores;
  const partition::Held all = held(exchange, whole.value, chip.chips);
  const partition::Held port{.before = ceil_div(all.before, ports),
                             .after = ceil_div(all.after, ports)};
  const cost::LinkPhase link = cost::link_phase(kind(exchange), all, port, chip.chips, chip);
  const auto inside = static_cast<double>(port.before + port.after);
  return {.time = {link.time.value + (inside / chip.interconnect.link_rate) +
                   (2.0 * chip.interconnect.sync_latency.value)},
          .sent = link.sent};
}

}  // namespace elk::train
