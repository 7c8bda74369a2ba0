#include "elk/partition/rotation.hpp"

#include <algorithm>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/text.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/order.hpp"

namespace elk::partition {
namespace {

/// Adds what turns, unless the same cores share what is there: in step they turn in one circle.
void add(OperandRotation one, std::vector<OperandRotation>& all) {
  if (std::none_of(all.begin(), all.end(), [&](const OperandRotation& other) {
        return other.rotation.axes == one.rotation.axes;
      })) {
    all.push_back(std::move(one));
  }
}

/// The number of a sharer, whose digits along `axes` are `digits`.
std::int64_t number_of(const Rotation& rotation, std::span<const std::int64_t> digits) {
  std::int64_t number = 0;
  for (std::size_t i = 0; i < rotation.axes.size(); ++i) {
    const std::int64_t factor = rotation.factors[i];
    const bool back = rotation.snakes && i > 0 && number % 2 == 1;
    number = (number * factor) + (back ? factor - 1 - digits[i] : digits[i]);
  }
  return number;
}

/// The dimensions along which an operand rotates, in no order of their loops yet.
std::vector<Circle> circles_of(const ir::Operand& operand,
                               const std::vector<std::int64_t>& temporal) {
  std::vector<Circle> result;
  for (std::size_t dim = 0; dim < temporal.size(); ++dim) {
    if (temporal[dim] > 1) {
      result.push_back({.dim = dim,
                        .axis = operand.dims[dim].axes[0],
                        .parts = temporal[dim],
                        .stride = 1,
                        .folds = false});
    }
  }
  return result;
}

/// Gives each circle its stride: the parts of those whose loops are within its own. Returns the
/// product of all parts.
std::int64_t set_strides(const std::vector<std::int32_t>& loops, std::vector<Circle>& circles) {
  std::vector<Circle*> inwards;
  inwards.reserve(circles.size());
  for (Circle& circle : circles) {
    inwards.push_back(&circle);
  }
  std::stable_sort(inwards.begin(), inwards.end(), [&](const Circle* a, const Circle* b) {
    return std::find(loops.begin(), loops.end(), a->axis) <
           std::find(loops.begin(), loops.end(), b->axis);
  });
  std::int64_t ring = 1;
  for (std::size_t i = inwards.size(); i-- > 0;) {
    inwards[i]->stride = ring;
    ring *= inwards[i]->parts;
  }
  return ring;
}

/// Throws InvalidInput where sharers make no rings, or no loop turns them.
void require_rings(const ir::Op& op, std::size_t operand, const ExecutePlan& plan,
                   const Rotation& rotation) {
  const std::int64_t cores = sharers(op, operand, plan.factors);
  if (cores % rotation.ring != 0) {
    throw InvalidInput(text("plan of ", op.name, ": the ", cores, " sharers of operand ", operand,
                            " make no rings of ", rotation.ring),
                       "invalid_plan");
  }
  for (const Circle& circle : rotation.circles) {
    if (std::find(plan.loops.begin(), plan.loops.end(), circle.axis) == plan.loops.end()) {
      throw InvalidInput(text("plan of ", op.name, ": operand ", operand, " rotates along axis ",
                              op.axes[subscript(circle.axis)].name, ", over which no loop goes"),
                         "invalid_plan");
    }
  }
}

/// The place of a member along one circle.
std::int64_t place_on(const Circle& circle, std::int64_t member) {
  const std::int64_t digit = member / circle.stride % circle.parts;
  if (!circle.folds) {
    return digit;
  }
  return digit % 2 == 0 ? digit / 2 : circle.parts - ((digit + 1) / 2);
}

/// The number of the core with these digits among the sharers.
std::int64_t sharer(const Rotation& rotation, std::span<const std::int64_t> digits) {
  std::vector<std::int64_t> own;
  own.reserve(rotation.axes.size());
  for (const std::int32_t axis : rotation.axes) {
    own.push_back(digits[subscript(axis)]);
  }
  return number_of(rotation, own);
}

}  // namespace

Rotation rotation(const ir::Op& op, std::size_t operand, const ExecutePlan& plan,
                  const chip::Chip& chip) {
  Rotation result{.axes = {},
                  .factors = {},
                  .ring = 1,
                  .snakes = false,
                  .circles = circles_of(op.operands[operand], plan.temporal[operand])};
  for (const std::int32_t axis : plan.order) {
    if (!contains(op.operands[operand], axis)) {
      result.axes.push_back(axis);
      result.factors.push_back(plan.factors[subscript(axis)]);
    }
  }
  result.ring = set_strides(plan.loops, result.circles);
  require_rings(op, operand, plan, result);
  if (!chip::routed(chip)) {
    return result;
  }
  result.snakes = result.axes.size() > 1;
  const bool around =
      result.axes.size() == 1 &&
      goes_around(chip, plan.mesh_dims[subscript(result.axes[0])], result.factors[0], result.ring);
  for (Circle& circle : result.circles) {
    const bool outermost = circle.stride * circle.parts == result.ring;
    circle.folds = circle.parts > 2 && !(around && outermost);
  }
  return result;
}

std::int64_t place(const Rotation& rotation, std::span<const std::int64_t> digits) {
  return place(rotation, sharer(rotation, digits) % rotation.ring);
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
  std::int64_t result = 0;
  for (const Circle& circle : rotation.circles) {
    result += circle.stride * place_on(circle, member);
  }
  return result;
}

bool in_order(const Rotation& rotation) {
  return !rotation.snakes && std::none_of(rotation.circles.begin(), rotation.circles.end(),
                                          [](const Circle& circle) { return circle.folds; });
}

std::int64_t ring_hops(std::int64_t cores, bool folds) {
  return std::min<std::int64_t>(cores - 1, folds ? 2 : 1);
}

bool goes_around(const chip::Chip& chip, std::int32_t dim, std::int64_t factor,
                 std::int64_t cores) {
  return chip::network_of(chip).goes_around(subscript(std::max(dim, 0)), factor, cores);
}

std::vector<OperandRotation> turning(const ir::Op& op, const ExecutePlan& plan,
                                     const chip::Chip& chip, std::int32_t axis) {
  std::vector<OperandRotation> result;
  const std::int64_t tile = ceil_div(op.axes[subscript(axis)].size, plan.factors[subscript(axis)]);
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const Rotation turns = rotation(op, i, plan, chip);
    for (const Circle& circle : turns.circles) {
      if (circle.axis == axis && first_like(op, i) == i) {
        add({.rotation = turns, .circle = circle, .length = ceil_div(tile, circle.parts)}, result);
      }
    }
  }
  return result;
}

std::int64_t delay(const OperandRotation& turning, std::span<const std::int64_t> digits) {
  const std::int64_t member = sharer(turning.rotation, digits) % turning.rotation.ring;
  return turning.length * place_on(turning.circle, member);
}

std::int64_t first_index(const ir::Op& op, const ExecutePlan& plan, const chip::Chip& chip,
                         std::int32_t axis, std::span<const std::int64_t> digits) {
  const std::int64_t tile = ceil_div(op.axes[subscript(axis)].size, plan.factors[subscript(axis)]);
  std::int64_t index = 0;
  for (const OperandRotation& one : turning(op, plan, chip, axis)) {
    index += delay(one, digits);
  }
  return index % tile;
}

}  // namespace elk::partition
