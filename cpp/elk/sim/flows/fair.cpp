#include "elk/sim/flows/fair.hpp"

#include <algorithm>
#include <cstddef>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"

namespace elk::sim {
namespace {

using FillLevel = FairScratch::FillLevel;

/// Whether `a` is filled after `b`: a heap by this has the least level first.
bool later(const FillLevel& a, const FillLevel& b) { return a.left * b.weight > b.left * a.weight; }

bool equal(const FillLevel& a, const FillLevel& b) {
  return a.left * b.weight == b.left * a.weight;
}

class Filling {
 public:
  Filling(const FlowSet& sharing, FairScratch& scratch, std::vector<FairShare>& shares)
      : sharing_(sharing), scratch_(scratch), shares_(shares), flows_(sharing.begin.size() - 1) {}

  void fill() {
    prepare();
    std::size_t given = 0;
    while (given < flows_) {
      const FairShare share = next_round();
      given += scratch_.round.size();
      give(share);
    }
  }

 private:
  void prepare() {
    const std::size_t resources = sharing_.capacity.size();
    shares_.assign(flows_, {0, 1});
    scratch_.fixed.assign(flows_, 0);
    scratch_.left = sharing_.capacity;
    scratch_.weight.assign(resources, 0);
    index_crossings();
    scratch_.heap.clear();
    for (std::size_t r = 0; r < resources; ++r) {
      if (scratch_.weight[r] > 0) {
        scratch_.heap.push_back(level(static_cast<std::int32_t>(r)));
      }
    }
    std::make_heap(scratch_.heap.begin(), scratch_.heap.end(), later);
    scratch_.by_cap.clear();
    for (std::size_t f = 0; f < flows_; ++f) {
      if (sharing_.cap[f] > 0) {
        scratch_.by_cap.push_back(static_cast<std::int32_t>(f));
      }
    }
    std::sort(scratch_.by_cap.begin(), scratch_.by_cap.end(),
              [&](std::int32_t a, std::int32_t b) { return cap(a) < cap(b); });
    next_cap_ = 0;
  }

  void index_crossings() {
    std::vector<std::int32_t>& begin = scratch_.crossed_begin;
    begin.assign(sharing_.capacity.size() + 1, 0);
    for (const ResourceUse& use : sharing_.uses) {
      ++begin[use.resource.index()];
      scratch_.weight[use.resource.index()] += use.weight;
    }
    std::int32_t sum = 0;
    for (std::int32_t& first : begin) {
      sum += first;
      first = sum;  // The end for now: filling from the back makes it the begin.
    }
    scratch_.crossed.resize(sharing_.uses.size());
    for (std::size_t f = flows_; f-- > 0;) {
      for (std::int32_t u = sharing_.begin[f]; u < sharing_.begin[f + 1]; ++u) {
        const std::int32_t slot = --begin[sharing_.uses[subscript(u)].resource.index()];
        scratch_.crossed[subscript(slot)] = static_cast<std::int32_t>(f);
      }
    }
  }

  [[nodiscard]] FillLevel level(std::int32_t resource) const {
    return {scratch_.left[subscript(resource)], scratch_.weight[subscript(resource)], resource};
  }

  [[nodiscard]] Wide cap(std::int32_t flow) const { return sharing_.cap[subscript(flow)]; }

  /// The least level that is up to date. Levels only rise, so an old one is put back.
  void settle_top() {
    std::vector<FillLevel>& heap = scratch_.heap;
    while (!heap.empty()) {
      const FillLevel now = level(heap.front().resource);
      if (now.weight == heap.front().weight && now.left == heap.front().left) {
        return;
      }
      std::pop_heap(heap.begin(), heap.end(), later);
      heap.pop_back();
      if (now.weight > 0) {
        heap.push_back(now);
        std::push_heap(heap.begin(), heap.end(), later);
      }
    }
  }

  /// Puts into `round` all flows that get the least level, and returns it.
  FairShare next_round() {
    scratch_.round.clear();
    settle_top();
    while (next_cap_ < scratch_.by_cap.size() &&
           scratch_.fixed[subscript(scratch_.by_cap[next_cap_])] != 0) {
      ++next_cap_;
    }
    const bool capped = next_cap_ < scratch_.by_cap.size();
    if (scratch_.heap.empty() && !capped) {
      throw InternalError("fair_shares: a flow uses nothing and has no cap");
    }
    FillLevel least = {0, 1, -1};
    if (!scratch_.heap.empty()) {
      least = scratch_.heap.front();
    }
    if (capped) {
      const FillLevel own = {cap(scratch_.by_cap[next_cap_]), 1, -1};
      least = scratch_.heap.empty() || later(least, own) ? own : least;
    }
    take_capped(least);
    take_resources(least);
    return split(least.left, least.weight);
  }

  void take_capped(const FillLevel& least) {
    for (; next_cap_ < scratch_.by_cap.size(); ++next_cap_) {
      const std::int32_t flow = scratch_.by_cap[next_cap_];
      if (!equal({cap(flow), 1, -1}, least)) {
        return;
      }
      take(flow);
    }
  }

  void take_resources(const FillLevel& least) {
    std::vector<FillLevel>& heap = scratch_.heap;
    for (settle_top(); !heap.empty() && equal(heap.front(), least); settle_top()) {
      const std::int32_t resource = heap.front().resource;
      std::pop_heap(heap.begin(), heap.end(), later);
      heap.pop_back();
      for (std::int32_t c = scratch_.crossed_begin[subscript(resource)];
           c < scratch_.crossed_begin[subscript(resource) + 1]; ++c) {
        take(scratch_.crossed[subscript(c)]);
      }
    }
  }

  void take(std::int32_t flow) {
    if (scratch_.fixed[subscript(flow)] == 0) {
      scratch_.fixed[subscript(flow)] = 1;
      scratch_.round.push_back(flow);
    }
  }

  void give(FairShare share) {
    for (const std::int32_t flow : scratch_.round) {
      shares_[subscript(flow)] = share;
      for (std::int32_t u = sharing_.begin[subscript(flow)];
           u < sharing_.begin[subscript(flow) + 1]; ++u) {
        const ResourceUse& use = sharing_.uses[subscript(u)];
        scratch_.left[use.resource.index()] -= share.num * use.weight / share.den;
        scratch_.weight[use.resource.index()] -= use.weight;
      }
    }
  }

  const FlowSet& sharing_;
  FairScratch& scratch_;
  std::vector<FairShare>& shares_;
  std::size_t flows_;
  std::size_t next_cap_ = 0;
};

}  // namespace

void FlowSet::clear() {
  capacity.clear();
  cap.clear();
  begin.clear();
  uses.clear();
}

void fair_shares(const FlowSet& sharing, FairScratch& scratch, std::vector<FairShare>& shares) {
  Filling(sharing, scratch, shares).fill();
}

}  // namespace elk::sim
