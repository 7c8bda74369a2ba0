#include "elk/cost/forecast.hpp"

#include <algorithm>

#include "elk/base/ids.hpp"

namespace elk::cost {
namespace {

constexpr double kFairShare = 0.5;      // of a port, between a preload and an exchange
constexpr double kLeastCompute = 0.01;  // of its speed

}  // namespace

TimelineResult forecast(const Timeline& timeline, const ContentionRules& sharing) {
  Forecaster forecaster;
  return forecaster.forecast(timeline, sharing);
}

inline void Forecaster::end_head() {
  const std::int32_t head = queue_[head_];
  if (head < 0) {
    result_.stores[static_cast<std::size_t>(-1 - head)].end = {now_};
  } else {
    result_.preloads[OpId{head}].end = {now_};
    done_[OpId{head}] = 1;
  }
  free_since_ = now_;
  started_ = false;
  ++head_;
}

inline void Forecaster::start_head() {
  if (started_) {
    return;
  }
  started_ = true;
  const bool idle = head_ == 0 || free_since_ < now_;
  coming_ = idle ? sharing_.hbm_latency.value : 0.0;
  const std::int32_t head = queue_[head_];
  const PreloadCost* load = nullptr;
  if (head < 0) {
    const auto store = static_cast<std::size_t>(-1 - head);
    result_.stores[store].begin = {now_};
    load = &timeline_.write_backs[store].load;
    remaining_ = load->time.value;
  } else {
    result_.preloads[OpId{head}].begin = {now_};
    load = &timeline_.loads[OpId{head}];
    remaining_ = load->time.value;
  }
  const double share = load->share;
  exchanging_ = {.execute = 1.0 - std::min(share, kFairShare),
                 .load = share > kFairShare ? kFairShare / share : 1.0};
  for (std::size_t i = 0; sharing_.regions && i < kRegions; ++i) {
    head_use_[i] = share * load->use.region[i] / kBusiest;
  }
  computing_execute_ = std::max(1.0 - (sharing_.port_drag * load->port), kLeastCompute);
}

/// Where the two meet in a region, each keeps half of a link or what the other leaves.
inline Forecaster::ProgressRates Forecaster::beside_head(const LinkUse& exchange) const {
  if (!sharing_.regions) {
    return exchanging_;
  }
  double slower = 1.0;  // times that the exchange takes
  double load = 1.0;
  for (std::size_t i = 0; i < kRegions; ++i) {
    const double own = static_cast<double>(exchange.region[i]) / kBusiest;
    slower = std::max(slower, own / std::max(1.0 - head_use_[i], kFairShare));
    load = std::max(load, head_use_[i] / std::max(1.0 - own, kFairShare));
  }
  return {.execute = 1.0 / slower, .load = 1.0 / load};
}

inline void Forecaster::finish_head() {
  start_head();
  now_ += coming_ + remaining_;
  end_head();
}

inline void Forecaster::wait_for_preload(OpId op) {
  while (done_[op] == 0 && head_ < queue_.size()) {
    finish_head();
  }
}

/// The whole op at once if the queue does not change meanwhile; whether it did not.
inline bool Forecaster::run_beside_one_load(const ExecuteCost& work) {
  const double fixed =
      work.in.before.value + work.in.after.value + work.out.before.value + work.out.after.value;
  const double wire = work.in.wire.value + work.out.wire.value;
  if (head_ == queue_.size()) {
    now_ += fixed + wire + work.compute.value;
    return true;
  }
  start_head();
  if (coming_ > 0.0) {
    return false;
  }
  const ProgressRates rates =
      beside_head(sharing_.regions ? mean_use({work.in.use, work.in.wire.value},
                                              {work.out.use, work.out.wire.value})
                                   : kEverywhere);
  const double exchange = wire / rates.execute;
  const double compute = work.compute.value / computing_execute_;
  const double loaded = fixed + compute + (exchange * rates.load);
  if (loaded >= remaining_) {
    return false;
  }
  now_ += fixed + exchange + compute;
  remaining_ -= loaded;
  return true;
}

/// Beside the head's load compute and fixed times leave it its pace, and fixed times keep theirs.
template <Forecaster::ForecastPhase kPhase>
inline Forecaster::ProgressRates Forecaster::rates() const {
  if constexpr (kPhase == ForecastPhase::Exchange) {
    return beside_head(moving_);
  } else if constexpr (kPhase == ForecastPhase::Compute) {
    return {.execute = computing_execute_, .load = 1.0};
  } else {
    return {.execute = 1.0, .load = 1.0};
  }
}

/// Goes on until the phase ends or the head's first byte comes; returns what is left of the phase.
inline double Forecaster::run_beside_latency(double amount) {
  const double beside = std::min(coming_, amount);
  now_ += beside;
  coming_ -= beside;
  return amount - beside;
}

/// Goes on until the phase ends or the head; returns what is left of the phase.
template <Forecaster::ForecastPhase kPhase>
inline double Forecaster::run_beside_load(double amount) {
  const ProgressRates at = rates<kPhase>();
  const double until_load = at.load == 1.0 ? remaining_ : remaining_ / at.load;
  const double until_phase = kPhase == ForecastPhase::Fixed ? amount : amount / at.execute;
  if (until_load <= until_phase) {
    now_ += until_load;
    end_head();
    return amount - (until_load * at.execute);
  }
  now_ += until_phase;
  remaining_ -= until_phase * at.load;
  if (remaining_ <= 0.0) {
    end_head();
  }
  return 0.0;
}

template <Forecaster::ForecastPhase kPhase>
inline void Forecaster::run_phase(double amount) {
  while (amount > 0.0 && head_ < queue_.size()) {
    start_head();
    amount = coming_ > 0.0 ? run_beside_latency(amount) : run_beside_load<kPhase>(amount);
  }
  now_ += amount;
}

inline void Forecaster::run_moving(const ExchangeSeries& moving) {
  moving_ = moving.use;
  run_phase<ForecastPhase::Fixed>(moving.before.value);
  run_phase<ForecastPhase::Exchange>(moving.wire.value);
  run_phase<ForecastPhase::Fixed>(moving.after.value);
}

inline void Forecaster::run(const ExecuteCost& work) {
  if (run_beside_one_load(work)) {
    return;
  }
  run_moving(work.in);
  run_phase<ForecastPhase::Compute>(work.compute.value);
  run_moving(work.out);
}

const TimelineResult& Forecaster::forecast(const Timeline& timeline,
                                           const ContentionRules& sharing) {
  timeline_ = timeline;
  sharing_ = sharing;
  reset();
  std::size_t store = 0;
  for (const OpId op : timeline.works.ids()) {
    issue_preloads(static_cast<std::size_t>(timeline.issued_before[op]));
    if (timeline.loads[op].time.value > 0.0) {
      wait_for_preload(op);
    }
    result_.executes[op].begin = {now_};
    run(timeline.works[op]);
    result_.executes[op].end = {now_};
    while (store < timeline.write_backs.size() && timeline.write_backs[store].op == op) {
      queue_.push_back(-1 - static_cast<std::int32_t>(store));
      ++store;
    }
  }
  const double last_execute = now_;
  double last_store = 0.0;
  while (head_ < queue_.size()) {
    const bool is_store = queue_[head_] < 0;
    finish_head();
    last_store = is_store ? now_ : last_store;
  }
  result_.total = {std::max(last_execute, last_store)};
  return result_;
}

void Forecaster::reset() {
  result_.preloads.assign(timeline_.works.size(), {});
  result_.executes.resize(timeline_.works.size());
  result_.stores.resize(timeline_.write_backs.size());
  queue_.clear();
  queue_.reserve(timeline_.preload_order.size() + timeline_.write_backs.size());
  done_.assign(timeline_.works.size(), 0);
  issued_ = 0;
  head_ = 0;
  now_ = 0.0;
  free_since_ = 0.0;
  started_ = false;
}

}  // namespace elk::cost
