#include "elk/emulate/machine/site.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/order.hpp"
#include "elk/partition/rotation.hpp"
#include "elk/program/expand/groups.hpp"

namespace elk::emulate {
namespace {

/// The places of a plan's cores, the innermost axis of its order fastest.
std::vector<Worker> workers_of(const program::PlacedOp& placed, const partition::Tiling& tiling) {
  const partition::ExecutePlan& plan = placed.plan.execute;
  const std::vector<std::int64_t> stride =
      partition::strides(plan.factors, plan.order, plan.mesh_dims, placed.chip);
  std::vector<Worker> workers{
      {.core = 0, .digit = std::vector<std::int64_t>(plan.factors.size(), 0), .tile = {}}};
  for (const std::int32_t axis : plan.order) {
    std::vector<Worker> next;
    for (const Worker& worker : workers) {
      for (std::int64_t digit = 0; digit < plan.factors[subscript(axis)]; ++digit) {
        next.push_back(worker);
        next.back().core += static_cast<std::int32_t>(digit * stride[subscript(axis)]);
        next.back().digit[subscript(axis)] = digit;
      }
    }
    workers = std::move(next);
  }
  for (Worker& worker : workers) {
    for (std::size_t axis = 0; axis < plan.factors.size(); ++axis) {
      const std::int64_t begin = worker.digit[axis] * tiling.tile[axis];
      worker.tile.push_back(
          {.begin = begin, .end = std::min(placed.op.axes[axis].size, begin + tiling.tile[axis])});
    }
  }
  return workers;
}

/// Workers by their places along the axes that `distinguish` selects, each list by core order.
std::vector<std::vector<std::size_t>> grouped(
    const std::vector<Worker>& workers, const std::function<bool(std::size_t axis)>& distinguish) {
  std::map<std::vector<std::int64_t>, std::vector<std::size_t>> found;
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    std::vector<std::int64_t> key;
    for (std::size_t axis = 0; axis < workers[worker].digit.size(); ++axis) {
      key.push_back(distinguish(axis) ? workers[worker].digit[axis] : 0);
    }
    found[std::move(key)].push_back(worker);
  }
  std::vector<std::vector<std::size_t>> groups;
  groups.reserve(found.size());
  for (auto& [key, members] : found) {
    groups.push_back(std::move(members));
  }
  return groups;
}

/// The positions [first, first + count) of a circle of `length`, as ascending runs from `offset`
/// on.
partition::Indices circle(std::int64_t first, std::int64_t count, std::int64_t length,
                          std::int64_t offset) {
  first %= length;
  const std::int64_t end = first + std::min(count, length);
  if (count >= length) {
    return {{.begin = offset, .end = offset + length}};
  }
  if (end <= length) {
    return {{.begin = offset + first, .end = offset + end}};
  }
  return {{.begin = offset, .end = offset + end - length},
          {.begin = offset + first, .end = offset + length}};
}

}  // namespace

DensePiece held_at(const partition::Pieces& pieces, std::size_t place) {
  DensePiece result;
  for (const partition::DimPieces& dim : pieces.dims) {
    const partition::IndexView set = dim.sets[dim.at(place)];
    result.sets.emplace_back(set.begin(), set.end());
  }
  return result;
}

Site::Site(const program::PlacedOp& placed)
    : placed_(placed),
      tiling_(partition::tiling(placed.op, placed.plan.execute)),
      workers_(workers_of(placed, tiling_)),
      spins_(placed.op.operands.size()),
      members_(placed.op.operands.size()),
      groups_(placed.op.operands.size()),
      starts_(placed.op.axes.size()) {
  for (std::size_t worker = 0; worker < workers_.size(); ++worker) {
    worker_of_[workers_[worker].core] = worker;
  }
  const ir::Op& op = placed.op;
  for (std::size_t k = 0; k < op.operands.size(); ++k) {
    auto layout = std::make_unique<partition::Layout>(
        partition::layout(placed.graph, op, k, placed.plan.execute, placed.chip));
    layout->split = 1;  // A result's tile before it is dealt out.
    layout->split_dim = -1;
    layout->split_axes.clear();
    layouts_.push_back(std::move(layout));
    pieces_.push_back(std::make_unique<partition::Pieces>(*layouts_.back()));
    add_spins(k);
    if (op.operands[k].access == ir::Access::Read) {
      add_groups(k);
    }
  }
  for (const std::int32_t loop : placed.plan.execute.loops) {
    add_starts(subscript(loop));
  }
  const ir::Operand& result = op.operands[result_operands(op).front()];
  for (std::size_t axis = 0; axis < op.axes.size(); ++axis) {
    if (op.axes[axis].role == ir::AxisRole::Reduction &&
        !partition::contains(result, static_cast<std::int32_t>(axis))) {
      accumulates_ = accumulates_ || placed.plan.execute.factors[axis] > 1 ||
                     placed.plan.execute.pace[axis] > 0;
    }
  }
}

const ir::Tensor& Site::tensor(std::size_t operand) const {
  return placed_.graph.tensors[subscript(placed_.op.operands[operand].tensor)];
}

std::int64_t Site::bits(std::size_t operand) const { return ir::bits(tensor(operand).dtype); }

void Site::add_spins(std::size_t operand) {
  const partition::ExecutePlan& plan = placed_.plan.execute;
  if (operand >= plan.temporal.size()) {
    return;
  }
  for (const partition::Circle& circle :
       partition::rotation(placed_.op, operand, plan, placed_.chip).circles) {
    const std::size_t axis = subscript(circle.axis);
    spins_[operand].push_back({.dim = circle.dim,
                               .axis = axis,
                               .parts = circle.parts,
                               .stride = circle.stride,
                               .chunk = ceil_div(tiling_.tile[axis], circle.parts)});
  }
}

std::int64_t Site::ring(std::size_t operand) const {
  std::int64_t cores = 1;
  for (const RotationDim& spin : spins_[operand]) {
    cores *= spin.parts;
  }
  return cores;
}

void Site::add_groups(std::size_t operand) {
  members_[operand].resize(workers_.size());
  for (const program::Sharers& sharers :
       program::sharers_in_rings(placed_.op, operand, placed_.plan.execute, placed_.chip)) {
    std::vector<std::size_t>& group = groups_[operand].emplace_back();
    for (const std::int32_t core : sharers.cores) {
      const std::size_t worker = worker_of_.at(core);
      members_[operand][worker] = {.group = groups_[operand].size() - 1,
                                   .number = static_cast<std::int64_t>(group.size())};
      group.push_back(worker);
    }
  }
}

void Site::add_starts(std::size_t axis) {
  for (const Worker& worker : workers_) {
    const std::int64_t first =
        partition::first_index(placed_.op, placed_.plan.execute, placed_.chip,
                               static_cast<std::int32_t>(axis), worker.digit);
    const std::int64_t length = worker.tile[axis].length();
    starts_[axis].push_back(length > 0 ? first % length : 0);
  }
}

std::int64_t Site::start(std::size_t axis, std::size_t worker) const {
  return starts_[axis][worker];
}

CircleRange Site::window(const RotationDim& spin, std::size_t worker) const {
  const std::int64_t length = workers_[worker].tile[spin.axis].length();
  return {
      .start = start(spin.axis, worker), .length = length, .held = std::min(spin.chunk, length)};
}

DensePiece Site::held(std::size_t operand, std::size_t worker, const Shifts& shifts) const {
  const partition::Pieces& pieces = *pieces_[operand];
  const std::int32_t place = pieces.place(workers_[worker].core);
  DensePiece result = held_at(pieces, static_cast<std::size_t>(place));
  for (std::size_t i = 0; i < spins_[operand].size(); ++i) {
    const RotationDim& spin = spins_[operand][i];
    const CircleRange at_first = window(spin, worker);
    const std::int64_t first = at_first.start + (shifts[i] * placed_.plan.execute.pace[spin.axis]);
    partition::Indices& set = result.sets[spin.dim];
    set = circle(first, at_first.held, at_first.length, workers_[worker].tile[spin.axis].begin);
    const partition::IndexRange all{.begin = 0, .end = tensor(operand).shape[spin.dim]};
    for (partition::IndexRange& run : set) {
      run = intersection(run, all);
    }
    std::erase_if(set, [](const partition::IndexRange& run) { return run.empty(); });
  }
  return result;
}

std::int64_t Site::turns(std::size_t axis, std::int64_t step) const {
  const std::vector<std::int32_t>& loops = placed_.plan.execute.loops;
  std::int64_t inner = 1;
  for (std::size_t i = loops.size(); i-- > 0;) {
    if (subscript(loops[i]) == axis) {
      return step / inner;
    }
    inner *= tiling_.trips[i];
  }
  return 0;
}

Shifts Site::shifts(std::size_t operand, std::int64_t step) const {
  Shifts result;
  result.reserve(spins_[operand].size());
  for (const RotationDim& spin : spins_[operand]) {
    result.push_back(turns(spin.axis, step));
  }
  return result;
}

std::int64_t Site::trip(std::size_t axis, std::int64_t step) const {
  const std::vector<std::int32_t>& loops = placed_.plan.execute.loops;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (subscript(loops[i]) == axis) {
      return turns(axis, step) % tiling_.trips[i];
    }
  }
  return 0;
}

std::vector<Ranges> Site::sub_task(std::size_t worker, std::int64_t step) const {
  std::vector<Ranges> parts{workers_[worker].tile};
  for (const std::int32_t loop : placed_.plan.execute.loops) {
    const std::size_t axis = subscript(loop);
    const std::int64_t pace = placed_.plan.execute.pace[axis];
    const partition::IndexRange tile = workers_[worker].tile[axis];
    const std::int64_t done = trip(axis, step) * pace;
    const std::int64_t count = std::min(pace, tile.length() - done);
    if (count <= 0) {
      return {};
    }
    const std::int64_t first = start(axis, worker) + (turns(axis, step) * pace);
    std::vector<Ranges> next;
    for (const Ranges& ranges : parts) {
      for (const partition::IndexRange& run : circle(first, count, tile.length(), tile.begin)) {
        next.push_back(ranges);
        next.back()[axis] = run;
      }
    }
    parts = std::move(next);
  }
  return parts;
}

bool Site::begins_sums(std::int64_t step) const {
  const std::vector<std::int32_t>& loops = placed_.plan.execute.loops;
  return std::all_of(loops.begin(), loops.end(), [&](std::int32_t loop) {
    return placed_.op.axes[subscript(loop)].role != ir::AxisRole::Reduction ||
           trip(subscript(loop), step) == 0;
  });
}

std::vector<std::vector<std::size_t>> Site::partners() const {
  const ir::Operand& result = placed_.op.operands[result_operands(placed_.op).front()];
  return grouped(workers_, [&](std::size_t axis) {
    const ir::AxisRole role = placed_.op.axes[axis].role;
    if (works_on_rows(placed_.op)) {
      return role != ir::AxisRole::Row;
    }
    return role != ir::AxisRole::Reduction ||
           partition::contains(result, static_cast<std::int32_t>(axis));
  });
}

}  // namespace elk::emulate
