#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>

namespace elk {

/// A position in one kind of list. Ids of different kinds do not compare, convert or mix, and none
/// becomes a number or comes from one unasked. Positions of one kind can be counted along:
/// `id + 1` is the next id, and `a - b` how many ids `a` comes after `b`.
template <class Kind>
struct Id {
  std::int32_t value{};

  /// Stands where there is no id.
  static const Id none;

  constexpr Id() = default;
  explicit constexpr Id(std::int32_t position) : value(position) {}

  /// The id as a subscript.
  [[nodiscard]] constexpr std::size_t index() const { return static_cast<std::size_t>(value); }

  constexpr Id& operator++() {
    ++value;
    return *this;
  }
  constexpr Id operator++(int) {
    const Id before = *this;
    ++value;
    return before;
  }
  constexpr Id& operator--() {
    --value;
    return *this;
  }
  constexpr Id operator--(int) {
    const Id before = *this;
    --value;
    return before;
  }
  template <std::integral Count>
  constexpr Id& operator+=(Count count) {
    return *this = *this + count;
  }
  template <std::integral Count>
  friend constexpr Id operator+(Id id, Count count) {
    return Id{id.value + static_cast<std::int32_t>(count)};
  }
  template <std::integral Count>
  friend constexpr Id operator-(Id id, Count count) {
    return Id{id.value - static_cast<std::int32_t>(count)};
  }
  friend constexpr std::int32_t operator-(Id a, Id b) { return a.value - b.value; }

  friend constexpr auto operator<=>(Id, Id) = default;
  friend std::ostream& operator<<(std::ostream& out, Id id) { return out << id.value; }
};

template <class Kind>
inline constexpr Id<Kind> Id<Kind>::none{-1};

/// A position, as fields of structs keep it, as a subscript.
[[nodiscard]] constexpr std::size_t subscript(std::int64_t position) {
  return static_cast<std::size_t>(position);
}

/// The id of the element at `index`.
template <class IdType, std::integral Index>
[[nodiscard]] constexpr IdType id_at(Index index) {
  return IdType{static_cast<std::int32_t>(index)};
}

using TensorId = Id<struct TensorKind>;
using OpId = Id<struct OperatorKind>;
using AxisId = Id<struct AxisKind>;        // of the axes of an op
using OperandId = Id<struct OperandKind>;  // of the operands of an op
using DimId = Id<struct DimKind>;          // of the dimensions of a tensor
using PlanId = Id<struct PlanKind>;
using CoreId = Id<struct CoreKind>;
using InstructionId = Id<struct InstructionKind>;  // of the instructions of a trace
using MemoryId = Id<struct MemoryKind>;            // of the memories of a machine

}  // namespace elk

template <class Kind>
struct std::hash<elk::Id<Kind>> {
  [[nodiscard]] std::size_t operator()(elk::Id<Kind> id) const {
    return std::hash<std::int32_t>{}(id.value);
  }
};
