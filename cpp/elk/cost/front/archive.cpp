#include "elk/cost/front/archive.hpp"

#include <bit>
#include <limits>

namespace elk::cost {
namespace {

/// Steps of equal ratio, from the first octave up.
struct LogScale {
  int bits;    // of the mantissa that tell steps within an octave apart
  int octave;  // below it there is one step

  [[nodiscard]] std::size_t of(std::int64_t value) const {
    const auto number = static_cast<std::uint64_t>(value);
    const int width = static_cast<int>(std::bit_width(number));
    if (width <= octave) {
      return 0;
    }
    const std::uint64_t top = number >> static_cast<unsigned>(width - 1 - bits);
    const std::size_t step =
        (static_cast<std::size_t>(width - 1 - octave) << static_cast<unsigned>(bits)) +
        static_cast<std::size_t>(top - (std::uint64_t{1} << static_cast<unsigned>(bits))) + 1;
    return std::min(step, kCount - 1);
  }

  /// The first step all of whose values are at least `value`.
  [[nodiscard]] std::size_t from(std::int64_t value) const {
    return value <= 0 ? 0 : of(value - 1) + 1;
  }

  static constexpr std::size_t kCount = 160;
};

constexpr LogScale kSpace{.bits = 4, .octave = 10};
constexpr LogScale kExchange{.bits = 3, .octave = 6};

bool covers(const Merits& a, const Merits& b) {
  return a.space <= b.space && a.exchange <= b.exchange && a.hbm <= b.hbm && a.time <= b.time;
}

}  // namespace

Archive::PrefixMinima::PrefixMinima()
    : times_(LogScale::kCount * LogScale::kCount, std::numeric_limits<double>::infinity()) {}

/// Times fall along both sides, so that what is not better on one step is not on any beyond it.
void Archive::PrefixMinima::add(std::size_t space, std::size_t exchange, double time) {
  for (; space < LogScale::kCount; ++space) {
    double* row = times_.data() + (space * LogScale::kCount);
    std::size_t step = exchange;
    while (step < LogScale::kCount && row[step] > time) {
      row[step++] = time;
    }
    if (step == exchange) {
      return;
    }
  }
}

double Archive::PrefixMinima::time(const Merits& corner) const {
  return times_[(kSpace.of(corner.space) * LogScale::kCount) + kExchange.of(corner.exchange)];
}

Archive::Archive(std::int64_t least_hbm) : least_hbm_(least_hbm) {}

bool Archive::excludes(const Merits& corner) {
  if (sure_.time(corner) < corner.time) {
    return true;
  }
  if (possible_.time(corner) >= corner.time) {
    return false;
  }
  const auto beats = [&corner](const Merits& point) {
    return point.time < corner.time && point.exchange <= corner.exchange &&
           point.hbm <= corner.hbm && point.space <= corner.space;
  };
  if (last_ < points_.size() && beats(points_[last_])) {
    return true;
  }
  for (std::size_t i = 0; i < points_.size() && points_[i].space <= corner.space; ++i) {
    if (beats(points_[i])) {
      last_ = i;
      return true;
    }
  }
  return false;
}

Archive::Dominance Archive::add(const Merits& point, std::size_t& id) {
  for (std::size_t i = 0; i < points_.size() && points_[i].space <= point.space; ++i) {
    if (covers(points_[i], point)) {
      id = ids_[i];
      return points_[i] == point ? Dominance::Equal : Dominance::Covered;
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (!covers(point, points_[i])) {
      points_[kept] = points_[i];
      ids_[kept++] = ids_[i];
    }
  }
  points_.resize(kept);
  ids_.resize(kept);
  const auto at =
      std::upper_bound(points_.begin(), points_.end(), point,
                       [](const Merits& a, const Merits& b) { return a.space < b.space; });
  id = next_++;
  ids_.insert(ids_.begin() + (at - points_.begin()), id);
  points_.insert(at, point);
  if (point.hbm <= least_hbm_) {
    sure_.add(kSpace.from(point.space), kExchange.from(point.exchange), point.time);
  }
  possible_.add(kSpace.of(point.space), kExchange.of(point.exchange), point.time);
  return Dominance::New;
}

}  // namespace elk::cost
