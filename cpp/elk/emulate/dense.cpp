#include "elk/emulate/dense.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

// One body, compiled for each length of vectors: which of them runs is found out at load time, by
// the C library and before sanitizers are ready. Columns are independent of each other, so that
// their number at a time changes no result.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define ELK_FOR_ALL_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ELK_FOR_ALL_VECTORS
#endif

namespace elk::emulate {
namespace {

constexpr std::int64_t kColumns = 16;
constexpr std::int64_t kRows = 4;
using Vector = float __attribute__((vector_size(kColumns * sizeof(float))));

/// `kColumns` columns of up to `kRows` rows: where they begin, and how far rows are apart.
struct Block {
  const float* left;
  std::int64_t left_step;
  const float* right;
  std::int64_t right_step;
  float* out;
  std::int64_t out_step;
  std::int64_t k;
};

ELK_FOR_ALL_VECTORS void four_rows(const Block& block) {
  Vector sums[kRows] = {};  // NOLINT(modernize-avoid-c-arrays): templates lose what a vector is
  for (std::int64_t i = 0; i < block.k; ++i) {
    Vector right;
    std::memcpy(&right, block.right + (i * block.right_step), sizeof(right));
    for (std::int64_t row = 0; row < kRows; ++row) {
      sums[row] += block.left[(row * block.left_step) + i] * right;
    }
  }
  for (std::int64_t row = 0; row < kRows; ++row) {
    std::memcpy(block.out + (row * block.out_step), &sums[row], sizeof(Vector));
  }
}

ELK_FOR_ALL_VECTORS void one_row(const Block& block) {
  Vector sum = {};
  for (std::int64_t i = 0; i < block.k; ++i) {
    Vector right;
    std::memcpy(&right, block.right + (i * block.right_step), sizeof(right));
    sum += block.left[i] * right;
  }
  std::memcpy(block.out, &sum, sizeof(Vector));
}

/// All rows of the columns of `first`, which is at the first of them.
void all_rows(const Block& first, std::int64_t m) {
  Block block = first;
  for (std::int64_t row = 0; row < m;) {
    block.left = first.left + (row * first.left_step);
    block.out = first.out + (row * first.out_step);
    if (row + kRows <= m) {
      four_rows(block);
      row += kRows;
    } else {
      one_row(block);
      row += 1;
    }
  }
}

}  // namespace

void multiply(const DenseProduct& product) {
  const float* left = product.left;
  const float* right = product.right;
  float* out = product.out;
  const std::int64_t m = product.m;
  const std::int64_t n = product.n;
  const std::int64_t k = product.k;
  std::int64_t column = 0;
  for (; column + kColumns <= n; column += kColumns) {
    all_rows({.left = left,
              .left_step = k,
              .right = right + column,
              .right_step = n,
              .out = out + column,
              .out_step = n,
              .k = k},
             m);
  }
  const std::int64_t rest = n - column;
  if (rest == 0) {
    return;
  }
  // The columns that are left, filled up with zeros.
  std::vector<float> narrow(static_cast<std::size_t>(k * kColumns));
  std::vector<float> wide(static_cast<std::size_t>(m * kColumns));
  for (std::int64_t i = 0; i < k; ++i) {
    std::copy_n(right + (i * n) + column, rest, narrow.data() + (i * kColumns));
  }
  all_rows({.left = left,
            .left_step = k,
            .right = narrow.data(),
            .right_step = kColumns,
            .out = wide.data(),
            .out_step = kColumns,
            .k = k},
           m);
  for (std::int64_t row = 0; row < m; ++row) {
    std::copy_n(wide.data() + (row * kColumns), rest, out + (row * n) + column);
  }
}

}  // namespace elk::emulate
