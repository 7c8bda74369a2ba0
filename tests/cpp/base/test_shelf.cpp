#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/key_writer.hpp"
#include "elk/base/shelf.hpp"

namespace elk {
namespace {

TEST(Shelf, FindsWhatWasPutUnderTheSameKeyAlone) {
  Shelf<std::string, int> shelf(1000);
  shelf.put("a", 1, 10);
  EXPECT_EQ(shelf.find("a"), 1);
  EXPECT_EQ(shelf.find("b"), std::nullopt);
  EXPECT_EQ(shelf.reuse().asked, 2);
  EXPECT_EQ(shelf.reuse().found, 1);
}

// Ten entries of ten bytes fit; what was not found since ten more were put goes.
TEST(Shelf, HoldsSoManyBytesAtMostAndWhatIsUsed) {
  Shelf<int, int> shelf(100);
  for (int key = 0; key < 1000; ++key) {
    shelf.put(key, key, 10);
    EXPECT_EQ(shelf.find(0).has_value(), true) << key;
  }
  int held = 0;
  for (int key = 0; key < 1000; ++key) {
    held += shelf.find(key).has_value() ? 1 : 0;
  }
  EXPECT_GE(held, 5);
  EXPECT_LE(held, 10);
}

TEST(Shelf, KeepsAnEntryThatIsTooLargeUntilTheNext) {
  Shelf<int, int> shelf(100);
  shelf.put(1, 1, 1000);
  EXPECT_EQ(shelf.find(1), 1);
  shelf.put(2, 2, 1000);
  shelf.put(3, 3, 1000);
  EXPECT_EQ(shelf.find(1), std::nullopt);
  EXPECT_EQ(shelf.find(3), 3);
}

template <class... Values>
std::string key(const Values&... values) {
  KeyWriter writer;
  writer.all(values...);
  return std::move(writer).key();
}

TEST(KeyWriter, TellsRowsApart) {
  using Numbers = std::vector<std::int64_t>;
  const std::vector<std::string> keys = {key(1, 2),
                                         key(12),
                                         key(-1, 2),
                                         key(1, -2),
                                         key(64),
                                         key(-64),
                                         key(128, 1),
                                         key(1.0),
                                         key(-0.0),
                                         key(0.0),
                                         key(Numbers{1, 2}),
                                         key(Numbers{1}, Numbers{2}),
                                         key(Numbers{}, 1, 2),
                                         key(std::string("a"), std::string("b")),
                                         key(std::string("ab"), std::string())};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(keys[i], keys[j]) << i << ' ' << j;
    }
  }
}

TEST(KeyWriter, KeepsWholeRanges) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_NE(key(kMost), key(kMost - 1));
  EXPECT_NE(key(-kMost - 1), key(kMost));
  EXPECT_NE(key(std::int64_t{1} << 62U), key(std::int64_t{1} << 55U));
}

}  // namespace
}  // namespace elk
