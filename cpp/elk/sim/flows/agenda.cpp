#include "elk/sim/flows/agenda.hpp"

#include <algorithm>
#include <limits>

#include "elk/base/ids.hpp"

namespace elk::sim {
namespace {

constexpr std::size_t kChildren = 4;
constexpr std::size_t kFewItems = 32;  // for which a heap alone is as quick
constexpr std::size_t kWidth = 4;      // buckets for each item: most then hold one or none
constexpr std::size_t kMostBuckets = 1 << 14;
constexpr std::size_t kWordBits = 64;
constexpr std::size_t kBeyond = 0;  // the list of what lies beyond all buckets; then come these
constexpr std::int32_t kAbsent = -1;
constexpr std::int32_t kFirstList = -2;

constexpr std::int32_t place_of(std::size_t list) {
  return kFirstList - static_cast<std::int32_t>(list);
}

constexpr std::size_t list_at(std::int32_t place) { return subscript(kFirstList - place); }

}  // namespace

void Agenda::set(std::int32_t item, Picoseconds time) {
  const std::size_t index = subscript(item);
  if (index >= slots_.size()) {
    slots_.resize(std::max(index + 1, 2 * slots_.size()),
                  {.time = 0, .place = kAbsent, .next = -1, .previous = -1});
  }
  const std::int32_t place = slots_[index].place;
  if (place == kAbsent) {
    insert(item, time.value);
    return;
  }
  if (place >= 0 && soon(time.value)) {
    const ItemTime entry{time.value, item};
    const std::size_t at = subscript(place);
    if (time.value < heap_[at].time) {
      rise(at, entry);
    } else {
      sink(at, entry);
    }
    return;
  }
  remove(item);
  insert(item, time.value);
}

void Agenda::remove(std::int32_t item) {
  const std::size_t index = subscript(item);
  if (index >= slots_.size() || slots_[index].place == kAbsent) {
    return;
  }
  ItemPlace& slot = slots_[index];
  if (slot.place >= 0) {
    erase(subscript(slot.place));
  } else {
    unlink(slot);
  }
  slot.place = kAbsent;
  if (heap_.empty()) {
    advance();
  }
}

void Agenda::take_first(std::vector<std::int32_t>& items) {
  const std::int64_t time = heap_.front().time;
  const auto later = [&](const ItemTime& entry) { return entry.time != time; };
  if (heap_.size() == 1 || std::none_of(heap_.rbegin(), heap_.rend(), later)) {
    for (const ItemTime& entry : heap_) {
      slots_[subscript(entry.item)].place = kAbsent;
      items.push_back(entry.item);
    }
    heap_.clear();
    advance();
    return;
  }
  while (!heap_.empty() && heap_.front().time == time) {
    slots_[subscript(heap_.front().item)].place = kAbsent;
    items.push_back(heap_.front().item);
    erase(0);
  }
}

/// Whether `time` is one of those that the heap is for.
bool Agenda::soon(std::int64_t time) const {
  return buckets_ == 0 || time < base_ ||
         static_cast<std::size_t>((time - base_) >> shift_) < cursor_;
}

void Agenda::insert(std::int32_t item, std::int64_t time) {
  if (soon(time)) {
    push({time, item});
    if (buckets_ == 0 && heap_.size() > kFewItems) {
      spread_heap();
    }
    return;
  }
  const auto bucket = static_cast<std::size_t>((time - base_) >> shift_);
  if (bucket < buckets_) {
    filled_[bucket / kWordBits] |= std::uint64_t{1} << (bucket % kWordBits);
    link(item, time, 1 + bucket);
  } else {
    link(item, time, kBeyond);
  }
}

void Agenda::link(std::int32_t item, std::int64_t time, std::size_t list) {
  const std::int32_t next = lists_[list];
  slots_[subscript(item)] = {.time = time, .place = place_of(list), .next = next, .previous = -1};
  if (next >= 0) {
    slots_[subscript(next)].previous = item;
  }
  lists_[list] = item;
  beyond_ += list == kBeyond ? 1 : 0;
}

void Agenda::unlink(const ItemPlace& slot) {
  const std::size_t list = list_at(slot.place);
  if (slot.next >= 0) {
    slots_[subscript(slot.next)].previous = slot.previous;
  }
  if (slot.previous >= 0) {
    slots_[subscript(slot.previous)].next = slot.next;
  } else {
    lists_[list] = slot.next;
  }
  beyond_ -= list == kBeyond ? 1 : 0;
}

/// Moves all that is in the heap, which became too large, beyond the buckets, and deals it out.
void Agenda::spread_heap() {
  lists_.resize(1 + kMostBuckets, -1);
  filled_.resize(kMostBuckets / kWordBits, 0);
  for (const ItemTime& entry : heap_) {
    link(entry.item, entry.time, kBeyond);
  }
  heap_.clear();
  deal();
}

/// Fills the heap, which is empty, from the next bucket.
void Agenda::advance() {
  while (heap_.empty()) {  // Items may have left the next bucket.
    cursor_ = next_bucket();
    if (cursor_ >= buckets_) {
      deal();
      return;
    }
    filled_[cursor_ / kWordBits] &= ~(std::uint64_t{1} << (cursor_ % kWordBits));
    ++cursor_;
    empty_into_heap(cursor_);  // the list of bucket `cursor_ - 1`
  }
}

/// The first bucket from `cursor_` on that may hold an item, or `buckets_` or beyond.
std::size_t Agenda::next_bucket() const {
  if (cursor_ >= buckets_) {
    return buckets_;
  }
  std::size_t word = cursor_ / kWordBits;
  std::uint64_t bits = filled_[word] & (~std::uint64_t{0} << (cursor_ % kWordBits));
  while (bits == 0) {
    if ((++word) * kWordBits >= buckets_) {
      return buckets_;
    }
    bits = filled_[word];
  }
  return (word * kWordBits) + static_cast<std::size_t>(__builtin_ctzll(bits));
}

/// Deals what lies beyond all buckets out over new ones, about as many as there are items.
void Agenda::deal() {
  buckets_ = 0;
  cursor_ = 0;
  if (beyond_ <= kFewItems / 2) {
    empty_into_heap(kBeyond);
    return;
  }
  make_buckets();
  std::int32_t item = lists_[kBeyond];
  lists_[kBeyond] = -1;
  beyond_ = 0;
  while (item >= 0) {
    const ItemPlace slot = slots_[subscript(item)];
    insert(item, slot.time);
    item = slot.next;
  }
}

/// Buckets from the first to the last time beyond the old ones; the first goes into the heap.
void Agenda::make_buckets() {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  for (std::int32_t item = lists_[kBeyond]; item >= 0; item = slots_[subscript(item)].next) {
    least = std::min(least, slots_[subscript(item)].time);
    most = std::max(most, slots_[subscript(item)].time);
  }
  base_ = least;
  buckets_ = kWordBits;
  while (buckets_ < std::min(kWidth * beyond_, kMostBuckets)) {
    buckets_ *= 2;
  }
  shift_ = 0;
  while (static_cast<std::size_t>((most - least) >> shift_) >= buckets_) {
    ++shift_;
  }
  cursor_ = 1;
}

void Agenda::empty_into_heap(std::size_t list) {
  if (lists_.empty()) {
    return;
  }
  std::int32_t item = lists_[list];
  lists_[list] = -1;
  beyond_ = list == kBeyond ? 0 : beyond_;
  while (item >= 0) {
    const ItemPlace& slot = slots_[subscript(item)];
    const std::int32_t next = slot.next;
    push({slot.time, item});
    item = next;
  }
}

void Agenda::push(ItemTime entry) {
  heap_.push_back(entry);
  rise(heap_.size() - 1, entry);
}

/// Takes the entry at `at` out of the heap.
void Agenda::erase(std::size_t at) {
  const ItemTime last = heap_.back();
  heap_.pop_back();
  if (at == heap_.size()) {
    return;
  }
  if (at > 0 && last.time < heap_[(at - 1) / kChildren].time) {
    rise(at, last);
  } else {
    sink(at, last);
  }
}

void Agenda::rise(std::size_t at, ItemTime entry) {
  while (at > 0) {
    const std::size_t parent = (at - 1) / kChildren;
    if (heap_[parent].time <= entry.time) {
      break;
    }
    put(at, heap_[parent]);
    at = parent;
  }
  put(at, entry);
}

void Agenda::sink(std::size_t at, ItemTime entry) {
  for (;;) {
    const std::size_t first = (kChildren * at) + 1;
    if (first >= heap_.size()) {
      break;
    }
    const std::size_t least = least_child(first);
    if (heap_[least].time >= entry.time) {
      break;
    }
    put(at, heap_[least]);
    at = least;
  }
  put(at, entry);
}

/// The earliest of the children that begin at `first`. In pairs, which needs no branch.
std::size_t Agenda::least_child(std::size_t first) const {
  const ItemTime* child = heap_.data() + first;
  const std::size_t count = heap_.size() - first;
  if (count >= kChildren) {
    const std::size_t low = child[1].time < child[0].time ? 1 : 0;
    const std::size_t high = child[3].time < child[2].time ? 3 : 2;
    return first + (child[high].time < child[low].time ? high : low);
  }
  std::size_t least = 0;
  for (std::size_t k = 1; k < count; ++k) {
    least = child[k].time < child[least].time ? k : least;
  }
  return first + least;
}

void Agenda::put(std::size_t at, ItemTime entry) {
  heap_[at] = entry;
  slots_[subscript(entry.item)].place = static_cast<std::int32_t>(at);
}

}  // namespace elk::sim
