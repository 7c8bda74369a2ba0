#pragma once

#include <cstdint>
#include <vector>

#include "elk/analyze/accesses.hpp"

namespace elk::analyze {

/// How early a transfer might be issued: the last instruction that has to be over before it, by
/// what is asked for, or none. relaxed <= conservative <= placed < issue.
///
/// An earlier transfer is over at the instruction that waits for it. If that is not before the
/// issue, it is over when issued: the two stay in the order of their queue.
struct IssueLimits {
  InstructionId issue;
  InstructionId conservative;  // whatever last wrote what it reads
  InstructionId relaxed;       // light ones of these move along, back to their inputs
  InstructionId placed;        // conservative, and nobody else uses what it writes any more
};

/// Which instruction needs which, found as the trace ran, after section 5.4 of xPU-Shark
/// (shared/papers).
struct Dependences {
  std::vector<IssueLimits> issues;                  // by position
  Table<InstructionId, std::int64_t> first_writer;  // in `writers`; and their number
  std::vector<InstructionId> writers;               // the last to write what each one reads
};

/// What is to be said of a valid list.
[[nodiscard]] Dependences dependences(const AccessList& list);

}  // namespace elk::analyze
