#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/sim/flows/share.hpp"

namespace elk::sim {

using ResourceId = Id<struct ResourceKind>;

/// The fact that a flow loads a resource with `weight` times its own speed. A weight above 1 stands
/// for equal flows that are simulated once, or for bytes that cost the resource more than others
/// do.
struct ResourceUse {
  ResourceId resource;
  std::int32_t weight;

  friend auto operator<=>(const ResourceUse&, const ResourceUse&) = default;
};

/// Flows and the resources that they cross, numbered from 0.
struct FlowSet {
  std::vector<Wide> capacity;       // per resource, grains in a picosecond
  std::vector<Wide> cap;            // per flow, of its own speed; 0: none
  std::vector<std::int32_t> begin;  // flow f uses [begin[f], begin[f + 1]); one more than flows
  std::vector<ResourceUse> uses;

  void clear();
};

/// What `fair_shares` works with; kept by the caller so that nothing is allocated twice.
struct FairScratch {
  struct FillLevel {
    Wide left;
    std::int64_t weight;
    std::int32_t resource;
  };
  std::vector<Wide> left;             // per resource: not yet given away
  std::vector<std::int64_t> weight;   // per resource: of flows without a share
  std::vector<std::int32_t> crossed;  // flows, by resource
  std::vector<std::int32_t> crossed_begin;
  std::vector<std::int32_t> by_cap;  // flows with a cap, smallest first
  std::vector<std::int32_t> round;   // flows that get their share in this round
  std::vector<std::uint8_t> fixed;   // per flow
  std::vector<FillLevel> heap;
};

/// Max-min fair shares: no flow can get more but at the expense of one that has no more.
/// Progressive filling (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2): again and
/// again the resources with the least `left / weight` give it to each of their flows that has no
/// share yet, all such resources and all flows with a cap at that level at once, so that the answer
/// depends on no order. A flow that uses nothing and has no cap is refused with InternalError.
///
/// A share is `split` exactly; what it takes of a resource is rounded down to a whole grain.
void fair_shares(const FlowSet& sharing, FairScratch& scratch, std::vector<FairShare>& shares);

}  // namespace elk::sim
