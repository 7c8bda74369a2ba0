#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/chip/chip.hpp"

namespace elk::schedule {

// NOLINTBEGIN(cppcoreguidelines-macro-usage): one line a policy makes its enumerator, too.
enum class Policy : std::uint8_t {
#define ELK_POLICY(id, ...) id,
#include "elk/schedule/policies/registry.def"
#undef ELK_POLICY
};

class Searcher;

/// Has a policy propose schedules to the search; each is defined in the file of its policy.
template <Policy policy>
void propose(Searcher& search);
#define ELK_POLICY(id, ...) \
  template <>               \
  void propose<Policy::id>(Searcher & search);
#include "elk/schedule/policies/registry.def"
#undef ELK_POLICY
// NOLINTEND(cppcoreguidelines-macro-usage)

/// What a policy may start from.
enum class Starts : std::uint8_t {
  Nothing,  // a policy proposes by itself, and no other counts what it proposes
  Below,    // policies before it that start so propose first, and are among its candidates
  All,      // all that other policies choose; it proposes nothing
};

/// On which chips a policy proposes.
enum class Where : std::uint8_t { Anywhere, WithHbm, WithoutHbm };

/// What plans of a policy are: programs, or times of what no chip runs as it stands.
enum class Makes : std::uint8_t { Program, Forecast };

struct PolicyEntry {
  Policy policy;
  const char* name;
  Starts starts;
  Where where;
  Makes makes;
  bool counts_energy;   // whether it serves an objective that counts energy
  bool takes_effort;    // whether it proposes more, and searches longer, the more effort is asked
  const char* colour;   // of pictures, "#rrggbb"
  const char* summary;  // one sentence
  void (*propose)(Searcher& search);
};

/// All policies, in the order of the registry.
[[nodiscard]] std::span<const PolicyEntry> policies();
[[nodiscard]] const PolicyEntry& entry(Policy policy);
[[nodiscard]] const char* name(Policy policy);

/// Whether a policy proposes on a chip.
[[nodiscard]] bool proposes(Policy policy, const chip::Chip& chip);

/// The policies that propose where `policy` is asked for: lowest first, `policy` the last.
[[nodiscard]] std::vector<Policy> policies_to(Policy policy);
/// How many of `policies_to(policy)` are below `policy`.
[[nodiscard]] std::size_t step(Policy policy);
/// The policy that counts all others which start from below.
[[nodiscard]] Policy highest();

}  // namespace elk::schedule
