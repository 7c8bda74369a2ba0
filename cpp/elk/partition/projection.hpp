#pragma once

#include <cstdint>
#include <vector>

namespace elk::partition {

/// One cut axis in a core id.
struct Digit {
  std::int64_t factor;
  std::int64_t tile;
  std::int64_t size;    // of the axis
  std::int64_t offset;  // index at its start; indices outside [0, shape) hold nothing
  std::int64_t shape;
  bool contained;  // whether the operand's piece depends on it
};

/// Core ids as a mixed radix of digits, outermost first.
class Projection {
 public:
  explicit Projection(std::vector<Digit> digits);

  /// Elements of the distinct pieces that the cores [begin, end) need, counting cut axes only: the
  /// sum, over the distinct tuples of contained digits, of the product of their lengths.
  [[nodiscard]] std::int64_t elements(std::int64_t begin, std::int64_t end) const;
  /// The distinct pieces themselves.
  [[nodiscard]] std::int64_t pieces(std::int64_t begin, std::int64_t end) const;

  [[nodiscard]] std::int64_t cores() const { return modulus_.front(); }

 private:
  using Weight = std::int64_t (*)(const Digit& digit, std::int64_t begin, std::int64_t end);

  [[nodiscard]] std::int64_t full(std::size_t level, Weight weight) const;
  [[nodiscard]] std::int64_t sum(std::size_t level, std::int64_t begin, std::int64_t count,
                                 Weight weight) const;
  [[nodiscard]] std::int64_t spread(std::size_t level, std::int64_t begin, std::int64_t count,
                                    Weight weight) const;

  std::vector<Digit> digits_;
  std::vector<std::int64_t> modulus_;  // ids below each level, one more than digits
};

}  // namespace elk::partition
