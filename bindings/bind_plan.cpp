#include <cstdint>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "elk/compile/compile.hpp"
#include "elk/cost/front/front.hpp"
#include "elk/cost/option.hpp"
#include "elk/partition/plan.hpp"

namespace py = pybind11;
namespace cost = elk::cost;
namespace partition = elk::partition;

namespace {

std::vector<std::int64_t> values(const std::vector<elk::Bytes>& bytes) {
  std::vector<std::int64_t> out;
  out.reserve(bytes.size());
  for (const elk::Bytes b : bytes) {
    out.push_back(b.value);
  }
  return out;
}

/// The first of `options` counts as the fastest.
cost::Front keep(const cost::Front& front, const std::vector<std::size_t>& options) {
  cost::Front kept = front;
  kept.options.clear();
  for (const std::size_t option : options) {
    kept.options.push_back(front.options.at(option));
  }
  kept.fastest = 0;
  return kept;
}

void bind_execute_plan(py::module_& m) {
  using partition::ExecutePlan;
  py::class_<ExecutePlan>(m, "ExecutePlan", "How an op is cut over cores while it runs.")
      .def(py::init([](std::vector<std::int64_t> factors,
                       std::vector<std::vector<std::int64_t>> temporal,
                       std::vector<std::int64_t> pace, std::vector<std::int32_t> order,
                       std::vector<std::int32_t> loops, std::vector<std::int32_t> mesh_dims) {
             return ExecutePlan{std::move(factors), std::move(temporal), std::move(pace),
                                std::move(order),   std::move(loops),    std::move(mesh_dims)};
           }),
           py::kw_only(), py::arg("factors"), py::arg("temporal"), py::arg("pace"),
           py::arg("order"), py::arg("loops"), py::arg("mesh_dims"))
      .def_readonly("factors", &ExecutePlan::factors)
      .def_readonly("temporal", &ExecutePlan::temporal)
      .def_readonly("pace", &ExecutePlan::pace)
      .def_readonly("order", &ExecutePlan::order)
      .def_readonly("loops", &ExecutePlan::loops)
      .def_readonly("mesh_dims", &ExecutePlan::mesh_dims);

  using partition::Footprint;
  py::class_<Footprint>(m, "Footprint", "Bytes on the busiest core while an op runs.")
      .def_property_readonly("operand_bytes", [](const Footprint& f) { return values(f.operand); })
      .def_property_readonly("tensor_bytes", [](const Footprint& f) { return values(f.tensor); })
      .def_readonly("tensors", &Footprint::tensors)
      .def_property_readonly("rest_bytes", [](const Footprint& f) { return f.rest.value; })
      .def_property_readonly("space_bytes", [](const Footprint& f) { return f.space.value; });
}

void bind_exchange(py::module_& m) {
  using cost::ExchangeCost;
  py::class_<ExchangeCost>(m, "Exchange", "One phase of an execute, alone on the chip.")
      .def_property_readonly("time_s", [](const ExchangeCost& e) { return e.time.value; })
      .def_property_readonly("bytes", [](const ExchangeCost& e) { return e.bytes.value; })
      .def_property_readonly("wire_s", [](const ExchangeCost& e) { return e.wire.value; });

  using cost::PreloadState;
  py::class_<PreloadState>(m, "PreloadState", "How much of its HBM data a core gets at preload.")
      .def_readonly("divisor", &PreloadState::divisor)
      .def_property_readonly("space_bytes", [](const PreloadState& s) { return s.space.value; })
      .def_property_readonly("link_bytes", [](const PreloadState& s) { return s.link.value; })
      .def_readonly("hbm_bytes", &PreloadState::hbm_bytes)
      .def_property_readonly("hbm_time_s", [](const PreloadState& s) { return s.hbm_time.value; })
      .def_property_readonly("time_s", [](const PreloadState& s) { return s.time.value; })
      .def_readonly("distribute", &PreloadState::distribute);
}

void bind_option(py::module_& m) {
  using cost::PlanOption;
  py::class_<PlanOption>(m, "PlanOption", "One way to run an op, with its cost.")
      .def_readonly("plan", &PlanOption::plan)
      .def_readonly("footprint", &PlanOption::footprint)
      .def_readonly("cores", &PlanOption::cores)
      .def_readonly("steps", &PlanOption::steps)
      .def_property_readonly("compute_s", [](const PlanOption& o) { return o.compute.value; })
      .def_readonly("gather", &PlanOption::gather)
      .def_readonly("shift", &PlanOption::shift)
      .def_readonly("reduce", &PlanOption::reduce)
      .def_property_readonly("time_s", [](const PlanOption& o) { return o.time.value; })
      .def_property_readonly("exchange_bytes", [](const PlanOption& o) { return o.exchange.value; })
      .def_readonly("tree", &PlanOption::tree)
      .def_readonly("padded_flops", &PlanOption::padded_flops)
      .def_readonly("extrapolated", &PlanOption::extrapolated)
      .def_readonly("hbm_bytes", &PlanOption::hbm_bytes)
      .def_readonly("states", &PlanOption::states)
      .def_property_readonly(
          "ring", [](const PlanOption& o) { return o.way == partition::CollectiveAlgorithm::Ring; })
      .def_property_readonly("crossing_bytes",
                             [](const PlanOption& o) { return o.shift.crossing.value; });
}

void bind_front(py::module_& m) {
  using cost::Counts;
  py::class_<Counts>(m, "Counts", "How many plans there are, pass the filters, are on the front.")
      .def_readonly("complete", &Counts::complete)
      .def_readonly("filtered", &Counts::filtered)
      .def_readonly("pareto", &Counts::pareto);

  using cost::Front;
  py::class_<Front>(m, "Front", "The Pareto front of an op's plans.")
      .def("keep", &keep, py::arg("options"), "The front with these of its options alone.")
      .def_readonly("options", &Front::options)
      .def_readonly("counts", &Front::counts)
      .def_readonly("fastest", &Front::fastest)
      .def_property_readonly("smallest_bytes", [](const Front& f) { return f.smallest.value; });
}

}  // namespace

void bind_plan(py::module_& m) {
  bind_execute_plan(m);
  bind_exchange(m);
  bind_option(m);
  bind_front(m);
}
