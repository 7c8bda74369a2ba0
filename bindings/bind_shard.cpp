#include <memory>
#include <optional>
#include <string>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "elk/compile/compile.hpp"
#include "elk/shard/one_chip.hpp"
#include "elk/shard/pooled.hpp"
#include "elk/shard/propose.hpp"
#include "id_casters.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace {

namespace chip = elk::chip;
namespace ir = elk::ir;
namespace shard = elk::shard;
namespace tile = elk::tile;

/// "whole", "partial", or the dimension that is cut.
py::object form(shard::Form form) {
  switch (form.kind) {
    case shard::Form::Kind::Whole:
      return py::str("whole");
    case shard::Form::Kind::Partial:
      return py::str("partial");
    case shard::Form::Kind::Cut:
      return py::int_(form.dim.value);
  }
  return py::none();
}

py::dict sharded(const ir::Graph& graph, const chip::Chip& chip, const tile::TileModel& tiles) {
  std::optional<shard::Sharding> found;
  elk::Picoseconds pooled{0};
  {
    const py::gil_scoped_release unlocked;
    found = elk::compile::shard(graph, chip, tiles);
    pooled = shard::pooled_time(graph, chip, tiles, 0);
  }
  py::list axes;
  for (const shard::Split& split : found->splits) {
    axes.append(split.axis.value);
  }
  py::list collectives;
  for (const shard::Collective& move : found->collectives) {
    collectives.append(py::make_tuple(move.op, move.tensor,
                                      shard::name(shard::exchange(move.from, move.to)),
                                      form(move.from), form(move.to)));
  }
  return py::dict("axes"_a = axes, "collectives"_a = collectives,
                  "seconds"_a = elk::to_seconds(found->time).value,
                  "replicated_seconds"_a = elk::to_seconds(found->replicated).value,
                  "pooled_seconds"_a = elk::to_seconds(pooled).value,
                  "sent_bytes"_a = found->sent.value, "hbm_bytes"_a = found->hbm.value);
}

}  // namespace

void bind_shard(py::module_& m) {
  using shard::OneChip;
  py::class_<OneChip>(m, "OneChip", "What one chip of a pod computes of a model.")
      .def_readonly("graph", &OneChip::graph)
      .def_property_readonly("forms",
                             [](const OneChip& one) {
                               py::list forms;
                               for (const shard::Form held : one.forms) {
                                 forms.append(form(held));
                               }
                               return forms;
                             })
      .def_readonly("whole", &OneChip::whole)
      .def_readonly("axes", &OneChip::axes)
      .def_property_readonly("slices", &shard::slices);
  m.def("shard", &sharded, "graph"_a, "chip"_a, "tiles"_a);
}
