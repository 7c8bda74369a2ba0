#include <cstdint>
#include <exception>
#include <string>

#include <pybind11/pybind11.h>

#include "elk/base/errors.hpp"
#include "elk/base/mechanisms.hpp"
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

#ifdef ELK_ABLATION
void bind_mechanisms(py::module_& m) {
  m.def(
      "switch_off",
      [](const std::string& mechanism, std::uint64_t seed) {
        elk::mechanisms() = {};
        elk::mechanisms().seed = seed;
#define ELK_MECHANISM(name, title, files) elk::mechanisms().name = mechanism != #name;
#include "elk/base/mechanisms.def"
#undef ELK_MECHANISM
      },
      py::arg("mechanism"), py::arg("seed"),
      "Works without one mechanism, or with all where it is empty.");
}
#endif

}  // namespace

void bind_base([[maybe_unused]] py::module_& m) {
  py::register_local_exception_translator(&translate);
#ifdef ELK_ABLATION
  bind_mechanisms(m);
#endif
}
