#include "elk/compile/fronts.hpp"

#include <cstddef>
#include <string>

#include "elk/base/errors.hpp"
#include "elk/base/parallel.hpp"

namespace elk::compile {
namespace {

constexpr std::size_t kNamed = 8;  // ops that an error lists by name

void refuse_oversized(const ir::Graph& graph, const chip::Chip& chip,
                      const std::vector<std::int32_t>& firsts,
                      const std::vector<cost::Front>& fronts) {
  std::string lines;
  std::size_t count = 0;
  const std::int64_t room = chip::room(chip).value;
  for (std::size_t k = 0; k < fronts.size(); ++k) {
    if (!fronts[k].options.empty()) {
      continue;
    }
    const ir::Op& op = graph.ops[static_cast<std::size_t>(firsts[k])];
    if (++count <= kNamed) {
      const std::int64_t least = fronts[k].smallest.value;
      lines += text("\n  op '", op.name, "' (", op.onnx_type, "): its smallest plan needs ", least,
                    " bytes a core, ", least - room, " more than there are");
    }
  }
  if (count > 0) {
    throw Infeasible(
        text(count, " distinct op(s) fit no core: ", room,
             " bytes of SRAM a core are usable (core.sram_bytes - core.reserved_bytes)", lines,
             "\nmore cores, a larger core.sram_bytes, or a smaller batch or sequence would make "
             "them fit"),
        "sram_overflow");
  }
}

}  // namespace

Fronts fronts(const ir::Graph& graph, const chip::Chip& chip, const cost::TileModel& tiles,
              const cost::Constraints& constraints, int threads) {
  const std::vector<std::int32_t> equal = ir::equal_ops(graph);
  std::vector<std::int32_t> firsts;
  std::vector<std::int32_t> front_at(graph.ops.size(), -1);
  Fronts result{.fronts = {}, .front_of = {}};
  for (const std::int32_t like : equal) {
    std::int32_t& front = front_at[static_cast<std::size_t>(like)];
    if (front < 0) {
      front = static_cast<std::int32_t>(firsts.size());
      firsts.push_back(like);
    }
    result.front_of.push_back(front);
  }
  result.fronts = parallel_map(
      firsts,
      [&](std::int32_t op) {
        return cost::front(graph, graph.ops[static_cast<std::size_t>(op)], chip, tiles,
                           constraints);
      },
      threads);
  refuse_oversized(graph, chip, firsts, result.fronts);
  return result;
}

void check_capacity(const ir::Graph& graph, const chip::Chip& chip) {
  if (!chip.hbm || chip.hbm->capacity.value <= 0) {
    return;
  }
  std::int64_t bytes = 0;
  for (const ir::Tensor& tensor : graph.tensors) {
    if (tensor.home == ir::Home::Weight || tensor.home == ir::Home::State) {
      bytes += ir::bytes(tensor).value;
    }
  }
  const std::int64_t capacity = chip.hbm->capacity.value * chip.chips;
  if (bytes > capacity) {
    throw Infeasible(text("weights and states are ", bytes, " bytes, the HBM of ", chip.chips,
                          " chip(s) holds ", capacity, " (hbm.capacity_bytes): ", bytes - capacity,
                          " bytes too many; more chips, a larger hbm.capacity_bytes, a smaller "
                          "batch or a shorter sequence would make them fit"),
                     "hbm_overflow");
  }
}

}  // namespace elk::compile
