#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "elk/base/units.hpp"

namespace elk::sim {

/// The times at which items are due. Items due at the same time come in any order: whoever asks
/// takes all of them.
///
/// A ladder queue in two rungs (Tang, Goh and Thng, ACM TOMACS 15(3), 2005): items due soon lie in
/// a heap of four children a node, later ones unsorted in buckets of equal width, those beyond the
/// buckets in one list. When the heap is empty the next bucket goes into it; when all buckets are
/// empty the list is dealt out over new ones, which are made as wide as it needs. So setting and
/// taking an item costs the same however many there are. Few items just lie in the heap.
class Agenda {
 public:
  /// Makes `item` due at `time`, whether it was due before or not.
  void set(std::int32_t item, Picoseconds time);

  /// Takes `item` off, if it is there.
  void remove(std::int32_t item);

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] Picoseconds first_time() const { return {heap_.front().time}; }

  /// Takes all items off that are due first, at one time, and adds them to `items`.
  void take_first(std::vector<std::int32_t>& items);

 private:
  struct ItemTime {
    std::int64_t time;
    std::int32_t item;
  };

  /// Where an item is. In a list it knows its neighbours; -1: none.
  struct ItemPlace {
    std::int64_t time;
    std::int32_t place;  // in the heap; or a list, from `kFirstList` downwards; or `kAbsent`
    std::int32_t next;
    std::int32_t previous;
  };

  [[nodiscard]] bool soon(std::int64_t time) const;
  void insert(std::int32_t item, std::int64_t time);
  void link(std::int32_t item, std::int64_t time, std::size_t list);
  void unlink(const ItemPlace& slot);
  void push(ItemTime entry);
  void erase(std::size_t at);
  void rise(std::size_t at, ItemTime entry);
  void sink(std::size_t at, ItemTime entry);
  [[nodiscard]] std::size_t least_child(std::size_t first) const;
  void put(std::size_t at, ItemTime entry);

  void spread_heap();
  void advance();
  void deal();
  void make_buckets();
  void empty_into_heap(std::size_t list);
  [[nodiscard]] std::size_t next_bucket() const;

  std::vector<ItemTime> heap_;         // of all that is due soon; empty only if nothing is due
  std::vector<ItemPlace> slots_;       // per item
  std::vector<std::int32_t> lists_;    // the first item of each: that beyond all buckets, buckets
  std::vector<std::uint64_t> filled_;  // a bit for each bucket that may hold an item
  std::int64_t base_ = 0;              // the first bucket begins there
  std::int32_t shift_ = 0;             // buckets are 2^`shift_` ps wide
  std::size_t buckets_ = 0;            // 0: all that is due is in the heap
  std::size_t cursor_ = 0;             // buckets before it have gone into the heap
  std::size_t beyond_ = 0;             // items beyond all buckets
};

}  // namespace elk::sim
