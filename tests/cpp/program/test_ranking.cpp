#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/random.hpp"
#include "elk/program/place/ranking.hpp"
#include "elk/program/place/strip.hpp"

namespace elk::program {
namespace {

using Listed = std::vector<std::pair<std::int64_t, std::int32_t>>;

Listed marked(Ranking& ranking) {
  Listed out;
  ranking.take_marked(
      [&](std::int64_t address, std::int32_t piece) { out.emplace_back(address, piece); });
  return out;
}

bool is_lower(const std::pair<std::int64_t, std::int32_t>& a,
              const std::pair<std::int64_t, std::int32_t>& b) {
  return a.first < b.first;
}

/// Places the piece at `address`, or takes its place away.
void change(std::int32_t piece, std::int64_t address, std::vector<std::int64_t>& addresses,
            Ranking& ranking) {
  std::int64_t& now = addresses[static_cast<std::size_t>(piece)];
  if (now == kUnplaced) {
    ranking.insert(piece, address);
    now = address;
  } else {
    ranking.erase(piece);
    now = kUnplaced;
  }
}

/// Marks every third piece, and tells those of them that are placed.
Listed placed(const std::vector<std::int64_t>& addresses, std::int32_t first, Ranking& ranking) {
  Listed out;
  for (auto piece = static_cast<std::size_t>(first); piece < addresses.size(); piece += 3) {
    const auto number = static_cast<std::int32_t>(piece);
    ranking.mark(number);
    if (addresses[piece] != kUnplaced) {
      out.emplace_back(addresses[piece], number);
    }
  }
  return out;
}

TEST(Ranking, ListsTheMarkedPiecesByAddressOnce) {
  Ranking ranking({30, kUnplaced, 10, 20});
  for (const std::int32_t piece : {0, 1, 2, 0}) {
    ranking.mark(piece);
  }
  EXPECT_EQ(marked(ranking), (Listed{{10, 2}, {30, 0}}));
  EXPECT_EQ(marked(ranking), Listed{});
}

TEST(Ranking, FindsARoomForAPieceOnEitherSideOfItsPlace) {
  Ranking ranking({10, 20, 30, kUnplaced});
  ranking.insert(3, 5);
  ranking.erase(0);
  ranking.insert(0, 40);
  for (std::int32_t piece = 0; piece < 4; ++piece) {
    ranking.mark(piece);
  }
  EXPECT_EQ(marked(ranking), (Listed{{5, 3}, {20, 1}, {30, 2}, {40, 0}}));
}

TEST(Ranking, StaysInOrderWhilePiecesComeAndGo) {
  constexpr std::int32_t kPieces = 150;  // slots of several words
  std::vector<std::int64_t> addresses(kPieces, kUnplaced);
  Ranking ranking(addresses);
  Random random{.state = 7};
  for (int step = 0; step < 2000; ++step) {
    change(static_cast<std::int32_t>(random.below(kPieces)), random.below(60), addresses, ranking);
    const Listed expected = placed(addresses, step % 3, ranking);
    const Listed found = marked(ranking);
    ASSERT_TRUE(std::is_sorted(found.begin(), found.end(), is_lower));
    ASSERT_TRUE(std::is_permutation(found.begin(), found.end(), expected.begin(), expected.end()));
  }
}

}  // namespace
}  // namespace elk::program
