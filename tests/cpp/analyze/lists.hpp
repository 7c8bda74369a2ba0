#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "elk/analyze/accesses.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"

namespace elk::analyze::test {

/// Builds a list, one instruction after another.
struct ListWriter {
  AccessList list;

  explicit ListWriter(std::vector<std::int64_t> sizes) { list.sizes = std::move(sizes); }

  /// Each returns its instruction.
  InstructionId plain() { return add(0, 0); }
  InstructionId light() { return add(0, 1); }
  InstructionId issue() { return add(1, 0); }
  /// An instruction that waits for `issue`.
  InstructionId wait(InstructionId issue) {
    const InstructionId waits = plain();
    list.awaited[issue] = waits;
    return waits;
  }

  /// What the last instruction does with bytes [begin, end) of a memory.
  ListWriter& reads(MemoryId memory, std::int64_t begin, std::int64_t end) {
    return access({last(), memory, {begin, end}, false});
  }
  ListWriter& writes(MemoryId memory, std::int64_t begin, std::int64_t end) {
    return access({last(), memory, {begin, end}, true});
  }

 private:
  [[nodiscard]] InstructionId last() const { return list.issues.end_id() - 1; }
  ListWriter& access(const MemoryAccess& access) {
    list.accesses.push_back(access);
    return *this;
  }
  InstructionId add(std::uint8_t issues, std::uint8_t light) {
    list.issues.push_back(issues);
    list.light.push_back(light);
    list.awaited.push_back(InstructionId::none);
    return last();
  }
};

/// A small list in which everything happens that may.
inline AccessList random_list(Random& random) {
  AccessList list;
  for (std::int64_t m = 1 + random.below(3); m > 0; --m) {
    list.sizes.push_back(1 + random.below(20));
  }
  const auto last = id_at<InstructionId>(random.below(40) - 1);
  for (InstructionId i{0}; i <= last; ++i) {
    const bool issues = random.below(5) < 2;
    const bool awaited = issues && i < last && random.below(5) < 4;
    const std::int64_t later = awaited ? 1 + random.below(std::min(last - i, 9)) : 0;
    list.issues.push_back(issues ? 1 : 0);
    list.light.push_back(!issues && random.below(2) == 0 ? 1 : 0);
    list.awaited.push_back(awaited ? i + later : InstructionId::none);
    for (std::int64_t a = random.below(4); a > 0; --a) {
      const auto memory = id_at<MemoryId>(random.below(std::ssize(list.sizes)));
      const std::int64_t size = list.sizes[memory];
      const std::int64_t begin = random.below(size);
      const std::int64_t bytes = 1 + random.below(random.below(3) == 0 ? size - begin : 1);
      list.accesses.push_back({i, memory, {begin, begin + bytes}, random.below(2) == 0});
    }
  }
  return list;
}

/// Whether an instruction reads, or writes, one byte.
inline bool does(const AccessList& list, InstructionId instruction, MemoryId memory,
                 std::int64_t byte, bool writes) {
  return std::ranges::any_of(list.accesses, [&](const MemoryAccess& access) {
    return access.instruction == instruction && access.memory == memory &&
           access.writes == writes && access.bytes.contains(byte);
  });
}

/// The last instruction before `end` that writes a byte, or none.
inline InstructionId last_writer(const AccessList& list, MemoryId memory, std::int64_t byte,
                                 InstructionId end) {
  InstructionId i = end - 1;
  while (i != InstructionId::none && !does(list, i, memory, byte, true)) {
    --i;
  }
  return i;
}

}  // namespace elk::analyze::test
