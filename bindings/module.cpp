#include <pybind11/pybind11.h>

namespace py = pybind11;

void bind_analyze(py::module_& m);
void bind_base(py::module_& m);
void bind_chip(py::module_& m);
void bind_compile(py::module_& m);
void bind_emulate(py::module_& m);
void bind_ir(py::module_& m);
void bind_plan(py::module_& m);
void bind_program(py::module_& m);
void bind_record(py::module_& m);
void bind_schedule(py::module_& m);
void bind_sim(py::module_& m);
void bind_tasks(py::module_& m);
void bind_tile(py::module_& m);
void bind_shard(py::module_& m);
void bind_train(py::module_& m);

PYBIND11_MODULE(_core, m) {
  m.doc() = "The C++ core of ELK.";
  m.attr("__version__") = ELK_VERSION;
  bind_base(m);
  bind_chip(m);
  bind_ir(m);
  bind_tile(m);
  bind_plan(m);
  bind_program(m);
  bind_shard(m);
  bind_compile(m);
  bind_schedule(m);
  bind_sim(m);
  bind_record(m);
  bind_analyze(m);
  bind_tasks(m);
  bind_emulate(m);
  bind_train(m);
}
