#include "elk/analyze/dependences.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>

#include "elk/analyze/cell_map.hpp"
#include "elk/analyze/cells.hpp"
#include "elk/base/watch.hpp"

namespace elk::analyze {
namespace {

/// The issues that somebody waits for, in the order of who does.
std::vector<InstructionId> by_waiting(const AccessList& list) {
  std::vector<InstructionId> issues;
  for (const InstructionId i : list.awaited.ids()) {
    if (list.awaited[i] != InstructionId::none) {
      issues.push_back(i);
    }
  }
  std::ranges::stable_sort(issues, {}, [&](InstructionId i) { return list.awaited[i]; });
  return issues;
}

/// Goes through the trace and keeps who last wrote and who last used every cell.
class DependenceFinder {
 public:
  explicit DependenceFinder(const AccessList& list)
      : list_(list), cells_(in_cells(list.accesses, list.sizes)), waited_(by_waiting(list)) {
    for (const MemoryId memory : list.sizes.ids()) {
      writer_.emplace_back(cells_.all(memory).end, InstructionId::none);
      user_.emplace_back(cells_.all(memory).end, InstructionId::none);
    }
    relaxed_.reserve(list.issues.size());
    found_.first_writer.push_back(0);
  }

  void step(InstructionId instruction) {
    const std::span<const CellAccess> accesses = cells_.of(instruction);
    IssueLimits limits = limits_of(instruction, add_writers(accesses));
    relaxed_.push_back(limits.relaxed);
    if (list_.issues[instruction] != 0) {
      limits.placed = std::max(limits.conservative, last_user(accesses));
      found_.issues.push_back(limits);
    }
    use(accesses, instruction);
    for (const CellAccess& access : accesses) {
      if (access.writes) {
        writer_[access.memory].assign(access.cells, instruction);
      }
    }
    // A transfer uses its cells once more when it is over: the last user of a cell is then the last
    // to be over of all that ever used it.
    for (; next_ < waited_.size() && list_.awaited[waited_[next_]] == instruction; ++next_) {
      use(cells_.of(waited_[next_]), instruction);
    }
  }

  [[nodiscard]] Dependences found() && { return std::move(found_); }

 private:
  /// Appends the writers of what `accesses` read, and returns them, ascending.
  std::span<const InstructionId> add_writers(std::span<const CellAccess> accesses) {
    std::vector<InstructionId>& writers = found_.writers;
    const std::int64_t before = std::ssize(writers);
    for (const CellAccess& access : accesses) {
      if (!access.writes) {
        writer_[access.memory].each(access.cells, [&](const auto&, InstructionId writer) {
          if (writer != InstructionId::none) {
            writers.push_back(writer);
          }
        });
      }
    }
    std::sort(writers.begin() + before, writers.end());
    writers.erase(std::unique(writers.begin() + before, writers.end()), writers.end());
    found_.first_writer.push_back(std::ssize(writers));
    return {writers.begin() + before, writers.end()};
  }

  /// All but `placed`. Relaxed limits are no later than conservative ones: those of a light writer
  /// lie before it, and other writers count the same for both.
  [[nodiscard]] IssueLimits limits_of(InstructionId instruction,
                                      std::span<const InstructionId> writers) const {
    IssueLimits limits{.issue = instruction,
                       .conservative = InstructionId::none,
                       .relaxed = InstructionId::none,
                       .placed = InstructionId::none};
    for (const InstructionId writer : writers) {
      const InstructionId awaited = list_.awaited[writer];
      const bool waited = awaited != InstructionId::none && awaited < instruction;
      const InstructionId over = waited ? awaited : writer;
      const bool light = list_.light[writer] != 0;
      limits.conservative = std::max(limits.conservative, over);
      limits.relaxed = std::max(limits.relaxed, light ? relaxed_[writer] : over);
    }
    return limits;
  }

  /// The last to use any of the cells that `accesses` write, or none.
  [[nodiscard]] InstructionId last_user(std::span<const CellAccess> accesses) const {
    InstructionId last = InstructionId::none;
    for (const CellAccess& access : accesses) {
      if (access.writes) {
        user_[access.memory].each(
            access.cells, [&](const auto&, InstructionId user) { last = std::max(last, user); });
      }
    }
    return last;
  }

  void use(std::span<const CellAccess> accesses, InstructionId instruction) {
    for (const CellAccess& access : accesses) {
      user_[access.memory].assign(access.cells, instruction);
    }
  }

  const AccessList& list_;
  CellList cells_;
  std::vector<InstructionId> waited_;
  std::size_t next_ = 0;                            // of `waited_`
  Table<MemoryId, CellMap<InstructionId>> writer_;  // the last writer of each cell
  Table<MemoryId, CellMap<InstructionId>> user_;    // the last to read or write it
  Table<InstructionId, InstructionId> relaxed_;     // limits of every instruction so far
  Dependences found_;
};

}  // namespace

Dependences dependences(const AccessList& list) {
  DependenceFinder finder(list);
  for (const InstructionId i : list.issues.ids()) {
    Watch::check();
    finder.step(i);
  }
  return std::move(finder).found();
}

}  // namespace elk::analyze
