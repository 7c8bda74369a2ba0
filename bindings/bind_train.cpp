#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <pybind11/native_enum.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "columns.hpp"
#include "elk/base/ids.hpp"
#include "elk/train/plan/plan_training.hpp"
#include "elk/train/plan/step_forecast.hpp"
#include "elk/train/play/collectives.hpp"
#include "elk/train/play/simulate_training.hpp"
#include "elk/train/strategy.hpp"
#include "id_casters.hpp"
#include "link_columns.hpp"

namespace py = pybind11;
namespace train = elk::train;
using elk::bindings::column;

namespace {

void bind_words(py::module_& m) {
  using train::Groups;
  using train::Optimizer;
  using train::PipelineSchedule;
  using train::Recompute;
  using train::StageLayout;
  py::native_enum<PipelineSchedule>(m, "Schedule", "enum.Enum",
                                    "In which order stages take passes.")
      .value("GPipe", PipelineSchedule::GPipe)
      .value("OneForwardOneBackward", PipelineSchedule::OneForwardOneBackward)
      .value("Interleaved", PipelineSchedule::Interleaved)
      .finalize();
  py::native_enum<Recompute>(m, "Recompute", "enum.Enum", "Which activations are made again.")
      .value("None_", Recompute::None)
      .value("Full", Recompute::Full)
      .value("Auto", Recompute::Auto)
      .finalize();
  py::native_enum<Optimizer>(m, "Optimizer", "enum.Enum", "What updates weights.")
      .value("None_", Optimizer::None)
      .value("Sgd", Optimizer::Sgd)
      .value("Adam", Optimizer::Adam)
      .finalize();
  py::native_enum<StageLayout>(m, "Layout", "enum.Enum", "How stages lie on a grid.")
      .value("SShape", StageLayout::SShape)
      .value("Line", StageLayout::Line)
      .finalize();
  py::native_enum<Groups>(m, "Groups", "enum.Enum", "Whose devices are neighbours.")
      .value("Near", Groups::Near)
      .value("Far", Groups::Far)
      .finalize();
  using train::CollectiveKind;
  py::native_enum<CollectiveKind>(m, "CollectiveKind", "enum.Enum",
                                  "What members of a group do together.")
      .value("ReduceScatter", CollectiveKind::ReduceScatter)
      .value("AllGather", CollectiveKind::AllGather)
      .value("AllReduce", CollectiveKind::AllReduce)
      .value("AllToAll", CollectiveKind::AllToAll)
      .value("Reduce", CollectiveKind::Reduce)
      .value("Broadcast", CollectiveKind::Broadcast)
      .value("Read", CollectiveKind::Read)
      .value("Write", CollectiveKind::Write)
      .finalize();
}

using GivenDegrees =
    std::vector<std::pair<std::string, std::vector<std::pair<std::string, std::int64_t>>>>;
using GivenStages = std::vector<std::pair<std::vector<elk::OpId>, std::vector<elk::CoreId>>>;

void bind_strategy(py::module_& m) {
  using train::Strategy;
  py::class_<Strategy>(m, "Strategy", "How a model is trained.")
      .def(py::init<>())
      .def_readwrite("pp", &Strategy::pp)
      .def_readwrite("tp", &Strategy::tp)
      .def_readwrite("dp", &Strategy::dp)
      .def_readwrite("chunks", &Strategy::chunks)
      .def_readwrite("micro_batch", &Strategy::micro_batch)
      .def_readwrite("schedule", &Strategy::schedule)
      .def_readwrite("zero", &Strategy::zero)
      .def_readwrite("recompute", &Strategy::recompute)
      .def_readwrite("optimizer", &Strategy::optimizer)
      .def_readwrite("overlap_dp", &Strategy::overlap_dp)
      .def_readwrite("overlap_pp", &Strategy::overlap_pp)
      .def_readwrite("layout", &Strategy::layout)
      .def_readwrite("groups", &Strategy::groups)
      .def(
          "give_stages",
          [](Strategy& strategy, const GivenStages& stages) {
            strategy.stages.clear();
            for (const auto& [ops, devices] : stages) {
              strategy.stages.push_back({.ops = ops, .devices = devices});
            }
          },
          py::arg("stages"))
      .def(
          "give_degrees",
          [](Strategy& strategy, const GivenDegrees& degrees) {
            strategy.degrees.clear();
            for (const auto& [op, axes] : degrees) {
              train::OpDegrees& one = strategy.degrees.emplace_back(train::OpDegrees{op, {}});
              for (const auto& [axis, parts] : axes) {
                one.axes.push_back({.axis = axis, .parts = parts});
              }
            }
          },
          py::arg("degrees"));
  using train::Gpu;
  py::class_<Gpu>(m, "Gpu", "What kernels reach on a GPU.")
      .def(py::init([](double peak_flops, double product_share, double memory_rate,
                       double memory_share, double launch_s, std::int64_t units,
                       std::int64_t tile_rows, std::int64_t tile_columns) {
             return Gpu{.peak_flops = peak_flops,
                        .product_share = product_share,
                        .memory_rate = memory_rate,
                        .memory_share = memory_share,
                        .launch = {launch_s},
                        .units = units,
                        .tile_rows = tile_rows,
                        .tile_columns = tile_columns};
           }),
           py::kw_only(), py::arg("peak_flops"), py::arg("product_share"), py::arg("memory_rate"),
           py::arg("memory_share"), py::arg("launch_s"), py::arg("units"), py::arg("tile_rows"),
           py::arg("tile_columns"));
}

py::dict memory_of(const train::StageMemory& memory) {
  py::dict kinds;
  kinds["weights"] = memory.weights.value;
  kinds["gradients"] = memory.gradients.value;
  kinds["optimizer"] = memory.optimizer.value;
  kinds["activations"] = memory.activations.value;
  kinds["working"] = memory.working.value;
  kinds["capacity"] = memory.capacity.value;
  return kinds;
}

py::dict stage_of(const train::StagePlan& stage) {
  py::dict row;
  std::vector<elk::OpId> ops;
  std::vector<std::int64_t> saved;
  std::int64_t layers = 0;
  std::int64_t parameters = 0;
  for (const train::PartPlan& part : stage.chunks) {
    saved.push_back(part.saved.value);
    for (const train::UnitPlan& unit : part.units) {
      ops.insert(ops.end(), unit.ops.begin(), unit.ops.end());
      layers += unit.layer ? 1 : 0;
      parameters += unit.parameters;
    }
  }
  row["ops"] = ops;
  row["layers"] = layers;
  row["parameters"] = parameters;
  row["devices"] = stage.devices.all();
  row["in_flight"] = stage.in_flight;
  row["recompute"] = stage.recompute;
  row["saved_bytes"] = saved;
  row["memory"] = memory_of(stage.memory);
  return row;
}

/// Amounts of each part of the time, of each stage.
template <class Amounts>
std::vector<std::vector<std::int64_t>> by_part(
    const elk::Table<train::PipelineStageId, Amounts>& stages) {
  std::vector<std::vector<std::int64_t>> rows;
  for (const Amounts& stage : stages) {
    std::vector<std::int64_t>& row = rows.emplace_back();
    for (const auto amount : stage) {
      row.push_back(amount.value);
    }
  }
  return rows;
}

py::dict rows_of(const train::TrainingRun& run) {
  using train::TrainingRow;
  py::dict rows;
  rows["stage"] = column(run.rows, [](const TrainingRow& r) { return r.stage; });
  rows["kind"] =
      column(run.rows, [](const TrainingRow& r) { return static_cast<std::uint8_t>(r.kind); });
  rows["micro"] = column(run.rows, [](const TrainingRow& r) { return r.micro; });
  rows["chunk"] = column(run.rows, [](const TrainingRow& r) { return r.chunk; });
  rows["begin_ps"] = column(run.rows, [](const TrainingRow& r) { return r.time.begin.value; });
  rows["end_ps"] = column(run.rows, [](const TrainingRow& r) { return r.time.end.value; });
  return rows;
}

void bind_run(py::module_& m) {
  using train::TrainingRun;
  py::class_<TrainingRun>(m, "TrainingRun", "A training step as it ran.")
      .def_readonly("fidelity", &TrainingRun::fidelity)
      .def_property_readonly("total_ps", [](const TrainingRun& r) { return r.total.value; })
      .def_property_readonly("rows", &rows_of)
      .def_property_readonly("split_ps", [](const TrainingRun& r) { return by_part(r.split); })
      .def_property_readonly("sent_bytes", [](const TrainingRun& r) { return by_part(r.sent); })
      .def_property_readonly(
          "links", [](const TrainingRun& r) { return elk::bindings::link_columns(r.links); });
  using Row = std::tuple<train::CollectiveKind, std::vector<elk::CoreId>, std::int64_t>;
  m.def(
      "play_collectives",
      [](const elk::chip::Chip& chip, const std::vector<Row>& rows, elk::sim::Links links) {
        std::vector<elk::Picoseconds> ends;
        {
          const py::gil_scoped_release released;
          std::vector<train::PlainCollective> collectives;
          collectives.reserve(rows.size());
          for (const auto& [kind, members, bytes] : rows) {
            collectives.push_back({.kind = kind, .members = members, .bytes = {bytes}});
          }
          ends = train::play_collectives(chip, collectives, links);
        }
        return column(ends, [](elk::Picoseconds end) { return end.value; });
      },
      py::arg("chip"), py::arg("rows"), py::arg("links"),
      "When each row of (kind, members, bytes) is over, in picoseconds.");
}

}  // namespace

void bind_train(py::module_& m) {
  bind_words(m);
  bind_strategy(m);
  py::class_<train::TrainingPlan>(m, "TrainingPlan", "A model that trains on a machine.")
      .def_property_readonly("stages",
                             [](const train::TrainingPlan& plan) {
                               py::list stages;
                               for (const train::StagePlan& stage : plan.stages) {
                                 stages.append(stage_of(stage));
                               }
                               return stages;
                             })
      .def_readonly("product_flops", &train::TrainingPlan::product_flops)
      .def_readonly("repeated_flops", &train::TrainingPlan::repeated_flops)
      .def_property_readonly("micros",
                             [](const train::TrainingPlan& plan) { return plan.pipeline.micros; });
  m.def(
      "plan_training",
      [](const elk::ir::Graph& graph, const elk::chip::Chip& chip,
         const elk::tile::TileModel* tiles, const std::optional<train::Gpu>& gpu,
         const train::Strategy& strategy, std::int64_t batch) {
        const py::gil_scoped_release released;
        return train::plan_training({.graph = graph,
                                     .chip = chip,
                                     .tiles = tiles,
                                     .gpu = gpu,
                                     .strategy = strategy,
                                     .batch = batch});
      },
      py::arg("graph"), py::arg("chip"), py::arg("tiles").none(true), py::arg("gpu"),
      py::arg("strategy"), py::arg("batch"), "Cuts a model over the devices of a machine.");
  bind_run(m);
  m.def("simulate_training", &train::simulate_training, py::arg("plan"), py::arg("chip"),
        py::arg("fidelity").none(true), py::arg("links"), py::call_guard<py::gil_scoped_release>(),
        "Plays a plan of training.");
  m.def(
      "forecast_training",
      [](const train::TrainingPlan& plan, const elk::chip::Chip& chip) {
        return train::forecast(plan, chip).value;
      },
      py::arg("plan"), py::arg("chip"), "About what a training step takes, in picoseconds.");
  m.def("strategy_complaints", &train::complaints, py::arg("strategy"), py::arg("batch"),
        py::arg("devices"), "What is wrong with a strategy, a line a field.");
}
