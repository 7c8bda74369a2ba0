#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/units.hpp"

namespace elk {

/// What something depends on, in a row of bytes. Every number says where it ends, and lists and
/// texts say their length first, so that no two rows of the same kind read alike.
class KeyWriter {
 public:
  /// Seven bits a byte, lowest first, the sign below them: most numbers are small.
  template <class Integer>
    requires std::is_integral_v<Integer> || std::is_enum_v<Integer>
  void add(Integer value) {
    const auto number = static_cast<std::int64_t>(value);
    auto bits =
        (static_cast<std::uint64_t>(number) << 1U) ^ static_cast<std::uint64_t>(number >> 63U);
    for (; bits >= 0x80U; bits >>= 7U) {
      key_.push_back(static_cast<char>(0x80U | (bits & 0x7fU)));
    }
    key_.push_back(static_cast<char>(bits));
  }
  void add(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (unsigned at = 0; at < 64U; at += 8U) {
      key_.push_back(static_cast<char>((bits >> at) & 0xffU));
    }
  }
  template <class Unit, class Rep>
  void add(Quantity<Unit, Rep> value) {
    add(value.value);
  }
  template <class Kind>
  void add(Id<Kind> id) {
    add(id.value);
  }
  void add(const std::string& word) {
    add(word.size());
    key_ += word;
  }
  template <class Value>
  void add(const std::vector<Value>& values) {
    add(values.size());
    for (const Value& value : values) {
      add(value);
    }
  }
  template <class... Values>
  void all(const Values&... values) {
    (add(values), ...);
  }
  [[nodiscard]] std::string key() && { return std::move(key_); }

 private:
  std::string key_;
};

}  // namespace elk
