#include "elk/emulate/kernels/dense.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

// One body, compiled for each length of vectors that a machine may have. Columns are independent of
// each other, so that their number at a time changes no result.
#if defined(__x86_64__)
#define ELK_FOR_VECTORS(name) __attribute__((target(name)))
#endif
#define ELK_IN_CALLER __attribute__((always_inline)) inline

namespace elk::emulate {
namespace {

constexpr std::int64_t kRows = 4;

/// Some columns of up to `kRows` rows: where they begin, and how far rows are apart.
struct Block {
  const float* left;
  std::int64_t left_step;
  const float* right;
  std::int64_t right_step;
  float* out;
  std::int64_t out_step;
  std::int64_t k;
};

// Vectors, by what has them as a length of its own.
struct Lanes4 {
  using Vector = float __attribute__((vector_size(16)));
};
struct Lanes8 {
  using Vector = float __attribute__((vector_size(32)));
};
struct Lanes16 {
  using Vector = float __attribute__((vector_size(64)));
};

/// `rows` rows of `vectors` vectors of columns each. Sums of a length that the machine has
/// stay in its registers; longer ones would be kept in memory.
template <class Lanes, std::size_t vectors, std::size_t rows>
ELK_IN_CALLER void add_up(const Block& block) {
  using Vector = typename Lanes::Vector;
  constexpr auto kLanes = static_cast<std::int64_t>(sizeof(Vector) / sizeof(float));
  // NOLINTBEGIN(modernize-avoid-c-arrays): templates lose what a vector is
  Vector sums[rows][vectors] = {};
  for (std::int64_t i = 0; i < block.k; ++i) {
    Vector right[vectors];
    const float* from = block.right + (i * block.right_step);
    for (std::size_t vector = 0; vector < vectors; ++vector, from += kLanes) {
      std::memcpy(&right[vector], from, sizeof(Vector));
    }
    const float* left = block.left + i;
    for (std::size_t row = 0; row < rows; ++row, left += block.left_step) {
      for (std::size_t vector = 0; vector < vectors; ++vector) {
        sums[row][vector] += *left * right[vector];
      }
    }
  }
  // NOLINTEND(modernize-avoid-c-arrays)
  for (std::size_t row = 0; row < rows; ++row) {
    float* out = block.out + (static_cast<std::int64_t>(row) * block.out_step);
    for (std::size_t vector = 0; vector < vectors; ++vector, out += kLanes) {
      std::memcpy(out, &sums[row][vector], sizeof(Vector));
    }
  }
}

/// How a machine multiplies: so many columns at a time, of `kRows` rows or of one.
struct Kernels {
  std::int64_t columns;
  void (*many_rows)(const Block&);
  void (*one_row)(const Block&);
};

void many_rows(const Block& block) { add_up<Lanes4, 2, kRows>(block); }
void one_row(const Block& block) { add_up<Lanes4, 2, 1>(block); }
constexpr Kernels kAnyMachine{.columns = 8, .many_rows = many_rows, .one_row = one_row};

#ifdef ELK_FOR_VECTORS
ELK_FOR_VECTORS("avx2") void many_rows_of_8(const Block& block) { add_up<Lanes8, 2, kRows>(block); }
ELK_FOR_VECTORS("avx2") void one_row_of_8(const Block& block) { add_up<Lanes8, 2, 1>(block); }
constexpr Kernels kLanes8{.columns = 16, .many_rows = many_rows_of_8, .one_row = one_row_of_8};

ELK_FOR_VECTORS("avx512f") void many_rows_of_16(const Block& block) {
  add_up<Lanes16, 1, kRows>(block);
}
ELK_FOR_VECTORS("avx512f") void one_row_of_16(const Block& block) { add_up<Lanes16, 1, 1>(block); }
constexpr Kernels kLanes16{.columns = 16, .many_rows = many_rows_of_16, .one_row = one_row_of_16};
#endif

const Kernels& kernels() {
#ifdef ELK_FOR_VECTORS
  const bool has_16 = __builtin_cpu_supports("avx512f");
  const bool has_8 = __builtin_cpu_supports("avx2");
  if (has_16 || has_8) {
    return has_16 ? kLanes16 : kLanes8;
  }
#endif
  return kAnyMachine;
}

/// All rows of the columns of `first`, which is at the first of them.
void all_rows(const Kernels& with, const Block& first, std::int64_t m) {
  Block block = first;
  for (std::int64_t row = 0; row < m;) {
    block.left = first.left + (row * first.left_step);
    block.out = first.out + (row * first.out_step);
    if (row + kRows <= m) {
      with.many_rows(block);
      row += kRows;
    } else {
      with.one_row(block);
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
  const Kernels& with = kernels();
  std::int64_t column = 0;
  for (; column + with.columns <= n; column += with.columns) {
    all_rows(with,
             {.left = left,
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
  std::vector<float> narrow(static_cast<std::size_t>(k * with.columns));
  std::vector<float> wide(static_cast<std::size_t>(m * with.columns));
  for (std::int64_t i = 0; i < k; ++i) {
    std::copy_n(right + (i * n) + column, rest, narrow.data() + (i * with.columns));
  }
  all_rows(with,
           {.left = left,
            .left_step = k,
            .right = narrow.data(),
            .right_step = with.columns,
            .out = wide.data(),
            .out_step = with.columns,
            .k = k},
           m);
  for (std::int64_t row = 0; row < m; ++row) {
    std::copy_n(wide.data() + (row * with.columns), rest, out + (row * n) + column);
  }
}

}  // namespace elk::emulate
