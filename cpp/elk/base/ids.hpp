#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <ostream>

namespace elk {

/// A position in one kind of list. Ids of different kinds do not compare, convert or mix.
template <class Kind>
struct Id {
  std::int32_t value{};

  /// The id as a subscript.
  [[nodiscard]] constexpr std::size_t index() const { return static_cast<std::size_t>(value); }

  friend constexpr auto operator<=>(Id, Id) = default;
  friend std::ostream& operator<<(std::ostream& out, Id id) { return out << id.value; }
};

/// A position, as fields of structs keep it, as a subscript.
[[nodiscard]] constexpr std::size_t subscript(std::int64_t position) {
  return static_cast<std::size_t>(position);
}

/// The id of the element at `index`.
template <class IdType>
[[nodiscard]] constexpr IdType id_at(std::size_t index) {
  return {static_cast<std::int32_t>(index)};
}

using TensorId = Id<struct TensorKind>;
using OpId = Id<struct OperatorKind>;
using PlanId = Id<struct PlanKind>;
using CoreId = Id<struct CoreKind>;
using StepId = Id<struct StepKind>;

}  // namespace elk
