#include <cstdint>
#include <vector>

#include <pybind11/native_enum.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "columns.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/compile/kept.hpp"
#include "elk/compile/simulate.hpp"
#include "elk/sim/play/run.hpp"
#include "id_casters.hpp"
#include "link_columns.hpp"

namespace py = pybind11;
using elk::OpId;
using elk::Table;
namespace sim = elk::sim;
using elk::bindings::column;

namespace {

py::dict op_columns(const Table<OpId, sim::OpRun>& ops) {
  using sim::OpRun;
  py::dict columns;
  columns["preload_begin_ps"] = column(ops, [](const OpRun& o) { return o.preload.begin.value; });
  columns["preload_end_ps"] = column(ops, [](const OpRun& o) { return o.preload.end.value; });
  columns["execute_begin_ps"] = column(ops, [](const OpRun& o) { return o.execute.begin.value; });
  columns["execute_end_ps"] = column(ops, [](const OpRun& o) { return o.execute.end.value; });
  columns["waited_ps"] = column(ops, [](const OpRun& o) { return o.waited.value; });
  columns["synced_ps"] = column(ops, [](const OpRun& o) { return o.synced.value; });
  columns["link_contention_ps"] =
      column(ops, [](const OpRun& o) { return o.link_contention.value; });
  columns["sram_contention_ps"] =
      column(ops, [](const OpRun& o) { return o.sram_contention.value; });
  columns["queued"] = column(ops, [](const OpRun& o) { return o.queued; });
  columns["received_bytes"] = column(ops, [](const OpRun& o) { return o.received.value; });
  columns["exchange_bytes"] = column(ops, [](const OpRun& o) { return o.exchange.value; });
  columns["distribute_bytes"] = column(ops, [](const OpRun& o) { return o.distribute.value; });
  columns["hbm_bytes"] = column(ops, [](const OpRun& o) { return o.hbm.value; });
  columns["link_bytes"] = column(ops, [](const OpRun& o) { return o.link.value; });
  columns["loaded_bytes"] = column(ops, [](const OpRun& o) { return o.loaded.value; });
  columns["execution"] = column(ops, [](const OpRun& o) { return o.execution; });
  const std::array<const char*, sim::kPhaseKinds> parts = {"distribute_ps", "gather_ps",
                                                           "compute_ps", "shift_ps", "reduce_ps"};
  for (std::size_t part = 0; part < parts.size(); ++part) {
    columns[parts[part]] = column(ops, [part](const OpRun& o) { return o.parts[part].value; });
  }
  return columns;
}

/// What each execute did, over all simulated cores, and the links that each preload passed.
py::dict work_columns(const Table<OpId, sim::OpRun>& ops) {
  using sim::OpRun;
  py::dict columns;
  columns["flops"] = column(ops, [](const OpRun& o) { return o.work.flops; });
  columns["operand_bytes"] = column(ops, [](const OpRun& o) { return o.work.operands.value; });
  columns["received_bytes"] = column(ops, [](const OpRun& o) { return o.work.received.value; });
  columns["hop_bytes"] = column(ops, [](const OpRun& o) { return o.work.hops.value; });
  columns["between_bytes"] = column(ops, [](const OpRun& o) { return o.work.between.value; });
  columns["load_hop_bytes"] = column(ops, [](const OpRun& o) { return o.load_hops.value; });
  return columns;
}

py::dict store_columns(const std::vector<sim::StoreRun>& stores) {
  using sim::StoreRun;
  py::dict columns;
  columns["tensor"] = column(stores, [](const StoreRun& s) { return s.tensor; });
  columns["begin_ps"] = column(stores, [](const StoreRun& s) { return s.store.begin.value; });
  columns["end_ps"] = column(stores, [](const StoreRun& s) { return s.store.end.value; });
  columns["hbm_bytes"] = column(stores, [](const StoreRun& s) { return s.hbm.value; });
  columns["moved_bytes"] = column(stores, [](const StoreRun& s) { return s.moved.value; });
  columns["hop_bytes"] = column(stores, [](const StoreRun& s) { return s.hops.value; });
  return columns;
}

py::dict transfer_columns(const std::vector<sim::TransferRun>& transfers) {
  using sim::TransferRun;
  py::dict columns;
  columns["opcode"] = column(transfers, [](const TransferRun& t) {
    return static_cast<std::uint8_t>(t.instruction.opcode);
  });
  columns["subject"] =
      column(transfers, [](const TransferRun& t) { return t.instruction.subject; });
  columns["issued_ps"] = column(transfers, [](const TransferRun& t) { return t.issued.value; });
  columns["begin_ps"] = column(transfers, [](const TransferRun& t) { return t.begin.value; });
  columns["first_ps"] = column(transfers, [](const TransferRun& t) { return t.first.value; });
  columns["end_ps"] = column(transfers, [](const TransferRun& t) { return t.end.value; });
  columns["refresh_ps"] = column(transfers, [](const TransferRun& t) { return t.refreshed.value; });
  columns["alone_ps"] = column(transfers, [](const TransferRun& t) { return t.alone.value; });
  columns["reached_ps"] = column(transfers, [](const TransferRun& t) { return t.reached.value; });
  columns["hbm_bytes"] = column(transfers, [](const TransferRun& t) { return t.hbm.value; });
  columns["moved_bytes"] = column(transfers, [](const TransferRun& t) { return t.moved.value; });
  columns["over"] = column(transfers, [](const TransferRun& t) { return t.over; });
  return columns;
}

py::dict phase_columns(const std::vector<sim::Phase>& phases) {
  using sim::Phase;
  py::dict columns;
  columns["op"] = column(phases, [](const Phase& p) { return p.op; });
  columns["kind"] =
      column(phases, [](const Phase& p) { return static_cast<std::uint8_t>(p.kind); });
  columns["begin_ps"] = column(phases, [](const Phase& p) { return p.time.begin.value; });
  columns["end_ps"] = column(phases, [](const Phase& p) { return p.time.end.value; });
  columns["received_bytes"] = column(phases, [](const Phase& p) { return p.received.value; });
  columns["core_s"] = column(phases, [](const Phase& p) { return p.core_time.value; });
  return columns;
}

py::dict split_of(const sim::RunBreakdown& split) {
  py::dict parts;
  parts["preload"] = split.preload.value;
  parts["execute"] = split.execute.value;
  parts["overlapped"] = split.overlapped.value;
  parts["interconnect"] = split.interconnect.value;
  return parts;
}

void bind_totals(py::module_& m) {
  using sim::Totals;
  py::class_<Totals>(m, "RunTotals", "What a run moved and did in all.")
      .def_property_readonly("hbm_bytes", [](const Totals& t) { return t.hbm.value; })
      .def_property_readonly("received_bytes", [](const Totals& t) { return t.received.value; })
      .def_property_readonly("hop_bytes", [](const Totals& t) { return t.hops.value; })
      .def_property_readonly("between_bytes", [](const Totals& t) { return t.between.value; })
      .def_property_readonly("loaded_bytes", [](const Totals& t) { return t.loaded.value; })
      .def_property_readonly("operand_bytes", [](const Totals& t) { return t.operands.value; })
      .def_readonly("flops", &Totals::flops)
      .def_readonly("matrix_s", &Totals::matrix_s)
      .def_readonly("vector_s", &Totals::vector_s);
}

}  // namespace

void bind_sim(py::module_& m) {
  py::native_enum<sim::Fidelity>(m, "Fidelity", "enum.IntEnum", "What a simulation tells apart.")
      .value("Core", sim::Fidelity::Core)
      .value("Symmetric", sim::Fidelity::Symmetric)
      .value("Flows", sim::Fidelity::Flows)
      .finalize();
  py::native_enum<sim::PhaseKind>(m, "PhaseKind", "enum.IntEnum", "What an execute does.")
      .value("Distribute", sim::PhaseKind::Distribute)
      .value("Gather", sim::PhaseKind::Gather)
      .value("Compute", sim::PhaseKind::Compute)
      .value("Shift", sim::PhaseKind::Shift)
      .value("Reduce", sim::PhaseKind::Reduce)
      .finalize();
  py::native_enum<sim::LinkKind>(m, "LinkKind", "enum.IntEnum", "What a link of a run is.")
      .value("Link", sim::LinkKind::Link)
      .value("Send", sim::LinkKind::Send)
      .value("Receive", sim::LinkKind::Receive)
      .value("PortIn", sim::LinkKind::PortIn)
      .value("PortOut", sim::LinkKind::PortOut)
      .value("FromHbm", sim::LinkKind::FromHbm)
      .value("ToHbm", sim::LinkKind::ToHbm)
      .value("ChipOut", sim::LinkKind::ChipOut)
      .value("ChipIn", sim::LinkKind::ChipIn)
      .finalize();
  bind_totals(m);

  using sim::Run;
  py::class_<Run>(m, "Run", "A program as it ran, in columns.")
      .def_readonly("fidelity", &Run::fidelity)
      .def_property_readonly("total_ps", [](const Run& r) { return r.total.value; })
      .def_property_readonly("split_ps", [](const Run& r) { return split_of(r.split); })
      .def_property_readonly("ops", [](const Run& r) { return op_columns(r.ops); })
      .def_property_readonly("work", [](const Run& r) { return work_columns(r.ops); })
      .def_property_readonly("stores", [](const Run& r) { return store_columns(r.stores); })
      .def_property_readonly("transfers",
                             [](const Run& r) { return transfer_columns(r.transfers); })
      .def_property_readonly("phases", [](const Run& r) { return phase_columns(r.phases); })
      .def_property_readonly("links",
                             [](const Run& r) { return elk::bindings::link_columns(r.links); })
      .def_readonly("cores", &Run::cores)
      .def_readonly("totals", &Run::totals);

  m.def("fidelity", &elk::compile::fidelity, py::arg("pod"),
        "How far a simulation tells cores apart where nothing else is asked for.");
  m.def(
      "simulate", &elk::compile::simulate, py::arg("graph"), py::arg("chip"), py::arg("program"),
      py::arg("tiles"), py::arg("fidelity"), py::arg("kept") = nullptr,
      py::call_guard<py::gil_scoped_release>(),
      "Runs `program` on the simulator, its calls timed by `tiles`, under which `kept` was kept.");
}
