#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "elk/base/ids.hpp"
#include "elk/program/code/buffers.hpp"
#include "elk/program/place/period.hpp"
#include "elk/program/place/place.hpp"
#include "program/windows.hpp"

namespace elk::program {
namespace {

Buffer buffer(std::int64_t bytes, std::int32_t from, std::int32_t to) {
  return {OpId{0}, TensorId{0}, Role::Activation, {0}, {bytes}, from, to};
}

/// Fails unless no two buffers overlap in address and time and all lie in `room`, on 8 bytes.
void expect_sound(const std::vector<Buffer>& buffers, Bytes room) {
  std::map<std::int32_t, std::vector<const Buffer*>> live;
  for (const Buffer& b : buffers) {
    EXPECT_EQ(b.offset.value % 8, 0);
    EXPECT_GE(b.offset, Bytes{0});
    EXPECT_LE(b.offset + b.bytes, room);
    for (std::int32_t t = b.from; t <= b.to && b.bytes > Bytes{0}; ++t) {
      live[t].push_back(&b);
    }
  }
  for (auto& [time, at] : live) {
    std::sort(at.begin(), at.end(),
              [](const Buffer* a, const Buffer* b) { return a->offset < b->offset; });
    for (std::size_t i = 1; i < at.size(); ++i) {
      ASSERT_LE(at[i - 1]->offset + at[i - 1]->bytes, at[i]->offset) << "at instruction " << time;
    }
  }
}

TEST(Place, OfNothingIsNothing) { EXPECT_TRUE(place({}, {0})->empty()); }

TEST(Place, FillsTheRoomToTheLastByte) {
  const std::vector<Buffer> all{buffer(16, 0, 3), buffer(8, 0, 1), buffer(24, 1, 2),
                                buffer(8, 2, 3), buffer(24, 3, 4)};
  const auto placed = place(all, {48});
  ASSERT_TRUE(placed);
  expect_sound(*placed, {48});
}

TEST(Place, KeepsEverythingButTheOffsets) {
  std::vector<Buffer> all{buffer(16, 0, 3), buffer(8, 2, 3)};
  all[1].role = Role::Store;
  auto placed = place(all, {24});
  ASSERT_TRUE(placed);
  for (Buffer& b : *placed) {
    b.offset = {0};
  }
  EXPECT_EQ(*placed, all);
}

TEST(Place, RefusesMoreThanTheRoom) {
  EXPECT_FALSE(place({buffer(16, 0, 1), buffer(16, 1, 2)}, {31}));
  EXPECT_FALSE(place({buffer(16, 0, 0)}, {8}));
  EXPECT_TRUE(place({buffer(16, 0, 0), buffer(16, 1, 1)}, {16}));
  EXPECT_TRUE(place({buffer(16, 0, 0), buffer(16, 2, 2)}, {16}));
}

TEST(Place, EndsWhenItIsNotWanted) {
  const std::vector<Buffer> all{buffer(16, 0, 3), buffer(8, 0, 1), buffer(24, 1, 2)};
  int asked = 0;
  const auto place_until = [&](int most) {
    asked = 0;
    return place(all, {48}, [&asked, most] { return ++asked > most; });
  };
  EXPECT_EQ(place_until(1000), place(all, {48}));
  EXPECT_GT(asked, 0);
  EXPECT_FALSE(place_until(0));
}

TEST(Place, BeginsOnEightBytesWhateverTheSizes) {
  const auto placed = place({buffer(3, 0, 1), buffer(9, 0, 1), buffer(0, 0, 1)}, {24});
  ASSERT_TRUE(placed);
  expect_sound(*placed, {24});
  EXPECT_FALSE(place({buffer(3, 0, 1), buffer(9, 0, 1)}, {20}));
}

TEST(Place, MovesWhatStandsInTheWay) {
  // By size alone, the two of 32 bytes go to the bottom and leave no 48 in one piece.
  const std::vector<Buffer> all{buffer(32, 0, 1), buffer(16, 0, 3), buffer(32, 3, 4),
                                buffer(48, 2, 3), buffer(16, 4, 5), buffer(48, 5, 6)};
  const Bytes room{96};
  const auto placed = place(all, room);
  ASSERT_TRUE(placed);
  expect_sound(*placed, room);
}

TEST(Place, IsSoundOnRandomPrograms) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random{seed};
    std::vector<Buffer> all;
    for (int i = 0; i < 120; ++i) {
      const auto from = static_cast<std::int32_t>(random.below(60));
      const auto life = static_cast<std::int32_t>(random.below(2) == 0 ? 0 : random.below(12));
      all.push_back(buffer(1 + random.below(4000), from, from + life));
    }
    const std::vector<Bytes> used = occupancy(all, 80);
    const Bytes room{*std::max_element(used.begin(), used.end()) +
                     Bytes{2000 * (std::int64_t{1} + random.below(3))}};
    if (const auto placed = place(all, room)) {
      expect_sound(*placed, room);
    }
  }
}

TEST(Place, LosesLittleToFragmentation) {
  constexpr Bytes kRoom{630'784};
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Window made = window(seed, 12, {kRoom.value * 88 / 100});
    ASSERT_LE(made.peak, kRoom);
    const auto placed = place(made.buffers, kRoom);
    ASSERT_TRUE(placed) << "seed " << seed;
    expect_sound(*placed, kRoom);
  }
}

TEST(Place, FindsRoomForManySlicesWhereThereIsRoomForOne) {
  constexpr Bytes kRoom{630'784};
  const std::vector<Buffer> slice = window(2, 12, {kRoom.value * 88 / 100}).buffers;
  std::int32_t length = 0;
  for (const Buffer& one : slice) {
    length = std::max(length, one.to + 1);
  }
  std::vector<Buffer> all;
  for (std::int32_t k = 0; k < 8; ++k) {
    for (Buffer one : slice) {
      one.from += k * length;
      one.to += k * length;
      all.push_back(one);
    }
  }
  const auto placed = place(all, kRoom);
  ASSERT_TRUE(placed);
  expect_sound(*placed, kRoom);
}

TEST(Place, GivesTheSameOffsetsToTheSameBuffers) {
  const Window made = window(3, 10, {550'000});
  EXPECT_EQ(place(made.buffers, {630'784}), place(made.buffers, {630'784}));
}

TEST(FindPeriod, FindsTheRepeatedStretch) {
  Strip strip{.pieces = {}, .moments = 32, .cyclic = false, .room = 64};
  strip.pieces.push_back({.size = 7, .first = 0, .length = 1});
  for (std::int32_t i = 1; i < 31; ++i) {
    strip.pieces.push_back({.size = 8 * (1 + (i % 3)), .first = i, .length = 2});
  }
  strip.pieces.push_back({.size = 9, .first = 31, .length = 1});
  const std::optional<Period> period = find_period(strip);
  ASSERT_TRUE(period);
  EXPECT_EQ(period->length, 3);
  EXPECT_EQ(period->stretch.begin, 1);
  EXPECT_EQ(period->stretch.end, 31);
  EXPECT_TRUE(period->later.empty());
}

TEST(FindPeriod, FindsWhereItComesAgain) {
  Strip strip{.pieces = {}, .moments = 40, .cyclic = false, .room = 64};
  for (std::int32_t i = 0; i < 40; ++i) {
    const bool between = i >= 21 && i < 25;
    strip.pieces.push_back({.size = between ? 7 : 8 * (1 + (i % 3)), .first = i, .length = 2});
  }
  const std::optional<Period> period = find_period(strip);
  ASSERT_TRUE(period);
  EXPECT_EQ(period->stretch.end, 21);
  ASSERT_EQ(period->later.size(), 1U);
  EXPECT_EQ(period->later[0].begin, 27);  // In the first of its three phases.
  EXPECT_EQ(period->later[0].end, 40);
  EXPECT_EQ(covered(*period), 34);
}

TEST(FindPeriod, IsEmptyWhereNothingRepeatsThreeTimes) {
  Strip strip{.pieces = {}, .moments = 12, .cyclic = false, .room = 64};
  for (std::int32_t i = 0; i < 12; ++i) {
    strip.pieces.push_back({.size = 8 * (1 + i), .first = i, .length = 1});
  }
  EXPECT_FALSE(find_period(strip));
}

}  // namespace
}  // namespace elk::program
