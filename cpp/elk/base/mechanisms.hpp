#pragma once

#include <cstdint>

namespace elk {

/// Which mechanisms of the planner work. All do, but in a build with `ELK_ABLATION`, which switches
/// them off one at a time to measure what each buys (`benchmarks/tables/ablation.py`).
struct Mechanisms {
#define ELK_MECHANISM(name, title, files) bool name = true;
#include "elk/base/mechanisms.def"
#undef ELK_MECHANISM
  std::uint64_t seed = 0;  // added to those of the annealer
};

#ifdef ELK_ABLATION
/// Of the process; to be changed before a compile.
[[nodiscard]] inline Mechanisms& mechanisms() {
  static Mechanisms all;
  return all;
}
#else
[[nodiscard]] constexpr Mechanisms mechanisms() { return {}; }
#endif

}  // namespace elk
