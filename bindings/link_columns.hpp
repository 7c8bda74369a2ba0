#pragma once

#include <cstdint>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "columns.hpp"
#include "elk/sim/play/run.hpp"

namespace elk::bindings {

/// Rows of links as columns.
[[nodiscard]] inline py::dict link_columns(const std::vector<sim::LinkRow>& links) {
  using sim::LinkRow;
  py::dict columns;
  columns["kind"] =
      column(links, [](const LinkRow& l) { return static_cast<std::uint8_t>(l.kind); });
  columns["from"] = column(links, [](const LinkRow& l) { return l.from; });
  columns["to"] = column(links, [](const LinkRow& l) { return l.to; });
  columns["bytes_per_s"] = column(links, [](const LinkRow& l) { return l.rate.value; });
  columns["bytes"] = column(links, [](const LinkRow& l) { return l.carried.value; });
  columns["busy_ps"] = column(links, [](const LinkRow& l) { return l.busy.value; });
  return columns;
}

}  // namespace elk::bindings
