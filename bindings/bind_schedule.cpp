#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "columns.hpp"
#include "elk/schedule/policies/search.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/timing/evaluate.hpp"

namespace py = pybind11;
namespace cost = elk::cost;
namespace schedule = elk::schedule;
namespace tile = elk::tile;
using elk::bindings::column;

namespace {

/// Options and states, as many rows of two numbers as there are ops.
using Choices = std::vector<std::array<std::int32_t, 2>>;

void require(bool there, const char* what) {
  if (!there) {
    throw py::index_error(what);
  }
}

std::unique_ptr<schedule::Problem> problem(const elk::ir::Graph& graph, const elk::chip::Chip& chip,
                                           const tile::TileModel& tiles,
                                           std::vector<cost::Front> fronts,
                                           std::vector<std::int32_t> front_of) {
  if (front_of.size() != graph.ops.size()) {
    throw py::value_error("front_of must name a front for each op");
  }
  for (const std::int32_t front : front_of) {
    require(static_cast<std::size_t>(front) < fronts.size(), "front_of names no front");
  }
  return std::make_unique<schedule::Problem>(graph, chip, tiles, std::move(fronts),
                                             std::move(front_of));
}

/// Of each op: the ops that read what it writes.
std::vector<std::vector<std::int32_t>> readers(const schedule::Problem& problem) {
  std::vector<std::vector<std::int32_t>> result;
  result.reserve(problem.front_of().size());
  for (std::int32_t op = 0; op < problem.op_count(); ++op) {
    result.push_back(problem.readers(op));
  }
  return result;
}

std::vector<schedule::Choice> checked(const schedule::Problem& problem, const Choices& choices) {
  if (choices.size() != problem.front_of().size()) {
    throw py::value_error("choices must have a row for each op");
  }
  std::vector<schedule::Choice> result;
  result.reserve(choices.size());
  for (const auto& [option, state] : choices) {
    const auto& front = problem.front(static_cast<std::int32_t>(result.size()));
    const auto at = static_cast<std::size_t>(option);
    require(at < front.options.size(), "no such option");
    require(static_cast<std::size_t>(state) < front.options[at].states.size(), "no such state");
    result.push_back({.option = option, .state = state});
  }
  return result;
}

py::dict situation_columns(schedule::Problem& problem, const Choices& choices) {
  using cost::ExecuteCost;
  using cost::PreloadCost;
  const schedule::Situation now = schedule::situation(problem, checked(problem, choices));
  py::dict columns;
  columns["in_before_s"] =
      column(now.works, [](const ExecuteCost& w) { return w.in.before.value; });
  columns["in_wire_s"] = column(now.works, [](const ExecuteCost& w) { return w.in.wire.value; });
  columns["in_after_s"] = column(now.works, [](const ExecuteCost& w) { return w.in.after.value; });
  columns["out_before_s"] =
      column(now.works, [](const ExecuteCost& w) { return w.out.before.value; });
  columns["out_wire_s"] = column(now.works, [](const ExecuteCost& w) { return w.out.wire.value; });
  columns["out_after_s"] =
      column(now.works, [](const ExecuteCost& w) { return w.out.after.value; });
  columns["compute_s"] = column(now.works, [](const ExecuteCost& w) { return w.compute.value; });
  columns["load_s"] = column(now.loads, [](const PreloadCost& l) { return l.time.value; });
  columns["load_share"] = column(now.loads, [](const PreloadCost& l) { return l.share; });
  columns["base_bytes"] = column(now.base, [](const elk::Bytes& b) { return b.value; });
  columns["piece_bytes"] = column(now.piece, [](const elk::Bytes& b) { return b.value; });
  return columns;
}

}  // namespace

void bind_schedule(py::module_& m) {
  using schedule::Choice;
  py::class_<Choice>(m, "Choice", "What is decided about one op.")
      .def_readonly("option", &Choice::option)
      .def_readonly("state", &Choice::state);

  using schedule::Found;
  py::class_<Found>(m, "Found", "A schedule that was searched for, placed.")
      .def_property_readonly("choices", [](const Found& f) { return f.schedule.ops; })
      .def_property_readonly("preload_order",
                             [](const Found& f) { return f.schedule.preload_order; })
      .def_property_readonly("issued_before",
                             [](const Found& f) { return f.schedule.issued_before; })
      .def_property_readonly("total_s", [](const Found& f) { return f.times.total.value; });

  using schedule::Problem;
  py::class_<Problem>(m, "Problem", "A model on a chip with fronts: what policies decide upon.")
      .def(py::init(&problem), py::arg("graph"), py::arg("chip"), py::arg("tiles"),
           py::arg("fronts"), py::arg("front_of"), py::keep_alive<1, 2>(), py::keep_alive<1, 3>(),
           py::keep_alive<1, 4>())
      .def_property_readonly("fronts", &Problem::fronts)
      .def_property_readonly("front_of", &Problem::front_of)
      .def_property_readonly("loaded", &Problem::loaded)
      .def_property_readonly("readers", &readers)
      .def_property_readonly("room_bytes",
                             [](const Problem& p) { return elk::chip::room(p.chip()).value; })
      .def("situation", &situation_columns, py::arg("choices"))
      .def(
          "search",
          [](Problem& p, const schedule::PolicyEntry& policy, int threads) {
            return schedule::search(p, {.policy = policy.policy, .threads = threads});
          },
          py::arg("policy"), py::arg("threads"), py::call_guard<py::gil_scoped_release>());
}
