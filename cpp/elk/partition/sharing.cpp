#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "elk/base/rounding.hpp"
#include "elk/partition/core_needs.hpp"
#include "elk/partition/enumerate.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/plan.hpp"

namespace elk::partition {
namespace {

/// The ids at which the digits selected by `contained` count up while the others stay 0.
std::vector<std::int64_t> ids_along(const ir::Operand& operand, const ExecutePlan& plan,
                                    bool contained) {
  std::vector<std::int64_t> ids{0};
  std::int64_t stride = 1;
  for (std::size_t i = plan.order.size(); i-- > 0;) {
    const std::int64_t factor = plan.factors[static_cast<std::size_t>(plan.order[i])];
    if (contains(operand, plan.order[i]) == contained) {
      std::vector<std::int64_t> more;
      for (std::int64_t v = 0; v < factor; ++v) {
        for (const std::int64_t id : ids) {
          more.push_back((v * stride) + id);
        }
      }
      ids = std::move(more);
    }
    stride *= factor;
  }
  return ids;
}

/// Whether no group of `reach` neighbouring sharers crosses from chip to chip.
bool stays_on_chip(std::span<const std::int64_t> pieces, std::span<const std::int64_t> sharers,
                   std::size_t reach, std::int64_t ids) {
  for (const std::int64_t piece : pieces) {
    for (std::size_t first = 0; first < sharers.size(); first += reach) {
      if ((piece + sharers[first]) / ids != (piece + sharers[first + reach - 1]) / ids) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

PieceSharing sharing(const ir::Graph& graph, const ir::Op& op, std::size_t operand,
                     const ExecutePlan& plan, const chip::Chip& chip) {
  const ir::Operand& read = op.operands[operand];
  std::int64_t ring = 1;
  for (const std::int64_t parts : plan.temporal[operand]) {
    ring *= parts;
  }
  PieceSharing result{.copies = sharers(op, operand, plan.factors) / ring,
                      .divisors = {},
                      .hbm_bytes = 0,
                      .chip_hbm_bytes = 0,
                      .unique_bytes = 0,
                      .chip_share = 1.0};
  const CoreNeeds needs(graph, op, operand, plan.factors, plan.order);
  const std::int64_t ids = ids_of_chip(plan.factors, plan.order, plan.mesh_dims, chip);
  const std::int64_t held = footprint(graph, op, plan, chip).operand[operand].value;
  for (std::int64_t begin = 0; begin < needs.cores(); begin += ids) {
    // No chip reads more than its cores take in: of a tensor that rotates, shifts bring the rest,
    // from other chips too. Picks are counted by rows and columns, whose product overstates a chip
    // that has part of a row.
    const std::int64_t cores = std::min(ids, needs.cores() - begin);
    const std::int64_t bytes = std::min(needs.bytes(begin, begin + ids), held * cores);
    result.hbm_bytes += bytes;
    result.chip_hbm_bytes = std::max(result.chip_hbm_bytes, bytes);
  }
  result.unique_bytes = std::min(needs.bytes(0, needs.cores()), held * needs.cores());
  result.chip_share =
      static_cast<double>(std::min(ids, needs.cores())) / static_cast<double>(needs.cores());
  const bool one_chip = needs.cores() <= ids;
  const auto pieces = one_chip ? std::vector<std::int64_t>{} : ids_along(read, plan, true);
  const auto peers = one_chip ? std::vector<std::int64_t>{} : ids_along(read, plan, false);
  // Smaller groups lie within larger ones: if these stay on a chip, so do those.
  const std::vector<std::int64_t> all = divisors(result.copies);
  for (std::size_t i = all.size(); i-- > 0;) {
    const std::int64_t d = all[i];
    const bool within = std::any_of(result.divisors.begin(), result.divisors.end(),
                                    [&](std::int64_t larger) { return larger % d == 0; });
    if (d == 1 || one_chip || within ||
        stays_on_chip(pieces, peers, static_cast<std::size_t>(d * ring), ids)) {
      result.divisors.push_back(d);
    }
  }
  std::reverse(result.divisors.begin(), result.divisors.end());
  return result;
}

}  // namespace elk::partition
