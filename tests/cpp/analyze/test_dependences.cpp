#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "analyze/lists.hpp"
#include "base/rounds.hpp"
#include "elk/analyze/dependences.hpp"
#include "elk/base/random.hpp"

namespace elk::analyze {
namespace {

using test::does;
using test::last_writer;
using test::ListWriter;

constexpr MemoryId kRegisters{0};
constexpr MemoryId kSram{1};
constexpr MemoryId kHbm{2};

ListWriter machine() { return ListWriter({64, 100, 1000}); }

/// The limits of the last issue.
IssueLimits last_limits(const AccessList& list) {
  validate(list);
  return dependences(list).issues.back();
}

std::vector<InstructionId> writers_of(const Dependences& found, InstructionId instruction) {
  return {found.writers.begin() + found.first_writer[instruction],
          found.writers.begin() + found.first_writer[instruction + 1]};
}

/// When a user of a byte is over, byte by byte and user by user.
InstructionId over(const AccessList& list, InstructionId user, InstructionId before) {
  const InstructionId waits = list.issues[user] != 0 ? list.awaited[user] : InstructionId::none;
  return waits != InstructionId::none && waits < before ? waits : user;
}

/// The distinct last writers of all bytes that an instruction reads.
std::set<InstructionId> obvious_writers(const AccessList& list, InstructionId instruction) {
  std::set<InstructionId> writers;
  for (const MemoryId m : list.sizes.ids()) {
    for (std::int64_t byte = 0; byte < list.sizes[m]; ++byte) {
      if (does(list, instruction, m, byte, false)) {
        writers.insert(last_writer(list, m, byte, instruction));
      }
    }
  }
  writers.erase(InstructionId::none);
  return writers;
}

InstructionId obvious_conservative(const AccessList& list, InstructionId instruction) {
  InstructionId limit = InstructionId::none;
  for (const InstructionId writer : obvious_writers(list, instruction)) {
    limit = std::max(limit, over(list, writer, instruction));
  }
  return limit;
}

/// The relaxed limits of all instructions.
Table<InstructionId, InstructionId> obvious_relaxed(const AccessList& list) {
  Table<InstructionId, InstructionId> relaxed;
  for (const InstructionId i : list.issues.ids()) {
    InstructionId limit = InstructionId::none;
    for (const InstructionId writer : obvious_writers(list, i)) {
      limit = std::max(limit, list.light[writer] != 0 ? relaxed[writer] : over(list, writer, i));
    }
    relaxed.push_back(limit);
  }
  return relaxed;
}

InstructionId obvious_placed(const AccessList& list, InstructionId issue) {
  InstructionId limit = obvious_conservative(list, issue);
  for (const MemoryId m : list.sizes.ids()) {
    for (std::int64_t byte = 0; byte < list.sizes[m]; ++byte) {
      for (InstructionId user{0}; does(list, issue, m, byte, true) && user < issue; ++user) {
        if (does(list, user, m, byte, true) || does(list, user, m, byte, false)) {
          limit = std::max(limit, over(list, user, issue));
        }
      }
    }
  }
  return limit;
}

TEST(Dependences, ATransferThatNeedsNothingHasNoLimits) {
  ListWriter w = machine();
  w.plain();
  w.issue();
  w.reads(kHbm, 0, 10).writes(kSram, 0, 10);
  const IssueLimits limits = last_limits(w.list);
  EXPECT_EQ(limits.issue, InstructionId{1});
  EXPECT_EQ(limits.conservative, InstructionId::none);
  EXPECT_EQ(limits.relaxed, InstructionId::none);
  EXPECT_EQ(limits.placed, InstructionId::none);
}

// Figure 9 of xPU-Shark: metadata comes from HBM, is loaded into a register and transformed there.
TEST(Dependences, RelaxedLimitsGoThroughRegistersBackToTheTransferThatBroughtTheData) {
  ListWriter w = machine();
  const InstructionId metadata = w.issue();
  w.reads(kHbm, 0, 8).writes(kSram, 0, 8);
  const InstructionId there = w.wait(metadata);
  w.plain();
  const InstructionId load = w.light();
  w.reads(kSram, 0, 4).writes(kRegisters, 0, 4);
  const InstructionId shift = w.light();
  w.reads(kRegisters, 0, 4).writes(kRegisters, 4, 8);
  const InstructionId issue = w.issue();
  w.reads(kRegisters, 4, 8).reads(kHbm, 100, 110).writes(kSram, 50, 60);

  const IssueLimits limits = last_limits(w.list);
  EXPECT_EQ(limits.conservative, shift);
  EXPECT_EQ(limits.relaxed, there);
  EXPECT_EQ(limits.placed, shift);
  const Dependences found = dependences(w.list);
  EXPECT_EQ(writers_of(found, issue), std::vector{shift});
  EXPECT_EQ(writers_of(found, shift), std::vector{load});
  EXPECT_EQ(writers_of(found, load), std::vector{metadata});
}

TEST(Dependences, RelaxedLimitsStopAtAnInstructionThatIsNotLight) {
  ListWriter w = machine();
  const InstructionId heavy = w.plain();
  w.writes(kRegisters, 0, 4);
  w.light();
  w.reads(kRegisters, 0, 4).writes(kRegisters, 4, 8);
  w.issue();
  w.reads(kRegisters, 4, 8);
  EXPECT_EQ(last_limits(w.list).relaxed, heavy);
}

TEST(Dependences, RelaxedLimitsOfAConstantThatIsMadeInPlaceAreNone) {
  ListWriter w = machine();
  const InstructionId constant = w.light();
  w.writes(kRegisters, 0, 4);
  w.issue();
  w.reads(kRegisters, 0, 4);
  EXPECT_EQ(last_limits(w.list).relaxed, InstructionId::none);
  EXPECT_EQ(last_limits(w.list).conservative, constant);
}

TEST(Dependences, ATransferThatIsAwaitedOnlyLaterIsOverWhenIssued) {
  for (const bool waits_before : {false, true}) {
    ListWriter w = machine();
    const InstructionId first = w.issue();
    w.reads(kHbm, 0, 10).writes(kSram, 0, 10);
    const InstructionId wait = waits_before ? w.wait(first) : w.plain();
    w.issue();
    w.reads(kSram, 0, 10).writes(kHbm, 0, 10);
    if (!waits_before) {
      w.wait(first);
    }
    EXPECT_EQ(last_limits(w.list).conservative, waits_before ? wait : first);
  }
}

TEST(Dependences, AnIssueThatAlsoWaitsDoesNotWaitForItself) {
  ListWriter w = machine();
  const InstructionId first = w.issue();
  w.writes(kSram, 0, 10);
  w.list.awaited[first] = w.issue();
  w.reads(kSram, 0, 10).writes(kSram, 0, 10);
  EXPECT_EQ(last_limits(w.list).conservative, first);
  EXPECT_EQ(last_limits(w.list).placed, first);
}

TEST(Dependences, ATransferMayNotWriteWhatIsStillRead) {
  ListWriter w = machine();
  w.plain();
  w.writes(kSram, 0, 10);
  const InstructionId reader = w.plain();
  w.reads(kSram, 9, 10);
  w.issue();
  w.reads(kHbm, 0, 10).writes(kSram, 0, 10);
  EXPECT_EQ(last_limits(w.list).placed, reader);
  EXPECT_EQ(last_limits(w.list).conservative, InstructionId::none);
}

TEST(Dependences, AnOldTransferThatIsAwaitedLateKeepsItsPlace) {
  ListWriter w = machine();
  const InstructionId store = w.issue();
  w.reads(kSram, 0, 10).writes(kHbm, 0, 10);
  w.plain();
  w.writes(kSram, 0, 10);
  w.plain();
  w.reads(kSram, 0, 10);
  const InstructionId wait = w.wait(store);
  w.issue();
  w.reads(kHbm, 100, 110).writes(kSram, 5, 6);
  EXPECT_EQ(last_limits(w.list).placed, wait);
}

TEST(Dependences, AnInstructionReadsBeforeItWrites) {
  ListWriter w = machine();
  const InstructionId first = w.plain();
  w.writes(kRegisters, 0, 4);
  const InstructionId second = w.plain();
  w.writes(kRegisters, 0, 4).reads(kRegisters, 0, 4);
  const Dependences found = dependences(w.list);
  EXPECT_EQ(writers_of(found, second), std::vector{first});
}

TEST(Dependences, WritersAreDistinctAndAscend) {
  ListWriter w = machine();
  w.plain();
  w.writes(kSram, 0, 90);
  w.plain();
  w.writes(kSram, 30, 40).writes(kSram, 50, 60);
  const InstructionId reader = w.plain();
  w.reads(kSram, 35, 100).reads(kSram, 0, 40);
  EXPECT_EQ(writers_of(dependences(w.list), reader),
            (std::vector{InstructionId{0}, InstructionId{1}}));
}

TEST(Dependences, AnEmptyTraceHasNone) {
  const Dependences found = dependences(AccessList{});
  EXPECT_TRUE(found.issues.empty());
  EXPECT_EQ(found.first_writer, std::vector<std::int64_t>{0});
}

TEST(Dependences, AreThoseOfEveryByteOfRandomTraces) {
  Random random{1};
  for (int round = 0; round < elk::test::rounds(1500); ++round) {
    const AccessList list = test::random_list(random);
    validate(list);
    const Dependences found = dependences(list);
    ASSERT_EQ(found.first_writer.size(), list.issues.size() + 1);
    const Table<InstructionId, InstructionId> relaxed = obvious_relaxed(list);
    std::size_t issues = 0;
    for (const InstructionId i : list.issues.ids()) {
      const std::set<InstructionId> writers = obvious_writers(list, i);
      ASSERT_EQ(writers_of(found, i), std::vector(writers.begin(), writers.end()));
      if (list.issues[i] == 0) {
        continue;
      }
      const IssueLimits& limits = found.issues.at(issues++);
      ASSERT_EQ(limits.issue, i);
      ASSERT_EQ(limits.conservative, obvious_conservative(list, i)) << "round " << round;
      ASSERT_EQ(limits.relaxed, relaxed[i]) << "round " << round;
      ASSERT_EQ(limits.placed, obvious_placed(list, i)) << "round " << round;
      ASSERT_LE(limits.relaxed, limits.conservative);
      ASSERT_LE(limits.conservative, limits.placed);
      ASSERT_LT(limits.placed, i);
    }
    ASSERT_EQ(issues, found.issues.size());
  }
}

}  // namespace
}  // namespace elk::analyze
