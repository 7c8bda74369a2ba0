#include "elk/program/place/strip.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/program/place/ranking.hpp"

namespace elk::program {
namespace {

/// For each moment the pieces that live in it, and where the pieces that begin in it start.
struct Alive {
  std::vector<std::int32_t> begin;  // of each moment's list, and the end of the last
  std::vector<std::int32_t> pieces;
  std::vector<std::int32_t> starts;  // first piece that begins in the moment or later
};

Alive alive(const Strip& strip) {
  const std::size_t moments = subscript(strip.moments);
  Alive out{.begin = std::vector<std::int32_t>(moments + 1, 0),
            .pieces = {},
            .starts = std::vector<std::int32_t>(moments + 1, 0)};
  const auto each_moment = [&](const Rectangle& piece, const auto& act) {
    for (std::int32_t i = 0; i < piece.length; ++i) {
      act(subscript((piece.first + i) % strip.moments));
    }
  };
  for (const Rectangle& piece : strip.pieces) {
    each_moment(piece, [&](std::size_t moment) { ++out.begin[moment + 1]; });
    ++out.starts[subscript(piece.first) + 1];
  }
  std::partial_sum(out.begin.begin(), out.begin.end(), out.begin.begin());
  std::partial_sum(out.starts.begin(), out.starts.end(), out.starts.begin());
  out.pieces.resize(subscript(out.begin.back()));
  std::vector<std::int32_t> next(out.begin.begin(), out.begin.end() - 1);
  for (std::size_t i = 0; i < strip.pieces.size(); ++i) {
    each_moment(strip.pieces[i], [&](std::size_t moment) {
      out.pieces[subscript(next[moment]++)] = static_cast<std::int32_t>(i);
    });
  }
  return out;
}

/// A placed piece that lives at a time with the one to be placed.
struct Near {
  std::int64_t low;
  std::int64_t high;
  std::int32_t piece;

  friend bool operator==(const Near&, const Near&) = default;
};

bool is_lower(const Near& a, const Near& b) {
  return a.low != b.low ? a.low < b.low : a.piece < b.piece;
}

class Packer {
 public:
  Packer(const Strip& strip, std::vector<std::int64_t> offsets)
      : strip_(strip), alive_(alive(strip)), offsets_(std::move(offsets)) {
    weights_.reserve(strip.pieces.size());
    for (const Rectangle& piece : strip.pieces) {
      weights_.push_back(area(piece));
    }
  }

  /// Places every piece that finds a gap.
  void fill(PackOrder order) {
    for (const std::int32_t piece : in_order(order)) {
      sort_around(piece);
      offsets_[subscript(piece)] = gap(piece);
      if (offsets_[subscript(piece)] == kUnplaced) {
        enqueue(piece);
      }
    }
  }

  /// Places the rest, driving others out; false if `work` ran out.
  [[nodiscard]] bool repair(std::int64_t& work) {
    if (waiting_.empty()) {
      return true;
    }
    rank();
    while (!waiting_.empty()) {
      if (work <= 0) {
        return false;
      }
      const std::int32_t piece = -waiting_.top().second;
      waiting_.pop();
      look_around(piece);
      work -= static_cast<std::int64_t>(near_.size()) + 1;
      const std::int64_t free = gap(piece);
      put(piece, free != kUnplaced ? free : force(piece));
    }
    return true;
  }

  [[nodiscard]] std::vector<std::int64_t> take() { return std::move(offsets_); }

 private:
  static std::int64_t area(const Rectangle& piece) { return piece.size * piece.length; }

  void enqueue(std::int32_t piece) {
    waiting_.emplace(area(strip_.pieces[subscript(piece)]), -piece);
  }

  [[nodiscard]] std::vector<std::int32_t> in_order(PackOrder order) const {
    std::vector<std::int32_t> out;
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      if (offsets_[i] == kUnplaced) {
        out.push_back(static_cast<std::int32_t>(i));
      }
    }
    if (order == PackOrder::LargestFirst) {
      std::stable_sort(out.begin(), out.end(), [&](std::int32_t a, std::int32_t b) {
        return strip_.pieces[subscript(a)].size > strip_.pieces[subscript(b)].size;
      });
    }
    return out;
  }

  [[nodiscard]] std::int64_t high(std::int32_t piece) const {
    return offsets_[subscript(piece)] + strip_.pieces[subscript(piece)].size;
  }

  /// From here on `put` and `drive_out` keep the order of what is placed.
  void rank() {
    std::vector<std::int64_t> ends(offsets_);
    for (std::size_t piece = 0; piece < ends.size(); ++piece) {
      ends[piece] += ends[piece] == kUnplaced ? 0 : strip_.pieces[piece].size;
    }
    by_low_.emplace(offsets_);
    by_end_.emplace(ends);
  }

  void put(std::int32_t piece, std::int64_t low) {
    offsets_[subscript(piece)] = low;
    by_low_->insert(piece, low);
    by_end_->insert(piece, high(piece));
  }

  void drive_out(std::int32_t piece) {
    offsets_[subscript(piece)] = kUnplaced;
    by_low_->erase(piece);
    by_end_->erase(piece);
    enqueue(piece);
  }

  /// Calls `visit` for the pieces that live at a time with `piece`: those alive when it begins, and
  /// those that begin before it ends. One that begins within its life and wraps round to its first
  /// moment is met twice.
  template <class Visit>
  void each_around(std::int32_t piece, const Visit& visit) const {
    const Rectangle& mine = strip_.pieces[subscript(piece)];
    const std::size_t first = subscript(mine.first);
    for (std::int32_t i = alive_.begin[first]; i < alive_.begin[first + 1]; ++i) {
      visit(alive_.pieces[subscript(i)]);
    }
    const std::int32_t last = mine.first + mine.length - 1;
    const std::int32_t wrapped = last - strip_.moments;  // negative unless it passes the seam
    for (std::int32_t i = alive_.starts[first + 1];
         i < alive_.starts[subscript(std::min(last, strip_.moments - 1)) + 1]; ++i) {
      visit(i);
    }
    for (std::int32_t i = 0; wrapped >= 0 && i < alive_.starts[subscript(wrapped) + 1]; ++i) {
      visit(i);
    }
  }

  /// Fills `near_` with the placed pieces that live at a time with `piece`, by address.
  void sort_around(std::int32_t piece) {
    near_.clear();
    each_around(piece, [&](std::int32_t other) {
      const std::int64_t low = offsets_[subscript(other)];
      if (low != kUnplaced) {
        near_.push_back({.low = low, .high = high(other), .piece = other});
      }
    });
    std::sort(near_.begin(), near_.end(), is_lower);
    if (strip_.cyclic) {
      near_.erase(std::unique(near_.begin(), near_.end()), near_.end());
    }
  }

  /// Looks around a piece where pieces are ranked.
  void look_around(std::int32_t piece) {
    near_.clear();
    each_around(piece, [&](std::int32_t other) { by_low_->mark(other); });
    by_low_->take_marked([&](std::int64_t low, std::int32_t other) {
      near_.push_back({.low = low, .high = high(other), .piece = other});
    });
  }

  /// The tightest gap, from its low end; for a piece of one moment the highest, from its top.
  [[nodiscard]] std::int64_t gap(std::int32_t piece) const {
    const Rectangle& mine = strip_.pieces[subscript(piece)];
    std::int64_t best = kUnplaced;
    std::int64_t width = strip_.room + 1;
    std::int64_t low = 0;
    const auto consider = [&](std::int64_t high) {
      if (high - low < mine.size) {
        return;
      }
      if (mine.length == 1) {
        best = high - mine.size;
      } else if (high - low < width) {
        best = low;
        width = high - low;
      }
    };
    for (const Near& other : near_) {
      consider(other.low);
      low = std::max(low, other.high);
    }
    consider(strip_.room);
    return best;
  }

  /// Puts `piece` where the pieces it overlaps weigh least in all, and drives those out.
  std::int64_t force(std::int32_t piece) {
    const std::int64_t size = strip_.pieces[subscript(piece)].size;
    const std::int64_t low = cheapest(size);
    for (const Near& other : near_) {
      if (other.low < low + size && low < other.high) {
        drive_out(other.piece);
      }
    }
    constexpr std::int64_t kHeaviest = std::int64_t{1} << 50;  // sums of all stay in range
    std::int64_t& weight = weights_[subscript(piece)];
    weight = std::min(weight + (weight / 10) + 1, kHeaviest);
    return low;
  }

  /// The lowest address at which the pieces in the way of one of `size` weigh least. Going up,
  /// their weight falls only where one of them ends: there, or at the bottom, is the best place.
  [[nodiscard]] std::int64_t cheapest(std::int64_t size) {
    std::size_t begun = 0;
    std::int64_t weight = 0;  // of pieces that begin before the end of mine and end after its start
    const auto begin_until = [&](std::int64_t end) {
      for (; begun < near_.size() && near_[begun].low < end; ++begun) {
        weight += weights_[subscript(near_[begun].piece)];
      }
    };
    begin_until(size);
    std::int64_t best = 0;
    std::int64_t least = weight;
    for (const Near& other : near_) {
      by_end_->mark(other.piece);
    }
    by_end_->take_marked([&](std::int64_t end, std::int32_t piece) {
      if (end + size > strip_.room) {
        return;
      }
      begin_until(end + size);
      weight -= weights_[subscript(piece)];
      if (weight < least) {
        least = weight;
        best = end;
      }
    });
    return best;
  }

  const Strip& strip_;
  Alive alive_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::int64_t> weights_;
  std::priority_queue<std::pair<std::int64_t, std::int32_t>> waiting_;  // by area, then position
  std::vector<Near> near_;
  std::optional<Ranking> by_low_;  // while pieces are driven out and placed again
  std::optional<Ranking> by_end_;
};

}  // namespace

std::optional<std::vector<std::int64_t>> pack(const Strip& strip, std::vector<std::int64_t> offsets,
                                              PackOrder order, std::int64_t& work) {
  Packer packer(strip, std::move(offsets));
  packer.fill(order);
  if (!packer.repair(work)) {
    return std::nullopt;
  }
  return packer.take();
}

}  // namespace elk::program
