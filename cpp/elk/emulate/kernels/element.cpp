#include "elk/emulate/kernels/element.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <Eigen/Core>

#include "elk/base/errors.hpp"

namespace elk::emulate {
namespace {

using Half = Eigen::half;
using BFloat16 = Eigen::bfloat16;

constexpr double kTwoTo63 = 9223372036854775808.0;

/// `value` as a float of which rounding to a shorter type gives what rounding `value` itself gives:
/// where it is not exact, its last bit is one (rounding to odd).
float shortened(double value) {
  const auto nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) {
    return nearest;
  }
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value)) {
    bits -= 1;
  }
  return std::bit_cast<float>(bits | 1U);
}

/// The whole part of `value`; the lowest number where it is out of range or no number.
std::int64_t whole_number(double value) {
  const bool fits = value >= -kTwoTo63 && value < kTwoTo63;
  return fits ? static_cast<std::int64_t>(value) : std::numeric_limits<std::int64_t>::min();
}

std::uint64_t natural(double value) {
  if (value >= kTwoTo63 && value < 2 * kTwoTo63) {
    return static_cast<std::uint64_t>(value);
  }
  return static_cast<std::uint64_t>(whole_number(value));
}

template <class To, class From>
To converted(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(shortened(static_cast<double>(value)));
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, std::uint64_t>) {
    return natural(static_cast<double>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return static_cast<To>(whole_number(static_cast<double>(value)));
  } else {
    return static_cast<To>(value);
  }
}

template <class Wide, class Stored>
Wide widened(Stored value) {
  if constexpr (std::is_same_v<Stored, Half> || std::is_same_v<Stored, BFloat16>) {
    return converted<Wide>(static_cast<float>(value));
  } else {
    return converted<Wide>(value);
  }
}

/// The bytes from one element to the next where they lie together.
template <class Stored>
using Together = std::integral_constant<std::int64_t, static_cast<std::int64_t>(sizeof(Stored))>;

/// Elements that lie `step` bytes apart.
template <class Stored, class Step, class Wide>
void load_apart(const std::byte* at, Step step, std::int64_t count, Wide* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    Stored value{};
    std::memcpy(&value, at + (i * step), sizeof(Stored));
    out[i] = widened<Wide>(value);
  }
}

template <class Stored, class Wide>
void load_as(const std::byte* data, const ElementSequence& run, Wide* out) {
  constexpr Together<Stored> kSize;
  const std::byte* at = data + (run.first * kSize);
  if (run.step == 1) {  // A loop that compilers turn into vector code.
    load_apart<Stored>(at, kSize, run.count, out);
  } else {
    load_apart<Stored>(at, run.step * kSize, run.count, out);
  }
}

template <class Stored, class Step, class Wide>
void save_apart(const Wide* in, Step step, std::int64_t count, std::byte* at) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = converted<Stored>(in[i]);
    std::memcpy(at + (i * step), &value, sizeof(Stored));
  }
}

template <class Stored, class Wide>
void save_as(const Wide* in, const ElementSequence& run, std::byte* data) {
  constexpr Together<Stored> kSize;
  std::byte* at = data + (run.first * kSize);
  if (run.step == 1) {
    save_apart<Stored>(in, kSize, run.count, at);
  } else {
    save_apart<Stored>(in, run.step * kSize, run.count, at);
  }
}

/// Two elements a byte, the even one in the low bits.
template <class Wide>
void load_nibbles(const Elements& from, const ElementSequence& run, Wide* out) {
  for (std::int64_t i = 0; i < run.count; ++i) {
    const std::int64_t at = run.first + (i * run.step);
    const auto byte = static_cast<unsigned>(from.data[at / 2]);
    const unsigned bits = at % 2 == 0 ? byte & 0xFU : byte >> 4U;
    const bool negative = from.dtype == ir::DType::I4 && bits >= 8U;
    out[i] = converted<Wide>(static_cast<std::int64_t>(bits) - (negative ? 16 : 0));
  }
}

template <class Wide>
void save_nibbles(const Wide* in, const ElementSequence& run, const MutableElements& to) {
  for (std::int64_t i = 0; i < run.count; ++i) {
    const std::int64_t at = run.first + (i * run.step);
    const auto bits = static_cast<unsigned>(converted<std::int64_t>(in[i]) & 0xF);
    const auto byte = static_cast<unsigned>(to.data[at / 2]);
    to.data[at / 2] =
        static_cast<std::byte>(at % 2 == 0 ? (byte & 0xF0U) | bits : (byte & 0xFU) | (bits << 4U));
  }
}

[[noreturn]] void refuse(ir::DType dtype) {
  throw InvalidInput(text("elements of type ", ir::name(dtype), " cannot be emulated"),
                     "emulate_dtype");
}

/// Calls `visit` with a value of the C++ type that `dtype` is stored as.
template <class Visit>
void with_stored(ir::DType dtype, const Visit& visit) {
  switch (dtype) {
    case ir::DType::F64:
      return visit(double{});
    case ir::DType::F32:
      return visit(float{});
    case ir::DType::F16:
      return visit(Half{});
    case ir::DType::BF16:
      return visit(BFloat16{});
    case ir::DType::I64:
      return visit(std::int64_t{});
    case ir::DType::I32:
      return visit(std::int32_t{});
    case ir::DType::I16:
      return visit(std::int16_t{});
    case ir::DType::I8:
      return visit(std::int8_t{});
    case ir::DType::U64:
      return visit(std::uint64_t{});
    case ir::DType::U32:
      return visit(std::uint32_t{});
    case ir::DType::U16:
      return visit(std::uint16_t{});
    case ir::DType::U8:
      return visit(std::uint8_t{});
    case ir::DType::Bool:
      return visit(bool{});
    case ir::DType::F8:
    case ir::DType::I4:
    case ir::DType::U4:
      break;
  }
  refuse(dtype);
}

bool is_nibble(ir::DType dtype) { return dtype == ir::DType::I4 || dtype == ir::DType::U4; }

}  // namespace

bool is_real(ir::DType dtype) {
  return dtype == ir::DType::F64 || dtype == ir::DType::F32 || dtype == ir::DType::F16 ||
         dtype == ir::DType::BF16 || dtype == ir::DType::F8;
}

bool is_known(ir::DType dtype) { return dtype != ir::DType::F8; }

template <class Wide>
void load(const Elements& from, const ElementSequence& run, Wide* out) {
  if (is_nibble(from.dtype)) {
    load_nibbles(from, run, out);
    return;
  }
  with_stored(from.dtype, [&](auto stored) {
    if constexpr (std::is_same_v<decltype(stored), bool>) {
      load_as<std::uint8_t>(from.data, run, out);  // Any byte but zero would do for a bool.
    } else {
      load_as<decltype(stored)>(from.data, run, out);
    }
  });
}

template <class Wide>
void save(const Wide* in, const ElementSequence& run, const MutableElements& to) {
  if (is_nibble(to.dtype)) {
    save_nibbles(in, run, to);
    return;
  }
  with_stored(to.dtype, [&](auto stored) { save_as<decltype(stored)>(in, run, to.data); });
}

void save_part(const Numbers& numbers, std::int64_t first, std::int64_t count,
               const MutableElements& to) {
  const ElementSequence run{.first = 0, .step = 1, .count = count};
  std::visit([&](const auto& values) { save(values.data() + first, run, to); }, numbers);
}

template void load(const Elements& from, const ElementSequence& run, double* out);
template void load(const Elements& from, const ElementSequence& run, float* out);
template void load(const Elements& from, const ElementSequence& run, std::int64_t* out);
template void load(const Elements& from, const ElementSequence& run, std::uint64_t* out);
template void save(const double* in, const ElementSequence& run, const MutableElements& to);
template void save(const float* in, const ElementSequence& run, const MutableElements& to);
template void save(const std::int64_t* in, const ElementSequence& run, const MutableElements& to);
template void save(const std::uint64_t* in, const ElementSequence& run, const MutableElements& to);

}  // namespace elk::emulate
