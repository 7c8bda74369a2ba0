#include "elk/program/strip.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "elk/base/ids.hpp"

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
  const auto each_moment = [&](const Piece& piece, const auto& act) {
    for (std::int32_t i = 0; i < piece.length; ++i) {
      act(subscript((piece.first + i) % strip.moments));
    }
  };
  for (const Piece& piece : strip.pieces) {
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
    for (const Piece& piece : strip.pieces) {
      weights_.push_back(area(piece));
    }
  }

  /// Places every piece that finds a gap.
  void fill(PackOrder order) {
    for (const std::int32_t piece : in_order(order)) {
      look_around(piece);
      offsets_[subscript(piece)] = gap(piece);
      if (offsets_[subscript(piece)] == kUnplaced) {
        enqueue(piece);
      }
    }
  }

  /// Places the rest, driving others out; false if `work` ran out.
  [[nodiscard]] bool repair(std::int64_t& work) {
    while (!waiting_.empty()) {
      if (work <= 0) {
        return false;
      }
      const std::int32_t piece = -waiting_.top().second;
      waiting_.pop();
      look_around(piece);
      work -= static_cast<std::int64_t>(near_.size()) + 1;
      const std::int64_t free = gap(piece);
      offsets_[subscript(piece)] = free != kUnplaced ? free : force(piece);
    }
    return true;
  }

  [[nodiscard]] std::vector<std::int64_t> take() { return std::move(offsets_); }

 private:
  static std::int64_t area(const Piece& piece) { return piece.size * piece.length; }

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

  void add_near(std::int32_t piece) {
    const std::int64_t low = offsets_[subscript(piece)];
    if (low != kUnplaced) {
      near_.push_back(
          {.low = low, .high = low + strip_.pieces[subscript(piece)].size, .piece = piece});
    }
  }

  /// Fills `near_` with the placed pieces that live at a time with `piece`, by address: those alive
  /// when it begins, and those that begin before it ends.
  void look_around(std::int32_t piece) {
    near_.clear();
    const Piece& mine = strip_.pieces[subscript(piece)];
    const std::size_t first = subscript(mine.first);
    for (std::int32_t i = alive_.begin[first]; i < alive_.begin[first + 1]; ++i) {
      add_near(alive_.pieces[subscript(i)]);
    }
    const std::int32_t last = mine.first + mine.length - 1;
    const std::int32_t wrapped = last - strip_.moments;  // negative unless it passes the seam
    for (std::int32_t i = alive_.starts[first + 1];
         i < alive_.starts[subscript(std::min(last, strip_.moments - 1)) + 1]; ++i) {
      add_near(i);
    }
    for (std::int32_t i = 0; wrapped >= 0 && i < alive_.starts[subscript(wrapped) + 1]; ++i) {
      add_near(i);
    }
    std::sort(near_.begin(), near_.end(), is_lower);
    if (strip_.cyclic) {  // One that begins within my life may wrap round to my first moment.
      near_.erase(std::unique(near_.begin(), near_.end()), near_.end());
    }
  }

  /// The tightest gap, from its low end; for a piece of one moment the highest, from its top.
  [[nodiscard]] std::int64_t gap(std::int32_t piece) const {
    const Piece& mine = strip_.pieces[subscript(piece)];
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
        offsets_[subscript(other.piece)] = kUnplaced;
        enqueue(other.piece);
      }
    }
    constexpr std::int64_t kHeaviest = std::int64_t{1} << 50;  // sums of all stay in range
    std::int64_t& weight = weights_[subscript(piece)];
    weight = std::min(weight + (weight / 10) + 1, kHeaviest);
    return low;
  }

  [[nodiscard]] std::int64_t cheapest(std::int64_t size) {
    candidates_.assign({0, strip_.room - size});
    by_end_.clear();
    for (const Near& other : near_) {
      by_end_.emplace_back(other.high, weights_[subscript(other.piece)]);
      if (other.high + size <= strip_.room) {
        candidates_.push_back(other.high);
      }
      if (other.low >= size) {
        candidates_.push_back(other.low - size);
      }
    }
    std::sort(by_end_.begin(), by_end_.end());
    std::sort(candidates_.begin(), candidates_.end());
    std::size_t begun = 0;
    std::size_t ended = 0;
    std::int64_t weight = 0;  // of pieces that begin before the end of mine and end after its start
    std::tuple<std::int64_t, std::int64_t> best{std::numeric_limits<std::int64_t>::max(), 0};
    for (const std::int64_t low : candidates_) {
      for (; begun < near_.size() && near_[begun].low < low + size; ++begun) {
        weight += weights_[subscript(near_[begun].piece)];
      }
      for (; ended < by_end_.size() && by_end_[ended].first <= low; ++ended) {
        weight -= by_end_[ended].second;
      }
      best = std::min(best, {weight, low});
    }
    return std::get<1>(best);
  }

  const Strip& strip_;
  Alive alive_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::int64_t> weights_;
  std::priority_queue<std::pair<std::int64_t, std::int32_t>> waiting_;  // by area, then position
  std::vector<Near> near_;
  std::vector<std::int64_t> candidates_;
  std::vector<std::pair<std::int64_t, std::int64_t>> by_end_;
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
