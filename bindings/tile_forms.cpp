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

tile::Dims dims(const py::handle& words) {
  tile::Dims out{};
  std::size_t at = 0;
  for (const py::handle item : words) {
    if (at == out.size()) {
      throw InvalidInput(text("an extent is a product of at most ", out.size(), " axes"));
    }
    out[at++] = dim(item);
  }
  return out;
}

py::list words(const tile::Dims& dims) {
  py::list out;
  for (const TileDim item : dims) {
    if (item != TileDim::None) {
      out.append(word(kDimNames, item));
    }
  }
  return out;
}

/// The keys of a form.
struct Keys {
  const py::dict& form;

  [[nodiscard]] std::int32_t number(const char* key) const {
    return form[key].cast<std::int32_t>();
  }
  [[nodiscard]] bool flag(const char* key) const { return form[key].cast<bool>(); }
  [[nodiscard]] std::string text(const char* key) const { return form[key].cast<std::string>(); }
};

tile::Formula to_grid(const Keys& keys) {
  return tile::Grid{.outer = dims(keys.form["outer"]),
                    .inner = dims(keys.form["inner"]),
                    .outer_step = keys.number("outer_step"),
                    .inner_step = keys.number("inner_step"),
                    .split = named<tile::LeafRule>(kSplitNames, keys.text("split")),
                    .modulus = keys.number("modulus"),
                    .single = keys.flag("single"),
                    .outer_at_most = keys.number("outer_at_most"),
                    .bounds = keys.form["bounds"].cast<std::array<std::int32_t, 3>>(),
                    .total_bound = keys.number("total_bound"),
                    .scan = keys.flag("scan"),
                    .variant = keys.flag("variant")};
}

tile::Formula to_blocks(const Keys& keys) {
  return tile::Blocks{.in_group = keys.number("in_group"),
                      .out_group = keys.number("out_group"),
                      .workers = keys.number("workers"),
                      .cast = keys.flag("cast"),
                      .window = keys.flag("window"),
                      .shared = keys.flag("shared")};
}

tile::Formula to_dots(const Keys& keys) {
  return tile::Dots{.granule = keys.number("granule"),
                    .vector = keys.number("vector"),
                    .out_group = keys.number("out_group"),
                    .workers = keys.number("workers"),
                    .aligned = keys.flag("aligned"),
                    .cast = keys.flag("cast")};
}

tile::Formula to_outer_product(const Keys& keys) {
  return tile::OuterProduct{.out_group = keys.number("out_group"),
                            .workers = keys.number("workers")};
}

tile::Formula to_row_passes(const Keys& keys) {
  return tile::RowPasses{.workers = keys.number("workers"),
                         .vector = keys.number("vector"),
                         .modulus = keys.number("modulus"),
                         .cut = keys.number("cut")};
}

tile::Formula to_transposes(const Keys& keys) {
  return tile::Transposes{.workers = keys.number("workers"), .block = keys.number("block")};
}

tile::Formula to_granules(const Keys& keys) {
  constexpr auto kNone = static_cast<std::uint8_t>(tile::Granules::kSides);
  tile::Granules granules{};
  granules.side.fill(kNone);
  granules.granule.fill(1);
  std::uint8_t at = 0;
  for (const py::handle item : keys.form["sides"]) {
    const auto side = item.cast<py::dict>();
    if (at == kNone) {
      throw InvalidInput(text("a tile has at most ", tile::Granules::kSides, " sides"));
    }
    granules.granule[at] = side["granule"].cast<std::int32_t>();
    for (const py::handle axis : side["axes"]) {
      std::uint8_t& place = granules.side[static_cast<std::size_t>(dim(axis))];
      if (place != kNone) {
        throw InvalidInput(
            text("the axis ", axis.cast<std::string>(), " lies on two sides of a tile"));
      }
      place = at;
    }
    ++at;
  }
  return granules;
}

tile::Formula to_window_blocks(const Keys& keys) {
  return tile::WindowBlocks{.in_group = keys.number("in_group"),
                            .out_group = keys.number("out_group"),
                            .rows_merged = keys.number("rows_merged"),
                            .workers = keys.number("workers"),
                            .cast = keys.flag("cast")};
}

tile::Formula to_window_dots(const Keys& keys) {
  return tile::WindowDots{.granule = keys.number("granule"),
                          .vector = keys.number("vector"),
                          .out_group = keys.number("out_group"),
                          .workers = keys.number("workers"),
                          .aligned = keys.flag("aligned"),
                          .cast = keys.flag("cast")};
}

tile::Formula to_window_lanes(const Keys& keys) {
  return tile::WindowLanes{.kind = named<tile::WindowKind>(kWindowNames, keys.text("routine")),
                           .lanes = keys.number("lanes"),
                           .most = keys.number("most"),
                           .workers = keys.number("workers")};
}

struct Maker {
  const char* kind;
  tile::Formula (*make)(const Keys&);
};

constexpr auto kMakers = std::to_array<Maker>({{"grid", to_grid},
                                               {"blocks", to_blocks},
                                               {"dots", to_dots},
                                               {"outer_product", to_outer_product},
                                               {"row_passes", to_row_passes},
                                               {"transposes", to_transposes},
                                               {"granules", to_granules},
                                               {"window_blocks", to_window_blocks},
                                               {"window_dots", to_window_dots},
                                               {"window_lanes", to_window_lanes}});

}  // namespace

tile::Formula to_form(const py::dict& form) {
  const Keys keys{form};
  const std::string kind = keys.text("kind");
  for (const Maker& maker : kMakers) {
    if (kind == maker.kind) {
      return maker.make(keys);
    }
  }
  throw InvalidInput(text("'", kind, "' is no form of a tile kernel"));
}

namespace {

py::dict dict_of(const tile::Grid& grid) {
  return py::dict("kind"_a = "grid", "outer"_a = words(grid.outer), "inner"_a = words(grid.inner),
                  "outer_step"_a = grid.outer_step, "inner_step"_a = grid.inner_step,
                  "split"_a = word(kSplitNames, grid.split), "modulus"_a = grid.modulus,
                  "single"_a = grid.single, "outer_at_most"_a = grid.outer_at_most,
                  "bounds"_a = grid.bounds, "total_bound"_a = grid.total_bound,
                  "scan"_a = grid.scan, "variant"_a = grid.variant);
}

py::dict dict_of(const tile::Blocks& blocks) {
  return py::dict("kind"_a = "blocks", "in_group"_a = blocks.in_group,
                  "out_group"_a = blocks.out_group, "workers"_a = blocks.workers,
                  "cast"_a = blocks.cast, "window"_a = blocks.window, "shared"_a = blocks.shared);
}

py::dict dict_of(const tile::OuterProduct& outer) {
  return py::dict("kind"_a = "outer_product", "out_group"_a = outer.out_group,
                  "workers"_a = outer.workers);
}

py::dict dict_of(const tile::WindowBlocks& blocks) {
  return py::dict("kind"_a = "window_blocks", "in_group"_a = blocks.in_group,
                  "out_group"_a = blocks.out_group, "rows_merged"_a = blocks.rows_merged,
                  "workers"_a = blocks.workers, "cast"_a = blocks.cast);
}

py::dict dict_of(const tile::WindowDots& dots) {
  return py::dict("kind"_a = "window_dots", "granule"_a = dots.granule, "vector"_a = dots.vector,
                  "out_group"_a = dots.out_group, "workers"_a = dots.workers,
                  "aligned"_a = dots.aligned, "cast"_a = dots.cast);
}

py::dict dict_of(const tile::WindowLanes& lanes) {
  return py::dict("kind"_a = "window_lanes", "routine"_a = word(kWindowNames, lanes.kind),
                  "lanes"_a = lanes.lanes, "most"_a = lanes.most, "workers"_a = lanes.workers);
}

py::dict dict_of(const tile::Dots& dots) {
  return py::dict("kind"_a = "dots", "granule"_a = dots.granule, "vector"_a = dots.vector,
                  "out_group"_a = dots.out_group, "workers"_a = dots.workers,
                  "aligned"_a = dots.aligned, "cast"_a = dots.cast);
}

py::dict dict_of(const tile::RowPasses& passes) {
  return py::dict("kind"_a = "row_passes", "workers"_a = passes.workers, "vector"_a = passes.vector,
                  "modulus"_a = passes.modulus, "cut"_a = passes.cut);
}

py::dict dict_of(const tile::Transposes& transposes) {
  return py::dict("kind"_a = "transposes", "workers"_a = transposes.workers,
                  "block"_a = transposes.block);
}

py::dict dict_of(const tile::Granules& granules) {
  py::list sides;
  for (std::size_t at = 0; at < tile::Granules::kSides; ++at) {
    py::list axes;
    for (std::size_t i = 0; i < tile::kTileDims; ++i) {
      if (granules.side[i] == at) {
        axes.append(kDimNames[i]);
      }
    }
    if (!axes.empty()) {
      sides.append(py::dict("axes"_a = axes, "granule"_a = granules.granule[at]));
    }
  }
  return py::dict("kind"_a = "granules", "sides"_a = sides);
}

}  // namespace

py::dict from_form(const tile::Formula& form) {
  return std::visit([](const auto& kind) { return dict_of(kind); }, form);
}

}  // namespace elk::bindings
