#include "elk/cost/tile_form.hpp"

#include <utility>

#include "elk/cost/form_features.hpp"

namespace elk::cost {
namespace form {

void append_cast(std::int64_t elements, std::int32_t workers, Terms& out) {
  const std::int64_t share = steps(elements, workers);
  const auto at = static_cast<std::size_t>(out.count);
  out.value[at] = real(share);
  for (std::size_t place = 1; place < 4; ++place) {
    out.value[at + place] = real(static_cast<std::size_t>(share % 4) == place);
  }
  out.count += 4;
}

Chunks chunks(std::int64_t depth, std::int32_t granule, std::int32_t vector) {
  for (std::int32_t count = 1;; ++count) {
    const std::int64_t length = steps(steps(depth, count), granule) * granule;
    if (rest(length, vector) == 0) {
      return {.count = count, .length = length};
    }
    if (length <= granule) {
      return {.count = 0, .length = 0};
    }
  }
}

}  // namespace form

namespace {

using ir::TileDim;

/// The runs in [begin, end) of a field whose rows are `width` long.
Field runs_between(std::int64_t begin, std::int64_t end, std::int64_t width) {
  // The quotients are exact: (x + 1/2) / width is never near an integer.
  const double per_row = 1.0 / static_cast<double>(width);
  const auto row_of = [&](std::int64_t element) {
    return static_cast<std::int64_t>((static_cast<double>(element) + 0.5) * per_row);
  };
  const std::int64_t first_row = row_of(begin);
  const std::int64_t last_row = row_of(end - 1);
  const std::int64_t first = std::min(end, (first_row + 1) * width) - begin;
  const std::int64_t last = end - std::max(begin, last_row * width);
  const std::int64_t runs = last_row - first_row + 1;
  const auto of_length = [&](std::int64_t length) {
    const std::int64_t ends = (first == length ? 1 : 0) + (runs > 1 && last == length ? 1 : 0);
    return static_cast<double>(ends + (runs > 2 && width == length ? runs - 2 : 0));
  };
  return {.runs = static_cast<double>(runs),
          .elements = static_cast<double>(end - begin),
          .ones = of_length(1),
          .twos = of_length(2)};
}

/// Elements that the start of a run costs, and the shortest run that costs no less than its length.
constexpr double kRunStart = 6.0;

/// A measure of the work in a field, to tell which worker has most of it.
double work(const Field& field) {
  return (kRunStart * field.runs) + field.elements + (2.0 * field.ones) + field.twos;
}

/// A tile all of whose sizes are `size`.
TileShape cube(std::int64_t size) {
  TileShape tile{};
  tile.size.fill(size);
  return tile;
}

Field busiest(const TileShape& shape, std::int32_t workers) {
  const std::int64_t rows = shape[TileDim::Batch] * shape[TileDim::OutH];
  const std::int64_t width = shape[TileDim::OutW];
  const std::int64_t total = rows * width;
  Field most{.runs = 0.0, .elements = 0.0, .ones = 0.0, .twos = 0.0};
  std::int64_t begin = 0;
  for (std::int32_t worker = 1; worker <= workers; ++worker) {
    const std::int64_t end = total * worker / workers;
    if (end > begin) {
      const Field field = runs_between(begin, end, width);
      if (work(field) > work(most)) {
        most = field;
      }
    }
    begin = end;
  }
  return most;
}

}  // namespace

TileCall::TileCall(const TileShape& tile, std::int32_t workers)
    : shape(tile), field(workers > 0 ? busiest(tile, workers) : Field{}) {}

std::int32_t field_workers(const Form& form) {
  if (const auto* blocks = std::get_if<WindowBlocks>(&form)) {
    return blocks->workers;
  }
  if (const auto* lanes = std::get_if<WindowLanes>(&form)) {
    return lanes->workers;
  }
  return 0;
}

std::int32_t leaf_count(const Form& form) {
  return std::visit([](const auto& kind) { return form::leaves(kind); }, form);
}

std::int32_t feature_count(const Form& form) {
  // Every form applies to one of these tiles.
  for (const std::int64_t size : {1, 4}) {
    const TileShape tile = cube(size);
    const Terms found = terms(form, TileCall(tile, field_workers(form)));
    if (found.leaf >= 0) {
      return found.count;
    }
  }
  return 0;
}

std::int32_t smooth_count(const Form& form) {
  const TileShape tile = cube(1);
  return smooth_terms(form, TileCall(tile, 0)).count;
}

Terms terms(const Form& form, const TileCall& call) {
  return std::visit([&](const auto& kind) { return form::features(kind, call); }, form);
}

Terms smooth_terms(const Form& form, const TileCall& call) {
  return std::visit([&](const auto& kind) { return form::smooth(kind, call); }, form);
}

Extents extents(const Form& form, const TileShape& shape) {
  return std::visit([&](const auto& kind) { return form::sizes(kind, shape); }, form);
}

bool is_product(const Form& form) {
  const auto* blocks = std::get_if<Blocks>(&form);
  return (blocks != nullptr && !blocks->window) || std::holds_alternative<Dots>(form);
}

TileShape transposed(const TileShape& shape) {
  TileShape out = shape;
  std::swap(out.size[static_cast<std::size_t>(TileDim::M)],
            out.size[static_cast<std::size_t>(TileDim::N)]);
  return out;
}

}  // namespace elk::cost
