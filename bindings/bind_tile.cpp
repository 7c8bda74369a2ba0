#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "elk/base/errors.hpp"
#include "elk/base/text.hpp"
#include "elk/cost/fit.hpp"
#include "elk/cost/tile.hpp"

namespace py = pybind11;
using namespace pybind11::literals;

namespace {

using elk::InvalidInput;
using elk::text;
using elk::ir::DType;
using elk::ir::TileDim;
namespace cost = elk::cost;

using Sizes = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;
using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Marks = py::array_t<std::int32_t, py::array::c_style | py::array::forcecast>;

constexpr std::array<const char*, cost::kTileDims> kDimNames = {
    "none",          "group",  "m",        "n",        "k",    "batch", "out_h",    "out_w",
    "in_ch",         "out_ch", "kernel_h", "kernel_w", "rows", "cols",  "elements", "slices",
    "slice_elements"};
constexpr std::array<const char*, 6> kSplitNames = {"whole",     "modulo",    "steps",
                                                    "remainder", "alignment", "multiple"};
constexpr std::array<const char*, 3> kWindowNames = {"vertical", "sliding", "pooling"};
constexpr std::array<const char*, 16> kDTypeNames = {"f64", "f32", "f16", "bf16", "f8",  "i64",
                                                     "i32", "i16", "i8",  "i4",   "u64", "u32",
                                                     "u16", "u8",  "u4",  "bool"};

/// The enumerator whose name in files is `word`.
template <class Enum, std::size_t kCount>
Enum named(const std::array<const char*, kCount>& names, const std::string& word) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (word == names[i]) {
      return static_cast<Enum>(i);
    }
  }
  throw InvalidInput(text("'", word, "' is not a word of the tile model's vocabulary"));
}

TileDim dim(const py::handle& word) { return named<TileDim>(kDimNames, word.cast<std::string>()); }

DType dtype(const std::string& word) { return named<DType>(kDTypeNames, word); }

template <class Enum, std::size_t kCount>
const char* word(const std::array<const char*, kCount>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

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
                      .variant = flag("variant"),
                      .unit = dim(form["unit"])};
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

py::dict from_form(const cost::Grid& grid) {
  return py::dict("kind"_a = "grid", "outer"_a = words(grid.outer), "inner"_a = words(grid.inner),
                  "outer_step"_a = grid.outer_step, "inner_step"_a = grid.inner_step,
                  "split"_a = word(kSplitNames, grid.split), "modulus"_a = grid.modulus,
                  "single"_a = grid.single, "outer_at_most"_a = grid.outer_at_most,
                  "bounds"_a = grid.bounds, "total_bound"_a = grid.total_bound,
                  "scan"_a = grid.scan, "variant"_a = grid.variant,
                  "unit"_a = word(kDimNames, grid.unit));
}

py::dict from_form(const cost::Blocks& blocks) {
  return py::dict("kind"_a = "blocks", "in_group"_a = blocks.in_group,
                  "out_group"_a = blocks.out_group, "workers"_a = blocks.workers,
                  "cast"_a = blocks.cast, "window"_a = blocks.window, "shared"_a = blocks.shared);
}

py::dict from_form(const cost::WindowBlocks& blocks) {
  return py::dict("kind"_a = "window_blocks", "in_group"_a = blocks.in_group,
                  "out_group"_a = blocks.out_group, "rows_merged"_a = blocks.rows_merged,
                  "workers"_a = blocks.workers, "cast"_a = blocks.cast);
}

py::dict from_form(const cost::WindowDots& dots) {
  return py::dict("kind"_a = "window_dots", "granule"_a = dots.granule, "vector"_a = dots.vector,
                  "out_group"_a = dots.out_group, "workers"_a = dots.workers,
                  "aligned"_a = dots.aligned, "cast"_a = dots.cast);
}

py::dict from_form(const cost::WindowLanes& lanes) {
  return py::dict("kind"_a = "window_lanes", "routine"_a = word(kWindowNames, lanes.kind),
                  "lanes"_a = lanes.lanes, "most"_a = lanes.most, "workers"_a = lanes.workers);
}

py::dict from_form(const cost::Dots& dots) {
  return py::dict("kind"_a = "dots", "granule"_a = dots.granule, "vector"_a = dots.vector,
                  "out_group"_a = dots.out_group, "workers"_a = dots.workers,
                  "aligned"_a = dots.aligned, "cast"_a = dots.cast);
}

py::dict from_form(const cost::RowPasses& passes) {
  return py::dict("kind"_a = "row_passes", "workers"_a = passes.workers, "vector"_a = passes.vector,
                  "modulus"_a = passes.modulus, "cut"_a = passes.cut);
}

py::dict from_form(const cost::Transposes& transposes) {
  return py::dict("kind"_a = "transposes", "workers"_a = transposes.workers,
                  "block"_a = transposes.block);
}

py::dict from_form(const cost::Granules& granules) {
  py::dict sizes;
  for (std::size_t i = 0; i < cost::kTileDims; ++i) {
    if (granules.granule[i] != 1) {
      sizes[kDimNames[i]] = granules.granule[i];
    }
  }
  return py::dict("kind"_a = "granules", "granule"_a = sizes);
}

cost::Family to_family(const py::dict& family) {
  cost::Family out{.form = to_form(family["form"]), .width = 0, .coefficients = {}};
  out.width = cost::feature_count(out.form);
  const auto pieces = family["pieces"].cast<std::vector<std::vector<double>>>();
  for (std::vector<double> piece : pieces) {
    if (piece.empty()) {
      piece.assign(static_cast<std::size_t>(out.width), std::numeric_limits<double>::infinity());
    }
    out.coefficients.insert(out.coefficients.end(), piece.begin(), piece.end());
  }
  return out;
}

py::dict from_family(const cost::Family& family) {
  py::list pieces;
  const auto width = static_cast<std::size_t>(family.width);
  for (std::size_t at = 0; at < family.coefficients.size(); at += width) {
    py::list piece;
    for (std::size_t i = at; i < at + width && !std::isinf(family.coefficients[at]); ++i) {
      piece.append(family.coefficients[i]);
    }
    pieces.append(piece);
  }
  return py::dict(
      "form"_a = std::visit([](const auto& form) { return from_form(form); }, family.form),
      "pieces"_a = pieces);
}

cost::KernelFit to_kernel(const py::dict& kernel) {
  cost::KernelFit out{.function = kernel["function"].cast<std::string>(),
                      .compute = dtype(kernel["dtype"].cast<std::string>()),
                      .accumulate = dtype(kernel["accumulate"].cast<std::string>()),
                      .families = {},
                      .outside = kernel["outside"].cast<std::vector<double>>(),
                      .limit = kernel["limit"].cast<cost::Extents>()};
  for (const py::handle family : kernel["families"]) {
    out.families.push_back(to_family(family.cast<py::dict>()));
  }
  return out;
}

py::dict from_kernel(const cost::KernelFit& kernel) {
  py::list families;
  for (const cost::Family& family : kernel.families) {
    families.append(from_family(family));
  }
  return py::dict("function"_a = kernel.function, "dtype"_a = word(kDTypeNames, kernel.compute),
                  "accumulate"_a = word(kDTypeNames, kernel.accumulate), "families"_a = families,
                  "outside"_a = kernel.outside, "limit"_a = kernel.limit);
}

cost::TileModel to_model(const py::list& kernels, const py::dict& opaque) {
  std::vector<cost::KernelFit> fits;
  for (const py::handle kernel : kernels) {
    fits.push_back(to_kernel(kernel.cast<py::dict>()));
  }
  return {std::move(fits),
          {.call_cycles = opaque["call_cycles"].cast<double>(),
           .sram_bytes_per_cycle = opaque["sram_bytes_per_cycle"].cast<double>(),
           .vector_elements_per_cycle = opaque["vector_elements_per_cycle"].cast<double>()}};
}

/// One shape a row: the sizes by role, then the parameters of the call.
std::vector<cost::TileShape> to_shapes(const Sizes& sizes) {
  constexpr std::size_t kColumns = cost::kTileDims + 2;
  if (sizes.ndim() != 2 || sizes.shape(1) != static_cast<py::ssize_t>(kColumns)) {
    throw InvalidInput(text("shapes must have ", kColumns, " columns"));
  }
  std::vector<cost::TileShape> shapes(static_cast<std::size_t>(sizes.shape(0)));
  const std::int64_t* value = sizes.data();
  for (cost::TileShape& shape : shapes) {
    for (std::int64_t& size : shape.size) {
      size = *value++;
      if (size < 1) {
        throw InvalidInput(text("a tile's sizes must be positive, got ", size));
      }
    }
    for (std::int64_t& parameter : shape.params) {
      parameter = *value++;
    }
  }
  return shapes;
}

py::array_t<double> cycles(const cost::TileModel& model, const std::array<std::string, 3>& kernel,
                           const Sizes& sizes) {
  const std::vector<cost::TileShape> shapes = to_shapes(sizes);
  const cost::Kernel found = model.find(kernel[0], dtype(kernel[1]), dtype(kernel[2]));
  py::array_t<double> out(static_cast<py::ssize_t>(shapes.size()));
  double* at = out.mutable_data();
  for (const cost::TileShape& shape : shapes) {
    *at++ = model.cycles(found, shape);
  }
  return out;
}

py::array_t<bool> extrapolated(const cost::TileModel& model,
                               const std::array<std::string, 3>& kernel, const Sizes& sizes) {
  const std::vector<cost::TileShape> shapes = to_shapes(sizes);
  const cost::Kernel found = model.find(kernel[0], dtype(kernel[1]), dtype(kernel[2]));
  py::array_t<bool> out(static_cast<py::ssize_t>(shapes.size()));
  bool* at = out.mutable_data();
  for (const cost::TileShape& shape : shapes) {
    *at++ = model.extrapolated(found, shape);
  }
  return out;
}

py::tuple find(const cost::TileModel& model, const std::array<std::string, 3>& kernel) {
  const cost::Kernel found = model.find(kernel[0], dtype(kernel[1]), dtype(kernel[2]));
  return py::make_tuple(model.source(found), found.borrowed);
}

/// The profile rows as columns: what `fit_tile_kernel` takes.
struct Columns {
  Sizes shapes;
  Numbers cycles;
  Marks family;
  Marks transposed;
};

std::vector<cost::Sample> to_samples(const Columns& columns) {
  const std::vector<cost::TileShape> shapes = to_shapes(columns.shapes);
  const auto rows = static_cast<py::ssize_t>(shapes.size());
  if (columns.cycles.size() != rows || columns.family.size() != rows ||
      columns.transposed.size() != rows) {
    throw InvalidInput("the columns of a profile must have equal lengths");
  }
  std::vector<cost::Sample> samples;
  samples.reserve(shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    samples.push_back({.shape = shapes[i],
                       .cycles = columns.cycles.data()[i],
                       .family = columns.family.data()[i],
                       .transposed = columns.transposed.data()[i]});
  }
  return samples;
}

py::dict fit(const std::array<std::string, 3>& kernel, const Columns& columns,
             const py::list& alternatives) {
  const std::vector<cost::Sample> samples = to_samples(columns);
  std::vector<std::vector<cost::Form>> forms;
  for (const py::handle set : alternatives) {
    forms.emplace_back();
    for (const py::handle form : set) {
      forms.back().push_back(to_form(form.cast<py::dict>()));
    }
  }
  const cost::FitTarget target{
      .function = kernel[0], .compute = dtype(kernel[1]), .accumulate = dtype(kernel[2])};
  cost::KernelFit fitted;
  {
    const py::gil_scoped_release release;
    fitted = cost::fit_kernel(target, samples, forms, {});
  }
  return from_kernel(fitted);
}

}  // namespace

void bind_tile(py::module_& m) {
  m.attr("TILE_DIMS") = py::tuple(py::cast(kDimNames));
  py::class_<cost::TileModel>(m, "TileModel", "Cycles of tile kernels on one core.")
      .def(py::init(&to_model), "kernels"_a, "opaque"_a)
      .def("cycles", &cycles, "kernel"_a, "shapes"_a,
           "Cycles of each row of `shapes` under (function, dtype, accumulate).")
      .def("extrapolated", &extrapolated, "kernel"_a, "shapes"_a,
           "Whether each row of `shapes` lies outside the fitted range.")
      .def("find", &find, "kernel"_a,
           "The function whose rows stand for (function, dtype, accumulate), and if borrowed.");
  m.def(
      "fit_tile_kernel",
      [](const std::array<std::string, 3>& kernel, const Sizes& shapes, const Numbers& cycles,
         const std::pair<Marks, Marks>& origins, const py::list& alternatives) {
        return fit(kernel, {shapes, cycles, origins.first, origins.second}, alternatives);
      },
      "kernel"_a, "shapes"_a, "cycles"_a, "origins"_a, "alternatives"_a,
      "Fits one kernel to profile rows; `origins` are the family and orientation, -1 if unknown.");
}
