#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "columns.hpp"
#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/text.hpp"
#include "elk/compile/kept.hpp"
#include "elk/compile/simulate.hpp"
#include "elk/sim/play/play_trace.hpp"
#include "elk/sim/record/flat_recording.hpp"
#include "elk/sim/record/unit_meter.hpp"
#include "id_casters.hpp"

namespace py = pybind11;
namespace sim = elk::sim;
using elk::bindings::column;

namespace {

/// What a column of a file holds of a value: of a quantity, an id or an enum its number.
template <class Value>
auto& number_of(Value& value) {
  if constexpr (requires { value.value; }) {
    return value.value;
  } else {
    return value;
  }
}
template <class Value>
using NumberOf = std::remove_cvref_t<decltype(number_of(std::declval<Value&>()))>;
template <class Value>
using Stored =
    std::conditional_t<std::is_enum_v<NumberOf<Value>> || std::is_same_v<NumberOf<Value>, bool>,
                       std::uint8_t, NumberOf<Value>>;

/// Writes fields of rows as columns.
class ColumnWriter {
 public:
  template <class Row, class Field>
  void operator()(const char* name, std::vector<Row>& rows, const Field& field) {
    using Value = Stored<std::remove_reference_t<decltype(field(rows.front()))>>;
    py::array_t<Value> values(static_cast<py::ssize_t>(rows.size()));
    Value* out = values.mutable_data();
    for (Row& row : rows) {
      *out++ = static_cast<Value>(number_of(field(row)));
    }
    columns[name] = values;
  }

  py::dict columns;
};

/// Reads fields of rows from columns; the first column of rows says how many there are.
class ColumnReader {
 public:
  explicit ColumnReader(py::dict columns) : columns_(std::move(columns)) {}

  template <class Row, class Field>
  void operator()(const char* name, std::vector<Row>& rows, const Field& field) {
    using Number = NumberOf<std::remove_reference_t<decltype(field(rows.front()))>>;
    using Value = Stored<std::remove_reference_t<decltype(field(rows.front()))>>;
    if (!columns_.contains(name)) {
      throw elk::InvalidInput(elk::text("there is no column ", name));
    }
    const py::object given = columns_[name];
    if (!py::isinstance<py::array_t<Value>>(given) || py::array(given).ndim() != 1) {
      throw elk::InvalidInput(elk::text("column ", name, " must be a list of numbers of its type"));
    }
    const auto values = py::cast<py::array_t<Value, py::array::c_style>>(given);
    const auto size = static_cast<std::size_t>(values.size());
    if (rows.empty()) {
      rows.resize(size);
    }
    if (rows.size() != size) {
      throw elk::InvalidInput(
          elk::text("column ", name, " has ", size, " rows: it must have ", rows.size()));
    }
    const Value* in = values.data();
    for (Row& row : rows) {
      number_of(field(row)) = static_cast<Number>(*in++);
    }
  }

 private:
  py::dict columns_;
};

/// What of a recording is not a list.
struct RecordedState {
  std::int64_t left_high;
  std::int64_t left_low;
  std::int64_t classes;
  std::int64_t ops;
  std::uint8_t ends;
};

#define ELK_FIELD(path) [](auto& row) -> auto& { return row.path; }

template <class Columns>
void machine_columns(Columns& columns, sim::FlatRecording& flat, std::vector<RecordedState>& state,
                     std::vector<sim::Trace>& trace) {
  columns("fidelity", trace, ELK_FIELD(fidelity));
  columns("hbm_latency", trace, ELK_FIELD(machine.hbm_latency));
  columns("refresh_interval", trace, ELK_FIELD(machine.refresh.interval));
  columns("refresh_stall", trace, ELK_FIELD(machine.refresh.stall));
  columns("state_now", trace, ELK_FIELD(start.now));
  columns("state_idle_since", trace, ELK_FIELD(start.idle_since));
  columns("state_left_high", state, ELK_FIELD(left_high));
  columns("state_left_low", state, ELK_FIELD(left_low));
  columns("classes", state, ELK_FIELD(classes));
  columns("ops", state, ELK_FIELD(ops));
  columns("ends", state, ELK_FIELD(ends));
  columns("resource_purpose", flat.resources, ELK_FIELD(purpose));
  columns("resource_from", flat.resources, ELK_FIELD(from));
  columns("resource_to", flat.resources, ELK_FIELD(to));
  columns("resource_count", flat.resources, ELK_FIELD(count));
  columns("resource_rate", flat.resources, ELK_FIELD(rate));
  columns("class_of", flat.class_of, [](auto& row) -> auto& { return row; });
}

template <class Columns>
void demand_columns(Columns& columns, sim::FlatRecording& flat) {
  const auto itself = [](auto& row) -> auto& { return row; };
  columns("demand_stream", flat.demands, ELK_FIELD(stream));
  columns("demand_latency", flat.demands, ELK_FIELD(latency));
  columns("demand_crosses", flat.demands, ELK_FIELD(crosses));
  columns("demand_busiest", flat.demands, ELK_FIELD(busiest));
  columns("demand_most_received", flat.demands, ELK_FIELD(most_received));
  columns("demand_received", flat.demands, ELK_FIELD(received));
  columns("demand_hops", flat.demands, ELK_FIELD(hop_bytes));
  columns("demand_between", flat.demands, ELK_FIELD(chip_bytes));
  columns("demand_hbm", flat.demands, ELK_FIELD(hbm));
  columns("demand_kind_of", flat.kind_of, itself);
  columns("demand_kinds", flat.kinds_of, itself);
  columns("kind_amount", flat.kinds, ELK_FIELD(amount));
  columns("kind_tail", flat.kinds, ELK_FIELD(tail));
  columns("kind_rate", flat.kinds, ELK_FIELD(rate));
  columns("kind_computes", flat.kinds, ELK_FIELD(computes));
  columns("load_demand", flat.loads, itself);
}

template <class Columns>
void execution_columns(Columns& columns, sim::FlatRecording& flat) {
  const auto itself = [](auto& row) -> auto& { return row; };
  columns("execution_received", flat.executions, ELK_FIELD(work.received));
  columns("execution_exchange", flat.executions, ELK_FIELD(work.exchange));
  columns("execution_distribute", flat.executions, ELK_FIELD(work.distribute));
  columns("execution_all_received", flat.executions, ELK_FIELD(work.totals.received));
  columns("execution_hops", flat.executions, ELK_FIELD(work.totals.hops));
  columns("execution_between", flat.executions, ELK_FIELD(work.totals.between));
  columns("execution_operands", flat.executions, ELK_FIELD(work.totals.operands));
  columns("execution_flops", flat.executions, ELK_FIELD(work.totals.flops));
  columns("execution_core_s", flat.executions, ELK_FIELD(work.totals.vector_s));
  columns("execution_stages", flat.stages_of, itself);
  columns("execution_cores", flat.cores_of, itself);
  columns("core", flat.cores, itself);
  columns("stage_kind", flat.stages, ELK_FIELD(kind));
  columns("stage_sync", flat.stages, ELK_FIELD(sync));
  columns("stage_exposed", flat.stages, ELK_FIELD(exposed));
  columns("stage_core_s", flat.stages, ELK_FIELD(core_time));
  columns("stage_demand", flat.asks, itself);
}

template <class Columns>
void step_columns(Columns& columns, sim::Trace& trace) {
  columns("job_opcode", trace.start.jobs, ELK_FIELD(instruction.opcode));
  columns("job_subject", trace.start.jobs, ELK_FIELD(instruction.subject));
  columns("job_load", trace.start.jobs, ELK_FIELD(load));
  columns("job_issued", trace.start.jobs, ELK_FIELD(issued));
  columns("job_begin", trace.start.jobs, ELK_FIELD(begin));
  columns("job_first", trace.start.jobs, ELK_FIELD(first));
  columns("job_end", trace.start.jobs, ELK_FIELD(end));
  columns("job_refreshed", trace.start.jobs, ELK_FIELD(refreshed));
  columns("job_reached", trace.start.jobs, ELK_FIELD(reached));
  columns("step_opcode", trace.steps, ELK_FIELD(instruction.opcode));
  columns("step_subject", trace.steps, ELK_FIELD(instruction.subject));
  columns("step_load", trace.steps, ELK_FIELD(load));
  columns("step_waits", trace.steps, ELK_FIELD(waits));
  columns("step_execution", trace.steps, ELK_FIELD(execution));
  columns("step_matrix", trace.steps, ELK_FIELD(matrix));
}

#undef ELK_FIELD

constexpr int kHalf = 64;

py::dict columns_of(const sim::Recording& recording) {
  sim::FlatRecording flat = sim::flatten(recording);
  std::vector<sim::Trace> trace{flat.trace};
  const sim::Wide left = flat.trace.start.left;
  std::vector<RecordedState> state{
      {.left_high = static_cast<std::int64_t>(left >> kHalf),
       .left_low = static_cast<std::int64_t>(left),
       .classes = static_cast<std::int64_t>(flat.trace.machine.resources),
       .ops = static_cast<std::int64_t>(flat.trace.ops),
       .ends = static_cast<std::uint8_t>(flat.trace.ends ? 1 : 0)}};
  ColumnWriter columns;
  machine_columns(columns, flat, state, trace);
  demand_columns(columns, flat);
  execution_columns(columns, flat);
  step_columns(columns, flat.trace);
  return columns.columns;
}

sim::Recording of_columns(const py::dict& given) {
  sim::FlatRecording flat;
  std::vector<sim::Trace> trace(1);
  std::vector<RecordedState> state(1);
  ColumnReader columns(given);
  machine_columns(columns, flat, state, trace);
  flat.trace = trace.front();
  demand_columns(columns, flat);
  execution_columns(columns, flat);
  step_columns(columns, flat.trace);
  const RecordedState& one = state.front();
  flat.trace.start.left =
      (static_cast<sim::Wide>(one.left_high) << kHalf) | static_cast<std::uint64_t>(one.left_low);
  flat.trace.machine.resources = static_cast<std::size_t>(one.classes);
  flat.trace.ops = static_cast<std::size_t>(one.ops);
  flat.trace.ends = one.ends != 0;
  const py::gil_scoped_release released;
  return sim::unflatten(flat);
}

py::dict units_of(const sim::Recording& recording, double begin_ps, double end_ps,
                  std::int64_t bins) {
  sim::UnitBins found;
  {
    const py::gil_scoped_release released;
    found = sim::units(recording, {begin_ps, end_ps}, bins);
  }
  const auto itself = [](auto value) { return value; };
  py::dict columns;
  columns["hbm_bytes"] = column(found.hbm, itself);
  columns["received_bytes"] = column(found.received, itself);
  columns["matrix_core_s"] = column(found.matrix, itself);
  columns["vector_core_s"] = column(found.vector, itself);
  columns["other_core_s"] = column(found.other, itself);
  columns["carried"] = column(found.carried, itself);
  columns["busy_s"] = column(found.busy, itself);
  for (std::size_t p = 0; p < sim::kPurposes; ++p) {
    const sim::PurposeBins& purpose = found.purposes[p];
    py::dict one;
    one["amount"] = column(purpose.amount, itself);
    one["busiest"] = column(purpose.busiest, itself);
    one["busiest_is"] = column(purpose.busiest_is, itself);
    columns[py::int_(p)] = one;
  }
  return columns;
}

}  // namespace

void bind_record(py::module_& m) {
  using sim::Recording;
  py::class_<Recording>(m, "Recording", "What a simulation plays, to be played again.")
      .def(
          "play", [](const Recording& r) { return sim::play(r.trace); },
          py::call_guard<py::gil_scoped_release>(), "The run.")
      .def(
          "window",
          [](const Recording& r, std::int64_t begin, std::int64_t end) {
            if (begin < 0 || end < begin) {
              throw elk::InvalidInput("a window must begin at 0 or later and not end before that");
            }
            return sim::window(r, {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)});
          },
          py::arg("begin"), py::arg("end"), py::call_guard<py::gil_scoped_release>(),
          "The instructions from `begin` up to `end`, as they ran.")
      .def(
          "at_speeds",
          [](const Recording& r, const std::vector<double>& speeds) {
            return sim::at_speeds(r, speeds);
          },
          py::arg("speeds"), py::call_guard<py::gil_scoped_release>(),
          "On a machine whose resources run at these speeds of theirs.")
      .def("units", &units_of, py::arg("begin_ps"), py::arg("end_ps"), py::arg("bins"),
           "What units do in equal parts of a time; of each purpose of resources by its number.")
      .def("columns", &columns_of, "All of it, as files hold it.")
      .def_static("of_columns", &of_columns, py::arg("columns"),
                  "What `columns` gave; refused where it contradicts itself.");
  m.def("record", &elk::compile::record, py::arg("graph"), py::arg("chip"), py::arg("program"),
        py::arg("tiles"), py::arg("fidelity"), py::arg("kept") = nullptr,
        py::call_guard<py::gil_scoped_release>(), "What `simulate` plays.");
}
