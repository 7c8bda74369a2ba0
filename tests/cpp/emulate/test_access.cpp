#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/base/table.hpp"
#include "elk/emulate/memory/access.hpp"

namespace elk::emulate {
namespace {

bool operator==(const ElementStride& a, const ElementStride& b) {
  return a.point == b.point && a.count == b.count && a.element == b.element &&
         (a.count == 1 || a.step == b.step);
}

ir::Operand read(Table<DimId, ir::Dim> dims) {
  return {.tensor = TensorId{0},
          .access = ir::Access::Read,
          .dims = std::move(dims),
          .indirect = {},
          .input = 0};
}

AxisRanges points(Table<AxisId, partition::IndexRange> ranges) {
  return all_points(Ranges(std::move(ranges)));
}

TEST(ElementStride, IsOneRunWhereThePieceIsDense) {
  const ir::Operand operand = read({{{AxisId{0}}, {1}, 0}, {{AxisId{1}}, {1}, 0}});
  const DensePiece held{.sets = {{{2, 4}}, {{0, 8}}}};
  const std::vector<ElementStride> runs =
      touched(operand, held, Table<DimId, std::int64_t>{4, 8}, points({{2, 4}, {0, 8}}));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_TRUE((runs[0] == ElementStride{.point = 0, .count = 16, .element = 0, .step = 1}));
}

TEST(ElementStride, LeavesOutWhatLiesOutsideTheTensor) {
  // A window of three around four elements: index o + k - 1.
  const ir::Operand operand = read({{{AxisId{0}, AxisId{1}}, {1, 1}, -1}});
  const DensePiece held{.sets = {{{0, 4}}}};
  const std::vector<ElementStride> runs =
      touched(operand, held, Table<DimId, std::int64_t>{4}, points({{0, 1}, {0, 3}}));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_TRUE((runs[0] == ElementStride{.point = 1, .count = 2, .element = 0, .step = 1}));
}

TEST(ElementStride, CountsElementsOfSetsWithGaps) {
  const ir::Operand operand = read({{{AxisId{0}}, {3}, 0}});
  const DensePiece held{.sets = {{{0, 1}, {3, 4}, {6, 7}}}};
  const std::vector<ElementStride> runs =
      touched(operand, held, Table<DimId, std::int64_t>{9}, points({{0, 3}}));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_TRUE((runs[0] == ElementStride{.point = 0, .count = 3, .element = 0, .step = 1}));
}

TEST(ElementStride, RefusesWhatTheCoreDoesNotHold) {
  const ir::Operand operand = read({{{AxisId{0}}, {1}, 0}});
  const DensePiece held{.sets = {{{0, 2}}}};
  EXPECT_THROW((void)touched(operand, held, Table<DimId, std::int64_t>{4}, points({{0, 3}})),
               InternalError);
}

/// The element that each point touches, -1 where it is outside the tensor.
std::vector<std::int64_t> elements_of(const std::vector<ElementStride>& runs, std::int64_t count) {
  std::vector<std::int64_t> elements(static_cast<std::size_t>(count), -1);
  for (const ElementStride& run : runs) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      elements[static_cast<std::size_t>(run.point + i)] = run.element + (i * run.step);
    }
  }
  return elements;
}

/// The elements, worked out from the index of every dimension.
std::vector<std::int64_t> elements_by_index(const ir::Operand& operand,
                                            const Table<DimId, std::int64_t>& shape,
                                            const Ranges& ranges) {
  std::vector<std::int64_t> elements;
  Table<AxisId, std::int64_t> point;
  for (const partition::IndexRange& range : ranges) {
    point.push_back(range.begin);
  }
  for (std::int64_t left = all_points(ranges).count(); left > 0; --left) {
    std::int64_t element = 0;
    bool inside = true;
    for (const DimId dim : shape.ids()) {
      std::int64_t index = operand.dims[dim].offset;
      for (std::size_t i = 0; i < operand.dims[dim].axes.size(); ++i) {
        index += operand.dims[dim].coef[i] * point[operand.dims[dim].axes[i]];
      }
      inside = inside && index >= 0 && index < shape[dim];
      element = (element * shape[dim]) + index;
    }
    elements.push_back(inside ? element : -1);
    for (AxisId axis = id_at<AxisId>(point.size()); axis-- > AxisId{0};) {
      if (++point[axis] < ranges[axis].end) {
        break;
      }
      point[axis] = ranges[axis].begin;
    }
  }
  return elements;
}

TEST(ElementStride, NamesTheElementOfEveryPoint) {
  Random random{14};
  for (int i = 0; i < 500; ++i) {
    Ranges ranges;
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t begin = random.below(3);
      ranges.push_back({begin, begin + 1 + random.below(4)});
    }
    Table<DimId, ir::Dim> dims(2);
    for (ir::Dim& dim : dims) {
      dim.offset = random.below(5) - 2;
      for (AxisId axis = id_at<AxisId>(random.below(2)); axis < AxisId{3}; ++axis) {
        dim.axes.push_back(axis);
        dim.coef.push_back(random.below(2) == 0 ? 1 : random.below(5) - 2);
      }
    }
    const Table<DimId, std::int64_t> shape{5 + random.below(9), 5 + random.below(9)};
    const DensePiece held{.sets = {{{0, shape[DimId{0}]}}, {{0, shape[DimId{1}]}}}};
    const AxisRanges at = all_points(ranges);
    EXPECT_EQ(elements_of(touched(read(dims), held, shape, at), at.count()),
              elements_by_index(read(dims), shape, ranges))
        << i;
  }
}

TEST(ElementStride, FollowsPicksFromBehind) {
  ir::Operand operand = read({{{}, {}, 0}, {{AxisId{1}}, {1}, 0}});
  operand.indirect =
      ir::Indirect{.index = TensorId{1}, .dim = DimId{0}, .axes = {AxisId{0}}, .expected_picks = 2};
  const DensePiece held{.sets = {{{0, 5}}, {{0, 2}}}};
  const std::vector<std::int64_t> picks{3, 3, -1, -1};
  const std::vector<ElementStride> runs =
      touched(operand, held, Table<DimId, std::int64_t>{5, 2}, points({{0, 2}, {0, 2}}), picks);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_TRUE((runs[0] == ElementStride{.point = 0, .count = 4, .element = 6, .step = 1}));
}

}  // namespace
}  // namespace elk::emulate
