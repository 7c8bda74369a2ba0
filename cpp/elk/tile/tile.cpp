#include "elk/tile/tile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/text.hpp"
#include "elk/tile/form/features.hpp"
#include "elk/tile/names.hpp"

namespace elk::tile {
namespace {

using ir::DType;
using std::int32_t;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int32_t kScales = 8;         // kernel index = fit * kScales + byte scale
constexpr double kDefaultBytes = 8.0;  // of an element, read and written as f32
constexpr int32_t kOpaque = -1;
constexpr int32_t kSort = -2;
// The name of the declared rule.
const std::string& opaque_name() {
  static const std::string name = "opaque";
  return name;
}

form::Domain domain_of(const Family& family) {
  return {.most_columns = family.most_columns, .most_depth = family.most_depth};
}

/// The cheapest continuation of the families that take the call as it is oriented: the first takes
/// any.
double cheapest_outside(const KernelFit& fit, const TileCall& call) {
  double best = kNever;
  for (const Family& family : fit.families) {
    const bool first = &family == &fit.families.front();
    if (family.outside.empty() || !(first || domain_of(family).contains(call.product))) {
      continue;
    }
    const Terms found = smooth_terms(family.form, call);
    if (found.leaf >= 0) {
      best = std::min(best, form::dot(found, family.outside.data()));
    }
  }
  return best;
}

/// Refuses coefficients beyond the fitted range that are not one a feature, finite and not
/// negative.
void validate_outside(const Family& family, const std::string& where) {
  const std::int32_t smooth = smooth_count(family.form);
  if (!family.outside.empty() && family.outside.size() != static_cast<std::size_t>(smooth)) {
    throw InvalidInput(text(where, " has ", family.outside.size(),
                            " coefficients beyond its range; its form has ", smooth));
  }
  for (const double coefficient : family.outside) {
    if (coefficient < 0.0 || !std::isfinite(coefficient)) {
      throw InvalidInput(text(where, " has the coefficient ", coefficient,
                              " beyond its range; it must be finite and not negative"));
    }
  }
}

/// Cycles of one call, within the fitted range or beyond.
double call_cycles(const KernelFit& fit, const Routines& routines, const TileShape& shape) {
  TileCall call(shape, routines.needs());
  const double found = routines.inside(fit, call);
  return std::isinf(found) ? routines.outside(fit, call) : found;
}

/// The tile of a single one of several independent products.
TileShape one_product(const TileShape& shape) {
  TileShape one = shape;
  one.size[static_cast<std::size_t>(ir::TileDim::Group)] = 1;
  return one;
}

double opaque_cycles(const OpaqueRule& rule, const TileShape& shape, bool sorts) {
  double elements = 1.0;
  for (std::size_t dim = 1; dim < kTileDims; ++dim) {
    elements *= static_cast<double>(shape.size[dim]);
  }
  const double bytes =
      shape.params[0] > 0 ? static_cast<double>(shape.params[0]) : kDefaultBytes * elements;
  const double passes = sorts ? std::max(1.0, std::log2(elements)) : 1.0;
  return rule.call_cycles + (bytes / rule.sram_bytes_per_cycle) +
         (elements * passes / rule.vector_elements_per_cycle);
}

bool is_sort(std::string_view function) { return function == "topk" || function == "sort"; }

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
    validate_outside(family, where);
  }
  const Family& first = kernel.families.front();
  if (first.outside.empty() || !takes_all(first.form)) {
    throw InvalidInput(where + " has a first family that is not continued to tiles of any size");
  }
}

double family_cycles(const Family& family, const TileCall& call) {
  return std::visit(
      [&](const auto& kind) {
        return form::cycles(kind, call, family.coefficients.data(), family.width);
      },
      family.form);
}

Routines::Routines(const KernelFit& fit) : needs_(needs_of(fit)) {
  for (const Family& family : fit.families) {
    const form::Domain domain = domain_of(family);
    const auto* window = std::get_if<WindowBlocks>(&family.form);
    const auto* product = std::get_if<Blocks>(&family.form);
    const bool taken =
        (window != nullptr && windows_.add(*window, domain, family.coefficients)) ||
        (product != nullptr && (products_.add(*product, domain, family.coefficients) ||
                                windows_.add(*product, domain, family.coefficients)));
    if (!taken) {
      others_.push_back(family);
    }
  }
}

double Routines::cheapest_other(const TileCall& call) const {
  double best = kNever;
  for (const Family& family : others_) {
    if (domain_of(family).contains(call.product)) {
      best = std::min(best, family_cycles(family, call));
    }
  }
  return best;
}

double Routines::inside(const KernelFit& fit, TileCall& call) const {
  const Formula& form = fit.families.front().form;
  const bool inside = fits(form, call, fit.limit);
  if (!needs_.product) {
    if (!inside) {
      return kNever;
    }
    return windows_.empty() ? cheapest_other(call)
                            : std::min(windows_.cheapest(call), cheapest_other(call));
  }
  const Product given = call.product;
  double best = cheapest_other(call);
  call.exchange(needs_);
  if (!inside && !fits(form, call, fit.limit)) {
    return kNever;
  }
  best = std::min(best, cheapest_other(call));
  return products_.empty() ? best : std::min(best, products_.cheapest(given, call.product));
}

double Routines::outside(const KernelFit& fit, TileCall& call) const {
  const double given = cheapest_outside(fit, call);
  if (!needs_.product) {
    return given;
  }
  call.exchange(needs_);
  return std::min(given, cheapest_outside(fit, call));
}

FormulaNeeds needs_of(const KernelFit& fit) {
  std::vector<Formula> forms;
  forms.reserve(fit.families.size());
  for (const Family& family : fit.families) {
    forms.push_back(family.form);
  }
  FormulaNeeds needs = needs_of(forms);
  if (needs.granule > 0) {
    needs.most_columns = 0;
    for (const Family& family : fit.families) {
      if (std::holds_alternative<Dots>(family.form) ||
          std::holds_alternative<WindowDots>(family.form)) {
        needs.most_columns = std::max(needs.most_columns, family.most_columns);
      }
    }
  }
  return needs;
}

TileModel::TileModel(std::vector<KernelFit> kernels, OpaqueRule opaque)
    : kernels_(std::move(kernels)), opaque_(opaque) {
  routines_.reserve(kernels_.size());
  groups_.reserve(kernels_.size());
  for (const KernelFit& kernel : kernels_) {
    validate(kernel);
    routines_.emplace_back(kernel);
    const bool product = kernel.function == "matmul";
    groups_.push_back(
        {.batched =
             product ? position(kernels_, "batch_matmul", kernel.compute, kernel.accumulate) : -1,
         .one_by_one = product});
  }
}

TileModel::TileModel(std::vector<KernelName> names, TileFunction function)
    : names_(std::move(names)), function_(std::move(function)) {
  if (!function_) {
    throw InvalidInput("a tile model needs a function");
  }
}

/// What the caller's function says; refused where it is no time.
double TileModel::asked(Kernel kernel, const TileShape& shape) const {
  const KernelName& name = names_[static_cast<std::size_t>(kernel.index / kScales)];
  const double found = function_(name, shape);
  if (!std::isfinite(found) || found <= 0.0) {
    throw InvalidInput(text("tile_model must return cycles above 0, got ", found, " for ",
                            name.function, " in ", ir::name(name.compute)),
                       "tile_model");
  }
  return std::max(1.0, found);
}

Kernel TileModel::find(std::string_view function, DType dtype, DType accumulate) const {
  if (function_) {
    const KernelName wanted{
        .function = std::string(function), .compute = dtype, .accumulate = accumulate};
    const auto found = std::find(names_.begin(), names_.end(), wanted);
    if (found == names_.end()) {
      throw InternalError(text("the tile model was not told of ", function, "/", ir::name(dtype)));
    }
    return {static_cast<int32_t>(std::distance(names_.begin(), found)) * kScales, false};
  }
  if (is_sort(function)) {
    return {kSort, false};
  }
  const std::vector<DTypeSubstitute> dtypes = dtype_neighbours(function, dtype, accumulate);
  for (const std::string& name : function_neighbours(function)) {
    for (const DTypeSubstitute& pair : dtypes) {
      const int32_t at = position(kernels_, name, pair.compute, pair.accumulate);
      if (at >= 0) {
        return {(at * kScales) + pair.scale,
                name != function || pair.compute != dtype || pair.accumulate != accumulate};
      }
    }
  }
  return {kOpaque, function != opaque_name()};
}

TileModel::FitCalls TileModel::calls(Kernel kernel, std::int64_t groups) const {
  const auto at = static_cast<std::size_t>(kernel.index / kScales);
  if (groups > 1 && groups_[at].batched >= 0) {
    return {.fit = static_cast<std::size_t>(groups_[at].batched), .times = 1};
  }
  return {.fit = at, .times = groups_[at].one_by_one ? groups : 1};
}

double TileModel::cycles(Kernel kernel, const TileShape& shape) const {
  if (function_) {
    return asked(kernel, shape);
  }
  if (kernel.index < 0) {
    return std::max(1.0, opaque_cycles(opaque_, shape, kernel.index == kSort));
  }
  const FitCalls made = calls(kernel, shape[ir::TileDim::Group]);
  const KernelFit& fit = kernels_[made.fit];
  const Routines& routines = routines_[made.fit];
  const double each = made.times > 1 ? call_cycles(fit, routines, one_product(shape))
                                     : call_cycles(fit, routines, shape);
  return std::max(1.0, kByteScales[static_cast<std::size_t>(kernel.index % kScales)] *
                           static_cast<double>(made.times) * each);
}

bool TileModel::extrapolated(Kernel kernel, const TileShape& shape) const {
  if (kernel.index < 0 || function_) {
    return false;
  }
  const FitCalls made = calls(kernel, shape[ir::TileDim::Group]);
  const TileShape one = made.times > 1 ? one_product(shape) : shape;
  TileCall call(one, routines_[made.fit].needs());
  return std::isinf(routines_[made.fit].inside(kernels_[made.fit], call));
}

const std::string& TileModel::source(Kernel kernel) const {
  if (function_) {
    return names_[static_cast<std::size_t>(kernel.index / kScales)].function;
  }
  return kernel.index < 0 ? opaque_name()
                          : kernels_[static_cast<std::size_t>(kernel.index / kScales)].function;
}

}  // namespace elk::tile
