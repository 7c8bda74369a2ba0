#include "elk/tile/form/form.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "elk/tile/form/features.hpp"

namespace elk::tile {
namespace {

using ir::TileDim;

/// Elements that the start of a run costs.
constexpr double kRunStart = 6.0;

using form::nearest;
using form::Pair;

constexpr Pair kZero = {0.0, 0.0};
constexpr Pair kOne = {1.0, 1.0};
constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Shares of a field, and the rows that they begin and end in. All are integers: doubles need no
/// conversions.
struct Shares {
  Pair begin;
  Pair end;
  Pair first_row;
  Pair last_row;
};

/// A field of `total` elements in rows of `width`, dealt to workers, of whom the first is 1. Of
/// integers x and d, (x + 1/2) / d is never near an integer from below: the integer nearest to 1/2
/// less is x / d, rounded down. What does not depend on x stands apart, to be ready before it is.
class Dealing {
 public:
  Dealing(std::int64_t total, std::int64_t width, double per_worker)
      : total_(static_cast<double>(total)),
        per_worker_(per_worker),
        rows_(1.0 / static_cast<double>(width)) {}

  /// The shares of two workers in sequence, of whom the first begins where `before`, the second of
  /// the two before, ends.
  [[nodiscard]] Shares of(Pair worker, Pair before) const {
    const Pair end = nearest((total_ * (worker * per_worker_)) + ((0.5 * per_worker_) - 0.5));
    const Pair begin = {before[1], end[0]};
    return {.begin = begin,
            .end = end,
            .first_row = nearest((begin * rows_) + ((0.5 * rows_) - 0.5)),
            .last_row = nearest((end * rows_) - ((0.5 * rows_) + 0.5))};
  }

 private:
  double total_;
  double per_worker_;
  double rows_;
};

/// One of two numbers each, without branches: which it is follows no pattern.
template <class Mask>
Pair either(Mask chosen, Pair yes, Pair no) {
  return chosen ? yes : no;
}

/// The runs of one of two shares, of a field whose rows are `width` long.
Field runs_of(const Shares& shares, std::size_t at, double width) {
  const Pair& begin = shares.begin;
  const Pair& end = shares.end;
  const Pair runs = shares.last_row - shares.first_row + 1.0;
  const Pair next = (shares.first_row + 1.0) * width;
  const Pair last = shares.last_row * width;
  // The elements in the first row, in the last if it is another, and how many rows lie between.
  const Pair first = either(next < end, next, end) - begin;
  const Pair ending = either(runs > 1.0, end - either(last > begin, last, begin), kZero);
  const Pair between = either(runs > 2.0, runs - 2.0, kZero);
  const auto of_length = [&](double length) {
    return either(first == length, kOne, kZero) + either(ending == length, kOne, kZero) +
           either(kZero + width == length, between, kZero);
  };
  const Pair ones = of_length(1.0);
  const Pair twos = of_length(2.0);
  return {.runs = runs[at], .elements = end[at] - begin[at], .ones = ones[at], .twos = twos[at]};
}

/// Deals the rows of a product.
void share_rows(std::int32_t workers, Product& product) {
  product.share = form::steps(product.rows, workers);
  product.even = product.share * workers == product.rows;
}

Chunks fewest_chunks(std::int64_t depth, std::int32_t granule, std::int32_t vector) {
  for (std::int32_t chunk_count = 1;; ++chunk_count) {
    const std::int64_t length = form::steps(form::steps(depth, chunk_count), granule) * granule;
    if (form::rest(length, vector) == 0) {
      return {.count = chunk_count, .length = length};
    }
    if (length <= granule) {
      return {.count = 0, .length = 0};
    }
  }
}

/// Reads the product of a tile into `out`: number by number, since a copy of what was written just
/// now would wait for it.
void read_product(const TileShape& shape, const FormulaNeeds& needs, Product& out) {
  const bool window = needs.window;
  out.group = shape[TileDim::Group];
  out.rows = window ? shape[TileDim::Batch] * shape[TileDim::OutH] * shape[TileDim::OutW]
                    : shape[TileDim::M];
  out.columns = shape[window ? TileDim::OutCh : TileDim::N];
  out.depth = shape[window ? TileDim::InCh : TileDim::K];
  share_rows(needs.workers, out);
}

/// A tile all of whose sizes are `size`.
TileShape cube(std::int64_t size) {
  TileShape tile{};
  tile.size.fill(size);
  return tile;
}

/// The share that takes longest; the first at a tie.
Field busiest(std::int64_t total, std::int64_t width, const FormulaNeeds& needs) {
  const Dealing dealing(total, width, needs.per_worker);
  const auto radix = static_cast<double>(needs.radix);
  // One number orders shares by work, then backwards by worker.
  const auto order_of = [radix](const Shares& shares, Pair left) {
    return ((kRunStart * radix) * (shares.last_row - shares.first_row)) +
           ((radix * (shares.end - shares.begin)) + left);
  };
  const auto last = static_cast<double>(needs.workers);
  Pair worker = {1.0, 2.0};
  Pair left = {last - 1.0, needs.workers > 1 ? last - 2.0 : -kInfinite};  // The second may be none.
  Shares chosen = dealing.of(worker, kZero);
  Pair most = order_of(chosen, left);
  Pair dealt = chosen.end;
  for (std::int32_t first = 3; first <= needs.workers; first += 2) {
    worker += 2.0;
    left -= 2.0;
    if (first == needs.workers) {
      left[1] = -kInfinite;
    }
    const Shares shares = dealing.of(worker, dealt);
    const Pair order = order_of(shares, left);
    const auto more = order > most;
    most = either(more, order, most);
    chosen = {.begin = either(more, shares.begin, chosen.begin),
              .end = either(more, shares.end, chosen.end),
              .first_row = either(more, shares.first_row, chosen.first_row),
              .last_row = either(more, shares.last_row, chosen.last_row)};
    dealt = shares.end;
  }
  return runs_of(chosen, most[0] > most[1] ? 0 : 1, static_cast<double>(width));
}

/// The window of a tile.
Window window_of(const TileShape& shape) {
  const std::int64_t rows = shape[TileDim::Batch] * shape[TileDim::OutH];
  return {.rows = rows,
          .field = rows * shape[TileDim::OutW],
          .positions = shape[TileDim::KernelH] * shape[TileDim::KernelW]};
}

}  // namespace

TileCall::TileCall(const TileShape& tile, const FormulaNeeds& needs) : shape(tile) {
  if (needs.product || needs.window) {
    read_product(tile, needs, product);
  }
  const std::int64_t columns =
      needs.product ? std::min(product.rows, product.columns) : product.columns;
  if (needs.granule > 0 && columns <= needs.most_columns) {
    chunks = fewest_chunks(product.depth, needs.granule, needs.vector);
  }
  if (needs.window) {
    window = window_of(tile);
    field = busiest(window.field, tile[TileDim::OutW], needs);
  }
}

void TileCall::exchange(const FormulaNeeds& needs) {
  std::swap(product.rows, product.columns);
  share_rows(needs.workers, product);
}

FormulaNeeds needs_of(std::span<const Formula> forms) {
  FormulaNeeds needs{.product = false,
                     .window = false,
                     .workers = 1,
                     .granule = 0,
                     .vector = 1,
                     .most_columns = std::numeric_limits<std::int64_t>::max(),
                     .per_worker = 1.0,
                     .radix = 1};
  const auto deal = [&](std::int32_t workers, bool window) {
    (window ? needs.window : needs.product) = true;
    needs.workers = workers;
  };
  const auto cut = [&](std::int32_t granule, std::int32_t vector) {
    needs.granule = granule;
    needs.vector = vector;
  };
  for (const Formula& form : forms) {
    if (const auto* blocks = std::get_if<Blocks>(&form)) {
      deal(blocks->workers, blocks->window);
    } else if (const auto* dots = std::get_if<Dots>(&form)) {
      deal(dots->workers, false);
      cut(dots->granule, dots->vector);
    } else if (const auto* outer = std::get_if<OuterProduct>(&form)) {
      deal(outer->workers, false);
    } else if (const auto* window = std::get_if<WindowBlocks>(&form)) {
      deal(window->workers, true);
    } else if (const auto* runs = std::get_if<WindowDots>(&form)) {
      deal(runs->workers, true);
      cut(runs->granule, runs->vector);
    } else if (const auto* lanes = std::get_if<WindowLanes>(&form)) {
      deal(lanes->workers, true);
    }
  }
  needs.per_worker = 1.0 / needs.workers;
  needs.radix = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint32_t>(needs.workers)));
  return needs;
}

std::int32_t leaf_count(const Formula& form) {
  return std::visit([](const auto& kind) { return form::leaves(kind); }, form);
}

std::int32_t feature_count(const Formula& form) {
  // Every formula applies to one of these tiles.
  for (const std::int64_t size : {1, 4}) {
    const TileShape tile = cube(size);
    const Terms found = terms(form, TileCall(tile, needs_of({&form, 1})));
    if (found.leaf >= 0) {
      return found.count;
    }
  }
  return 0;
}

std::int32_t smooth_count(const Formula& form) {
  const TileShape tile = cube(1);
  return smooth_terms(form, TileCall(tile, needs_of({&form, 1}))).count;
}

Terms terms(const Formula& form, const TileCall& call) {
  return std::visit([&](const auto& kind) { return form::features(kind, call); }, form);
}

Terms smooth_terms(const Formula& form, const TileCall& call) {
  return std::visit([&](const auto& kind) { return form::smooth(kind, call); }, form);
}

bool takes_all(const Formula& form) {
  if (const auto* grid = std::get_if<Grid>(&form)) {
    return grid->outer_at_most == 0;
  }
  if (const auto* blocks = std::get_if<Blocks>(&form)) {
    return !blocks->window;
  }
  if (const auto* lanes = std::get_if<WindowLanes>(&form)) {
    return lanes->most == 0;
  }
  return !std::holds_alternative<OuterProduct>(form);
}

Extents extents(const Formula& form, const TileCall& call) {
  return std::visit([&](const auto& kind) { return form::sizes(kind, call); }, form);
}

bool fits(const Formula& form, const TileCall& call, const Extents& limit) {
  return std::visit([&](const auto& kind) { return form::within(kind, call, limit); }, form);
}

}  // namespace elk::tile
