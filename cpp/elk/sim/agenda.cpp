#include "elk/sim/agenda.hpp"

#include <algorithm>

namespace elk::sim {
namespace {

constexpr std::size_t kChildren = 4;

}  // namespace

void Agenda::set(std::int32_t item, Picoseconds time) {
  const auto index = static_cast<std::size_t>(item);
  if (index >= place_.size()) {
    place_.resize(std::max(index + 1, 2 * place_.size()), -1);
  }
  const Entry entry{time.value, item};
  if (place_[index] < 0) {
    entries_.push_back(entry);
    rise(entries_.size() - 1, entry);
    return;
  }
  const auto at = static_cast<std::size_t>(place_[index]);
  if (entry.time < entries_[at].time) {
    rise(at, entry);
  } else {
    sink(at, entry);
  }
}

void Agenda::remove(std::int32_t item) {
  const auto index = static_cast<std::size_t>(item);
  if (index >= place_.size() || place_[index] < 0) {
    return;
  }
  const auto at = static_cast<std::size_t>(place_[index]);
  place_[index] = -1;
  const Entry last = entries_.back();
  entries_.pop_back();
  if (at == entries_.size()) {
    return;
  }
  if (at > 0 && last.time < entries_[(at - 1) / kChildren].time) {
    rise(at, last);
  } else {
    sink(at, last);
  }
}

void Agenda::rise(std::size_t at, Entry entry) {
  while (at > 0) {
    const std::size_t parent = (at - 1) / kChildren;
    if (entries_[parent].time <= entry.time) {
      break;
    }
    put(at, entries_[parent]);
    at = parent;
  }
  put(at, entry);
}

void Agenda::sink(std::size_t at, Entry entry) {
  for (;;) {
    const std::size_t first = (kChildren * at) + 1;
    if (first >= entries_.size()) {
      break;
    }
    const std::size_t least = least_child(first);
    if (entries_[least].time >= entry.time) {
      break;
    }
    put(at, entries_[least]);
    at = least;
  }
  put(at, entry);
}

/// The earliest of the children that begin at `first`. In pairs, which needs no branch.
std::size_t Agenda::least_child(std::size_t first) const {
  const auto earlier = [this](std::size_t a, std::size_t b) {
    return entries_[b].time < entries_[a].time ? b : a;
  };
  const std::size_t end = entries_.size();
  if (first + kChildren <= end) {
    return earlier(earlier(first, first + 1), earlier(first + 2, first + 3));
  }
  std::size_t least = first;
  for (std::size_t child = first + 1; child < end; ++child) {
    least = earlier(least, child);
  }
  return least;
}

void Agenda::put(std::size_t at, Entry entry) {
  entries_[at] = entry;
  place_[static_cast<std::size_t>(entry.item)] = static_cast<std::int32_t>(at);
}

}  // namespace elk::sim
