#include "elk/cost/forecast.hpp"

#include <algorithm>
#include <cstddef>

namespace elk::cost {
namespace {

/// What the running op does with the port.
enum class Phase : std::uint8_t { Wait, Fixed, Exchange, Compute };

struct Rates {
  double execute;
  double load;
};

Rates rates(Phase phase, const Load& load, double drag) {
  const double share = load.share;
  switch (phase) {
    case Phase::Wait:
    case Phase::Fixed:
      return {1.0, 1.0};
    case Phase::Exchange:
      return {1.0 - std::min(share, 0.5), share > 0.5 ? 0.5 / share : 1.0};
    case Phase::Compute:
      return {1.0 - std::min(drag * load.port, 0.99), 1.0};
  }
  return {1.0, 1.0};
}

/// One entry of the queue that preloads and stores share.
struct Job {
  bool store;
  std::size_t slot;  // op of a preload, position of a store
  Load load;
};

class Player {
 public:
  Player(const Timeline& timeline, const Sharing& sharing)
      : timeline_(timeline), sharing_(sharing), result_() {
    result_.preloads.resize(timeline.works.size());
    result_.executes.resize(timeline.works.size());
    result_.stores.resize(timeline.write_backs.size());
    jobs_.reserve(timeline.preload_order.size() + timeline.write_backs.size());
    done_.assign(timeline.works.size(), 0);
  }

  TimelineResult play() {
    std::size_t store = 0;
    for (std::size_t op = 0; op < timeline_.works.size(); ++op) {
      issue_preloads(op);
      wait_for_preload(op);
      result_.executes[op].begin = {now_};
      run(timeline_.works[op]);
      result_.executes[op].end = {now_};
      while (store < timeline_.write_backs.size() &&
             timeline_.write_backs[store].op == static_cast<std::int32_t>(op)) {
        jobs_.push_back({true, store, timeline_.write_backs[store].load});
        ++store;
      }
    }
    const double last_execute = now_;
    double last_store = 0.0;
    while (head_ < jobs_.size()) {
      const Job job = jobs_[head_];
      finish_head();
      last_store = job.store ? now_ : last_store;
    }
    result_.total = {std::max(last_execute, last_store)};
    return std::move(result_);
  }

 private:
  void issue_preloads(std::size_t op) {
    const auto upto = static_cast<std::size_t>(timeline_.issued_before[op]);
    for (; issued_ < upto; ++issued_) {
      const auto subject = static_cast<std::size_t>(timeline_.preload_order[issued_]);
      jobs_.push_back({false, subject, timeline_.loads[subject]});
    }
  }

  void wait_for_preload(std::size_t op) {
    if (timeline_.loads[op].time.value <= 0.0) {
      return;
    }
    while (done_[op] == 0 && head_ < jobs_.size()) {
      finish_head();
    }
  }

  void run(const Work& work) {
    run_moving(work.in);
    run_phase(Phase::Compute, work.compute.value);
    run_moving(work.out);
  }

  void run_moving(const Moving& moving) {
    run_phase(Phase::Fixed, moving.before.value);
    run_phase(Phase::Exchange, moving.wire.value);
    run_phase(Phase::Fixed, moving.after.value);
  }

  void run_phase(Phase phase, double amount) {
    while (amount > 0.0) {
      if (head_ == jobs_.size()) {
        now_ += amount;
        return;
      }
      start_head();
      const bool streams = coming_ <= 0.0;
      const Rates at = streams ? rates(phase, jobs_[head_].load, sharing_.port_drag)
                               : Rates{.execute = 1.0, .load = 1.0};
      double& left = streams ? remaining_ : coming_;
      const double until_load = left / at.load;
      const double until_phase = amount / at.execute;
      if (until_load <= until_phase) {
        now_ += until_load;
        amount -= until_load * at.execute;
        left = 0.0;
        if (streams) {
          end_head();
        }
      } else {
        now_ += until_phase;
        left -= until_phase * at.load;
        amount = 0.0;
      }
    }
  }

  void finish_head() {
    start_head();
    now_ += coming_ + remaining_;
    end_head();
  }

  void start_head() {
    if (started_) {
      return;
    }
    const Job& job = jobs_[head_];
    const bool idle = head_ == 0 || free_since_ < now_;
    coming_ = idle ? sharing_.hbm_latency.value : 0.0;
    remaining_ = job.load.time.value;
    interval(job).begin = {now_};
    started_ = true;
  }

  void end_head() {
    const Job& job = jobs_[head_];
    interval(job).end = {now_};
    if (!job.store) {
      done_[job.slot] = 1;
    }
    free_since_ = now_;
    started_ = false;
    ++head_;
  }

  Interval& interval(const Job& job) {
    return job.store ? result_.stores[job.slot] : result_.preloads[job.slot];
  }

  const Timeline& timeline_;
  const Sharing& sharing_;
  TimelineResult result_;
  std::vector<Job> jobs_;
  std::vector<char> done_;
  std::size_t issued_ = 0;
  std::size_t head_ = 0;
  double now_ = 0.0;
  double coming_ = 0.0;      // until the head's first byte
  double remaining_ = 0.0;   // of the head's load from then on, alone
  double free_since_ = 0.0;  // when the HBM last fell idle
  bool started_ = false;
};

}  // namespace

TimelineResult forecast(const Timeline& timeline, const Sharing& sharing) {
  return Player(timeline, sharing).play();
}

}  // namespace elk::cost
