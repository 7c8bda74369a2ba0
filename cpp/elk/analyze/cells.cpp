#include "elk/analyze/cells.hpp"

#include <algorithm>

#include "elk/base/watch.hpp"

namespace elk::analyze {

std::span<const CellAccess> CellList::of(InstructionId instruction) const {
  const auto found = std::ranges::equal_range(accesses, instruction, {}, &CellAccess::instruction);
  return {found.begin(), found.end()};
}

CellList in_cells(std::span<const MemoryAccess> accesses,
                  const Table<MemoryId, std::int64_t>& sizes) {
  struct Edge {
    std::int64_t byte;
    CellId* cell;  // where the cell that begins there is to be named
  };
  CellList found{.accesses = std::vector<CellAccess>(accesses.size()), .edges = {}};
  Table<MemoryId, std::vector<Edge>> edges(sizes.size());
  auto access = found.accesses.begin();
  for (const auto& [instruction, memory, bytes, writes] : accesses) {
    *access = {.instruction = instruction, .memory = memory, .cells = {}, .writes = writes};
    edges[memory].push_back({bytes.begin, &access->cells.begin});
    edges[memory].push_back({bytes.end, &access->cells.end});
    ++access;
  }
  for (const MemoryId memory : sizes.ids()) {
    Watch::check();
    std::ranges::sort(edges[memory], {}, &Edge::byte);
    Table<CellId, std::int64_t>& begins = found.edges.emplace_back(1, 0);
    for (const Edge& edge : edges[memory]) {
      if (edge.byte > begins.back()) {
        begins.push_back(edge.byte);
      }
      *edge.cell = begins.end_id() - 1;
    }
    if (sizes[memory] > begins.back()) {
      begins.push_back(sizes[memory]);
    }
  }
  return found;
}

}  // namespace elk::analyze
