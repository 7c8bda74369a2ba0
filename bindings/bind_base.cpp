#include <exception>
#include <string>

#include <pybind11/pybind11.h>

#include "elk/base/errors.hpp"

namespace py = pybind11;

namespace {

/// A new exception class `elk.<name>`, importable as `elk._core.<name>` too.
py::object exception_class(const char* name, const char* doc, const py::tuple& bases,
                           const char* code) {
  py::dict members;
  members["code"] = code;
  const std::string path = elk::text("elk.", name);
  return py::reinterpret_steal<py::object>(
      PyErr_NewExceptionWithDoc(path.c_str(), doc, bases.ptr(), members.ptr()));
}

void raise(const char* name, const elk::Error& error) {
  const py::object type = py::module_::import("elk._core").attr(name);
  const py::object instance = type(error.what());
  instance.attr("code") = error.code();
  PyErr_SetObject(type.ptr(), instance.ptr());
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): pybind11 takes this signature only.
void translate(std::exception_ptr thrown) {
  try {
    if (thrown) {
      std::rethrow_exception(thrown);
    }
  } catch (const elk::InvalidInput& error) {
    raise("InvalidInputError", error);
  } catch (const elk::Infeasible& error) {
    raise("InfeasibleError", error);
  } catch (const elk::InternalError& error) {
    raise("InternalError", error);
  } catch (const elk::Error& error) {
    raise("ElkError", error);
  }
}

}  // namespace

void bind_base(py::module_& m) {
  const auto exception = py::reinterpret_borrow<py::object>(PyExc_Exception);
  const auto value_error = py::reinterpret_borrow<py::object>(PyExc_ValueError);
  const py::object base =
      exception_class("ElkError", "What every error of ELK is.", py::make_tuple(exception), "elk");
  m.attr("ElkError") = base;
  m.attr("InvalidInputError") = exception_class("InvalidInputError", "The caller can fix it.",
                                                py::make_tuple(base, value_error), "invalid_input");
  m.attr("InfeasibleError") = exception_class("InfeasibleError", "Nothing fits the chip.",
                                              py::make_tuple(base), "infeasible");
  m.attr("InternalError") = exception_class("InternalError", "A bug in ELK, not in its input.",
                                            py::make_tuple(base), "internal");
  py::register_local_exception_translator(&translate);
}
