#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"

namespace elk {
namespace {

template <class List, class Index>
concept Indexed = requires(List list, Index index) { list[index]; };

static_assert(Indexed<Table<OpId, int>, OpId>);
static_assert(!Indexed<Table<OpId, int>, CoreId>);
static_assert(!Indexed<Table<OpId, int>, int>);
static_assert(!Indexed<TableView<OpId, const int>, CoreId>);

TEST(Tables, AreIndexedByTheirIds) {
  Table<OpId, int> table{7, 8, 9};
  table[OpId{1}] = 5;
  EXPECT_EQ(table, (std::vector<int>{7, 5, 9}));
  std::vector<OpId> ids(table.ids().begin(), table.ids().end());
  EXPECT_EQ(ids, (std::vector<OpId>{OpId{0}, OpId{1}, OpId{2}}));
  EXPECT_EQ(table.end_id(), OpId{3});
}

TEST(Tables, SayWhichIdsTheyHave) {
  const Table<OpId, int> table(2, 0);
  EXPECT_TRUE(table.has(OpId{1}));
  EXPECT_FALSE(table.has(OpId{2}));
  EXPECT_FALSE(table.has(OpId::none));
  EXPECT_EQ(first_ids<OpId>(0).size(), 0U);
}

TEST(TableViews, SeeWhatATableHoldsWhereItLies) {
  Table<AxisId, int> table{1, 2};
  const TableView<AxisId, int> view(table);
  view[AxisId{1}] = 6;
  EXPECT_EQ(table[AxisId{1}], 6);
  const TableView<AxisId, const int> read(table);
  EXPECT_EQ(read[AxisId{1}], 6);
  EXPECT_EQ(read.end_id(), AxisId{2});
}

}  // namespace
}  // namespace elk
