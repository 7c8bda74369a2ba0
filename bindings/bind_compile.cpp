#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/native_enum.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "columns.hpp"
#include "elk/compile/compile.hpp"
#include "elk/compile/figures.hpp"
#include "elk/compile/named_plans.hpp"
#include "id_casters.hpp"

namespace py = pybind11;
namespace compile = elk::compile;
namespace program = elk::program;
namespace schedule = elk::schedule;
using elk::Watch;
using elk::bindings::column;

namespace {

py::dict code_columns(const std::vector<program::Instruction>& code) {
  using program::Instruction;
  py::dict columns;
  columns["opcode"] =
      column(code, [](const Instruction& i) { return static_cast<std::uint8_t>(i.opcode); });
  columns["subject"] = column(code, [](const Instruction& i) { return i.subject; });
  return columns;
}

py::dict buffer_columns(const std::vector<program::Buffer>& buffers) {
  using program::Buffer;
  py::dict columns;
  columns["op"] = column(buffers, [](const Buffer& b) { return b.op; });
  columns["tensor"] = column(buffers, [](const Buffer& b) { return b.tensor; });
  columns["role"] =
      column(buffers, [](const Buffer& b) { return static_cast<std::uint8_t>(b.role); });
  columns["offset_bytes"] = column(buffers, [](const Buffer& b) { return b.offset.value; });
  columns["bytes"] = column(buffers, [](const Buffer& b) { return b.bytes.value; });
  columns["from"] = column(buffers, [](const Buffer& b) { return b.from; });
  columns["to"] = column(buffers, [](const Buffer& b) { return b.to; });
  return columns;
}

py::dict forecast_columns(const schedule::Forecast& forecast) {
  using schedule::OpTimes;
  using schedule::StoreTimes;
  py::dict columns;
  columns["preload_begin_ps"] =
      column(forecast.ops, [](const OpTimes& t) { return t.preload.begin.value; });
  columns["preload_end_ps"] =
      column(forecast.ops, [](const OpTimes& t) { return t.preload.end.value; });
  columns["execute_begin_ps"] =
      column(forecast.ops, [](const OpTimes& t) { return t.execute.begin.value; });
  columns["execute_end_ps"] =
      column(forecast.ops, [](const OpTimes& t) { return t.execute.end.value; });
  columns["store_tensor"] = column(forecast.stores, [](const StoreTimes& t) { return t.tensor; });
  columns["store_begin_ps"] =
      column(forecast.stores, [](const StoreTimes& t) { return t.store.begin.value; });
  columns["store_end_ps"] =
      column(forecast.stores, [](const StoreTimes& t) { return t.store.end.value; });
  return columns;
}

/// What a policy starts from, as a word.
const char* starts(const schedule::PolicyEntry& one) {
  switch (one.starts) {
    case schedule::Starts::Nothing:
      return "nothing";
    case schedule::Starts::Below:
      return "below";
    case schedule::Starts::All:
      return "all";
  }
  return "";
}

void bind_policies(py::module_& m) {
  py::class_<schedule::PolicyEntry>(m, "Policy",
                                    "Who decides the schedule; a line of the registry.")
      .def_readonly("name", &schedule::PolicyEntry::name)
      .def_readonly("summary", &schedule::PolicyEntry::summary)
      .def_readonly("colour", &schedule::PolicyEntry::colour)
      .def_readonly("counts_energy", &schedule::PolicyEntry::counts_energy)
      .def_property_readonly(
          "forecasts",
          [](const schedule::PolicyEntry& one) { return one.makes == schedule::Makes::Forecast; })
      .def(
          "proposes",
          [](const schedule::PolicyEntry& one, const elk::chip::Chip& chip) {
            return schedule::proposes(one.policy, chip);
          },
          py::arg("chip"), "Whether the policy proposes on a chip.")
      .def_property_readonly("starts",
                             [](const schedule::PolicyEntry& one) { return starts(one); });
  m.def("policies", [] {
    py::list all;
    for (const schedule::PolicyEntry& one : schedule::policies()) {
      all.append(py::cast(one, py::return_value_policy::reference));
    }
    return all;
  });
}

void bind_given(py::module_& m) {
  using compile::NamedPlan;
  py::class_<NamedPlan>(m, "NamedPlan", "An op's plan in the words of a plan file.")
      .def(py::init([](std::map<std::string, std::int64_t> factors,
                       std::map<std::string, std::vector<std::int64_t>> temporal,
                       std::optional<std::vector<std::pair<std::string, std::int64_t>>> pace,
                       std::optional<std::vector<std::string>> order,
                       std::optional<std::map<std::string, std::int32_t>> mesh_dims) {
             return NamedPlan{.factors = std::move(factors),
                              .temporal = std::move(temporal),
                              .pace = std::move(pace),
                              .order = std::move(order),
                              .mesh_dims = std::move(mesh_dims)};
           }),
           py::kw_only(), py::arg("factors"), py::arg("temporal"), py::arg("pace") = py::none(),
           py::arg("order") = py::none(), py::arg("mesh_dims") = py::none());
  using compile::GivenPlans;
  py::class_<GivenPlans>(m, "GivenPlans", "Plans made elsewhere, all that an op may take.")
      .def(py::init([](std::string op, std::vector<NamedPlan> plans) {
             return GivenPlans{.op = std::move(op), .plans = std::move(plans)};
           }),
           py::kw_only(), py::arg("op"), py::arg("plans"))
      .def_readonly("op", &GivenPlans::op);
}

void bind_options(py::module_& m) {
  py::native_enum<schedule::Objective>(m, "Objective", "enum.IntEnum", "What is to be least.")
      .value("Latency", schedule::Objective::Latency)
      .value("Energy", schedule::Objective::Energy)
      .value("Edp", schedule::Objective::Edp)
      .finalize();
  py::native_enum<compile::Pod>(m, "Pod", "enum.IntEnum", "How chips work together.")
      .value("Sharded", compile::Pod::Sharded)
      .value("Pooled", compile::Pod::Pooled)
      .finalize();
  py::class_<Watch>(m, "Watch", "How far a compile is, and the word to end it.")
      .def(py::init<>())
      .def("stop", [](Watch& watch) { watch.stopped = true; })
      .def("abandon", [](Watch& watch) { watch.abandoned = true; })
      .def(
          "run",
          [](const Watch& watch, const py::function& work) {
            const elk::WatchScope scope(&watch);
            return work();
          },
          py::arg("work"), "What `work()` returns, whose calls of the core end if it is abandoned.")
      .def_property_readonly("stopped", [](const Watch& watch) { return watch.stopped.load(); })
      .def_property_readonly("done", [](const Watch& watch) { return watch.done.load(); })
      .def_property_readonly("all", [](const Watch& watch) { return watch.all.load(); });
  py::native_enum<schedule::Effort>(m, "Effort", "enum.IntEnum", "How much work elk-full does.")
      .value("Fast", schedule::Effort::Fast)
      .value("Default", schedule::Effort::Default)
      .value("Max", schedule::Effort::Max)
      .finalize();
  py::class_<compile::Kept>(m, "Kept", "What compiles of a model leave for the next.")
      .def(py::init<>())
      .def_property_readonly(
          "reuse",
          [](const compile::Kept& kept) {
            py::dict result;
            for (const auto& [name, reuse] : kept.reuse()) {
              result[py::str(name)] = py::make_tuple(reuse.found, reuse.asked);
            }
            return result;
          },
          "How many entries were found, of how many asked for, by what is kept.");
  bind_given(m);
  py::class_<compile::Options>(m, "Options", "What the compiler is asked for.")
      .def(py::init([](const schedule::PolicyEntry& policy, schedule::Effort effort,
                       schedule::Objective objective, compile::Pod pod, std::int32_t threads,
                       double min_core_share, double max_padding) {
             return compile::Options{.policy = policy.policy,
                                     .effort = effort,
                                     .objective = objective,
                                     .pod = pod,
                                     .threads = threads,
                                     .constraints = {min_core_share, max_padding}};
           }),
           py::kw_only(), py::arg("policy"), py::arg("effort"),
           py::arg("objective") = schedule::Objective::Latency, py::arg("pod"), py::arg("threads"),
           py::arg("min_core_share"), py::arg("max_padding"))
      .def_readwrite("waves", &compile::Options::waves)
      .def_readwrite("plans", &compile::Options::plans);
}

void bind_search(py::module_& m) {
  using compile::PlannedOp;
  py::class_<PlannedOp>(m, "PlannedOp", "One op as planned, with its costs in place.")
      .def_readonly("option", &PlannedOp::option)
      .def_readonly("state", &PlannedOp::state)
      .def_readonly("has_preload", &PlannedOp::has_preload)
      .def_readonly("front", &PlannedOp::front)
      .def_readonly("choice", &PlannedOp::choice)
      .def_property_readonly(
          "rounds", [](const PlannedOp& op) { return std::pair(op.rounds.axis, op.rounds.count); },
          "The axis that it goes through in rounds, -1 for none, and how many there are.");

  using compile::Search;
  py::class_<Search>(m, "Search", "How much was looked at.")
      .def_readonly("complete", &Search::complete)
      .def_readonly("filtered", &Search::filtered)
      .def_readonly("pareto", &Search::pareto)
      .def_readonly("orders", &Search::orders)
      .def_property_readonly("explored", [](const Search& search) {
        py::list points;
        for (const schedule::IdlePoint& one : search.explored) {
          points.append(py::make_tuple(one.idle.value, one.peak.value, one.seconds));
        }
        return points;
      });

  using compile::Aimed;
  py::class_<Aimed>(m, "Aimed", "What a plan for another objective than latency reaches.")
      .def_readonly("objective", &Aimed::objective)
      .def_readonly("joules", &Aimed::joules)
      .def_property_readonly("shortest_ps", [](const Aimed& a) { return a.shortest.value; })
      .def_readonly("shortest_joules", &Aimed::shortest_joules);

  using schedule::OrderSearch;
  py::class_<OrderSearch>(m, "OrderSearch", "How the order of preloads was chosen.")
      .def_readonly("heavy_fit", &OrderSearch::heavy_fit)
      .def_readonly("heavy", &OrderSearch::heavy)
      .def_readonly("plans", &OrderSearch::plans)
      .def_readonly("fit", &OrderSearch::fit)
      .def_readonly("ops", &OrderSearch::ops)
      .def_readonly("generated", &OrderSearch::generated)
      .def_readonly("pruned", &OrderSearch::pruned)
      .def_readonly("scheduled", &OrderSearch::scheduled)
      .def_readonly("complete", &OrderSearch::complete)
      .def_readonly("edit_distance", &OrderSearch::edit_distance);

  using schedule::Bounds;
  py::class_<Bounds>(m, "Bounds", "What no plan can beat, and what an ideal chip would take.")
      .def_property_readonly("ideal_s", [](const Bounds& b) { return b.ideal.value; })
      .def_property_readonly("lower_bound_s", [](const Bounds& b) { return b.lower_bound.value; })
      .def_property_readonly("hbm_s", [](const Bounds& b) { return b.hbm.value; })
      .def_property_readonly("execute_s", [](const Bounds& b) { return b.execute.value; })
      .def_property_readonly("link_s", [](const Bounds& b) { return b.link.value; });
}

void bind_figures(py::module_& m) {
  using compile::Figures;
  py::class_<Figures>(m, "Figures", "What follows of an op from its cut and its divisors.")
      .def_readonly("cores", &Figures::cores)
      .def_readonly("steps", &Figures::steps)
      .def_property_readonly("space_bytes",
                             [](const Figures& f) {
                               std::vector<std::int64_t> bytes;
                               bytes.reserve(f.space.size());
                               for (const elk::Bytes b : f.space) {
                                 bytes.push_back(b.value);
                               }
                               return bytes;
                             })
      .def_property_readonly("preload_space_bytes",
                             [](const Figures& f) { return f.preload_space.value; })
      .def_readonly("hbm_bytes", &Figures::hbm_bytes)
      .def_property_readonly("exchange_bytes", [](const Figures& f) { return f.exchange.value; })
      .def_property_readonly("distribute_bytes",
                             [](const Figures& f) { return f.distribute.value; })
      .def_property_readonly("sent_bytes", [](const Figures& f) { return f.sent.value; });
  m.def("figures", &compile::figures, py::arg("graph"), py::arg("chip"), py::arg("program"),
        py::call_guard<py::gil_scoped_release>(), "The figures of every op of a sound program.");
  m.def("figures_unmoved", &compile::figures_unmoved, py::arg("graph"), py::arg("chip"),
        py::arg("program"), py::call_guard<py::gil_scoped_release>(),
        "The figures of every op of a sound forecast, exchanges left out.");
}

}  // namespace

void bind_compile(py::module_& m) {
  bind_policies(m);
  bind_options(m);
  bind_search(m);

  using compile::Plan;
  py::class_<Plan>(m, "Plan", "What the compiler decided, in columns.")
      .def_property_readonly("policy", [](const Plan& plan) { return schedule::name(plan.policy); })
      .def_property_readonly("origin", [](const Plan& plan) { return schedule::name(plan.origin); })
      .def_readonly("pod", &Plan::pod)
      .def_readonly("shard", &Plan::shard)
      .def_property_readonly("parts",
                             [](const Plan& plan) {
                               std::vector<std::pair<std::string, std::vector<std::int64_t>>> rows;
                               rows.reserve(plan.parts.size());
                               for (const compile::PlannedPart& part : plan.parts) {
                                 rows.emplace_back(part.of, part.begin);
                               }
                               return rows;
                             })
      .def_readonly("ops", &Plan::ops)
      .def_readonly("fronts", &Plan::fronts)
      .def_readonly("front_of", &Plan::front_of)
      .def_readonly("program", &Plan::program)
      .def_property_readonly("preload_order",
                             [](const Plan& p) { return p.schedule.preload_order; })
      .def_property_readonly("code", [](const Plan& p) { return code_columns(p.program.code); })
      .def_property_readonly("buffers",
                             [](const Plan& p) { return buffer_columns(p.program.buffers); })
      .def_property_readonly("predicted",
                             [](const Plan& p) { return forecast_columns(p.predicted); })
      .def_property_readonly("total_ps", [](const Plan& p) { return p.predicted.total.value; })
      .def_property_readonly("raw_ps", [](const Plan& p) { return p.raw.value; })
      .def_readonly("bounds", &Plan::bounds)
      .def_property_readonly("simulated_s",
                             [](const Plan& p) {
                               return p.simulated ? std::optional(p.simulated->value)
                                                  : std::nullopt;
                             })
      .def_property_readonly(
          "run", [](const Plan& p) { return p.run.get(); },
          py::return_value_policy::reference_internal)
      .def_readonly("search", &Plan::search)
      .def_readonly("aimed", &Plan::aimed);

  bind_figures(m);
  m.def(
      "compile",
      [](const elk::ir::Graph& graph, const elk::chip::Chip& chip,
         const elk::tile::TileModel& tiles, compile::Options options, Watch* watch,
         compile::Kept* kept) {
        options.watch = watch;
        options.kept = kept;
        return compile::compile(graph, chip, tiles, options);
      },
      py::arg("graph"), py::arg("chip"), py::arg("tiles"), py::arg("options"),
      py::arg("watch") = nullptr, py::arg("kept") = nullptr,
      py::call_guard<py::gil_scoped_release>(), "The plan of `graph` on `chip` under `options`.");
}
