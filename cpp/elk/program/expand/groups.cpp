#include "elk/program/expand/groups.hpp"

#include <algorithm>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/partition/extent.hpp"
#include "elk/partition/order.hpp"
#include "elk/partition/rotation.hpp"

namespace elk::program {
namespace {

/// The sets of a piece as one number.
std::int64_t key_of(const partition::Pieces& pieces, std::size_t place) {
  std::int64_t key = 0;
  for (const partition::DimPieces& dim : pieces.dims) {
    key = (key * static_cast<std::int64_t>(dim.sets.size())) +
          static_cast<std::int64_t>(dim.at(place));
  }
  return key;
}

bool empty_piece(const partition::Pieces& pieces, std::size_t place) {
  return std::any_of(pieces.dims.begin(), pieces.dims.end(), [&](const partition::DimPieces& dim) {
    return dim.counts[dim.at(place)] == 0;
  });
}

std::vector<std::int32_t> sets_of(const partition::Pieces& pieces, std::size_t place) {
  std::vector<std::int32_t> sets;
  sets.reserve(pieces.dims.size());
  for (const partition::DimPieces& dim : pieces.dims) {
    sets.push_back(static_cast<std::int32_t>(dim.at(place)));
  }
  return sets;
}

/// A core by its place in a layout, and its piece.
struct Keyed {
  std::int64_t key;
  std::size_t place;

  friend auto operator<=>(const Keyed&, const Keyed&) = default;
};

/// Counts through the places of a plan's cores, the innermost axis fastest.
class PlaceCounter {
 public:
  PlaceCounter(const ir::Op& op, const partition::ExecutePlan& plan, const chip::Chip& chip)
      : plan_(plan),
        stride_(partition::strides(plan.factors, plan.order, plan.mesh_dims, chip)),
        digit_(op.axes.size(), 0) {}

  [[nodiscard]] const std::vector<std::int64_t>& digit() const { return digit_; }
  [[nodiscard]] std::int32_t core() const { return static_cast<std::int32_t>(core_); }

  /// False after the last place.
  bool advance() {
    for (std::size_t i = plan_.order.size(); i-- > 0;) {
      const std::size_t axis = subscript(plan_.order[i]);
      core_ += stride_[axis];
      if (++digit_[axis] < plan_.factors[axis]) {
        return true;
      }
      core_ -= stride_[axis] * digit_[axis];
      digit_[axis] = 0;
    }
    return false;
  }

 private:
  const partition::ExecutePlan& plan_;
  std::vector<std::int64_t> stride_;
  std::vector<std::int64_t> digit_;
  std::int64_t core_ = 0;
};

}  // namespace

std::vector<PieceGroup> piece_groups(const partition::Pieces& pieces) {
  std::vector<Keyed> keyed;
  keyed.reserve(pieces.ids.size());
  for (std::size_t place = 0; place < pieces.ids.size(); ++place) {
    if (!empty_piece(pieces, place)) {
      keyed.push_back({key_of(pieces, place), place});
    }
  }
  if (!std::is_sorted(keyed.begin(), keyed.end())) {
    std::sort(keyed.begin(), keyed.end());
  }
  std::vector<PieceGroup> groups;
  for (std::size_t first = 0; first < keyed.size();) {
    std::size_t last = first;
    while (last < keyed.size() && keyed[last].key == keyed[first].key) {
      ++last;
    }
    PieceGroup& group = groups.emplace_back();
    group.sets = sets_of(pieces, keyed[first].place);
    group.cores.reserve(last - first);
    for (; first < last; ++first) {
      group.cores.push_back(static_cast<std::int32_t>(pieces.ids[keyed[first].place]));
    }
  }
  return groups;
}

std::vector<Sharers> sharers(const ir::Op& op, const partition::ExecutePlan& plan,
                             const chip::Chip& chip,
                             const std::function<bool(std::int32_t axis)>& distinguish) {
  std::vector<std::int64_t> step(op.axes.size(), 0);
  std::int64_t count = 1;
  for (std::size_t i = plan.order.size(); i-- > 0;) {
    if (distinguish(plan.order[i])) {
      step[subscript(plan.order[i])] = count;
      count *= plan.factors[subscript(plan.order[i])];
    }
  }
  std::vector<Sharers> groups(static_cast<std::size_t>(count));
  PlaceCounter places(op, plan, chip);
  do {
    std::int64_t key = 0;
    for (const std::int32_t axis : plan.order) {
      key += step[subscript(axis)] * places.digit()[subscript(axis)];
    }
    Sharers& group = groups[static_cast<std::size_t>(key)];
    if (group.cores.empty()) {
      group.digit = places.digit();
    }
    group.cores.push_back(places.core());
  } while (places.advance());
  return groups;
}

std::vector<Sharers> sharers_in_rings(const ir::Op& op, std::size_t operand,
                                      const partition::ExecutePlan& plan, const chip::Chip& chip) {
  std::vector<Sharers> groups = sharers(op, plan, chip, [&](std::int32_t axis) {
    return partition::contains(op.operands[operand], axis);
  });
  const partition::Rotation rotation = partition::rotation(op, operand, plan, chip);
  if (partition::in_order(rotation)) {
    return groups;
  }
  const std::vector<std::int64_t> order = partition::in_rings(rotation);
  for (Sharers& group : groups) {
    Cores cores;
    cores.reserve(order.size());
    for (const std::int64_t number : order) {
      cores.push_back(group.cores[subscript(number)]);
    }
    group.cores = std::move(cores);
  }
  return groups;
}

std::vector<std::int64_t> tile_at(const ir::Op& op, const partition::ExecutePlan& plan,
                                  const std::vector<std::int64_t>& digit) {
  std::vector<std::int64_t> tile;
  tile.reserve(op.axes.size());
  for (std::size_t axis = 0; axis < op.axes.size(); ++axis) {
    const std::int64_t size = op.axes[axis].size;
    const std::int64_t whole = ceil_div(size, plan.factors[axis]);
    tile.push_back(std::clamp<std::int64_t>(size - (digit[axis] * whole), 0, whole));
  }
  return tile;
}

}  // namespace elk::program
