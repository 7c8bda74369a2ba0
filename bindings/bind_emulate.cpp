#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <pybind11/native_enum.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "columns.hpp"
#include "elk/emulate/kernels/kernel_call.hpp"
#include "elk/emulate/machine/listing.hpp"
#include "elk/emulate/machine/machine.hpp"
#include "elk/emulate/machine/pieces.hpp"

namespace py = pybind11;
namespace emulate = elk::emulate;
namespace ir = elk::ir;
using elk::bindings::column;
using namespace pybind11::literals;

namespace {

using ByteArray = py::array_t<std::uint8_t, py::array::c_style>;

/// The operands of an op as whole tensors: reads are copied from `given`, results are zero.
std::vector<std::vector<std::byte>> operand_bytes(const ir::Graph& graph, const ir::Op& op,
                                                  const std::vector<ByteArray>& given) {
  std::vector<std::vector<std::byte>> memory;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const ir::Tensor& tensor = graph.tensors.at(static_cast<std::size_t>(op.operands[i].tensor));
    memory.emplace_back(static_cast<std::size_t>(ir::bytes(tensor).value));
    if (op.operands[i].access == ir::Access::Read) {
      const ByteArray& bytes = given.at(i);
      if (bytes.size() != static_cast<py::ssize_t>(memory.back().size())) {
        throw py::value_error("tensor '" + tensor.name + "' has another number of bytes");
      }
      const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
      std::copy_n(data, memory.back().size(), memory.back().data());
    }
  }
  return memory;
}

py::list compute_op(const ir::Graph& graph, std::size_t number, const std::vector<ByteArray>& given,
                    const std::vector<std::int64_t>& factors) {
  const ir::Op& op = graph.ops.at(number);
  std::vector<std::vector<std::byte>> memory = operand_bytes(graph, op, given);
  std::vector<emulate::PieceBytes> pieces;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const ir::Tensor& tensor = graph.tensors[static_cast<std::size_t>(op.operands[i].tensor)];
    pieces.push_back({emulate::whole(tensor), memory[i].data(), tensor.dtype});
  }
  {
    const py::gil_scoped_release released;
    emulate::compute_in_tiles(graph, op, pieces, factors);
  }
  py::list results;
  for (const std::size_t operand : emulate::result_operands(op)) {
    results.append(ByteArray(static_cast<py::ssize_t>(memory[operand].size()),
                             reinterpret_cast<const std::uint8_t*>(memory[operand].data())));
  }
  return results;
}

using NamedBytes = std::map<std::int32_t, ByteArray>;

/// What every core received, in columns.
py::dict tape_columns(const emulate::Tape& tape) {
  std::vector<std::int32_t> core;
  std::vector<emulate::Receipt> all;
  for (std::size_t c = 0; c < tape.size(); ++c) {
    all.insert(all.end(), tape[c].begin(), tape[c].end());
    core.insert(core.end(), tape[c].size(), static_cast<std::int32_t>(c));
  }
  using emulate::Receipt;
  py::dict columns;
  columns["core"] = column(core, [](std::int32_t c) { return c; });
  columns["action"] =
      column(all, [](const Receipt& one) { return static_cast<std::uint8_t>(one.action); });
  columns["op"] = column(all, [](const Receipt& one) { return one.op; });
  columns["step"] = column(all, [](const Receipt& one) { return one.step; });
  columns["operand"] = column(all, [](const Receipt& one) { return one.operand; });
  columns["sender"] = column(all, [](const Receipt& one) { return one.from; });
  columns["bytes"] = column(all, [](const Receipt& one) { return one.bytes; });
  return columns;
}

/// Tensors as bytes by their position in the graph, in and out, for each chip, and its tape.
py::list emulate_program(const emulate::EmulationJob& job, const std::vector<std::int32_t>& slices,
                         const std::vector<NamedBytes>& given,
                         const std::vector<std::int32_t>& wanted) {
  std::vector<emulate::Views> views;
  std::vector<emulate::EmulationResult> chips;
  for (const NamedBytes& tensors : given) {
    emulate::Views& own = views.emplace_back();
    for (const auto& [tensor, bytes] : tensors) {
      const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
      own[tensor] = {data, static_cast<std::size_t>(bytes.size())};
    }
  }
  {
    const py::gil_scoped_release released;
    chips = emulate::emulate_pod(job, slices, views, wanted);
  }
  py::list answers;
  for (const emulate::EmulationResult& chip : chips) {
    const py::dict results;
    for (const auto& [tensor, bytes] : chip.images) {
      results[py::int_(tensor)] = ByteArray(static_cast<py::ssize_t>(bytes.size()),
                                            reinterpret_cast<const std::uint8_t*>(bytes.data()));
    }
    answers.append(py::make_tuple(results, tape_columns(chip.tape)));
  }
  return answers;
}

using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;

Runs runs_of(const elk::partition::Indices& indices) {
  Runs runs;
  for (const elk::partition::IndexRange& run : indices) {
    runs.emplace_back(run.begin, run.end);
  }
  return runs;
}

void bind_instruction_parts(py::module_& m) {
  using emulate::Action;
  py::native_enum<Action>(m, "Action", "enum.IntEnum", "What a core does.")
      .value("Allocate", Action::Allocate)
      .value("Preload", Action::Preload)
      .value("Store", Action::Store)
      .value("Distribute", Action::Distribute)
      .value("Gather", Action::Gather)
      .value("Compute", Action::Compute)
      .value("Shift", Action::Shift)
      .value("Reduce", Action::Reduce)
      .finalize();
  using emulate::Parcel;
  py::class_<Parcel>(m, "Parcel", "One sending of the same bytes.")
      .def_readonly("cores", &Parcel::cores)
      .def_readonly("bytes", &Parcel::bytes)
      .def_readonly("runs", &Parcel::runs);
  using emulate::Area;
  py::class_<Area>(m, "Area", "A piece of an operand in the memory of a core.")
      .def_readonly("tensor", &Area::tensor)
      .def_property_readonly("box",
                             [](const Area& area) {
                               std::vector<Runs> box;
                               box.reserve(area.box.size());
                               for (const elk::partition::Indices& indices : area.box) {
                                 box.push_back(runs_of(indices));
                               }
                               return box;
                             })
      .def_property_readonly("places", [](const Area& area) {
        Runs places;
        for (const emulate::Segment& segment : area.places) {
          places.emplace_back(segment.begin, segment.bytes);
        }
        return places;
      });
}

void bind_coder(py::module_& m) {
  bind_instruction_parts(m);
  using emulate::CoreInstruction;
  py::class_<CoreInstruction>(m, "CoreInstruction", "One instruction of one core.")
      .def_readonly("action", &CoreInstruction::action)
      .def_readonly("op", &CoreInstruction::op)
      .def_readonly("number", &CoreInstruction::number)
      .def_readonly("until", &CoreInstruction::until)
      .def_readonly("role", &CoreInstruction::role)
      .def_readonly("areas", &CoreInstruction::areas)
      .def_readonly("bytes", &CoreInstruction::bytes)
      .def_readonly("from_", &CoreInstruction::from)
      .def_readonly("to", &CoreInstruction::to)
      .def_readonly("loads", &CoreInstruction::loads)
      .def_property_readonly("sub_tasks",
                             [](const CoreInstruction& one) {
                               std::vector<Runs> parts;
                               parts.reserve(one.sub_tasks.size());
                               for (const emulate::Ranges& ranges : one.sub_tasks) {
                                 parts.push_back(runs_of(ranges));
                               }
                               return parts;
                             })
      .def_readonly("parts", &CoreInstruction::parts)
      .def_readonly("elements", &CoreInstruction::elements);
  py::class_<emulate::Coder>(m, "Coder", "The instructions of every core.")
      .def(py::init([](const ir::Graph& graph, const elk::chip::Chip& chip,
                       const elk::program::Program& program) {
             return emulate::Coder({graph, chip, program});
           }),
           "graph"_a, "chip"_a, "program"_a, py::keep_alive<1, 2>(), py::keep_alive<1, 3>(),
           py::keep_alive<1, 4>())
      .def(
          "at",
          [](emulate::Coder& coder, std::int32_t position, const std::vector<std::int32_t>& cores) {
            return coder.at(position, cores);
          },
          "position"_a, "cores"_a, py::call_guard<py::gil_scoped_release>(),
          "What each of `cores` does for instruction `position` of the program.");
}

}  // namespace

void bind_emulate(py::module_& m) {
  bind_coder(m);
  m.def(
      "no_kernel",
      [](const ir::Graph& graph, std::size_t op) {
        return emulate::no_kernel(graph, graph.ops.at(op));
      },
      "graph"_a, "op"_a, "Why no tile kernel computes op number `op`; empty if one does.");
  m.def("compute_op", &compute_op, "graph"_a, "op"_a, "operands"_a, "factors"_a,
        "The bytes of the results of op number `op`, computed in tiles: axis `i` in `factors[i]`.");
  m.def(
      "emulate",
      [](const ir::Graph& graph, const elk::chip::Chip& chip, const elk::program::Program& program,
         const std::vector<std::int32_t>& slices, const std::vector<NamedBytes>& given,
         const std::vector<std::int32_t>& wanted) {
        return emulate_program({graph, chip, program}, slices, given, wanted);
      },
      "graph"_a, "chip"_a, "program"_a, "slices"_a, "given"_a, "wanted"_a,
      "Runs a program with real numbers on chips: for each the bytes of tensors, by position in "
      "the graph, and what every core received.");
}
