#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "elk/base/errors.hpp"
#include "elk/base/text.hpp"
#include "elk/tile/fit/fit.hpp"
#include "elk/tile/tile.hpp"
#include "tile_forms.hpp"

namespace py = pybind11;
using namespace pybind11::literals;

namespace {

using elk::InvalidInput;
using elk::text;
using elk::bindings::from_form;
using elk::bindings::kDimNames;
using elk::bindings::kDTypeNames;
using elk::bindings::named;
using elk::bindings::to_form;
using elk::bindings::word;
using elk::ir::DType;
namespace tile = elk::tile;

using Sizes = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;
using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Marks = py::array_t<std::int32_t, py::array::c_style | py::array::forcecast>;

DType dtype(const std::string& word) { return named<DType>(kDTypeNames, word); }

tile::Family to_family(const py::dict& family) {
  tile::Family out{.form = to_form(family["form"]),
                   .width = 0,
                   .coefficients = {},
                   .most_columns = family["most_columns"].cast<std::int64_t>(),
                   .most_depth = family["most_depth"].cast<std::int64_t>(),
                   .outside = family["outside"].cast<std::vector<double>>()};
  out.width = tile::feature_count(out.form);
  const auto pieces = family["pieces"].cast<std::vector<std::vector<double>>>();
  for (std::vector<double> piece : pieces) {
    if (piece.empty()) {
      piece.assign(static_cast<std::size_t>(out.width), std::numeric_limits<double>::infinity());
    }
    out.coefficients.insert(out.coefficients.end(), piece.begin(), piece.end());
  }
  return out;
}

py::dict from_family(const tile::Family& family) {
  py::list pieces;
  const auto width = static_cast<std::size_t>(family.width);
  for (std::size_t at = 0; at < family.coefficients.size(); at += width) {
    py::list piece;
    for (std::size_t i = at; i < at + width && !std::isinf(family.coefficients[at]); ++i) {
      piece.append(family.coefficients[i]);
    }
    pieces.append(piece);
  }
  return py::dict("form"_a = from_form(family.form), "pieces"_a = pieces,
                  "most_columns"_a = family.most_columns, "most_depth"_a = family.most_depth,
                  "outside"_a = family.outside);
}

tile::KernelFit to_kernel(const py::dict& kernel) {
  tile::KernelFit out{.function = kernel["function"].cast<std::string>(),
                      .compute = dtype(kernel["dtype"].cast<std::string>()),
                      .accumulate = dtype(kernel["accumulate"].cast<std::string>()),
                      .families = {},
                      .limit = kernel["limit"].cast<tile::Extents>()};
  for (const py::handle family : kernel["families"]) {
    out.families.push_back(to_family(family.cast<py::dict>()));
  }
  return out;
}

py::dict from_kernel(const tile::KernelFit& kernel) {
  py::list families;
  for (const tile::Family& family : kernel.families) {
    families.append(from_family(family));
  }
  return py::dict("function"_a = kernel.function, "dtype"_a = word(kDTypeNames, kernel.compute),
                  "accumulate"_a = word(kDTypeNames, kernel.accumulate), "families"_a = families,
                  "limit"_a = kernel.limit);
}

tile::TileModel to_model(const py::list& kernels, const py::dict& opaque) {
  std::vector<tile::KernelFit> fits;
  for (const py::handle kernel : kernels) {
    fits.push_back(to_kernel(kernel.cast<py::dict>()));
  }
  return {std::move(fits),
          {.call_cycles = opaque["call_cycles"].cast<double>(),
           .sram_bytes_per_cycle = opaque["sram_bytes_per_cycle"].cast<double>(),
           .vector_elements_per_cycle = opaque["vector_elements_per_cycle"].cast<double>()}};
}

/// A call as a caller's function sees it: the sizes above one by role, and the parameters.
py::dict sizes_of(const tile::TileShape& shape) {
  py::dict sizes;
  for (std::size_t dim = 0; dim < shape.size.size(); ++dim) {
    if (shape.size[dim] > 1) {
      sizes[kDimNames[dim]] = shape.size[dim];
    }
  }
  return sizes;
}

/// What a Python function says of a call. What it raises is an error of its caller's.
double ask(const py::function& function, const tile::KernelName& name,
           const tile::TileShape& shape) {
  const py::gil_scoped_acquire lock;
  try {
    const py::tuple kernel =
        py::make_tuple(name.function, elk::ir::name(name.compute), elk::ir::name(name.accumulate));
    const py::tuple params = py::make_tuple(shape.params[0], shape.params[1]);
    return function(kernel, sizes_of(shape), params).cast<double>();
  } catch (const py::error_already_set& error) {
    throw InvalidInput(text("tile_model raised ", error.what(), " for ", name.function),
                       "tile_model");
  } catch (const py::cast_error&) {
    throw InvalidInput(text("tile_model must return a number for ", name.function), "tile_model");
  }
}

/// A model that asks a Python function, which is let go of under the lock.
tile::TileModel asking(const std::vector<std::array<std::string, 3>>& kernels,
                       const py::function& function) {
  std::vector<tile::KernelName> names;
  names.reserve(kernels.size());
  for (const std::array<std::string, 3>& kernel : kernels) {
    names.push_back(
        {.function = kernel[0], .compute = dtype(kernel[1]), .accumulate = dtype(kernel[2])});
  }
  const std::shared_ptr<const py::function> kept(new py::function(function),
                                                 [](const py::function* held) {
                                                   const py::gil_scoped_acquire lock;
                                                   delete held;
                                                 });
  return {std::move(names), [kept](const tile::KernelName& name, const tile::TileShape& shape) {
            return ask(*kept, name, shape);
          }};
}

/// One shape a row: the sizes by role, then the parameters of the call.
std::vector<tile::TileShape> to_shapes(const Sizes& sizes) {
  constexpr std::size_t kColumns = tile::kTileDims + 2;
  if (sizes.ndim() != 2 || sizes.shape(1) != static_cast<py::ssize_t>(kColumns)) {
    throw InvalidInput(text("shapes must have ", kColumns, " columns"));
  }
  std::vector<tile::TileShape> shapes(static_cast<std::size_t>(sizes.shape(0)));
  const std::int64_t* value = sizes.data();
  for (tile::TileShape& shape : shapes) {
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

py::array_t<double> cycles(const tile::TileModel& model, const std::array<std::string, 3>& kernel,
                           const Sizes& sizes) {
  const std::vector<tile::TileShape> shapes = to_shapes(sizes);
  const tile::Kernel found = model.find(kernel[0], dtype(kernel[1]), dtype(kernel[2]));
  py::array_t<double> out(static_cast<py::ssize_t>(shapes.size()));
  double* at = out.mutable_data();
  for (const tile::TileShape& shape : shapes) {
    *at++ = model.cycles(found, shape);
  }
  return out;
}

py::array_t<bool> extrapolated(const tile::TileModel& model,
                               const std::array<std::string, 3>& kernel, const Sizes& sizes) {
  const std::vector<tile::TileShape> shapes = to_shapes(sizes);
  const tile::Kernel found = model.find(kernel[0], dtype(kernel[1]), dtype(kernel[2]));
  py::array_t<bool> out(static_cast<py::ssize_t>(shapes.size()));
  bool* at = out.mutable_data();
  for (const tile::TileShape& shape : shapes) {
    *at++ = model.extrapolated(found, shape);
  }
  return out;
}

py::tuple find(const tile::TileModel& model, const std::array<std::string, 3>& kernel) {
  const tile::Kernel found = model.find(kernel[0], dtype(kernel[1]), dtype(kernel[2]));
  return py::make_tuple(model.source(found), found.borrowed);
}

/// The profile rows as columns: what `fit_tile_kernel` takes.
struct Columns {
  Sizes shapes;
  Numbers cycles;
  Marks family;
  Marks transposed;
};

std::vector<tile::ProfileRow> to_samples(const Columns& columns) {
  const std::vector<tile::TileShape> shapes = to_shapes(columns.shapes);
  const auto rows = static_cast<py::ssize_t>(shapes.size());
  if (columns.cycles.size() != rows || columns.family.size() != rows ||
      columns.transposed.size() != rows) {
    throw InvalidInput("the columns of a profile must have equal lengths");
  }
  std::vector<tile::ProfileRow> samples;
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
  const std::vector<tile::ProfileRow> samples = to_samples(columns);
  std::vector<std::vector<tile::Formula>> forms;
  for (const py::handle set : alternatives) {
    forms.emplace_back();
    for (const py::handle form : set) {
      forms.back().push_back(to_form(form.cast<py::dict>()));
    }
  }
  const tile::FitTarget target{
      .function = kernel[0], .compute = dtype(kernel[1]), .accumulate = dtype(kernel[2])};
  return from_kernel([&] {
    const py::gil_scoped_release release;
    return tile::fit_kernel(target, samples, forms, {});
  }());
}

}  // namespace

void bind_tile(py::module_& m) {
  m.attr("TILE_DIMS") = py::tuple(py::cast(kDimNames));
  py::class_<tile::TileModel>(m, "TileModel", "Cycles of tile kernels on one core.")
      .def(py::init(&to_model), "kernels"_a, "opaque"_a)
      .def_static("asking", &asking, "kernels"_a, "function"_a,
                  "A model that asks `function` for the cycles of calls of `kernels`.")
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
