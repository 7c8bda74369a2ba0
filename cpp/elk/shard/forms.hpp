#pragma once

#include <bit>
#include <compare>
#include <cstdint>

#include "elk/base/ids.hpp"
#include "elk/shard/split.hpp"

namespace elk::shard {

/// The forms of a tensor that are at hand, a bit each.
class Forms {
 public:
  static constexpr std::int32_t kMost = 32;

  static Forms of(Form form) { return Forms(bit(form)); }

  /// The bit of a form.
  static std::int32_t place(Form form) {
    const std::int32_t other = form.kind == Form::Kind::Whole ? 0 : 1;
    return form.kind == Form::Kind::Cut ? form.dim.value + kCuts : other;
  }

  void add(Form form) { bits_ |= bit(form); }
  [[nodiscard]] bool has(Form form) const { return (bits_ & bit(form)) != 0; }
  [[nodiscard]] bool empty() const { return bits_ == 0; }
  /// The first of those that are there.
  [[nodiscard]] Form first() const { return at(std::countr_zero(bits_)); }
  void drop_first() { bits_ &= bits_ - 1; }
  [[nodiscard]] Forms without(Forms others) const { return Forms(bits_ & ~others.bits_); }

  friend auto operator<=>(const Forms&, const Forms&) = default;

 private:
  explicit Forms(std::uint32_t bits) : bits_(bits) {}

  static constexpr std::int32_t kCuts = 2;  // from this place on: cut along dimensions

  static Form at(std::int32_t place) {
    if (place >= kCuts) {
      return cut(DimId{place - kCuts});
    }
    return place == 0 ? whole() : partial();
  }

  static std::uint32_t bit(Form form) { return 1U << static_cast<unsigned>(place(form)); }

  std::uint32_t bits_;
};

}  // namespace elk::shard
