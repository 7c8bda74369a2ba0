#include "elk/cost/tile_form.hpp"

#include <utility>

#include "elk/cost/form_features.hpp"

namespace elk::cost {
namespace {

using ir::TileDim;

/// Elements that the start of a run costs.
constexpr std::int64_t kRunStart = 6;

/// x / divisor for integers x: never near an integer from below, so truncation is exact.
struct Quotient {
  double inverse;

  explicit Quotient(std::int64_t divisor) : inverse(1.0 / static_cast<double>(divisor)) {}

  [[nodiscard]] std::int64_t of(std::int64_t amount) const {
    return static_cast<std::int64_t>((static_cast<double>(amount) + 0.5) * inverse);
  }
};

/// A share of the field, and the rows that it begins and ends in.
struct Share {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t first_row;
  std::int64_t last_row;

  /// Not positive for a share of nothing.
  [[nodiscard]] std::int64_t work() const {
    return (kRunStart * (last_row - first_row)) + (end - begin);
  }
};

/// The runs of a share of a field whose rows are `width` long.
Field runs_of(const Share& share, std::int64_t width) {
  const std::int64_t runs = share.last_row - share.first_row + 1;
  const std::int64_t first = std::min(share.end, (share.first_row + 1) * width) - share.begin;
  const std::int64_t last = share.end - std::max(share.begin, share.last_row * width);
  const auto of_length = [&](std::int64_t length) {
    const std::int64_t ends = (first == length ? 1 : 0) + (runs > 1 && last == length ? 1 : 0);
    return static_cast<double>(ends + (runs > 2 && width == length ? runs - 2 : 0));
  };
  return {.runs = static_cast<double>(runs),
          .elements = static_cast<double>(share.end - share.begin),
          .ones = of_length(1),
          .twos = of_length(2)};
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
Field busiest(std::int64_t total, std::int64_t width, std::int32_t workers) {
  const Quotient by_width(width);
  const Quotient by_workers(workers);
  const auto share_of = [&](std::int64_t begin, std::int64_t end) {
    return Share{.begin = begin,
                 .end = end,
                 .first_row = by_width.of(begin),
                 .last_row = by_width.of(end - 1)};
  };
  // One number that orders shares by work, then backwards by worker, chosen without branches: which
  // worker has most follows no pattern.
  std::int64_t most = 0;
  std::int64_t begin = 0;
  for (std::int32_t worker = 1; worker <= workers; ++worker) {
    const std::int64_t end = by_workers.of(total * worker);
    most = std::max(most, (share_of(begin, end).work() * (workers + 1)) + workers - worker);
    begin = end;
  }
  const std::int64_t worker = workers - (most % (workers + 1));
  return runs_of(share_of(by_workers.of(total * (worker - 1)), by_workers.of(total * worker)),
                 width);
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
    field = busiest(window.field, tile[TileDim::OutW], needs.workers);
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
              .most_columns = std::numeric_limits<std::int64_t>::max()};
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

}  // namespace elk::cost
