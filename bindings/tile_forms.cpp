#include "tile_forms.hpp"

#include <cstdint>
#include <variant>

#include <pybind11/stl.h>

namespace elk::bindings {

using namespace pybind11::literals;
using ir::TileDim;

namespace {

constexpr std::array<const char*, 6> kSplitNames = {"whole",     "modulo",    "steps",
                                                    "remainder", "alignment", "multiple"};
constexpr std::array<const char*, 3> kWindowNames = {"vertical", "sliding", "pooling"};

TileDim dim(const py::handle& word) { return named<TileDim>(kDimNames, word.cast<std::string>()); }

cost::Dims dims(const py::handle& words) {
  cost::Dims out{};
  std::size_t at = 0;
  for (const py::handle item : words) {
    if (at == out.size()) {
      throw InvalidInput(text("an extent is a product of at most ", out.size(), " axes"));
    }
    out[at++] = dim(item);
  }
  return out;
}

py::list words(const cost::Dims& dims) {
  py::list out;
  for (const TileDim item : dims) {
    if (item != TileDim::None) {
      out.append(word(kDimNames, item));
    }
  }
  return out;
}

}  // namespace

cost::Form to_form(const py::dict& form) {
  const auto kind = form["kind"].cast<std::string>();
  const auto number = [&](const char* key) { return form[key].cast<std::int32_t>(); };
  const auto flag = [&](const char* key) { return form[key].cast<bool>(); };
  if (kind == "grid") {
    return cost::Grid{.outer = dims(form["outer"]),
                      .inner = dims(form["inner"]),
                      .outer_step = number("outer_step"),
                      .inner_step = number("inner_step"),
                      .split = named<cost::Split>(kSplitNames, form["split"].cast<std::string>()),
                      .modulus = number("modulus"),
                      .single = flag("single"),
                      .outer_at_most = number("outer_at_most"),
                      .bounds = form["bounds"].cast<std::array<std::int32_t, 3>>(),
                      .total_bound = number("total_bound"),
                      .scan = flag("scan"),
                      .variant = flag("variant")};
  }
  if (kind == "blocks") {
    return cost::Blocks{.in_group = number("in_group"),
                        .out_group = number("out_group"),
                        .workers = number("workers"),
                        .cast = flag("cast"),
                        .window = flag("window"),
                        .shared = flag("shared")};
  }
  if (kind == "window_blocks") {
    return cost::WindowBlocks{.in_group = number("in_group"),
                              .out_group = number("out_group"),
                              .rows_merged = number("rows_merged"),
                              .workers = number("workers"),
                              .cast = flag("cast")};
  }
  if (kind == "window_dots") {
    return cost::WindowDots{.granule = number("granule"),
                            .vector = number("vector"),
                            .out_group = number("out_group"),
                            .workers = number("workers"),
                            .aligned = flag("aligned"),
                            .cast = flag("cast")};
  }
  if (kind == "window_lanes") {
    return cost::WindowLanes{
        .kind = named<cost::WindowKind>(kWindowNames, form["routine"].cast<std::string>()),
        .lanes = number("lanes"),
        .most = number("most"),
        .workers = number("workers")};
  }
  if (kind == "outer_product") {
    return cost::OuterProduct{.out_group = number("out_group"), .workers = number("workers")};
  }
  if (kind == "dots") {
    return cost::Dots{.granule = number("granule"),
                      .vector = number("vector"),
                      .out_group = number("out_group"),
                      .workers = number("workers"),
                      .aligned = flag("aligned"),
                      .cast = flag("cast")};
  }
  if (kind == "row_passes") {
    return cost::RowPasses{.workers = number("workers"),
                           .vector = number("vector"),
                           .modulus = number("modulus"),
                           .cut = number("cut")};
  }
  if (kind == "transposes") {
    return cost::Transposes{.workers = number("workers"), .block = number("block")};
  }
  if (kind == "granules") {
    cost::Granules granules{};
    granules.granule.fill(1);
    for (const auto& [name, size] : form["granule"].cast<py::dict>()) {
      granules.granule[static_cast<std::size_t>(dim(name))] = size.cast<std::int32_t>();
    }
    return granules;
  }
  throw InvalidInput(text("'", kind, "' is no form of a tile kernel"));
}

namespace {

py::dict dict_of(const cost::Grid& grid) {
  return py::dict("kind"_a = "grid", "outer"_a = words(grid.outer), "inner"_a = words(grid.inner),
                  "outer_step"_a = grid.outer_step, "inner_step"_a = grid.inner_step,
                  "split"_a = word(kSplitNames, grid.split), "modulus"_a = grid.modulus,
                  "single"_a = grid.single, "outer_at_most"_a = grid.outer_at_most,
                  "bounds"_a = grid.bounds, "total_bound"_a = grid.total_bound,
                  "scan"_a = grid.scan, "variant"_a = grid.variant);
}

py::dict dict_of(const cost::Blocks& blocks) {
  return py::dict("kind"_a = "blocks", "in_group"_a = blocks.in_group,
                  "out_group"_a = blocks.out_group, "workers"_a = blocks.workers,
                  "cast"_a = blocks.cast, "window"_a = blocks.window, "shared"_a = blocks.shared);
}

py::dict dict_of(const cost::OuterProduct& outer) {
  return py::dict("kind"_a = "outer_product", "out_group"_a = outer.out_group,
                  "workers"_a = outer.workers);
}

py::dict dict_of(const cost::WindowBlocks& blocks) {
  return py::dict("kind"_a = "window_blocks", "in_group"_a = blocks.in_group,
                  "out_group"_a = blocks.out_group, "rows_merged"_a = blocks.rows_merged,
                  "workers"_a = blocks.workers, "cast"_a = blocks.cast);
}

py::dict dict_of(const cost::WindowDots& dots) {
  return py::dict("kind"_a = "window_dots", "granule"_a = dots.granule, "vector"_a = dots.vector,
                  "out_group"_a = dots.out_group, "workers"_a = dots.workers,
                  "aligned"_a = dots.aligned, "cast"_a = dots.cast);
}

py::dict dict_of(const cost::WindowLanes& lanes) {
  return py::dict("kind"_a = "window_lanes", "routine"_a = word(kWindowNames, lanes.kind),
                  "lanes"_a = lanes.lanes, "most"_a = lanes.most, "workers"_a = lanes.workers);
}

py::dict dict_of(const cost::Dots& dots) {
  return py::dict("kind"_a = "dots", "granule"_a = dots.granule, "vector"_a = dots.vector,
                  "out_group"_a = dots.out_group, "workers"_a = dots.workers,
                  "aligned"_a = dots.aligned, "cast"_a = dots.cast);
}

py::dict dict_of(const cost::RowPasses& passes) {
  return py::dict("kind"_a = "row_passes", "workers"_a = passes.workers, "vector"_a = passes.vector,
                  "modulus"_a = passes.modulus, "cut"_a = passes.cut);
}

py::dict dict_of(const cost::Transposes& transposes) {
  return py::dict("kind"_a = "transposes", "workers"_a = transposes.workers,
                  "block"_a = transposes.block);
}

py::dict dict_of(const cost::Granules& granules) {
  py::dict sizes;
  for (std::size_t i = 0; i < cost::kTileDims; ++i) {
    if (granules.granule[i] != 1) {
      sizes[kDimNames[i]] = granules.granule[i];
    }
  }
  return py::dict("kind"_a = "granules", "granule"_a = sizes);
}

}  // namespace

py::dict from_form(const cost::Form& form) {
  return std::visit([](const auto& kind) { return dict_of(kind); }, form);
}

}  // namespace elk::bindings
