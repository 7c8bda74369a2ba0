#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "elk/base/ids.hpp"

namespace elk::bindings {

namespace py = pybind11;

/// What a column holds of a value: of an id, its number.
template <class Value>
[[nodiscard]] Value in_column(Value value) {
  return value;
}
template <class Kind>
[[nodiscard]] std::int32_t in_column(Id<Kind> id) {
  return id.value;
}

/// One read-only numpy column: `field` of every row.
template <class Row, class Field>
[[nodiscard]] py::array column(const std::vector<Row>& rows, const Field& field) {
  using Value = decltype(in_column(field(std::declval<const Row&>())));
  py::array_t<Value> values(static_cast<py::ssize_t>(rows.size()));
  Value* out = values.mutable_data();
  for (const Row& row : rows) {
    *out++ = in_column(field(row));
  }
  values.attr("setflags")(py::arg("write") = false);
  return values;
}

}  // namespace elk::bindings
