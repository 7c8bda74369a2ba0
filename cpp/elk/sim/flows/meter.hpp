#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/intervals.hpp"
#include "elk/base/units.hpp"
#include "elk/sim/flows/share.hpp"

namespace elk::sim {

/// What to record of a run: nothing, unless asked. Resources of one track are recorded as one.
struct Metering {
  std::vector<std::int32_t> track;  // per resource; -1: not recorded
  std::int32_t tracks;
  std::int32_t most;  // bins and busy spans a track, at least 2
  Picoseconds width;  // of a bin at first
};

/// One track. Memory is bounded: when time runs past the last bin, bins are joined in pairs; when
/// there are too many spans, those that lie closest together are joined.
struct Usage {
  Picoseconds width;
  std::vector<double> bytes;  // per bin, times weights; of the resources of the track together
  std::vector<Interval<Picoseconds>> busy;  // with something under way
  Picoseconds busy_time;                    // exact, whatever was joined

  friend bool operator==(const Usage&, const Usage&) = default;
};

/// Collects what an engine reports. Sums are of whole grains, so they do not depend on the order of
/// reports of one time.
class Meter {
 public:
  explicit Meter(const Metering& metering);

  /// A resource moved `load` grains a picosecond from `since` to `now`.
  void add(std::int32_t resource, Wide load, Picoseconds since, Picoseconds now);

  /// At `now` a resource began (`by` = 1) or ceased (-1) to move anything.
  void turn(std::int32_t resource, std::int32_t by, Picoseconds now);

  [[nodiscard]] bool records(std::int32_t resource) const;
  [[nodiscard]] std::vector<Usage> usage(Picoseconds now) const;

 private:
  struct Track {
    std::vector<Wide> grains;  // per bin
    Picoseconds width;
    std::vector<Interval<Picoseconds>> busy;
    Picoseconds gap;  // spans at most so far apart are joined
    Picoseconds busy_time;
    Picoseconds since;
    std::int32_t active;  // resources that move something
  };

  void close(Track& track, Picoseconds now) const;
  static void widen(Track& track);

  std::vector<std::int32_t> track_;
  std::vector<Track> tracks_;
  std::size_t most_;
};

}  // namespace elk::sim
