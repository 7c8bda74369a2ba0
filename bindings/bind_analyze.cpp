#include <cstdint>
#include <string>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "columns.hpp"
#include "elk/analyze/accesses.hpp"
#include "elk/analyze/dependences.hpp"
#include "elk/analyze/held_values.hpp"
#include "elk/analyze/memory_states.hpp"
#include "elk/analyze/program_accesses.hpp"
#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/sim/tasks/machine_tasks.hpp"
#include "id_casters.hpp"

namespace py = pybind11;
namespace analyze = elk::analyze;
namespace sim = elk::sim;
using elk::InstructionId;
using elk::MemoryId;
using elk::bindings::column;

namespace {

using Whole = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;

const auto kItself = [](auto value) { return value; };

template <class IdType>
IdType id_of(std::int64_t position) {
  constexpr std::int64_t kMost = INT32_MAX;
  if (position < -1 || position > kMost) {
    throw elk::InvalidInput("a position must fit 32 bits");
  }
  return IdType{static_cast<std::int32_t>(position)};
}

/// Rows of instruction, memory, begin, end and whether it writes.
analyze::AccessList access_list(const Whole& issues, const Whole& light, const Whole& awaited,
                                const Whole& accesses, const std::vector<std::int64_t>& sizes) {
  constexpr py::ssize_t kFields = 5;
  analyze::AccessList list;
  list.sizes = sizes;
  for (py::ssize_t i = 0; i < issues.size(); ++i) {
    list.issues.push_back(static_cast<std::uint8_t>(issues.at(i) != 0));
  }
  for (py::ssize_t i = 0; i < light.size(); ++i) {
    list.light.push_back(static_cast<std::uint8_t>(light.at(i) != 0));
  }
  for (py::ssize_t i = 0; i < awaited.size(); ++i) {
    list.awaited.push_back(id_of<InstructionId>(awaited.at(i)));
  }
  for (py::ssize_t i = 0; i + kFields <= accesses.size(); i += kFields) {
    list.accesses.push_back({.instruction = id_of<InstructionId>(accesses.at(i)),
                             .memory = id_of<MemoryId>(accesses.at(i + 1)),
                             .bytes = {accesses.at(i + 2), accesses.at(i + 3)},
                             .writes = accesses.at(i + 4) != 0});
  }
  validate(list);
  return list;
}

py::dict list_columns(const analyze::AccessList& list) {
  std::vector<std::int64_t> rows;
  for (const analyze::MemoryAccess& access : list.accesses) {
    rows.insert(rows.end(), {access.instruction.value, access.memory.value, access.bytes.begin,
                             access.bytes.end, access.writes ? 1 : 0});
  }
  py::dict columns;
  columns["issues"] = column(list.issues, kItself);
  columns["light"] = column(list.light, kItself);
  columns["awaited"] = column(list.awaited, kItself);
  columns["accesses"] = column(rows, kItself);
  columns["sizes"] = column(list.sizes, kItself);
  return columns;
}

py::dict dependence_columns(const analyze::AccessList& list) {
  analyze::Dependences found;
  {
    const py::gil_scoped_release released;
    found = analyze::dependences(list);
  }
  using analyze::IssueLimits;
  py::dict columns;
  columns["issue"] = column(found.issues, [](const IssueLimits& l) { return l.issue; });
  columns["conservative"] =
      column(found.issues, [](const IssueLimits& l) { return l.conservative; });
  columns["relaxed"] = column(found.issues, [](const IssueLimits& l) { return l.relaxed; });
  columns["placed"] = column(found.issues, [](const IssueLimits& l) { return l.placed; });
  columns["first_writer"] = column(found.first_writer, kItself);
  columns["writers"] = column(found.writers, kItself);
  return columns;
}

py::dict state_columns(const analyze::AccessList& list, std::int32_t memory) {
  analyze::MemoryStates found;
  {
    const py::gil_scoped_release released;
    found = analyze::memory_states(analyze::held_values(list, MemoryId{memory}));
  }
  using analyze::UnreadTransfer;
  py::dict columns;
  columns["used"] = column(found.used, kItself);
  columns["arriving"] = column(found.arriving, kItself);
  columns["idle"] = column(found.idle, kItself);
  columns["free"] = column(found.free, kItself);
  columns["hole"] = column(found.hole, kItself);
  columns["issue"] = column(found.unread, [](const UnreadTransfer& t) { return t.issue; });
  columns["bytes"] = column(found.unread, [](const UnreadTransfer& t) { return t.bytes; });
  columns["unread"] = column(found.unread, [](const UnreadTransfer& t) { return t.unread; });
  return columns;
}

py::array block_column(const analyze::AccessList& list, std::int32_t memory, std::int32_t count,
                       const std::vector<std::int32_t>& at) {
  std::vector<std::int64_t> found;
  {
    const py::gil_scoped_release released;
    std::vector<InstructionId> instructions;
    for (const std::int32_t one : at) {
      instructions.emplace_back(one);
    }
    found = analyze::blocks(analyze::held_values(list, MemoryId{memory}), count, instructions);
  }
  return column(found, kItself);
}

sim::MachineProgram machine_program(const std::vector<std::int64_t>& rates, std::int64_t latency_ps,
                                    const Whole& action, const Whole& first, const Whole& second,
                                    const Whole& moved) {
  sim::MachineProgram program;
  for (const std::int64_t rate : rates) {
    program.memories.push_back({rate});
  }
  program.latency = {latency_ps};
  program.instructions.reserve(static_cast<std::size_t>(action.size()));
  for (py::ssize_t i = 0; i < action.size(); ++i) {
    const auto kind = static_cast<sim::MachineAction>(action.at(i));
    sim::MachineInstruction one{.action = kind,
                                .time = {0},
                                .from = MemoryId::none,
                                .to = MemoryId::none,
                                .bytes = {0},
                                .awaits = InstructionId::none};
    switch (kind) {
      case sim::MachineAction::Compute:
        one.time = {first.at(i)};
        break;
      case sim::MachineAction::Issue:
        one.from = id_of<MemoryId>(first.at(i));
        one.to = id_of<MemoryId>(second.at(i));
        one.bytes = {moved.at(i)};
        break;
      case sim::MachineAction::Wait:
        one.awaits = id_of<InstructionId>(first.at(i));
        break;
    }
    program.instructions.push_back(one);
  }
  return program;
}

py::dict play_machine(const std::vector<std::int64_t>& rates, std::int64_t latency_ps,
                      const Whole& action, const Whole& first, const Whole& second,
                      const Whole& moved) {
  sim::MachineRun run;
  {
    const sim::MachineProgram program =
        machine_program(rates, latency_ps, action, first, second, moved);
    const py::gil_scoped_release released;
    run = sim::play_machine(program);
  }
  using sim::MachineTransfer;
  const std::vector<MachineTransfer>& transfers = run.transfers;
  const std::vector<elk::Picoseconds> total{run.total};
  py::dict columns;
  columns["total_ps"] = column(total, [](elk::Picoseconds t) { return t.value; });
  columns["begin_ps"] = column(run.instructions, [](const auto& i) { return i.begin.value; });
  columns["end_ps"] = column(run.instructions, [](const auto& i) { return i.end.value; });
  columns["issued_ps"] = column(transfers, [](const MachineTransfer& t) { return t.issued.value; });
  columns["ready_ps"] = column(transfers, [](const MachineTransfer& t) { return t.ready.value; });
  columns["first_ps"] = column(transfers, [](const MachineTransfer& t) { return t.begin.value; });
  columns["over_ps"] = column(transfers, [](const MachineTransfer& t) { return t.end.value; });
  columns["alone_ps"] = column(transfers, [](const MachineTransfer& t) { return t.alone.value; });
  columns["reached_ps"] =
      column(transfers, [](const MachineTransfer& t) { return t.reached.value; });
  columns["carried_bytes"] = column(run.carried, [](elk::Bytes b) { return b.value; });
  columns["busy_ps"] = column(run.busy, [](elk::Picoseconds t) { return t.value; });
  return columns;
}

}  // namespace

void bind_analyze(py::module_& m) {
  using analyze::AccessList;
  py::class_<AccessList>(m, "AccessList", "What instructions do with memories, checked.")
      .def(py::init(&access_list), py::arg("issues"), py::arg("light"), py::arg("awaited"),
           py::arg("accesses"), py::arg("sizes"))
      .def("columns", &list_columns, "All of it, as files hold it.")
      .def("dependences", &dependence_columns, "Limits of every issue, and who wrote what is read.")
      .def("memory_states", &state_columns, py::arg("memory"),
           "Bytes of a memory by state at every instruction, and what transfers brought it.")
      .def("blocks", &block_column, py::arg("memory"), py::arg("count"), py::arg("at"),
           "Bytes in use in each of `count` equal parts of a memory at instructions, row by row.");
  m.def(
      "program_accesses",
      [](const elk::ir::Graph& graph, std::int64_t room_bytes,
         const elk::program::Program& program) {
        analyze::ProgramAccesses found = analyze::accesses(graph, {room_bytes}, program);
        return py::make_tuple(found.list, found.tensors);
      },
      py::arg("graph"), py::arg("room_bytes"), py::arg("program"),
      "What a program does with SRAM and with tensors that it stores; those tensors.");
  m.def("play_machine", &play_machine, py::arg("rates"), py::arg("latency_ps"), py::arg("action"),
        py::arg("first"), py::arg("second"), py::arg("moved"),
        "Plays the instructions of anybody's accelerator.");
}
