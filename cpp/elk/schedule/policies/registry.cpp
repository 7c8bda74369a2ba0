#include "elk/schedule/policies/registry.hpp"

#include <array>

namespace elk::schedule {
namespace {

constexpr std::array kPolicies = {
#define ELK_POLICY(id, name, starts, where, makes, counts_energy, takes_effort, colour, summary) \
  PolicyEntry{Policy::id,    name,         Starts::starts, Where::where, Makes::makes,           \
              counts_energy, takes_effort, colour,         summary,      &propose<Policy::id>},
#include "elk/schedule/policies/registry.def"
#undef ELK_POLICY
};

}  // namespace

std::span<const PolicyEntry> policies() { return kPolicies; }

const PolicyEntry& entry(Policy policy) { return kPolicies.at(static_cast<std::size_t>(policy)); }

const char* name(Policy policy) { return entry(policy).name; }

bool proposes(Policy policy, const chip::Chip& chip) {
  const Where where = entry(policy).where;
  return where == Where::Anywhere || (where == Where::WithHbm) == chip.hbm.has_value();
}

std::vector<Policy> policies_to(Policy policy) {
  if (entry(policy).starts != Starts::Below) {
    return {policy};
  }
  std::vector<Policy> result;
  for (const PolicyEntry& other : kPolicies) {
    if (other.starts == Starts::Below && other.policy <= policy) {
      result.push_back(other.policy);
    }
  }
  return result;
}

std::size_t step(Policy policy) { return policies_to(policy).size() - 1; }

Policy highest() {
  Policy result = kPolicies.front().policy;
  for (const PolicyEntry& other : kPolicies) {
    result = other.starts == Starts::Below ? other.policy : result;
  }
  return result;
}

}  // namespace elk::schedule
