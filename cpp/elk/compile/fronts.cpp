#include "elk/compile/fronts.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/parallel.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/table.hpp"
#include "elk/compile/compile_tuning.hpp"
#include "elk/compile/named_plans.hpp"
#include "elk/cost/floor/activation_floor.hpp"
#include "elk/cost/front/given.hpp"

namespace elk::compile {
namespace {

constexpr std::size_t kNamed = 8;                             // ops that an error lists by name
constexpr std::int64_t kMostProduct = std::int64_t{1} << 58;  // bytes of an op, times cores

/// `sum + more`, at most `limit`.
std::int64_t sum_up_to(std::int64_t limit, std::int64_t sum, std::int64_t more) {
  return more > limit - sum ? limit : sum + more;
}

/// The first op of each front. Fronts are numbered in the order of these.
std::vector<OpId> first_of_each(const Fronts& fronts) {
  std::vector<OpId> result;
  for (const OpId op : fronts.front_of.ids()) {
    if (fronts.front_of[op] == std::ssize(result)) {
      result.push_back(op);
    }
  }
  return result;
}

void refuse_oversized(const ir::Graph& graph, const chip::Chip& chip, const Fronts& found) {
  const std::vector<OpId> firsts = first_of_each(found);
  const std::vector<cost::Front>& fronts = found.fronts;
  std::string lines;
  std::size_t count = 0;
  const std::int64_t room = chip::room(chip).value;
  for (std::size_t k = 0; k < fronts.size(); ++k) {
    if (!fronts[k].options.empty()) {
      continue;
    }
    const ir::Op& op = graph.ops[firsts[k]];
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

/// Of `most` looks at an op's space, those that are left to each where many ops have vast ones.
std::int64_t looks(const ir::Graph& graph, const chip::Chip& chip, const std::vector<OpId>& firsts,
                   std::int64_t most) {
  const auto vast = std::count_if(firsts.begin(), firsts.end(),
                                  [&](OpId op) { return cost::is_vast(graph.ops[op], chip); });
  return std::min(most, tuning::kLooks / std::max<std::int64_t>(1, vast));
}

/// Plans that are given, for each op, and how many threads price them.
struct Handed {
  const Table<OpId, std::vector<partition::ExecutePlan>>& plans;
  int threads;
};

/// The fronts of searched spaces, with those of ops whose plans are given in their place: ops that
/// are equal and have the same plans share one.
Fronts with_given(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles,
                  const Handed& handed, const Fronts& searched) {
  const Table<OpId, std::vector<partition::ExecutePlan>>& plans = handed.plans;
  std::map<std::pair<std::int32_t, std::vector<partition::ExecutePlan>>, std::int32_t> known;
  std::vector<OpId> firsts;
  Fronts result{.fronts = {}, .front_of = {}};
  for (const OpId op : graph.ops.ids()) {
    const auto next = static_cast<std::int32_t>(firsts.size());
    const auto [found, added] = known.try_emplace({searched.front_of[op], plans[op]}, next);
    if (added) {
      firsts.push_back(op);
    }
    result.front_of.push_back(found->second);
  }
  result.fronts = parallel_map(
      firsts,
      [&](OpId op) {
        const cost::Front& front = searched.fronts[subscript(searched.front_of[op])];
        return plans[op].empty() ? front
                                 : cost::given_front(graph, graph.ops[op], chip, tiles,
                                                     {.plans = plans[op], .searched = front});
      },
      handed.threads);
  return result;
}

}  // namespace

Fronts fronts(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles,
              const Options& options) {
  const auto given = given_plans(graph, chip, options.plans);
  const Table<OpId, OpId> equal = ir::equal_ops(graph);
  std::vector<OpId> firsts;
  Table<OpId, std::int32_t> front_at(graph.ops.size(), -1);
  Fronts result{.fronts = {}, .front_of = {}};
  for (const OpId like : equal) {
    std::int32_t& front = front_at[like];
    if (front < 0) {
      front = static_cast<std::int32_t>(firsts.size());
      firsts.push_back(like);
    }
    result.front_of.push_back(front);
  }
  cost::Constraints limits = options.constraints;
  limits.looks = looks(graph, chip, firsts, limits.looks);
  const Table<TensorId, bool> rest_once = cost::rest_once(graph);
  result.fronts = parallel_map(
      firsts,
      [&](OpId number) {
        const ir::Op& op = graph.ops[number];
        const KeptOp of{.graph = graph, .op = op, .rest_once = rest_once};
        return options.kept != nullptr ? options.kept->front(of, chip, tiles, limits)
                                       : cost::front(graph, op, chip, tiles, limits);
      },
      options.threads);
  if (!options.plans.empty()) {
    result = with_given(graph, chip, tiles, {.plans = given, .threads = options.threads}, result);
  }
  refuse_oversized(graph, chip, result);
  return result;
}

void check_products(const ir::Graph& graph, const chip::Chip& chip) {
  const std::int64_t cores = chip::total_cores(chip);
  const std::int64_t most = kMostProduct / cores;
  for (const ir::Op& op : graph.ops) {
    std::int64_t bytes = 0;
    for (const ir::Operand& operand : op.operands) {
      const ir::Tensor& tensor = graph.tensors[operand.tensor];
      bytes = sum_up_to(most + 1, bytes, ir::bytes(tensor).value);
    }
    if (bytes > most) {
      throw InvalidInput(text("the operands of op '", op.name, "' (", op.onnx_type,
                              ") must have at most ", most, " bytes on ", cores,
                              " cores, 2^58 in all; bind smaller sizes or take fewer cores"));
    }
  }
}

void check_capacity(const ir::Graph& graph, const chip::Chip& chip) {
  if (!chip.hbm || chip.hbm->capacity.value <= 0) {
    return;
  }
  std::int64_t bytes = 0;
  for (const ir::Tensor& tensor : graph.tensors) {
    if (ir::in_hbm(tensor)) {
      bytes = sum_up_to(std::numeric_limits<std::int64_t>::max(), bytes, ir::bytes(tensor).value);
    }
  }
  if (ceil_div(bytes, chip.chips) > chip.hbm->capacity.value) {
    const std::int64_t capacity = chip.hbm->capacity.value * chip.chips;  // Less than `bytes`.
    throw Infeasible(
        text("weights, states and what is spilled are ", bytes, " bytes, the HBM of ", chip.chips,
             " chip(s) holds ", capacity, " (hbm.capacity_bytes): ", bytes - capacity,
             " bytes too many; more chips, a larger hbm.capacity_bytes, a smaller "
             "batch or a shorter sequence would make them fit"),
        "hbm_overflow");
  }
}

}  // namespace elk::compile
