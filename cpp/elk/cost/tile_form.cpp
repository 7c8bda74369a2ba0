#include "elk/cost/tile_form.hpp"

#include <bit>
#include <cmath>
#include <utility>

#include "elk/cost/form_features.hpp"

namespace elk::cost {
namespace {

using ir::TileDim;

/// Elements that the start of a run costs.
constexpr double kRunStart = 6.0;

/// Two numbers that the processor works on together.
using Pair [[gnu::vector_size(16)]] = double;

/// The integers nearest to numbers below 2^51 either way: beyond 2^52 doubles are integers, and a
/// sum is rounded to one.
[[nodiscard]] Pair nearest(Pair values) {
  constexpr double kIntegers = 6755399441055744.0;  // 1.5 x 2^52
  return (values + kIntegers) - kIntegers;
}

/// Shares of a field, and the rows that they begin and end in. All are integers: doubles need no
/// conversions.
struct Shares {
  Pair begin;
  Pair end;
  Pair first_row;
  Pair last_row;
};

/// A field of `total` elements in rows of `width`, dealt to workers, of whom the first is 1.
class Dealing {
 public:
  Dealing(std::int64_t total, std::int64_t width, double per_worker)
      : total_(static_cast<double>(total)),
        rows_(1.0 / static_cast<double>(width)),
        per_worker_(per_worker) {}

  /// The shares of two workers. Of integers x and d, (x + 1/2) / d is never near an integer from
  /// below: the integer nearest to 1/2 less is x / d, rounded down.
  [[nodiscard]] Shares of(Pair worker) const {
    const Pair begin = nearest((((total_ * (worker - 1.0)) + 0.5) * per_worker_) - 0.5);
    const Pair end = nearest((((total_ * worker) + 0.5) * per_worker_) - 0.5);
    return {.begin = begin,
            .end = end,
            .first_row = nearest(((begin + 0.5) * rows_) - 0.5),
            .last_row = nearest(((end - 0.5) * rows_) - 0.5)};
  }

 private:
  double total_;
  double rows_;
  double per_worker_;
};

/// The runs of a share, the first of two, of a field whose rows are `width` long.
Field runs_of(const Shares& share, double width) {
  const double runs = share.last_row[0] - share.first_row[0] + 1.0;
  const double first = std::min(share.end[0], (share.first_row[0] + 1.0) * width) - share.begin[0];
  const double last = share.end[0] - std::max(share.begin[0], share.last_row[0] * width);
  const double between = std::max(runs - 2.0, 0.0);
  const auto of_length = [&](double length) {
    const bool ends = last == length && runs > 1.0;
    return form::real(first == length) + form::real(ends) + (width == length ? between : 0.0);
  };
  return {.runs = runs,
          .elements = share.end[0] - share.begin[0],
          .ones = of_length(1.0),
          .twos = of_length(2.0)};
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

Product product_of(const TileShape& shape, const Needs& needs) {
  const bool window = needs.window;
  Product out{.group = shape[TileDim::Group],
              .rows = window ? shape[TileDim::Batch] * shape[TileDim::OutH] * shape[TileDim::OutW]
                             : shape[TileDim::M],
              .columns = shape[window ? TileDim::OutCh : TileDim::N],
              .depth = shape[window ? TileDim::InCh : TileDim::K],
              .share = 0,
              .even = false};
  share_rows(needs.workers, out);
  return out;
}

/// A tile all of whose sizes are `size`.
TileShape cube(std::int64_t size) {
  TileShape tile{};
  tile.size.fill(size);
  return tile;
}

/// The share that takes longest; the first at a tie.
Field busiest(std::int64_t total, std::int64_t width, const Needs& needs) {
  const Dealing dealing(total, width, needs.per_worker);
  const auto radix = static_cast<double>(needs.radix);
  // One number orders shares by work, then backwards by worker, chosen without branches: which
  // worker has most follows no pattern. A worker beyond the last counts for less than nothing.
  Pair most = {0.0, 0.0};
  Pair left = {needs.workers - 1.0, needs.workers - 2.0};
  for (std::int32_t worker = 1; worker <= needs.workers; worker += 2) {
    const Shares shares = dealing.of(needs.workers - left);
    const Pair work =
        (kRunStart * (shares.last_row - shares.first_row)) + (shares.end - shares.begin);
    const Pair order = left < 0.0 ? left : (work * radix) + left;
    most = order > most ? order : most;
    left -= 2.0;
  }
  const auto chosen = static_cast<std::int64_t>(std::max(most[0], most[1]));
  const auto worker = static_cast<double>(needs.workers - (chosen & (needs.radix - 1)));
  return runs_of(dealing.of(Pair{worker, worker}), static_cast<double>(width));
}

/// The window of a tile.
Window window_of(const TileShape& shape) {
  const std::int64_t rows = shape[TileDim::Batch] * shape[TileDim::OutH];
  return {.rows = rows,
          .field = rows * shape[TileDim::OutW],
          .positions = shape[TileDim::KernelH] * shape[TileDim::KernelW]};
}

}  // namespace

TileCall::TileCall(const TileShape& tile, const Needs& needs) : shape(tile) {
  if (needs.product || needs.window) {
    product = product_of(tile, needs);
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

void TileCall::exchange(const Needs& needs) {
  std::swap(product.rows, product.columns);
  share_rows(needs.workers, product);
}

Needs needs_of(std::span<const Form> forms) {
  Needs needs{.product = false,
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
  for (const Form& form : forms) {
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

std::int32_t leaf_count(const Form& form) {
  return std::visit([](const auto& kind) { return form::leaves(kind); }, form);
}

std::int32_t feature_count(const Form& form) {
  // Every form applies to one of these tiles.
  for (const std::int64_t size : {1, 4}) {
    const TileShape tile = cube(size);
    const Terms found = terms(form, TileCall(tile, needs_of({&form, 1})));
    if (found.leaf >= 0) {
      return found.count;
    }
  }
  return 0;
}

std::int32_t smooth_count(const Form& form) {
  const TileShape tile = cube(1);
  return smooth_terms(form, TileCall(tile, needs_of({&form, 1}))).count;
}

Terms terms(const Form& form, const TileCall& call) {
  return std::visit([&](const auto& kind) { return form::features(kind, call); }, form);
}

Terms smooth_terms(const Form& form, const TileCall& call) {
  return std::visit([&](const auto& kind) { return form::smooth(kind, call); }, form);
}

Extents extents(const Form& form, const TileCall& call) {
  return std::visit([&](const auto& kind) { return form::sizes(kind, call); }, form);
}

bool fits(const Form& form, const TileCall& call, const Extents& limit) {
  return std::visit([&](const auto& kind) { return form::within(kind, call, limit); }, form);
}

}  // namespace elk::cost
