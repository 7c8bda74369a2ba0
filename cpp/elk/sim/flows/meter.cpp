#include "elk/sim/flows/meter.hpp"

#include <algorithm>
#include <cstddef>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/text.hpp"

namespace elk::sim {

Meter::Meter(const Metering& metering) : track_(metering.track), most_(subscript(metering.most)) {
  if (metering.most < 2 || metering.width <= Picoseconds{0} || metering.tracks < 0) {
    throw InvalidInput(text("a meter must have at least 2 bins of at least 1 ps, got ",
                            metering.most, " of ", metering.width.value, " ps"));
  }
  for (const std::int32_t track : track_) {
    if (track >= metering.tracks) {
      throw InvalidInput(text("a track must be below ", metering.tracks, ", got ", track));
    }
  }
  tracks_.assign(subscript(metering.tracks), {.grains = {},
                                              .width = metering.width,
                                              .busy = {},
                                              .gap = {0},
                                              .busy_time = {0},
                                              .since = {0},
                                              .active = 0});
}

bool Meter::records(std::int32_t resource) const {
  return subscript(resource) < track_.size() && track_[subscript(resource)] >= 0;
}

void Meter::add(std::int32_t resource, Wide load, Picoseconds since, Picoseconds now) {
  Track& track = tracks_[subscript(track_[subscript(resource)])];
  while (now > track.width * static_cast<std::int64_t>(most_)) {
    widen(track);
  }
  while (since < now) {
    const std::int64_t bin = since.value / track.width.value;
    const Picoseconds end = std::min(now, track.width * (bin + 1));
    if (static_cast<std::size_t>(bin) >= track.grains.size()) {
      track.grains.resize(static_cast<std::size_t>(bin) + 1, 0);
    }
    track.grains[static_cast<std::size_t>(bin)] += load * (end - since).value;
    since = end;
  }
}

void Meter::turn(std::int32_t resource, std::int32_t by, Picoseconds now) {
  Track& track = tracks_[subscript(track_[subscript(resource)])];
  if (by > 0 && track.active == 0) {
    track.since = now;
  }
  track.active += by;
  if (track.active == 0) {
    close(track, now);
  }
}

/// Ends the busy span of `track`.
void Meter::close(Track& track, Picoseconds now) const {
  if (now == track.since) {
    return;
  }
  track.busy_time += now - track.since;
  if (!track.busy.empty() && track.since - track.busy.back().end <= track.gap) {
    track.busy.back().end = now;
    return;
  }
  track.busy.push_back({track.since, now});
  while (track.busy.size() > most_) {
    track.gap = std::max(Picoseconds{1}, track.gap * 2);
    std::vector<Interval<Picoseconds>> joined;
    for (const Interval<Picoseconds>& span : track.busy) {
      if (!joined.empty() && span.begin - joined.back().end <= track.gap) {
        joined.back().end = span.end;
      } else {
        joined.push_back(span);
      }
    }
    track.busy = joined;
  }
}

void Meter::widen(Track& track) {
  const std::size_t half = (track.grains.size() + 1) / 2;
  for (std::size_t bin = 0; bin < half; ++bin) {
    const bool pair = (2 * bin) + 1 < track.grains.size();
    track.grains[bin] = track.grains[2 * bin] + (pair ? track.grains[(2 * bin) + 1] : Wide{0});
  }
  track.grains.resize(half);
  track.width = track.width * 2;
}

std::vector<Usage> Meter::usage(Picoseconds now) const {
  constexpr Wide kByte = grains(Bytes{1});
  std::vector<Usage> found;
  for (Track track : tracks_) {
    if (track.active > 0) {
      close(track, now);
    }
    Usage& usage = found.emplace_back(
        Usage{.width = track.width, .bytes = {}, .busy = track.busy, .busy_time = track.busy_time});
    for (const Wide moved : track.grains) {
      const Wide whole = moved / kByte;
      const Wide rest = moved % kByte;
      usage.bytes.push_back(static_cast<double>(whole) +
                            (static_cast<double>(rest) / static_cast<double>(kByte)));
    }
  }
  return found;
}

}  // namespace elk::sim
