#include "elk/emulate/memory/memory.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"

namespace elk::emulate {
namespace {

/// `count` elements of four bits moved by one place, from odd numbers to even ones or back.
void copy_nibbles(const std::byte* in, bool in_odd, std::byte* out, bool out_odd,
                  std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t from = i + (in_odd ? 1 : 0);
    const std::int64_t to = i + (out_odd ? 1 : 0);
    const auto bits = (static_cast<unsigned>(in[from / 2]) >> (from % 2 == 0 ? 0U : 4U)) & 0xFU;
    const unsigned shift = to % 2 == 0 ? 0U : 4U;
    const auto kept = static_cast<unsigned>(out[to / 2]) & ~(0xFU << shift);
    out[to / 2] = static_cast<std::byte>(kept | (bits << shift));
  }
}

/// Elements that some runs cover on one side, without a gap.
struct Streak {
  std::int64_t begin;
  std::int64_t end;
};

/// The streak of the runs from number `i` on, which becomes the number of the first run behind it.
Streak streak_from(std::span<const OverlapRange> runs, std::size_t& i,
                   std::int64_t OverlapRange::*side) {
  Streak streak{.begin = runs[i].*side, .end = runs[i].*side};
  for (; i < runs.size() && runs[i].*side == streak.end; ++i) {
    streak.end += runs[i].count;
  }
  return streak;
}

}  // namespace

Arena::Arena(std::int64_t bytes)
    : size_(bytes),
      bytes_(static_cast<std::byte*>(std::calloc(subscript(bytes) + 1, 1))),
      written_(bytes) {
  if (!bytes_) {
    throw std::bad_alloc();
  }
}

void Arena::check(std::int64_t address, std::int64_t bytes) const {
  if (address < 0 || address + bytes > size_) {
    throw InternalError(text("address ", address, " and ", bytes, " bytes on lie in no buffer"),
                        "emulate_address");
  }
}

void Arena::free(std::int64_t begin, std::int64_t bytes) {
  check(begin, bytes);
  written_.clear(begin, bytes);
}

const std::byte* Arena::reading(std::int64_t address, std::int64_t bytes) const {
  check(address, bytes);
  const std::int64_t poison = written_.first_unset(address, bytes);
  if (poison < address + bytes) {
    throw InternalError(text("address ", poison, " is read and not written"), "emulate_poison");
  }
  return bytes_.get() + address;
}

const std::byte* Arena::peeking(std::int64_t address, std::int64_t bytes) const {
  check(address, bytes);
  return bytes_.get() + address;
}

std::byte* Arena::writing(std::int64_t address, std::int64_t bytes) {
  check(address, bytes);
  written_.set(address, bytes);
  return bytes_.get() + address;
}

void copy_elements(const std::byte* in, std::byte* out, const ElementCopy& copy) {
  const std::int64_t from = copy.from * copy.bits;
  const std::int64_t to = copy.to * copy.bits;
  if (from % 8 == 0 && to % 8 == 0 && copy.count * copy.bits % 8 == 0) {
    std::copy_n(in + (from / 8), copy.count * copy.bits / 8, out + (to / 8));
  } else {
    copy_nibbles(in + (from / 8), from % 8 != 0, out + (to / 8), to % 8 != 0, copy.count);
  }
}

std::int64_t Storage::bytes() const {
  std::int64_t sum = 0;
  for (const Segment& segment : segments) {
    sum += segment.bytes;
  }
  return sum;
}

template <class Visit>
void View::visit(std::int64_t begin, std::int64_t bytes, const Visit& visit) const {
  std::int64_t passed = 0;
  std::int64_t done = 0;
  for (const Segment& segment : storage_.segments) {
    const std::int64_t low = std::max<std::int64_t>(begin + done - passed, 0);
    const std::int64_t part = std::min(segment.bytes - low, bytes - done);
    if (part > 0) {
      visit(segment.begin + low, subscript(done), subscript(part));
      done += part;
    }
    passed += segment.bytes;
  }
  if (done < bytes) {
    throw InternalError(
        text("byte ", begin + done, " of a piece of ", passed, " bytes lies outside its buffers"),
        "emulate_address");
  }
}

std::int64_t View::address_of(std::int64_t first, std::int64_t count) const {
  if (first * bits_ % 8 != 0 || count * bits_ % 8 != 0) {
    return -1;
  }
  std::int64_t begin = first * bits_ / 8;
  for (const Segment& segment : storage_.segments) {
    if (begin < segment.bytes) {
      return begin + (count * bits_ / 8) <= segment.bytes ? segment.begin + begin : -1;
    }
    begin -= segment.bytes;
  }
  return -1;
}

const std::byte* View::reading(std::int64_t first, std::int64_t count) const {
  const std::int64_t address = address_of(first, count);
  return address < 0 ? nullptr : arena_.reading(address, count * bits_ / 8);
}

std::byte* View::writing(std::int64_t first, std::int64_t count) const {
  const std::int64_t address = address_of(first, count);
  return address < 0 ? nullptr : arena_.writing(address, count * bits_ / 8);
}

void View::read(std::int64_t first, std::int64_t count, std::byte* out) const {
  const std::int64_t begin = first * bits_ / 8;
  const std::int64_t bytes = (((first + count) * bits_) + 7) / 8 - begin;
  if (const std::byte* together = reading(first, count)) {
    std::copy_n(together, bytes, out);
    return;
  }
  const bool odd = first * bits_ % 8 != 0;
  std::vector<std::byte> shifted(odd ? subscript(bytes) : 0);
  std::byte* to = odd ? shifted.data() : out;
  visit(begin, bytes, [&](std::int64_t address, std::size_t done, std::size_t part) {
    const auto size = static_cast<std::int64_t>(part);
    std::copy_n(arena_.reading(address, size), part, to + done);
  });
  if (odd) {
    copy_nibbles(shifted.data(), true, out, false, count);
  }
}

void View::read_to(std::int64_t first, std::int64_t count, std::byte* out, std::int64_t to) const {
  if (bits_ % 8 == 0) {
    read(first, count, out + (to * bits_ / 8));
    return;
  }
  std::vector<std::byte> part(subscript((count * bits_ / 8) + 2));
  read(first, count, part.data());
  copy_elements(part.data(), out, {.from = 0, .to = to, .count = count, .bits = bits_});
}

void View::write(std::int64_t first, std::int64_t count, const std::byte* in) const {
  const std::int64_t begin = first * bits_ / 8;
  const std::int64_t end = (first + count) * bits_;
  const std::int64_t bytes = ((end + 7) / 8) - begin;
  if (std::byte* together = writing(first, count)) {
    std::copy_n(in, bytes, together);
    return;
  }
  const bool partly = first * bits_ % 8 != 0 || end % 8 != 0;
  std::vector<std::byte> merged;
  const std::byte* from = in;
  if (partly) {  // A neighbour in the byte stays as it is.
    merged.resize(subscript(bytes));
    for (const std::int64_t edge : {std::int64_t{0}, bytes - 1}) {
      visit(begin + edge, 1, [&](std::int64_t address, std::size_t, std::size_t part) {
        merged[subscript(edge)] = *arena_.peeking(address, static_cast<std::int64_t>(part));
      });
    }
    copy_nibbles(in, false, merged.data(), first * bits_ % 8 != 0, count);
    from = merged.data();
  }
  visit(begin, bytes, [&](std::int64_t address, std::size_t done, std::size_t part) {
    std::copy_n(from + done, part, arena_.writing(address, static_cast<std::int64_t>(part)));
  });
}

void copy_run(const View& from, const View& to, const OverlapRange& run) {
  if (const std::byte* in = from.reading(run.from, run.count)) {
    to.write(run.to, run.count, in);
    return;
  }
  std::vector<std::byte> part(subscript((run.count * from.bits() / 8) + 2));
  from.read(run.from, run.count, part.data());
  to.write(run.to, run.count, part.data());
}

void copy_runs(const View& from, const View& to, std::span<const OverlapRange> runs) {
  const std::byte* in = nullptr;  // element 0
  bool dense = from.is_dense() && to.bits() == from.bits();
  const std::int64_t size = from.bits() / 8;
  for (std::size_t i = 0; dense && i < runs.size();) {
    const Streak streak = streak_from(runs, i, &OverlapRange::from);
    const std::byte* at = from.reading(streak.begin, streak.end - streak.begin);
    dense = at != nullptr;
    in = dense ? at - (streak.begin * size) : nullptr;
  }
  if (dense && !runs.empty()) {
    write_runs(in, to, runs);
    return;
  }
  for (const OverlapRange& run : runs) {
    copy_run(from, to, run);
  }
}

void write_runs(const std::byte* from, const View& to, std::span<const OverlapRange> runs) {
  const std::int64_t size = to.bits() / 8;
  for (std::size_t i = 0; i < runs.size();) {
    const std::size_t first = i;
    const Streak streak = streak_from(runs, i, &OverlapRange::to);
    std::byte* out = to.writing(streak.begin, streak.end - streak.begin);
    for (std::size_t k = first; k < i; ++k) {
      const OverlapRange& run = runs[k];
      const std::byte* in = from + (run.from * size);
      if (out == nullptr) {
        to.write(run.to, run.count, in);
      } else {
        std::copy_n(in, run.count * size, out + ((run.to - streak.begin) * size));
      }
    }
  }
}

}  // namespace elk::emulate
