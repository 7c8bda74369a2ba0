#include "elk/cost/tile.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/text.hpp"
#include "elk/cost/tile_names.hpp"

namespace elk::cost {
namespace {

using ir::DType;
using std::int32_t;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int32_t kScales = 8;  // kernel index = fit * kScales + byte scale
constexpr int32_t kOpaque = -1;
const std::string kOpaqueName = "opaque";

double dot(const Terms& terms, const double* coefficients) {
  double sum = 0.0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(terms.count); ++i) {
    sum += terms.value[i] * coefficients[i];
  }
  return sum;
}

bool has_product(const KernelFit& fit) { return is_product(fit.families.front().form); }

bool none_beyond(const Extents& sizes, const Extents& limit) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > limit[i]) {
      return false;
    }
  }
  return true;
}

/// Whether the tile lies in the fitted range, in either orientation of a product.
bool within(const KernelFit& fit, const TileShape& shape) {
  const Form& form = fit.families.front().form;
  return none_beyond(extents(form, shape), fit.limit) ||
         (has_product(fit) && none_beyond(extents(form, transposed(shape)), fit.limit));
}

double opaque_cycles(const OpaqueRule& rule, const TileShape& shape) {
  double elements = 1.0;
  for (std::size_t dim = 1; dim < kTileDims; ++dim) {
    elements *= static_cast<double>(shape.size[dim]);
  }
  const double bytes = shape.params[0] > 0 ? static_cast<double>(shape.params[0]) : 8.0 * elements;
  const double steps =
      shape.params[1] != 0 ? elements * std::max(1.0, std::log2(elements)) : elements;
  return rule.call_cycles + (bytes / rule.sram_bytes_per_cycle) +
         (steps / rule.vector_elements_per_cycle);
}

/// The position of the kernel fitted for exactly this, or -1.
int32_t position(const std::vector<KernelFit>& kernels, std::string_view function, DType compute,
                 DType accumulate) {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const KernelFit& fit) {
    return fit.function == function && fit.compute == compute && fit.accumulate == accumulate;
  });
  return found == kernels.end() ? -1 : static_cast<int32_t>(std::distance(kernels.begin(), found));
}

}  // namespace

void validate(const KernelFit& kernel) {
  const std::string where = text("kernel ", kernel.function, "/", ir::name(kernel.compute));
  if (kernel.families.empty()) {
    throw InvalidInput(where + " has no families");
  }
  for (const Family& family : kernel.families) {
    const std::int32_t width = feature_count(family.form);
    const auto wanted =
        static_cast<std::size_t>(leaf_count(family.form)) * static_cast<std::size_t>(width);
    if (family.width != width || family.coefficients.size() != wanted) {
      throw InvalidInput(text(where, " has ", family.coefficients.size(),
                              " coefficients in a family of ", leaf_count(family.form),
                              " pieces of ", width));
    }
  }
  const std::int32_t smooth = smooth_count(kernel.families.front().form);
  if (kernel.outside.size() != static_cast<std::size_t>(smooth)) {
    throw InvalidInput(text(where, " has ", kernel.outside.size(),
                            " coefficients beyond its range; its form has ", smooth));
  }
  for (const double coefficient : kernel.outside) {
    if (!(coefficient >= 0.0 && coefficient < kNever)) {
      throw InvalidInput(text(where, " has the coefficient ", coefficient,
                              " beyond its range; it must be finite and not negative"));
    }
  }
}

double family_cycles(const Family& family, const TileCall& call) {
  const Terms features = terms(family.form, call);
  if (features.leaf < 0) {
    return kNever;
  }
  const double* piece =
      family.coefficients.data() + (static_cast<std::ptrdiff_t>(features.leaf) * family.width);
  return std::isinf(*piece) ? kNever : dot(features, piece);
}

double inside_cycles(const KernelFit& fit, const TileShape& shape) {
  const TileCall call(shape, field_workers(fit.families.front().form));
  double best = kNever;
  for (const Family& family : fit.families) {
    best = std::min(best, family_cycles(family, call));
  }
  if (has_product(fit)) {
    const TileShape turned = transposed(shape);
    const TileCall other(turned, 0);
    for (const Family& family : fit.families) {
      best = std::min(best, family_cycles(family, other));
    }
  }
  return best;
}

double outside_cycles(const KernelFit& fit, const TileShape& shape) {
  const Form& form = fit.families.front().form;
  const double cycles = dot(smooth_terms(form, TileCall(shape, 0)), fit.outside.data());
  if (!has_product(fit)) {
    return cycles;
  }
  const TileShape turned = transposed(shape);
  return std::min(cycles, dot(smooth_terms(form, TileCall(turned, 0)), fit.outside.data()));
}

TileModel::TileModel(std::vector<KernelFit> kernels, OpaqueRule opaque)
    : kernels_(std::move(kernels)), opaque_(opaque) {
  for (const KernelFit& kernel : kernels_) {
    validate(kernel);
    grouped_.push_back(kernel.function == "matmul"
                           ? position(kernels_, "batch_matmul", kernel.compute, kernel.accumulate)
                           : -1);
  }
}

Kernel TileModel::find(std::string_view function, DType dtype, DType accumulate) const {
  if (function != kOpaqueName) {
    const std::vector<DTypeNeighbour> dtypes = dtype_neighbours(dtype, accumulate);
    for (const std::string& name : function_neighbours(function)) {
      for (const DTypeNeighbour& pair : dtypes) {
        const int32_t at = position(kernels_, name, pair.compute, pair.accumulate);
        if (at >= 0) {
          return {(at * kScales) + pair.scale,
                  name != function || pair.compute != dtype || pair.accumulate != accumulate};
        }
      }
    }
  }
  return {kOpaque, function != kOpaqueName};
}

double TileModel::cycles(Kernel kernel, const TileShape& shape) const {
  if (kernel.index == kOpaque) {
    return std::max(1.0, opaque_cycles(opaque_, shape));
  }
  auto at = static_cast<std::size_t>(kernel.index / kScales);
  double times = kByteScales[kernel.index % kScales];
  TileShape call = shape;
  if (shape[ir::TileDim::Group] > 1 && kernels_[at].function == "matmul") {
    if (grouped_[at] >= 0) {
      at = static_cast<std::size_t>(grouped_[at]);
    } else {
      times *= static_cast<double>(shape[ir::TileDim::Group]);
      call.size[static_cast<std::size_t>(ir::TileDim::Group)] = 1;
    }
  }
  const KernelFit& fit = kernels_[at];
  double result = within(fit, call) ? inside_cycles(fit, call) : kNever;
  if (std::isinf(result)) {
    result = outside_cycles(fit, call);
  }
  return std::max(1.0, times * result);
}

bool TileModel::extrapolated(Kernel kernel, const TileShape& shape) const {
  if (kernel.index == kOpaque) {
    return false;
  }
  const KernelFit& fit = kernels_[static_cast<std::size_t>(kernel.index / kScales)];
  return !within(fit, shape) || std::isinf(inside_cycles(fit, shape));
}

const std::string& TileModel::source(Kernel kernel) const {
  return kernel.index == kOpaque
             ? kOpaqueName
             : kernels_[static_cast<std::size_t>(kernel.index / kScales)].function;
}

}  // namespace elk::cost
