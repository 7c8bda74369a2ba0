#include "elk/analyze/accesses.hpp"

#include <cstddef>

#include "elk/base/errors.hpp"
#include "elk/base/text.hpp"

namespace elk::analyze {
namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 60;

template <class... Parts>
void require(bool holds, const Parts&... parts) {
  if (!holds) {
    throw InvalidInput(text(parts...));
  }
}

void check_instruction(const AccessList& list, InstructionId i) {
  const InstructionId awaited = list.awaited[i];
  if (list.issues[i] == 0) {
    require(awaited == InstructionId::none, "awaited[", i,
            "] must be -1, for it issues nothing, got ", awaited);
    return;
  }
  require(list.light[i] == 0, "light[", i, "] must be 0, for it issues a transfer, got ",
          int{list.light[i]});
  require(awaited == InstructionId::none || (awaited > i && list.awaited.has(awaited)), "awaited[",
          i, "] must be -1 or behind ", i, " among ", list.issues.size(), " instructions, got ",
          awaited);
}

void check_access(const AccessList& list, std::size_t a) {
  const auto& [instruction, memory, bytes, _] = list.accesses[a];
  require(list.issues.has(instruction), "accesses[", a, "].instruction must be one of ",
          list.issues.size(), ", got ", instruction);
  const InstructionId before = a > 0 ? list.accesses[a - 1].instruction : InstructionId{0};
  require(instruction >= before, "accesses[", a, "].instruction must be at least ", before,
          ", as before it, got ", instruction);
  require(list.sizes.has(memory), "accesses[", a, "].memory must be one of ", list.sizes.size(),
          ", got ", memory);
  const std::int64_t size = list.sizes[memory];
  require(!bytes.empty() && bytes.begin >= 0 && bytes.end <= size, "accesses[", a,
          "].bytes must be some of the ", size, " of memory ", memory, ", got [", bytes.begin, ", ",
          bytes.end, ")");
}

}  // namespace

void validate(const AccessList& list) {
  const std::size_t count = list.issues.size();
  require(list.light.size() == count, "light must have one entry for each of ", count,
          " instructions, got ", list.light.size());
  require(list.awaited.size() == count, "awaited must have one entry for each of ", count,
          " instructions, got ", list.awaited.size());
  for (const MemoryId m : list.sizes.ids()) {
    require(list.sizes[m] >= 0 && list.sizes[m] <= kMostSize, "sizes[", m, "] must be from 0 to ",
            kMostSize, ", got ", list.sizes[m]);
  }
  for (const InstructionId i : list.issues.ids()) {
    check_instruction(list, i);
  }
  for (std::size_t a = 0; a < list.accesses.size(); ++a) {
    check_access(list, a);
  }
}

}  // namespace elk::analyze
