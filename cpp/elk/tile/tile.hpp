#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "elk/ir/graph.hpp"
#include "elk/tile/form/form.hpp"
#include "elk/tile/form/set.hpp"
#include "elk/tile/form/shape.hpp"

namespace elk::tile {

/// A kernel of the model with its dtype, resolved once so that a call costs no look-up.
struct Kernel {
  std::int32_t index;
  bool borrowed;  // the kind or dtype has no rows of its own: a declared neighbour's
};

/// One way a library computes a kernel: a formula and the coefficients of its pieces, one row of
/// `width` numbers a piece. A row that begins with infinity is a piece no profile row fell into.
/// `outside` continues the family beyond the fitted range: linear in the smooth features of the
/// formula, with no negative coefficient; empty where no row was the family's.
struct Family {
  Formula form;
  std::int32_t width;
  std::vector<double> coefficients;
  std::int64_t most_columns;  // a product with more of them is never cheapest here
  std::int64_t most_depth;    // a product that is deeper is never cheapest here, either
  std::vector<double> outside;

  friend bool operator==(const Family&, const Family&) = default;
};

/// The fitted cycles of one function in one pair of dtypes: the cheapest of the families and, for a
/// product, of both orientations. Beyond `limit` the families are continued: the least of what
/// grows with every axis does so, too.
struct KernelFit {
  std::string function;
  ir::DType compute;
  ir::DType accumulate;
  std::vector<Family> families;
  Extents limit;  // the largest sizes of the fitted range, as the first formula sees them

  friend bool operator==(const KernelFit&, const KernelFit&) = default;
};

/// What an op costs whose kernel is not modelled: its bytes over SRAM bandwidth, and n log2 n
/// vector operations if it sorts ("topk", "sort"), n otherwise.
struct OpaqueRule {
  double call_cycles;
  double sram_bytes_per_cycle;
  double vector_elements_per_cycle;

  friend bool operator==(const OpaqueRule&, const OpaqueRule&) = default;
};

/// Refuses a kernel without families, with a wrong number of coefficients, with coefficients beyond
/// the fitted range that are negative or not numbers, or with none there for any tile.
void validate(const KernelFit& kernel);

/// A kernel by name: what a caller's function is asked for.
struct KernelName {
  std::string function;
  ir::DType compute;
  ir::DType accumulate;

  friend bool operator==(const KernelName&, const KernelName&) = default;
};

/// Cycles of one call, as a caller measures or computes them. Called from several threads.
using TileFunction = std::function<double(const KernelName&, const TileShape&)>;

/// The families of a kernel, laid out for evaluation.
class Routines {
 public:
  explicit Routines(const KernelFit& fit);

  [[nodiscard]] const FormulaNeeds& needs() const { return needs_; }

  /// Cycles in the fitted range of `fit`, which these are of: the cheapest family and, of a
  /// product, orientation; infinite if none applies, or beyond the range. May turn the call.
  [[nodiscard]] double inside(const KernelFit& fit, TileCall& call) const;

  /// Cycles beyond the fitted range of `fit`: the cheapest continuation. May turn the call.
  [[nodiscard]] double outside(const KernelFit& fit, TileCall& call) const;

 private:
  /// The cheapest of the families that no set holds, as the call is oriented.
  [[nodiscard]] double cheapest_other(const TileCall& call) const;

  FormulaNeeds needs_;
  form::WindowSet windows_;
  form::ProductSet products_;
  std::vector<Family> others_;
};

/// Fitted cycles of tile kernels on one core, or those of a caller's function (design 5). Immutable
/// after construction.
class TileModel {
 public:
  TileModel(std::vector<KernelFit> kernels, OpaqueRule opaque);

  /// A model that asks `function` for the cycles of `names`, and knows no other kernel.
  TileModel(std::vector<KernelName> names, TileFunction function);

  /// The kernel for `function` computing in `dtype`, accumulating in `accumulate` (a cast: from
  /// `dtype` to `accumulate`). Every function of the IR resolves: one without rows to a declared
  /// neighbour, an unknown one to the opaque rule.
  [[nodiscard]] Kernel find(std::string_view function, ir::DType dtype, ir::DType accumulate) const;

  /// Cycles of one call; at least 1, monotone outside the fitted range.
  [[nodiscard]] double cycles(Kernel kernel, const TileShape& shape) const;

  /// Whether the call lies outside the range the kernel was fitted on.
  [[nodiscard]] bool extrapolated(Kernel kernel, const TileShape& shape) const;

  /// Whether cycles are those of a caller's function.
  [[nodiscard]] bool asks() const { return function_ != nullptr; }

  /// The function whose rows `kernel` was fitted on; "opaque" for the declared rule.
  [[nodiscard]] const std::string& source(Kernel kernel) const;

  [[nodiscard]] const std::vector<KernelFit>& kernels() const { return kernels_; }

 private:
  /// How a kernel takes several independent products.
  struct ProductGroups {
    std::int32_t batched;  // in one call of this kernel; -1: there is none
    bool one_by_one;       // else in one call each; false: the formula of the kernel counts them
  };

  /// The calls that one call of a kernel stands for: `times` calls of `fit`, of one product each
  /// if more than one.
  struct FitCalls {
    std::size_t fit;
    std::int64_t times;
  };

  [[nodiscard]] FitCalls calls(Kernel kernel, std::int64_t groups) const;

  [[nodiscard]] double asked(Kernel kernel, const TileShape& shape) const;

  std::vector<KernelFit> kernels_;
  OpaqueRule opaque_{};
  std::vector<KernelName> names_;  // of a caller's function
  TileFunction function_;
  std::vector<Routines> routines_;     // of each kernel
  std::vector<ProductGroups> groups_;  // of each kernel
};

/// What the families of `fit` ask of a tile.
[[nodiscard]] FormulaNeeds needs_of(const KernelFit& fit);

/// Cycles of one family; infinite where it does not apply, or would take no time.
[[nodiscard]] double family_cycles(const Family& family, const TileCall& call);

}  // namespace elk::tile
