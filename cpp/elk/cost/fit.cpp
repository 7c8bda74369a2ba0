#include "elk/cost/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/text.hpp"
#include "elk/cost/fit_families.hpp"
#include "elk/cost/fit_linear.hpp"

namespace elk::cost {
namespace {

using std::int32_t;
using std::size_t;

constexpr double kNever = std::numeric_limits<double>::infinity();

double relative_error(const std::vector<Family>& families, const Sample& row) {
  const Sample unnamed{.shape = row.shape, .cycles = row.cycles, .family = -1, .transposed = -1};
  const Origin origin = best_origin(families, unnamed, true);
  if (origin.family < 0) {
    return 1.0;
  }
  const Family& family = families[static_cast<size_t>(origin.family)];
  const Needs needs = needs_of({&family.form, 1});
  const double cycles = family_cycles(family, oriented(row.shape, needs, origin.transposed));
  return std::abs((cycles / row.cycles) - 1.0);
}

/// Mean relative error on rows that the fit did not see.
double validation_error(const std::vector<Form>& forms, std::span<const Sample> samples,
                        const FitOptions& options) {
  double sum = 0.0;
  for (int32_t fold = 0; fold < options.folds; ++fold) {
    const auto held_out = [&](size_t i) {
      return static_cast<int32_t>(((i * 2654435761U) >> 12U) %
                                  static_cast<size_t>(options.folds)) == fold;
    };
    Rows rows;
    for (size_t i = 0; i < samples.size(); ++i) {
      if (!held_out(i)) {
        rows.push_back(&samples[i]);
      }
    }
    if (rows.empty()) {
      return kNever;
    }
    const std::vector<Family> families = fit_families(forms, rows, options);
    for (size_t i = 0; i < samples.size(); ++i) {
      sum += held_out(i) ? relative_error(families, samples[i]) : 0.0;
    }
  }
  return sum / static_cast<double>(samples.size());
}

const std::vector<Form>& best_alternative(std::span<const Sample> samples,
                                          std::span<const std::vector<Form>> alternatives,
                                          const FitOptions& options) {
  size_t best = 0;
  double least = kNever;
  for (size_t i = 0; i < alternatives.size() && alternatives.size() > 1; ++i) {
    const double error = validation_error(alternatives[i], samples, options);
    if (error < options.better * least && least > options.exact) {
      least = error;
      best = i;
    }
  }
  return alternatives[best];
}

/// The linear continuation beyond the fitted range, on the half of the rows that take longest.
std::vector<double> fit_outside(const std::vector<Family>& families, const Rows& rows) {
  Rows by_cycles = rows;
  std::stable_sort(by_cycles.begin(), by_cycles.end(),
                   [](const Sample* a, const Sample* b) { return a->cycles > b->cycles; });
  by_cycles.resize((rows.size() + 1) / 2);
  const Form& form = families.front().form;
  const Needs needs = needs_of({&form, 1});
  std::vector<Terms> features;
  std::vector<double> cycles;
  for (const Sample* row : by_cycles) {
    const Origin origin = best_origin(families, *row, true);
    features.push_back(smooth_terms(form, oriented(row->shape, needs, origin.transposed)));
    cycles.push_back(row->cycles);
  }
  return fit_relative_nonnegative(features, cycles);
}

/// `size` rounded up to three significant bits: a profile rarely draws the very end of its range.
std::int64_t rounded_up(std::int64_t size) {
  std::int64_t step = 1;
  while (8 * step <= size) {
    step *= 2;
  }
  return round_up(size, step);
}

/// The largest sizes among the rows, in the orientations that the families give them, rounded up.
Extents fitted_limit(const std::vector<Family>& families, const Rows& rows) {
  const Form& form = families.front().form;
  const Needs needs = needs_of({&form, 1});
  Extents limit{};
  for (const Sample* row : rows) {
    const bool turned = best_origin(families, *row, true).transposed;
    const Extents sizes = extents(form, oriented(row->shape, needs, turned));
    for (size_t i = 0; i < limit.size(); ++i) {
      limit[i] = std::max(limit[i], rounded_up(sizes[i]));
    }
  }
  return limit;
}

}  // namespace

KernelFit fit_kernel(const FitTarget& target, std::span<const Sample> samples,
                     std::span<const std::vector<Form>> alternatives, const FitOptions& options) {
  if (samples.empty() || alternatives.empty()) {
    throw InvalidInput(text("no rows or no forms to fit ", target.function, " to"));
  }
  Rows rows;
  rows.reserve(samples.size());
  for (const Sample& sample : samples) {
    if (!(sample.cycles > 0.0)) {
      throw InvalidInput(
          text("cycles must be positive, got ", sample.cycles, " for ", target.function));
    }
    rows.push_back(&sample);
  }
  KernelFit fit{
      .function = target.function,
      .compute = target.compute,
      .accumulate = target.accumulate,
      .families = fit_families(best_alternative(samples, alternatives, options), rows, options),
      .outside = {},
      .limit = {}};
  fit.outside = fit_outside(fit.families, rows);
  fit.limit = fitted_limit(fit.families, rows);
  return fit;
}

}  // namespace elk::cost
