#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/native_enum.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/program/program.hpp"
#include "id_casters.hpp"

namespace py = pybind11;
using elk::OperandId;
using elk::OpId;
using elk::Table;
using elk::TensorId;
namespace program = elk::program;

void bind_program(py::module_& m) {
  py::native_enum<program::Opcode>(m, "Opcode", "enum.IntEnum", "What an instruction does.")
      .value("Preload", program::Opcode::Preload)
      .value("Store", program::Opcode::Store)
      .value("Execute", program::Opcode::Execute)
      .finalize();
  py::native_enum<program::Role>(m, "Role", "enum.IntEnum", "What a buffer is for.")
      .value("Preload", program::Role::Preload)
      .value("Execute", program::Role::Execute)
      .value("Activation", program::Role::Activation)
      .value("Store", program::Role::Store)
      .value("Resident", program::Role::Resident)
      .finalize();

  using program::OpPlan;
  py::class_<OpPlan>(m, "OpPlan", "How one op runs, and what of it is preloaded.")
      .def(py::init([](elk::partition::ExecutePlan execute, Table<OperandId, std::int64_t> divisor,
                       bool tree, bool ring) {
             return OpPlan{std::move(execute), std::move(divisor), tree, ring};
           }),
           py::kw_only(), py::arg("execute"), py::arg("divisor"), py::arg("tree"), py::arg("ring"))
      .def_readonly("execute", &OpPlan::execute)
      .def_readonly("divisor", &OpPlan::divisor)
      .def_readonly("tree", &OpPlan::tree)
      .def_readonly("ring", &OpPlan::ring);

  using program::Instruction;
  py::class_<Instruction>(m, "Instruction", "One step of a program.")
      .def(py::init([](program::Opcode opcode, std::int32_t subject) {
             return Instruction{opcode, subject};
           }),
           py::arg("opcode"), py::arg("subject"))
      .def_readonly("opcode", &Instruction::opcode)
      .def_readonly("subject", &Instruction::subject);

  using program::Buffer;
  py::class_<Buffer>(m, "Buffer", "Bytes on every core, alive for some instructions.")
      .def(py::init([](OpId op, TensorId tensor, program::Role role, std::int64_t offset_bytes,
                       std::int64_t bytes, std::pair<std::int32_t, std::int32_t> span) {
             return Buffer{op, tensor, role, {offset_bytes}, {bytes}, span.first, span.second};
           }),
           py::kw_only(), py::arg("op"), py::arg("tensor"), py::arg("role"),
           py::arg("offset_bytes"), py::arg("bytes"), py::arg("span"));

  using program::Program;
  py::class_<Program>(m, "Program", "What a chip runs.")
      .def(py::init([](Table<OpId, OpPlan> ops, std::vector<Instruction> code,
                       std::vector<Buffer> buffers) {
             return Program{std::move(ops), std::move(code), std::move(buffers)};
           }),
           py::kw_only(), py::arg("ops"), py::arg("code"), py::arg("buffers"));

  m.def("check_program", &program::check, py::arg("graph"), py::arg("chip"), py::arg("program"),
        py::call_guard<py::gil_scoped_release>(), "Every broken rule of `program`, in words.");
  m.def("check_unplaced", &program::check_unplaced, py::arg("graph"), py::arg("chip"),
        py::arg("program"), py::call_guard<py::gil_scoped_release>(),
        "Every broken rule of a program without buffers, in words.");
}
