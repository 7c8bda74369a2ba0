#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "elk/ir/graph.hpp"

namespace elk::tile {

/// The functions whose rows stand in for `function`, best first; the first is itself.
[[nodiscard]] std::vector<std::string> function_neighbours(std::string_view function);

/// A dtype whose rows stand in for another, and what a call then costs times theirs.
struct DTypeSubstitute {
  ir::DType compute;
  ir::DType accumulate;
  std::int32_t scale;  // an index of kByteScales

  friend bool operator==(const DTypeSubstitute&, const DTypeSubstitute&) = default;
};

/// Bytes of a dtype over those of f32.
inline constexpr std::array<double, 5> kByteScales = {1.0, 2.0, 0.5, 0.25, 0.125};

/// The pairs of dtypes whose rows stand in for `function` computing in `compute` and accumulating
/// in `accumulate`, best first; the first is the pair itself. Integers cost what f32 costs, by
/// bytes; a cast from or to them by the bytes of the wider of its types.
[[nodiscard]] std::vector<DTypeSubstitute> dtype_neighbours(std::string_view function,
                                                            ir::DType compute,
                                                            ir::DType accumulate);

}  // namespace elk::tile
