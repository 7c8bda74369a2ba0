#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "elk/compile/compile.hpp"
#include "elk/train/one_chip.hpp"
#include "elk/train/pooled.hpp"
#include "elk/train/propose.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace {

namespace chip = elk::chip;
namespace cost = elk::cost;
namespace ir = elk::ir;
namespace train = elk::train;

/// "whole", "partial", or the dimension that is cut.
py::object form(train::Form form) {
  switch (form.kind) {
    case train::Form::Kind::Whole:
      return py::str("whole");
    case train::Form::Kind::Partial:
      return py::str("partial");
    case train::Form::Kind::Cut:
      return py::int_(form.dim);
  }
  return py::none();
}

py::dict shard(const ir::Graph& graph, const chip::Chip& chip, const cost::TileModel& tiles) {
  std::optional<train::Sharding> found;
  elk::Picoseconds pooled{0};
  {
    const py::gil_scoped_release unlocked;
    found = elk::compile::shard(graph, chip, tiles);
    pooled = train::pooled_time(graph, chip, tiles, 0);
  }
  py::list axes;
  for (const train::Split& split : found->splits) {
    axes.append(split.axis);
  }
  py::list collectives;
  for (const train::Collective& move : found->collectives) {
    collectives.append(py::make_tuple(move.op, move.tensor,
                                      train::name(train::exchange(move.from, move.to)),
                                      form(move.from), form(move.to)));
  }
  return py::dict("axes"_a = axes, "collectives"_a = collectives,
                  "seconds"_a = elk::to_seconds(found->time).value,
                  "replicated_seconds"_a = elk::to_seconds(found->replicated).value,
                  "pooled_seconds"_a = elk::to_seconds(pooled).value,
                  "sent_bytes"_a = found->sent.value, "hbm_bytes"_a = found->hbm.value);
}

}  // namespace

void bind_train(py::module_& m) {
  using train::OneChip;
  py::class_<OneChip>(m, "OneChip", "What one chip of a pod computes of a model.")
      .def_readonly("graph", &OneChip::graph)
      .def_property_readonly("forms",
                             [](const OneChip& one) {
                               py::list forms;
                               for (const train::Form held : one.forms) {
                                 forms.append(form(held));
                               }
                               return forms;
                             })
      .def_readonly("whole", &OneChip::whole)
      .def_readonly("axes", &OneChip::axes)
      .def_property_readonly("slices", &train::slices);
  m.def("shard", &shard, "graph"_a, "chip"_a, "tiles"_a);
}
