#pragma once

#include <cstdint>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"

/// In Python an id is an int and a table a list.
namespace pybind11::detail {

template <class Kind>
struct type_caster<elk::Id<Kind>> {
  PYBIND11_TYPE_CASTER(elk::Id<Kind>, make_caster<std::int32_t>::name);

  bool load(handle source, bool convert) {
    make_caster<std::int32_t> number;
    if (!number.load(source, convert)) {
      return false;
    }
    value = elk::Id<Kind>{cast_op<std::int32_t>(number)};
    return true;
  }

  static handle cast(elk::Id<Kind> id, return_value_policy policy, handle parent) {
    return make_caster<std::int32_t>::cast(id.value, policy, parent);
  }
};

template <class IdType, class T>
struct type_caster<elk::Table<IdType, T>> : list_caster<elk::Table<IdType, T>, T> {};

}  // namespace pybind11::detail
