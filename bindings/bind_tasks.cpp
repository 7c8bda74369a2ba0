#include <cstdint>
#include <tuple>
#include <vector>

#include <pybind11/native_enum.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "columns.hpp"
#include "elk/base/ids.hpp"
#include "elk/compile/simulate.hpp"
#include "elk/sim/tasks/plain_transfers.hpp"
#include "id_casters.hpp"

namespace py = pybind11;
namespace sim = elk::sim;
using elk::bindings::column;

namespace {

/// Rows of source, destination, bytes and start in seconds; ends in picoseconds.
py::array_t<std::int64_t> play_transfers(
    const elk::chip::Chip& chip,
    const std::vector<std::tuple<elk::CoreId, elk::CoreId, std::int64_t, double>>& rows,
    sim::Links links) {
  std::vector<elk::Picoseconds> ends;
  {
    const py::gil_scoped_release released;
    std::vector<sim::PlainTransfer> transfers;
    transfers.reserve(rows.size());
    for (const auto& [source, destination, bytes, start_s] : rows) {
      transfers.push_back(
          {.source = source, .destination = destination, .bytes = {bytes}, .start = {start_s}});
    }
    ends = sim::play_transfers(chip, transfers, links);
  }
  return column(ends, [](elk::Picoseconds end) { return end.value; });
}

}  // namespace

void bind_tasks(py::module_& m) {
  py::native_enum<sim::Links>(m, "Links", "enum.Enum", "How sends meet on a link.")
      .value("Shared", sim::Links::Shared)
      .value("Exclusive", sim::Links::Exclusive)
      .finalize();
  m.def("play_transfers", &play_transfers, py::arg("chip"), py::arg("rows"), py::arg("links"),
        "When each row of (source, destination, bytes, start in seconds) is over, in picoseconds.");
  m.def("simulate_flows", &elk::compile::simulate_flows, py::arg("graph"), py::arg("chip"),
        py::arg("program"), py::arg("tiles"), py::arg("links"),
        py::call_guard<py::gil_scoped_release>(),
        "Runs `program` with every send a flow of its own, its calls timed by `tiles`.");
}
