#include "elk/partition/projection.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace elk::partition {
namespace {

/// Indices of the tensor in the tiles [begin, end) of an axis.
std::int64_t length(const Digit& digit, std::int64_t begin, std::int64_t end) {
  const std::int64_t low = std::max<std::int64_t>(0, digit.offset + (begin * digit.tile));
  const std::int64_t high =
      std::min(digit.shape, digit.offset + std::min(digit.size, end * digit.tile));
  return std::max<std::int64_t>(0, high - low);
}

std::int64_t tiles_of(const Digit& digit, std::int64_t begin, std::int64_t end) {
  return std::min(digit.factor, end) - begin;
}

}  // namespace

Projection::Projection(std::vector<Digit> digits)
    : digits_(std::move(digits)), modulus_(digits_.size() + 1, 1) {
  for (std::size_t i = digits_.size(); i-- > 0;) {
    modulus_[i] = modulus_[i + 1] * digits_[i].factor;
  }
}

std::int64_t Projection::full(std::size_t level, Weight weight) const {
  std::int64_t product = 1;
  for (std::size_t i = level; i < digits_.size(); ++i) {
    product *= digits_[i].contained ? weight(digits_[i], 0, digits_[i].factor) : 1;
  }
  return product;
}

/// Over the ids [begin, begin + count) of one level, which may wrap around its modulus.
std::int64_t Projection::sum(std::size_t level, std::int64_t begin, std::int64_t count,
                             Weight weight) const {
  if (count >= modulus_[level]) {
    return full(level, weight);
  }
  if (count <= 0) {
    return 0;
  }
  if (!digits_[level].contained) {
    return sum(level + 1, begin % modulus_[level + 1], count, weight);
  }
  return spread(level, begin, count, weight);
}

/// `sum` where the digit of `level` is contained: a part of its first value, whole values, a part
/// of its last one. First and last are the same value if the ids wrap all the way around.
std::int64_t Projection::spread(std::size_t level, std::int64_t begin, std::int64_t count,
                                Weight weight) const {
  const Digit& digit = digits_[level];
  const std::int64_t inner = modulus_[level + 1];
  const std::int64_t value = begin / inner;
  const std::int64_t skipped = begin % inner;
  const auto one = [&](std::int64_t v) {
    return weight(digit, v % digit.factor, (v % digit.factor) + 1);
  };
  if (skipped + count <= inner) {
    return one(value) * sum(level + 1, skipped, count, weight);
  }
  const std::int64_t head = skipped == 0 ? 0 : inner - skipped;
  const std::int64_t first = skipped == 0 ? value : value + 1;
  const std::int64_t whole = (count - head) / inner;
  const std::int64_t tail = (count - head) % inner;
  const std::int64_t from = first % digit.factor;
  const std::int64_t wrapped = std::max<std::int64_t>(0, from + whole - digit.factor);
  const std::int64_t middle =
      weight(digit, from, from + whole - wrapped) + weight(digit, 0, wrapped);
  const std::int64_t last = first + whole;
  std::int64_t ends = 0;
  if (head > 0 && tail > 0 && last % digit.factor == value) {
    ends = one(value) * sum(level + 1, skipped, head + tail, weight);
  } else {
    ends = (head > 0 ? one(value) * sum(level + 1, skipped, head, weight) : 0) +
           (tail > 0 ? one(last) * sum(level + 1, 0, tail, weight) : 0);
  }
  return (middle * full(level + 1, weight)) + ends;
}

std::int64_t Projection::elements(std::int64_t begin, std::int64_t end) const {
  return sum(0, begin, std::min(end, cores()) - begin, &length);
}

std::int64_t Projection::pieces(std::int64_t begin, std::int64_t end) const {
  return sum(0, begin, std::min(end, cores()) - begin, &tiles_of);
}

}  // namespace elk::partition
