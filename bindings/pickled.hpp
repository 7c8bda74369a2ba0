#pragma once

#include <tuple>
#include <utility>

#include <pybind11/pybind11.h>

namespace elk::bindings {

namespace py = pybind11;

/// Stands for a value of any type: with it, the members of a struct can be counted.
struct AnyValue {
  template <class Value>
  operator Value() const;  // NOLINT(google-explicit-constructor): it is to convert unasked.
};

/// Pickles a struct as the tuple of its members, all of which are given in their order.
template <class Struct, class... Members>
[[nodiscard]] auto by_members(Members Struct::*... members) {
  static_assert(
      !requires { Struct{AnyValue{}, (static_cast<void>(members), AnyValue{})...}; },
      "the struct has more members");
  using State = std::tuple<Members...>;
  return py::pickle([members...](const Struct& self) { return State{self.*members...}; },
                    [](State state) {
                      return std::apply(
                          [](Members&... values) { return Struct{std::move(values)...}; }, state);
                    });
}

}  // namespace elk::bindings
