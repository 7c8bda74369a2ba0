#pragma once

#include <type_traits>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

namespace elk::bindings {

namespace py = pybind11;

/// One read-only numpy column: `field` of every row.
template <class Row, class Field>
[[nodiscard]] py::array column(const std::vector<Row>& rows, const Field& field) {
  using Value = std::invoke_result_t<const Field&, const Row&>;
  py::array_t<Value> values(static_cast<py::ssize_t>(rows.size()));
  Value* out = values.mutable_data();
  for (const Row& row : rows) {
    *out++ = field(row);
  }
  values.attr("setflags")(py::arg("write") = false);
  return values;
}

}  // namespace elk::bindings
