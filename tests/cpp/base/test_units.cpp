#include <limits>
#include <type_traits>

#include <gtest/gtest.h>

#include "elk/base/errors.hpp"
#include "elk/base/units.hpp"

namespace elk {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) { a + b; };
static_assert(Addable<Bytes, Bytes>);
static_assert(!Addable<Bytes, Picoseconds>);
static_assert(!Addable<Seconds, Picoseconds>);

TEST(Quantity, AddsSubtractsScalesAndCompares) {
  EXPECT_EQ(Bytes{2} + Bytes{3}, Bytes{5});
  EXPECT_EQ(Bytes{2} - Bytes{3}, Bytes{-1});
  EXPECT_EQ(Bytes{2} * 3, 3 * Bytes{2});
  EXPECT_LT(Seconds{1.0}, Seconds{1.5});
  Picoseconds time{5};
  time += {2};
  time -= {4};
  EXPECT_EQ(time, Picoseconds{3});
}

TEST(ToPicoseconds, RoundsUp) {
  EXPECT_EQ(to_picoseconds({0.0}), Picoseconds{0});
  EXPECT_EQ(to_picoseconds({1e-12}), Picoseconds{1});
  EXPECT_EQ(to_picoseconds({1.25e-12}), Picoseconds{2});
  EXPECT_EQ(to_picoseconds({1.0}), Picoseconds{1'000'000'000'000});
}

TEST(ToPicoseconds, RefusesWhatIsNoTime) {
  EXPECT_THROW(static_cast<void>(to_picoseconds({-1e-9})), InternalError);
  EXPECT_THROW(static_cast<void>(to_picoseconds({1e7})), InternalError);
  EXPECT_THROW(static_cast<void>(to_picoseconds({std::numeric_limits<double>::quiet_NaN()})),
               InternalError);
}

TEST(ToSeconds, TurnsSimulatedTimeBack) { EXPECT_EQ(to_seconds({1'500'000}), Seconds{1.5e-6}); }

}  // namespace
}  // namespace elk
