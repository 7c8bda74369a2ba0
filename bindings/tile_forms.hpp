#pragma once

#include <array>
#include <cstddef>
#include <string>

#include <pybind11/pybind11.h>

#include "elk/base/errors.hpp"
#include "elk/base/text.hpp"
#include "elk/tile/form/form.hpp"

/// Forms of a tile model as the dictionaries that its file holds, and the words they are made of.
namespace elk::bindings {

namespace py = pybind11;

inline constexpr std::array<const char*, 16> kDTypeNames = {
    "f64", "f32", "f16", "bf16", "f8",  "i64", "i32", "i16",
    "i8",  "i4",  "u64", "u32",  "u16", "u8",  "u4",  "bool"};

inline constexpr std::array<const char*, tile::kTileDims> kDimNames = {
    "none",          "group",  "m",        "n",        "k",    "batch", "out_h",    "out_w",
    "in_ch",         "out_ch", "kernel_h", "kernel_w", "rows", "cols",  "elements", "slices",
    "slice_elements"};

/// The enumerator whose name in files is `word`.
template <class Enum, std::size_t kCount>
Enum named(const std::array<const char*, kCount>& names, const std::string& word) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (word == names[i]) {
      return static_cast<Enum>(i);
    }
  }
  throw InvalidInput(text("'", word, "' is not a word of the tile model's vocabulary"));
}

template <class Enum, std::size_t kCount>
const char* word(const std::array<const char*, kCount>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

[[nodiscard]] tile::Formula to_form(const py::dict& form);
[[nodiscard]] py::dict from_form(const tile::Formula& form);

}  // namespace elk::bindings
