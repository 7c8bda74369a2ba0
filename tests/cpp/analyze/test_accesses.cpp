#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "analyze/lists.hpp"
#include "elk/analyze/accesses.hpp"
#include "elk/analyze/cells.hpp"
#include "elk/base/errors.hpp"

namespace elk::analyze {
namespace {

/// A transfer, who waits for it, and a light instruction, in two memories.
AccessList valid_list() {
  test::ListWriter w({10, 20});
  const InstructionId issue = w.issue();
  w.reads(MemoryId{1}, 0, 20).writes(MemoryId{0}, 0, 10);
  w.wait(issue);
  w.light();
  w.reads(MemoryId{0}, 9, 10);
  return w.list;
}

TEST(Accesses, AreFoundByTheirInstruction) {
  const AccessList list = valid_list();
  const CellList cells = in_cells(list.accesses, list.sizes);
  EXPECT_EQ(cells.of(InstructionId{0}).size(), 2);
  EXPECT_EQ(cells.of(InstructionId{1}).size(), 0);
  ASSERT_EQ(cells.of(InstructionId{2}).size(), 1);
  EXPECT_EQ(&cells.of(InstructionId{2}).front(), &cells.accesses[2]);
}

TEST(Accesses, TellCellsApart) {
  const AccessList list = valid_list();
  const CellList cells = in_cells(list.accesses, list.sizes);
  EXPECT_EQ(cells.edges[MemoryId{0}], (std::vector<std::int64_t>{0, 9, 10}));
  EXPECT_EQ(cells.edges[MemoryId{1}], (std::vector<std::int64_t>{0, 20}));
  EXPECT_EQ(cells.all(MemoryId{0}), (CellRange{CellId{0}, CellId{2}}));
  EXPECT_EQ(cells.accesses[1].cells, cells.all(MemoryId{0}));
  EXPECT_EQ(cells.accesses[2].cells, (CellRange{CellId{1}, CellId{2}}));
}

TEST(Accesses, ThatAreValidPass) {
  EXPECT_NO_THROW(validate(valid_list()));
  EXPECT_NO_THROW(validate(AccessList{}));
}

TEST(Accesses, ThatBreakARuleAreRefusedWithPositionRuleAndValue) {
  const std::vector<std::pair<std::function<void(AccessList&)>, std::string>> faults{
      {[](AccessList& l) { l.light.pop_back(); }, "light must have one entry for each of 3"},
      {[](AccessList& l) { l.awaited.push_back(InstructionId::none); },
       "awaited must have one entry for each of 3"},
      {[](AccessList& l) { l.sizes[MemoryId{1}] = -1; }, "sizes[1] must be from 0 to "},
      {[](AccessList& l) { l.awaited[InstructionId{0}] = InstructionId{0}; },
       "awaited[0] must be -1 or behind 0 among 3"},
      {[](AccessList& l) { l.awaited[InstructionId{0}] = InstructionId{3}; },
       "instructions, got 3"},
      {[](AccessList& l) { l.awaited[InstructionId{0}] = InstructionId{-2}; },
       "instructions, got -2"},
      {[](AccessList& l) { l.awaited[InstructionId{1}] = InstructionId{2}; },
       "awaited[1] must be -1, for it issues nothing"},
      {[](AccessList& l) { l.light[InstructionId{0}] = 1; },
       "light[0] must be 0, for it issues a transfer"},
      {[](AccessList& l) { l.accesses[2].instruction = InstructionId{3}; },
       "accesses[2].instruction must be one of 3, got 3"},
      {[](AccessList& l) { l.accesses[0].instruction = InstructionId{-1}; },
       "accesses[0].instruction must be one of 3, got -1"},
      {[](AccessList& l) { l.accesses[0].instruction = InstructionId{1}; },
       "accesses[1].instruction must be at least 1, as before it, got 0"},
      {[](AccessList& l) { l.accesses[1].memory = MemoryId{2}; },
       "accesses[1].memory must be one of 2, got 2"},
      {[](AccessList& l) { l.accesses[1].memory = MemoryId{-1}; },
       "accesses[1].memory must be one of 2, got -1"},
      {[](AccessList& l) { l.accesses[1].bytes = {4, 4}; },
       "accesses[1].bytes must be some of the 10 of memory 0, got [4, 4)"},
      {[](AccessList& l) { l.accesses[1].bytes = {5, 4}; }, "got [5, 4)"},
      {[](AccessList& l) { l.accesses[1].bytes = {-1, 4}; }, "got [-1, 4)"},
      {[](AccessList& l) { l.accesses[1].bytes = {0, 11}; }, "got [0, 11)"},
  };
  for (const auto& [spoil, message] : faults) {
    AccessList list = valid_list();
    spoil(list);
    try {
      validate(list);
      ADD_FAILURE() << "passes, and should say " << message;
    } catch (const InvalidInput& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace elk::analyze
