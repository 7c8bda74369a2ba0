#include "elk/partition/rotation.hpp"

#include <algorithm>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/order.hpp"

namespace elk::partition {
namespace {

/// Whether an operand rotates along more than one of its dimensions: its places then count through
/// all of them, and no order of the ring makes neighbours of each.
bool along_several(const std::vector<std::int64_t>& temporal) {
  return std::count_if(temporal.begin(), temporal.end(),
                       [](std::int64_t parts) { return parts > 1; }) > 1;
}

/// Adds what turns, unless the same cores share what is there in as many parts or more.
void add(Turning one, std::vector<Turning>& all) {
  const auto same = std::find_if(all.begin(), all.end(), [&](const Turning& other) {
    return other.rotation.axes == one.rotation.axes;
  });
  if (same == all.end()) {
    all.push_back(std::move(one));
  } else if (one.rotation.ring > same->rotation.ring) {
    *same = std::move(one);
  }
}

/// The number of a sharer, whose digits along `axes` are `digits`.
std::int64_t number_of(const Rotation& rotation, std::span<const std::int64_t> digits) {
  std::int64_t number = 0;
  for (std::size_t i = 0; i < rotation.axes.size(); ++i) {
    const std::int64_t factor = rotation.factors[i];
    const bool back = rotation.snakes && i == 1 && number % 2 == 1;
    number = (number * factor) + (back ? factor - 1 - digits[i] : digits[i]);
  }
  return number;
}

}  // namespace

Rotation rotation(const ir::Op& op, std::size_t operand, const ExecutePlan& plan,
                  const chip::Chip& chip) {
  Rotation result{.axes = {}, .factors = {}, .ring = 1, .snakes = false, .folds = false};
  for (const std::int32_t axis : plan.order) {
    if (!contains(op.operands[operand], axis)) {
      result.axes.push_back(axis);
      result.factors.push_back(plan.factors[subscript(axis)]);
    }
  }
  for (const std::int64_t parts : plan.temporal[operand]) {
    result.ring *= parts;
  }
  if (!chip::is_mesh(chip) || along_several(plan.temporal[operand])) {
    return result;
  }
  result.snakes = result.axes.size() == 2;
  const bool around =
      result.axes.size() == 1 &&
      goes_around(chip, plan.mesh_dims[subscript(result.axes[0])], result.factors[0], result.ring);
  result.folds = result.ring > 2 && !around;
  return result;
}

std::int64_t place(const Rotation& rotation, std::span<const std::int64_t> digits) {
  std::vector<std::int64_t> own;
  own.reserve(rotation.axes.size());
  for (const std::int32_t axis : rotation.axes) {
    own.push_back(digits[subscript(axis)]);
  }
  return place(rotation, number_of(rotation, own) % rotation.ring);
}

std::vector<std::int64_t> in_rings(const Rotation& rotation) {
  std::vector<std::int64_t> digits(rotation.axes.size(), 0);
  std::int64_t sharers = 1;
  for (const std::int64_t factor : rotation.factors) {
    sharers *= factor;
  }
  std::vector<std::int64_t> result(static_cast<std::size_t>(sharers));
  for (std::int64_t sharer = 0; sharer < sharers; ++sharer) {
    const std::int64_t number = number_of(rotation, digits);
    const std::int64_t member = number % rotation.ring;
    result[static_cast<std::size_t>(number - member + place(rotation, member))] = sharer;
    for (std::size_t i = digits.size(); i-- > 0;) {
      digits[i] = (digits[i] + 1) % rotation.factors[i];
      if (digits[i] > 0) {
        break;
      }
    }
  }
  return result;
}

std::int64_t place(const Rotation& rotation, std::int64_t member) {
  if (!rotation.folds) {
    return member;
  }
  return member % 2 == 0 ? member / 2 : rotation.ring - ((member + 1) / 2);
}

std::int64_t ring_hops(std::int64_t cores, bool folds) {
  return std::min<std::int64_t>(cores - 1, folds ? 2 : 1);
}

bool goes_around(const chip::Chip& chip, std::int32_t dim, std::int64_t factor,
                 std::int64_t cores) {
  switch (chip.interconnect.topology) {
    case chip::Topology::AllToAll:
      return true;
    case chip::Topology::Mesh2d:
      return false;
    case chip::Topology::Torus2d:
      return factor == cores && cores == (dim == 0 ? chip.core.rows : chip.core.cols);
    case chip::Topology::Ring:
      return factor == cores && cores == chip.core.count;
  }
  return false;
}

std::vector<Turning> turning(const ir::Op& op, const ExecutePlan& plan, const chip::Chip& chip,
                             std::int32_t axis) {
  std::vector<Turning> result;
  const std::int64_t tile = ceil_div(op.axes[subscript(axis)].size, plan.factors[subscript(axis)]);
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    for (std::size_t dim = 0; dim < plan.temporal[i].size(); ++dim) {
      const std::int64_t parts = plan.temporal[i][dim];
      if (parts > 1 && op.operands[i].dims[dim].axes[0] == axis && first_like(op, i) == i) {
        add({.rotation = rotation(op, i, plan, chip), .length = ceil_div(tile, parts)}, result);
      }
    }
  }
  return result;
}

std::int64_t first_index(const ir::Op& op, const ExecutePlan& plan, const chip::Chip& chip,
                         std::int32_t axis, std::span<const std::int64_t> digits) {
  const std::int64_t tile = ceil_div(op.axes[subscript(axis)].size, plan.factors[subscript(axis)]);
  std::int64_t index = 0;
  for (const Turning& one : turning(op, plan, chip, axis)) {
    index += one.length * place(one.rotation, digits);
  }
  return index % tile;
}

}  // namespace elk::partition
