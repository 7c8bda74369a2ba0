#include "elk/tile/fit/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/text.hpp"
#include "elk/tile/fit/families.hpp"
#include "elk/tile/fit/linear.hpp"
#include "elk/tile/form/features.hpp"
#include "elk/tile/form/tile_tuning.hpp"

namespace elk::tile {
namespace {

using std::int32_t;
using std::size_t;

double relative_error(const std::vector<Family>& families, const ProfileRow& row) {
  const ProfileRow unnamed{
      .shape = row.shape, .cycles = row.cycles, .family = -1, .transposed = -1};
  const RowFamily origin = best_origin(families, unnamed, true);
  if (origin.family < 0) {
    return 1.0;
  }
  const Family& family = families[static_cast<size_t>(origin.family)];
  const FormulaNeeds needs = needs_of({&family.form, 1});
  const double cycles = family_cycles(family, oriented(row.shape, needs, origin.transposed));
  return std::abs((cycles / row.cycles) - 1.0);
}

/// What cross-validation chooses, and the mean relative error on rows that fits did not see.
struct CrossValidation {
  size_t alternative;
  Slack slack;
  double error;
};

/// One fit of a cross-validation, and the rows that it did not see.
struct Fold {
  std::vector<Family> families;
  ProfileRows left_out;
};

std::vector<Fold> folds_of(const std::vector<Formula>& forms, std::span<const ProfileRow> samples,
                           const FitOptions& options) {
  std::vector<Fold> folds(static_cast<size_t>(options.folds));
  for (size_t fold = 0; fold < folds.size(); ++fold) {
    ProfileRows rows;
    for (size_t i = 0; i < samples.size(); ++i) {
      const bool left_out = ((i * 2654435761U) >> 12U) % folds.size() == fold;
      (left_out ? folds[fold].left_out : rows).push_back(&samples[i]);
    }
    if (!rows.empty()) {
      folds[fold].families = fit_families(forms, rows, options);
    }
  }
  return folds;
}

double validation_error(std::span<const Fold> folds, const Slack& slack) {
  double sum = 0.0;
  size_t rows = 0;
  for (const Fold& fold : folds) {
    const std::vector<Family> families = loosened(fold.families, slack);
    for (const ProfileRow* row : fold.left_out) {
      sum += relative_error(families, *row);
    }
    rows += fold.left_out.size();
  }
  return sum / static_cast<double>(rows);
}

/// The first of `slacks` whose error is hardly above the least.
Slack best_slack(std::span<const Fold> folds, const std::vector<Slack>& slacks) {
  std::vector<double> errors;
  errors.reserve(slacks.size());
  for (const Slack& slack : slacks) {
    errors.push_back(validation_error(folds, slack));
  }
  const double least = *std::min_element(errors.begin(), errors.end());
  const auto found = std::find_if(errors.begin(), errors.end(), [least](double error) {
    return error <= tuning::kHardlyMore * least;
  });
  return slacks[static_cast<size_t>(found - errors.begin())];
}

/// The best slack in columns at any depth, then in depth.
CrossValidation best_slacks(std::span<const Fold> folds, const FitOptions& options) {
  std::vector<Slack> slacks(options.slacks.size());
  std::transform(options.slacks.begin(), options.slacks.end(), slacks.begin(), [](double slack) {
    return Slack{.columns = slack, .depth = FitOptions::kAnySize};
  });
  const double columns = best_slack(folds, slacks).columns;
  std::transform(options.slacks.rbegin(), options.slacks.rend(), slacks.begin(),
                 [columns](double slack) { return Slack{.columns = columns, .depth = slack}; });
  const Slack best = best_slack(folds, slacks);
  return {.alternative = 0, .slack = best, .error = validation_error(folds, best)};
}

/// Whether sizes bound what families take.
bool has_bounds(const std::vector<Formula>& forms) {
  const FormulaNeeds needs = needs_of(forms);
  return forms.size() > 1 && (needs.product || needs.window);
}

CrossValidation best_choice(std::span<const ProfileRow> samples,
                            std::span<const std::vector<Formula>> alternatives,
                            const FitOptions& options) {
  const Slack any{.columns = FitOptions::kAnySize, .depth = FitOptions::kAnySize};
  CrossValidation best{
      .alternative = 0, .slack = any, .error = std::numeric_limits<double>::infinity()};
  if (alternatives.size() == 1 && !has_bounds(alternatives.front())) {
    return best;
  }
  for (size_t i = 0; i < alternatives.size() && best.error > options.exact; ++i) {
    const std::vector<Fold> folds = folds_of(alternatives[i], samples, options);
    const CrossValidation found =
        has_bounds(alternatives[i])
            ? best_slacks(folds, options)
            : CrossValidation{
                  .alternative = i, .slack = any, .error = validation_error(folds, any)};
    if (found.error < options.better * best.error) {
      best = {.alternative = i, .slack = found.slack, .error = found.error};
    }
  }
  return best;
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
Extents fitted_limit(const std::vector<Family>& families, const ProfileRows& rows) {
  const Formula& form = families.front().form;
  const FormulaNeeds needs = needs_of({&form, 1});
  Extents limit{};
  for (const ProfileRow* row : rows) {
    const bool turned = best_origin(families, *row, true).transposed;
    const Extents sizes = extents(form, oriented(row->shape, needs, turned));
    for (size_t i = 0; i < limit.size(); ++i) {
      limit[i] = std::max(limit[i], rounded_up(sizes[i]));
    }
  }
  return limit;
}

/// A row in the orientation that the family which computed it gives it.
struct Own {
  const ProfileRow* row;
  bool transposed;
};

/// The continuation of `form` beyond the fitted range, on the half of `rows` that take longest.
std::vector<double> fit_outside(const Formula& form, std::vector<Own> rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Own& a, const Own& b) { return a.row->cycles > b.row->cycles; });
  rows.resize((rows.size() + 1) / 2);
  const FormulaNeeds needs = needs_of({&form, 1});
  std::vector<Terms> features;
  std::vector<double> cycles;
  for (const Own& own : rows) {
    const Terms found = smooth_terms(form, oriented(own.row->shape, needs, own.transposed));
    if (found.leaf >= 0) {
      features.push_back(found);
      cycles.push_back(own.row->cycles);
    }
  }
  return features.empty() ? std::vector<double>{} : fit_relative_nonnegative(features, cycles);
}

/// A tile far beyond `rows` along every axis that differs among them.
TileShape far_beyond(const std::vector<Own>& rows) {
  TileShape corner = rows.front().row->shape;
  for (const Own& own : rows) {
    for (size_t dim = 0; dim < corner.size.size(); ++dim) {
      corner.size[dim] = std::max(corner.size[dim], own.row->shape.size[dim]);
    }
  }
  for (std::int64_t& size : corner.size) {
    size =
        size == 1 ? 1 : std::max(size, std::min(tuning::kBeyondRange * size, tuning::kWideRange));
  }
  return corner;
}

/// Whether the continuation of `family` takes less than half of that of the first far beyond its
/// rows. The first is for large tiles: rows that do not reach far said nothing of growth.
bool looks_cheap(const Family& family, const Family& first, const std::vector<Own>& rows) {
  const TileShape corner = far_beyond(rows);
  const auto cycles = [&](const Family& of) {
    const Terms found = smooth_terms(of.form, oriented(corner, needs_of({&of.form, 1}), false));
    return found.leaf < 0 ? 0.0 : form::dot(found, of.outside.data());
  };
  return 2.0 * cycles(family) < cycles(first);
}

/// Continues each family by the rows that it computed, unless it then looks cheap; the first in any
/// case, by all rows if it computed none.
void continue_outside(std::vector<Family>& families, const ProfileRows& rows) {
  std::vector<std::vector<Own>> own(families.size());
  std::vector<Own> all;
  for (const ProfileRow* row : rows) {
    const RowFamily origin = best_origin(families, *row, true);
    all.push_back({.row = row, .transposed = origin.transposed});
    if (origin.family >= 0) {
      own[static_cast<size_t>(origin.family)].push_back(all.back());
    }
  }
  if (own.front().empty()) {
    own.front() = all;
  }
  for (size_t at = 0; at < families.size(); ++at) {
    if (own[at].empty()) {
      continue;
    }
    families[at].outside = fit_outside(families[at].form, own[at]);
    if (at > 0 && looks_cheap(families[at], families.front(), own[at])) {
      families[at].outside.clear();
    }
  }
}

}  // namespace

KernelFit fit_kernel(const FitTarget& target, std::span<const ProfileRow> samples,
                     std::span<const std::vector<Formula>> alternatives,
                     const FitOptions& options) {
  if (samples.empty() || alternatives.empty()) {
    throw InvalidInput(text("no rows or no forms to fit ", target.function, " to"));
  }
  ProfileRows rows;
  rows.reserve(samples.size());
  for (const ProfileRow& sample : samples) {
    if (!(sample.cycles > 0.0)) {
      throw InvalidInput(
          text("cycles must be positive, got ", sample.cycles, " for ", target.function));
    }
    rows.push_back(&sample);
  }
  const CrossValidation choice = best_choice(samples, alternatives, options);
  KernelFit fit{.function = target.function,
                .compute = target.compute,
                .accumulate = target.accumulate,
                .families = loosened(fit_families(alternatives[choice.alternative], rows, options),
                                     choice.slack),
                .limit = {}};
  fit.limit = fitted_limit(fit.families, rows);
  continue_outside(fit.families, rows);
  return fit;
}

}  // namespace elk::tile
