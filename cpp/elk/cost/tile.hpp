#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "elk/cost/tile_form.hpp"
#include "elk/cost/tile_shape.hpp"
#include "elk/ir/graph.hpp"

namespace elk::cost {

/// A kernel of the model with its dtype, resolved once so that a call costs no look-up.
struct Kernel {
  std::int32_t index;
  bool borrowed;  // the kind or dtype has no rows of its own: a declared neighbour's
};

/// One way a library computes a kernel: a form and the coefficients of its pieces, one row of
/// `width` numbers a piece. A row that begins with infinity is a piece no profile row fell into.
struct Family {
  Form form;
  std::int32_t width;
  std::vector<double> coefficients;

  friend bool operator==(const Family&, const Family&) = default;
};

/// The fitted cycles of one function in one pair of dtypes: the cheapest of the families and, for a
/// product, of both orientations. Beyond `limit` it is `outside`, linear in the smooth features of
/// the first family, with no negative coefficient.
struct KernelFit {
  std::string function;
  ir::DType compute;
  ir::DType accumulate;
  std::vector<Family> families;
  std::vector<double> outside;
  Extents limit;  // the largest sizes of the fitted range, as the first form sees them

  friend bool operator==(const KernelFit&, const KernelFit&) = default;
};

/// What an op costs whose kernel is not modelled: its bytes over SRAM bandwidth, and n log2 n
/// vector operations if it sorts, n otherwise.
struct OpaqueRule {
  double call_cycles;
  double sram_bytes_per_cycle;
  double vector_elements_per_cycle;

  friend bool operator==(const OpaqueRule&, const OpaqueRule&) = default;
};

/// Refuses a kernel without families, with a wrong number of coefficients, or with coefficients
/// beyond the fitted range that are negative or not numbers.
void validate(const KernelFit& kernel);

/// Fitted cycles of tile kernels on one core (design 5). Immutable after construction.
class TileModel {
 public:
  TileModel(std::vector<KernelFit> kernels, OpaqueRule opaque);

  /// The kernel for `function` computing in `dtype`, accumulating in `accumulate` (a cast: from
  /// `dtype` to `accumulate`). Every function of the IR resolves: one without rows to a declared
  /// neighbour, an unknown one to the opaque rule.
  [[nodiscard]] Kernel find(std::string_view function, ir::DType dtype, ir::DType accumulate) const;

  /// Cycles of one call; at least 1, monotone outside the fitted range.
  [[nodiscard]] double cycles(Kernel kernel, const TileShape& shape) const;

  /// Whether the call lies outside the range the kernel was fitted on.
  [[nodiscard]] bool extrapolated(Kernel kernel, const TileShape& shape) const;

  /// The function whose rows `kernel` was fitted on; "opaque" for the declared rule.
  [[nodiscard]] const std::string& source(Kernel kernel) const;

  [[nodiscard]] const std::vector<KernelFit>& kernels() const { return kernels_; }

 private:
  std::vector<KernelFit> kernels_;
  OpaqueRule opaque_;
  std::vector<std::int32_t> grouped_;  // of a matmul: the batch_matmul for its groups, else -1
};

/// Cycles of one family; infinite where it does not apply.
[[nodiscard]] double family_cycles(const Family& family, const TileCall& call);

/// Cycles inside the fitted range: the cheapest family and orientation; infinite if none applies.
[[nodiscard]] double inside_cycles(const KernelFit& fit, const TileShape& shape);

/// Cycles beyond the fitted range.
[[nodiscard]] double outside_cycles(const KernelFit& fit, const TileShape& shape);

}  // namespace elk::cost
