#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>

#include "analyze/lists.hpp"
#include "base/rounds.hpp"
#include "elk/analyze/memory_states.hpp"
#include "elk/base/errors.hpp"
#include "elk/base/random.hpp"

namespace elk::analyze {
namespace {

using test::does;
using test::last_writer;
using test::ListWriter;

using Column = Table<InstructionId, std::int64_t>;

constexpr MemoryId kMemory{0};

std::vector<InstructionId> ids(std::initializer_list<std::int32_t> positions) {
  std::vector<InstructionId> found;
  for (const std::int32_t position : positions) {
    found.push_back(InstructionId{position});
  }
  return found;
}

/// A list that ends with an instruction that does nothing.
MemoryStates states_of(ListWriter& w) {
  w.plain();
  validate(w.list);
  return memory_states(held_values(w.list, kMemory));
}

enum class ByteState : std::uint8_t { Used, Arriving, Idle, Free };

/// Where a transfer, or any other instruction, is over; behind the end if nobody waits.
InstructionId obvious_end(const AccessList& list, InstructionId instruction) {
  if (list.issues[instruction] == 0) {
    return instruction;
  }
  const InstructionId awaited = list.awaited[instruction];
  return awaited == InstructionId::none ? list.issues.end_id() : awaited;
}

/// The readers of what `writer` (none: who was before the trace) wrote into a byte.
std::vector<InstructionId> obvious_readers(const AccessList& list, MemoryId memory,
                                           std::int64_t byte, InstructionId writer) {
  std::vector<InstructionId> readers;
  for (const InstructionId i : list.issues.ids()) {
    if (does(list, i, memory, byte, false) && last_writer(list, memory, byte, i) == writer) {
      readers.push_back(i);
    }
  }
  return readers;
}

ByteState obvious_state(const AccessList& list, MemoryId memory, std::int64_t byte,
                        InstructionId now) {
  const InstructionId writer = last_writer(list, memory, byte, now + 1);
  if (writer != InstructionId::none && list.issues[writer] != 0 &&
      now < obvious_end(list, writer)) {
    return ByteState::Arriving;
  }
  const std::vector<InstructionId> readers = obvious_readers(list, memory, byte, writer);
  if (readers.empty()) {
    return writer != InstructionId::none ? ByteState::Idle : ByteState::Free;
  }
  const bool needed = std::ranges::any_of(
      readers, [&](InstructionId reader) { return now <= obvious_end(list, reader); });
  return needed ? ByteState::Used : ByteState::Free;
}

/// The state of every byte of a memory, by instruction.
Table<InstructionId, std::vector<ByteState>> obvious_states(const AccessList& list,
                                                            MemoryId memory) {
  Table<InstructionId, std::vector<ByteState>> states(list.issues.size());
  for (const InstructionId i : states.ids()) {
    for (std::int64_t byte = 0; byte < list.sizes[memory]; ++byte) {
      states[i].push_back(obvious_state(list, memory, byte, i));
    }
  }
  return states;
}

std::int64_t longest_free(const std::vector<ByteState>& bytes) {
  std::int64_t longest = 0;
  std::int64_t length = 0;
  for (const ByteState state : bytes) {
    length = state == ByteState::Free ? length + 1 : 0;
    longest = std::max(longest, length);
  }
  return longest;
}

std::vector<UnreadTransfer> obvious_unread(const AccessList& list, MemoryId memory) {
  std::vector<UnreadTransfer> found;
  for (const InstructionId i : list.issues.ids()) {
    UnreadTransfer transfer{.issue = i, .bytes = 0, .unread = 0};
    for (std::int64_t byte = 0; byte < list.sizes[memory]; ++byte) {
      if (list.issues[i] != 0 && does(list, i, memory, byte, true)) {
        transfer.bytes += 1;
        transfer.unread += obvious_readers(list, memory, byte, i).empty() ? 1 : 0;
      }
    }
    if (transfer.bytes > 0) {
      found.push_back(transfer);
    }
  }
  return found;
}

TEST(MemoryStates, AValueIsUsedFromItsWriterThroughItsLastReader) {
  ListWriter w({10});
  w.plain();
  w.plain();
  w.writes(kMemory, 2, 6);
  w.plain();
  w.reads(kMemory, 2, 6);
  w.plain();
  w.reads(kMemory, 2, 3);
  const MemoryStates states = states_of(w);
  EXPECT_EQ(states.used, (Column{0, 4, 4, 1, 0}));
  EXPECT_EQ(states.free, (Column{10, 6, 6, 9, 10}));
  EXPECT_EQ(states.hole, (Column{10, 4, 4, 7, 10}));
}

TEST(MemoryStates, ATransferArrivesUntilSomebodyWaitsForIt) {
  ListWriter w({10});
  const InstructionId issue = w.issue();
  w.writes(kMemory, 0, 8);
  w.plain();
  w.wait(issue);
  w.plain();
  w.reads(kMemory, 0, 5);
  const MemoryStates states = states_of(w);
  EXPECT_EQ(states.arriving, (Column{8, 8, 0, 0, 0}));
  EXPECT_EQ(states.used, (Column{0, 0, 5, 5, 0}));
  EXPECT_EQ(states.idle, (Column{0, 0, 3, 3, 3}));
  EXPECT_EQ(states.free, (Column{2, 2, 2, 2, 7}));
  EXPECT_EQ(states.hole, (Column{2, 2, 2, 2, 5}));
  EXPECT_EQ(states.unread, (std::vector<UnreadTransfer>{{InstructionId{0}, 8, 3}}));
}

TEST(MemoryStates, ATransferThatNobodyAwaitsArrivesToTheEnd) {
  ListWriter w({10});
  w.issue();
  w.writes(kMemory, 0, 8);
  const MemoryStates states = states_of(w);
  EXPECT_EQ(states.arriving, (Column{8, 8}));
  EXPECT_EQ(states.unread, (std::vector<UnreadTransfer>{{InstructionId{0}, 8, 8}}));
}

TEST(MemoryStates, WhatATransferReadsIsUsedUntilItIsAwaited) {
  for (const bool waits : {false, true}) {
    ListWriter w({10});
    w.plain();
    w.writes(kMemory, 0, 4);
    const InstructionId issue = w.issue();
    w.reads(kMemory, 0, 4);
    w.plain();
    if (waits) {
      w.wait(issue);
    } else {
      w.plain();
    }
    EXPECT_EQ(states_of(w).used, (Column{4, 4, 4, 4, waits ? 0 : 4}));
  }
}

TEST(MemoryStates, ANewValueCountsWhereItIsWrittenEvenIfTheOldOneIsReadThere) {
  ListWriter w({10});
  w.plain();
  w.writes(kMemory, 0, 4);
  w.plain();
  w.writes(kMemory, 0, 4).reads(kMemory, 0, 4);
  const MemoryStates states = states_of(w);
  EXPECT_EQ(states.used, (Column{4, 0, 0}));
  EXPECT_EQ(states.idle, (Column{0, 4, 4}));
}

TEST(MemoryStates, AnUnreadValueIsIdleOnlyUntilItIsWrittenOver) {
  ListWriter w({10});
  w.plain();
  w.writes(kMemory, 0, 4);
  w.plain();
  const InstructionId issue = w.issue();
  w.writes(kMemory, 0, 4);
  w.wait(issue);
  w.reads(kMemory, 0, 4);
  const MemoryStates states = states_of(w);
  EXPECT_EQ(states.idle, (Column{4, 4, 0, 0, 0}));
  EXPECT_EQ(states.arriving, (Column{0, 0, 4, 0, 0}));
  EXPECT_EQ(states.unread, (std::vector<UnreadTransfer>{{InstructionId{2}, 4, 0}}));
}

TEST(MemoryStates, WhatIsReadAndWasNeverWrittenWasThereBeforeTheTrace) {
  ListWriter w({10});
  w.plain();
  w.plain();
  w.reads(kMemory, 0, 6);
  w.plain();
  w.writes(kMemory, 4, 10);
  const MemoryStates states = states_of(w);
  EXPECT_EQ(states.used, (Column{6, 6, 0, 0}));
  EXPECT_EQ(states.idle, (Column{0, 0, 6, 6}));
  EXPECT_EQ(states.free, (Column{4, 4, 4, 4}));
}

TEST(MemoryStates, FreeBytesAmongOthersMakeNoHole) {
  ListWriter w({10});
  w.plain();
  for (std::int64_t byte = 1; byte < 10; byte += 2) {
    w.writes(kMemory, byte, byte + 1);
  }
  const MemoryStates states = states_of(w);
  EXPECT_EQ(states.free, (Column{5, 5}));
  EXPECT_EQ(states.hole, (Column{1, 1}));
}

TEST(MemoryStates, BlocksCountBytesThatAreUsedOrArrive) {
  ListWriter w({10});
  const InstructionId issue = w.issue();
  w.writes(kMemory, 2, 9);
  w.wait(issue);
  w.reads(kMemory, 2, 5);
  w.plain();
  const HeldValues held = held_values(w.list, kMemory);
  EXPECT_EQ(blocks(held, 3, ids({0, 1, 2})),
            (std::vector<std::int64_t>{2, 2, 0, 4, 1, 0, 1, 0, 0}));
  EXPECT_EQ(blocks(held, 3, ids({1, 1})), (std::vector<std::int64_t>{2, 2, 1, 1, 0, 0}));
  EXPECT_EQ(blocks(held, 7, ids({0})), (std::vector<std::int64_t>{0, 2, 2, 2, 1, 0, 0}));
}

TEST(MemoryStates, RefuseMemoriesBlocksAndInstructionsThatAreNotThere) {
  ListWriter w({10});
  w.plain();
  w.plain();
  EXPECT_THROW((void)held_values(w.list, MemoryId{1}), InvalidInput);
  EXPECT_THROW((void)held_values(w.list, MemoryId::none), InvalidInput);
  const HeldValues held = held_values(w.list, kMemory);
  EXPECT_THROW((void)blocks(held, 0, ids({})), InvalidInput);
  EXPECT_THROW((void)blocks(held, 1, ids({1, 0})), InvalidInput);
  EXPECT_THROW((void)blocks(held, 1, ids({2})), InvalidInput);
  EXPECT_THROW((void)blocks(held, 1, ids({-1})), InvalidInput);
  EXPECT_TRUE(blocks(held, 1, ids({})).empty());
}

TEST(MemoryStates, AreThoseOfEveryByteOfRandomTraces) {
  Random random{2};
  for (int round = 0; round < elk::test::rounds(600); ++round) {
    const AccessList list = test::random_list(random);
    validate(list);
    for (const MemoryId m : list.sizes.ids()) {
      const MemoryStates states = memory_states(held_values(list, m));
      const Table<InstructionId, std::vector<ByteState>> obvious = obvious_states(list, m);
      ASSERT_EQ(states.hole.size(), obvious.size());
      for (const InstructionId i : obvious.ids()) {
        const auto bytes = [&](ByteState state) { return std::ranges::count(obvious[i], state); };
        ASSERT_EQ(states.used[i], bytes(ByteState::Used)) << "round " << round;
        ASSERT_EQ(states.arriving[i], bytes(ByteState::Arriving)) << "round " << round;
        ASSERT_EQ(states.idle[i], bytes(ByteState::Idle)) << "round " << round;
        ASSERT_EQ(states.free[i], bytes(ByteState::Free)) << "round " << round;
        ASSERT_EQ(states.hole[i], longest_free(obvious[i])) << "round " << round;
      }
      ASSERT_EQ(states.unread, obvious_unread(list, m)) << "round " << round;
    }
  }
}

TEST(MemoryStates, BlocksAreThoseOfEveryByteOfRandomTraces) {
  Random random{3};
  for (int round = 0; round < elk::test::rounds(300); ++round) {
    const AccessList list = test::random_list(random);
    std::vector<InstructionId> at;
    for (const InstructionId i : list.issues.ids()) {
      at.insert(at.end(), subscript(random.below(3)), i);
    }
    const auto count = static_cast<std::int32_t>(1 + random.below(9));
    const std::int64_t block_size = (list.sizes[kMemory] + count - 1) / count;
    std::vector<std::int64_t> expected(subscript(count) * at.size());
    const Table<InstructionId, std::vector<ByteState>> obvious = obvious_states(list, kMemory);
    for (std::size_t column = 0; column < at.size(); ++column) {
      for (std::int64_t byte = 0; byte < list.sizes[kMemory]; ++byte) {
        const ByteState state = obvious[at[column]][subscript(byte)];
        const bool counts = state == ByteState::Used || state == ByteState::Arriving;
        expected[subscript(byte / block_size) * at.size() + column] += counts ? 1 : 0;
      }
    }
    ASSERT_EQ(blocks(held_values(list, kMemory), count, at), expected) << "round " << round;
  }
}

}  // namespace
}  // namespace elk::analyze
