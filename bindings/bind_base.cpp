#include <exception>

#include <pybind11/pybind11.h>

#include "elk/base/errors.hpp"
#include "elk/base/watch.hpp"

namespace py = pybind11;

namespace {

/// Throws `error` as the class `elk.errors.<name>`, which Python defines.
void raise(const char* name, const elk::Error& error) {
  const py::object type = py::module_::import("elk.errors").attr(name);
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
  } catch (const elk::Abandoned&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  }
}

}  // namespace

void bind_base(py::module_& /*m*/) { py::register_local_exception_translator(&translate); }
