#pragma once

#include <cstdint>

namespace elk::emulate {

/// Matrices that lie row by row, without gaps: `left` of m x k, `right` of k x n, `out` of m x n.
struct DenseProduct {
  const float* left;
  const float* right;
  float* out;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

/// Writes left times right. Every sum runs over k in ascending order, each term rounded, then each
/// sum: the same bits on any machine, whichever vectors it has.
void multiply(const DenseProduct& product);

}  // namespace elk::emulate
