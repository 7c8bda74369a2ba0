#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "elk/tile/form/features.hpp"

/// What `form::features` and `form::cycles` are made of. A source that describes the features of a
/// formula, `describe(form, call, sink)`, instantiates both: one sink lists the features, the other
/// multiplies them by coefficients as they come and keeps none.
namespace elk::tile::form {

class TermList {
 public:
  /// The formula does not apply.
  void none() { terms_.leaf = -1; }

  template <class... Values>
  void piece(std::int64_t leaf, Values... values) {
    terms_ = listed(leaf, values...);
  }

  /// More features of the same piece.
  template <class... Values>
  void more(Values... values) {
    ((terms_.value[static_cast<std::size_t>(terms_.count++)] = values), ...);
  }

  /// More features, all with one factor.
  template <class... Values>
  void scaled(double factor, Values... values) {
    more((factor * values)...);
  }

  [[nodiscard]] const Terms& terms() const { return terms_; }

 private:
  Terms terms_{.leaf = -1, .count = 0, .value = {}};
};

class FeatureSum {
 public:
  FeatureSum(const double* coefficients, std::int32_t width) : at_(coefficients), width_(width) {}

  void none() { first_ = kNever; }

  template <class... Values>
  void piece(std::int64_t leaf, Values... values) {
    at_ += static_cast<std::ptrdiff_t>(leaf) * width_;
    first_ = *at_;
    more(values...);
  }

  template <class... Values>
  void more(Values... values) {
    add(std::index_sequence_for<Values...>{}, values...);
    at_ += sizeof...(values);
  }

  /// Multiplies once by the factor, not once a feature.
  template <class... Values>
  void scaled(double factor, Values... values) {
    const double* at = at_;
    double sum = 0.0;
    ((sum += values * *at++), ...);
    parts_[0] += factor * sum;
    at_ = at;
  }

  /// Infinite where the formula does not apply, the piece has no coefficients, or takes no time.
  [[nodiscard]] double cycles() const {
    const double sum = (parts_[0] + parts_[1]) + (parts_[2] + parts_[3]);
    return first_ < kNever && sum > 0.0 ? sum : kNever;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  static constexpr std::size_t kParts = 4;  // sums that the processor adds at the same time

  template <std::size_t... kAt, class... Values>
  void add(std::index_sequence<kAt...> /*order*/, Values... values) {
    ((parts_[kAt % kParts] += values * at_[kAt]), ...);
  }

  const double* at_;
  std::int32_t width_;
  double first_ = kNever;
  std::array<double, kParts> parts_{};
};

template <class Sink>
void describe(const Casting& casting, Sink& sink) {
  sink.more(casting.share, casting.one, casting.two, casting.three);
}

template <class Kind>
Terms features(const Kind& kind, const TileCall& call) {
  TermList sink;
  describe(kind, call, sink);
  return sink.terms();
}

template <class Kind>
bool within(const Kind& kind, const TileCall& call, const Extents& limit) {
  const Extents extents = sizes(kind, call);
  bool inside = true;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    inside &= extents[i] <= limit[i];
  }
  return inside;
}

template <class Kind>
double cycles(const Kind& kind, const TileCall& call, const double* coefficients,
              std::int32_t width) {
  FeatureSum sink(coefficients, width);
  describe(kind, call, sink);
  return sink.cycles();
}

}  // namespace elk::tile::form
