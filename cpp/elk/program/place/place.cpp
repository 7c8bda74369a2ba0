#include "elk/program/place/place.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "elk/base/mechanisms.hpp"
#include "elk/base/rounding.hpp"
#include "elk/program/code/program_tuning.hpp"
#include "elk/program/place/period.hpp"
#include "elk/program/place/strip.hpp"

namespace elk::program {
namespace {

constexpr std::int64_t kGrain = 8;  // bytes on which every buffer begins

/// The instructions of a program as moments: those between the first begin of a life after some
/// end, and the next such, are one, for the same buffers may lie side by side in all of them.
std::vector<std::int32_t> moments(const std::vector<Buffer>& buffers) {
  std::int32_t last = 0;
  for (const Buffer& buffer : buffers) {
    last = std::max(last, buffer.to);
  }
  std::vector<std::int8_t> begins(static_cast<std::size_t>(last) + 1, 0);
  std::vector<std::int8_t> ends(static_cast<std::size_t>(last) + 1, 0);
  for (const Buffer& buffer : buffers) {
    begins[static_cast<std::size_t>(buffer.from)] = 1;
    ends[static_cast<std::size_t>(buffer.to)] = 1;
  }
  std::vector<std::int32_t> moment(begins.size(), 0);
  bool ended = false;
  for (std::size_t i = 1; i < moment.size(); ++i) {
    ended = ended || ends[i - 1] != 0;
    const bool next = ended && begins[i] != 0;
    moment[i] = moment[i - 1] + (next ? 1 : 0);
    ended = ended && !next;
  }
  return moment;
}

/// A strip with the buffer that each of its pieces stands for.
struct Laid {
  Strip strip;
  std::vector<std::size_t> buffer;
};

/// Buffers that live through at least `share` of the program are stacked from address 0 on, in
/// place; the others become pieces on a strip above them.
Laid lay_out(std::vector<Buffer>& buffers, Bytes room, double share) {
  const std::vector<std::int32_t> moment = moments(buffers);
  const std::int32_t count = moment.back() + 1;
  std::int64_t base = 0;
  std::vector<std::pair<Rectangle, std::size_t>> pieces;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    Buffer& buffer = buffers[i];
    const std::int32_t first = moment[static_cast<std::size_t>(buffer.from)];
    const std::int32_t length = moment[static_cast<std::size_t>(buffer.to)] - first + 1;
    const std::int64_t size = round_up(buffer.bytes.value, kGrain);
    buffer.offset = {base};
    if (size > 0 && static_cast<double>(length) >= share * static_cast<double>(count)) {
      base += size;
    } else if (size > 0) {
      pieces.push_back({{.size = size, .first = first, .length = length}, i});
    }
  }
  std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.first.first, -a.first.size, -a.first.length, a.second) <
           std::tuple(b.first.first, -b.first.size, -b.first.length, b.second);
  });
  Laid out{.strip = {.pieces = {},
                     .moments = count,
                     .cyclic = false,
                     .room = (room.value / kGrain * kGrain) - base},
           .buffer = {}};
  for (const auto& [piece, buffer] : pieces) {
    out.strip.pieces.push_back(piece);
    out.buffer.push_back(buffer);
  }
  return out;
}

/// What the pieces of the fullest moment leave of the room, were there no gaps between them;
/// negative if they do not fit.
std::int64_t least_left(const Strip& strip) {
  std::vector<std::int64_t> change(static_cast<std::size_t>(strip.moments) + 1, 0);
  for (const Rectangle& piece : strip.pieces) {
    change[static_cast<std::size_t>(piece.first)] += piece.size;
    const std::int32_t end = piece.first + piece.length;
    change[static_cast<std::size_t>(end)] -= piece.size;
  }
  std::int64_t used = 0;
  std::int64_t most = 0;
  for (const std::int64_t step : change) {
    used += step;
    most = std::max(most, used);
  }
  return strip.room - most;
}

/// Offsets by rings of a repeated stretch, each searched briefly: that finds more than one long
/// search does.
std::optional<std::vector<std::int64_t>> pack_rings(const Strip& strip, const Period& period,
                                                    const Unwanted& unwanted) {
  const std::int32_t fewest = fewest_periods(strip, period);
  for (std::int32_t periods = fewest; periods < fewest + tuning::kRings; ++periods) {
    if (unwanted && unwanted()) {
      break;
    }
    std::int64_t work = tuning::kRingWork;
    if (auto offsets = pack_by_period(strip, period, periods, work)) {
      return offsets;
    }
  }
  return std::nullopt;
}

/// Offsets of the pieces, if any were found, and whether it is worth to lay out the same buffers in
/// another way.
struct Packing {
  std::optional<std::vector<std::int64_t>> offsets;
  bool again;
};

/// Where a long program repeats itself often and no ring fits, the whole would not either; nor has
/// one that leaves less than a twentieth of the room been seen to fit once laid out otherwise.
Packing pack_any(const Strip& strip, const Unwanted& unwanted) {
  const std::int64_t left = least_left(strip);
  if (left < 0) {
    return {.offsets = {}, .again = true};
  }
  if (const auto period = mechanisms().period ? find_period(strip) : std::nullopt) {
    auto offsets = pack_rings(strip, *period, unwanted);
    const std::int32_t moments = covered(*period);
    const bool repeats =
        2 * moments > strip.moments && moments > tuning::kFewPeriods * period->length;
    if (offsets || (repeats && strip.pieces.size() > tuning::kLongStrip)) {
      return {.offsets = std::move(offsets), .again = left >= strip.room / tuning::kTight};
    }
  }
  for (const PackOrder order : {PackOrder::LargestFirst, PackOrder::EarliestFirst}) {
    if (unwanted && unwanted()) {
      break;
    }
    std::int64_t work = tuning::kStripWork;
    const std::vector<std::int64_t> nowhere(strip.pieces.size(), kUnplaced);
    if (auto offsets = pack(strip, nowhere, order, work)) {
      return {.offsets = std::move(offsets), .again = false};
    }
  }
  return {.offsets = {}, .again = true};
}

}  // namespace

std::optional<std::vector<Buffer>> place(std::vector<Buffer> buffers, Bytes room,
                                         const Unwanted& unwanted) {
  if (buffers.empty()) {
    return buffers;
  }
  std::optional<std::size_t> pieces;
  for (const double share : {0.25, 1.0}) {
    const Laid laid = lay_out(buffers, room, share);
    if (laid.buffer.size() == std::exchange(pieces, laid.buffer.size())) {
      break;  // An equal strip was packed before.
    }
    const auto [offsets, again] = pack_any(laid.strip, unwanted);
    if (offsets) {
      for (std::size_t i = 0; i < offsets->size(); ++i) {
        const std::int64_t base = (room.value / kGrain * kGrain) - laid.strip.room;
        buffers[laid.buffer[i]].offset = {base + (*offsets)[i]};
      }
      return buffers;
    }
    if (!again) {
      break;
    }
  }
  return std::nullopt;
}

}  // namespace elk::program
