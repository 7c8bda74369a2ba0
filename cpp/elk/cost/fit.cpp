#include "elk/cost/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/rounding.hpp"
#include "elk/base/text.hpp"
#include "elk/cost/fit_linear.hpp"

namespace elk::cost {
namespace {

using std::int32_t;
using std::size_t;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kTie = 1e-7;  // a later family must explain a row better by more than this

/// Which family, in which orientation, a row is taken to come from. Family -1: none applies.
struct Origin {
  int32_t family;
  bool transposed;

  friend bool operator==(const Origin&, const Origin&) = default;
};

using Rows = std::vector<const Sample*>;

/// Whether no coefficient of a piece with `rows` rows may be negative: where rows are few, and
/// other pieces of the form say nothing about this one, sums of costs are the safer guess.
bool only_adds(const Form& form, size_t rows) {
  return std::holds_alternative<WindowDots>(form) ||
         (std::holds_alternative<RowPasses>(form) &&
          rows < static_cast<size_t>(feature_count(form)));
}

/// A tile as a family sees it.
TileCall oriented(const TileShape& shape, const Needs& needs, bool transposed) {
  const TileCall call(shape, needs);
  return transposed ? call.exchanged(needs) : call;
}

/// Rows of one piece: features and cycles.
struct Piece {
  std::vector<Terms> features;
  std::vector<double> cycles;
};

/// Fits `form` to the rows whose origin is family `at`. What the rows of a piece leave open, all
/// rows of the family decide.
Family fit_family(const Form& form, int32_t at, const Rows& rows, std::span<const Origin> origins,
                  std::size_t least_rows) {
  const Needs needs = needs_of({&form, 1});
  std::vector<Piece> pieces(static_cast<size_t>(leaf_count(form)));
  Piece all;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (origins[i].family != at) {
      continue;
    }
    const Terms found = terms(form, oriented(rows[i]->shape, needs, origins[i].transposed));
    if (found.leaf >= 0) {
      for (Piece* piece : {&all, &pieces[static_cast<size_t>(found.leaf)]}) {
        piece->features.push_back(found);
        piece->cycles.push_back(rows[i]->cycles);
      }
    }
  }
  const int32_t width = feature_count(form);
  const std::vector<double> nothing(static_cast<size_t>(width), 0.0);
  const std::vector<double> pooled =
      all.cycles.empty() ? nothing : fit_relative(all.features, all.cycles, nothing);
  Family family{.form = form,
                .width = width,
                .coefficients = {},
                .most_columns = std::numeric_limits<std::int64_t>::max()};
  for (const Piece& piece : pieces) {
    std::vector<double> fitted(static_cast<size_t>(width), kNever);
    if (piece.cycles.size() >= least_rows) {
      fitted = only_adds(form, piece.cycles.size())
                   ? fit_relative_nonnegative(piece.features, piece.cycles)
                   : fit_relative(piece.features, piece.cycles, pooled);
    }
    family.coefficients.insert(family.coefficients.end(), fitted.begin(), fitted.end());
  }
  return family;
}

/// Calls `visit(origin, prediction)` for each family and orientation that applies to the row.
template <class Visit>
void each_prediction(const std::vector<Family>& families, const TileShape& shape,
                     const Visit& visit) {
  for (size_t at = 0; at < families.size(); ++at) {
    const Needs needs = needs_of({&families[at].form, 1});
    for (const bool turned : {false, true}) {
      if (turned && !needs.product) {
        continue;
      }
      const double cycles = family_cycles(families[at], oriented(shape, needs, turned));
      if (cycles < kNever) {
        visit(Origin{static_cast<int32_t>(at), turned}, cycles);
      }
    }
  }
}

/// The origin that explains the row best: nearest to its cycles or, once the families have settled,
/// the cheapest. What the profile names stands.
Origin best_origin(const std::vector<Family>& families, const Sample& row, bool cheapest) {
  Origin best{-1, false};
  double least = kNever;
  each_prediction(families, row.shape, [&](Origin origin, double cycles) {
    const bool named = (row.family < 0 || row.family == origin.family) &&
                       (row.transposed < 0 || (row.transposed == 1) == origin.transposed);
    const double badness = cheapest ? cycles : std::abs((cycles / row.cycles) - 1.0);
    if (named && badness < least - kTie) {
      least = badness;
      best = origin;
    }
  });
  return best;
}

/// Where rows start: what the profile names; else every family is fitted to all of them as given.
std::vector<Origin> first_origins(const std::vector<Form>& forms, const Rows& rows,
                                  const FitOptions& options) {
  const size_t least_rows = forms.size() > 1 ? options.least_rows : 1;
  std::vector<Family> families;
  std::vector<Origin> origins(rows.size(), Origin{0, false});
  for (size_t at = 0; at < forms.size(); ++at) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const bool mine = rows[i]->family < 0 || rows[i]->family == static_cast<int32_t>(at);
      origins[i] = {mine ? static_cast<int32_t>(at) : -1, rows[i]->transposed == 1};
    }
    families.push_back(fit_family(forms[at], static_cast<int32_t>(at), rows, origins, least_rows));
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    origins[i] = best_origin(families, *rows[i], false);
  }
  return origins;
}

/// Leaves products with over twice as many columns as any that a family computed to the others: far
/// from its rows a family could look cheap by mistake. The first family takes any.
void bound_columns(const Rows& rows, std::span<const Origin> origins,
                   std::vector<Family>& families) {
  for (size_t at = 1; at < families.size(); ++at) {
    const Needs needs = needs_of({&families[at].form, 1});
    if (!needs.product) {
      continue;
    }
    std::int64_t most = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (origins[i].family == static_cast<int32_t>(at)) {
        const TileCall call = oriented(rows[i]->shape, needs, origins[i].transposed);
        most = std::max(most, call.product.columns);
      }
    }
    families[at].most_columns = 2 * most;
  }
}

std::vector<Family> fit_families(const std::vector<Form>& forms, const Rows& rows,
                                 const FitOptions& options) {
  const size_t least_rows = forms.size() > 1 ? options.least_rows : 1;
  std::vector<Origin> origins = first_origins(forms, rows, options);
  std::vector<Family> families;
  for (int32_t round = 0; round < options.rounds; ++round) {
    families.clear();
    for (size_t at = 0; at < forms.size(); ++at) {
      families.push_back(
          fit_family(forms[at], static_cast<int32_t>(at), rows, origins, least_rows));
    }
    const bool cheapest = 2 * round >= options.rounds;
    std::vector<Origin> next;
    next.reserve(rows.size());
    for (const Sample* row : rows) {
      next.push_back(best_origin(families, *row, cheapest));
    }
    if (next == origins && (cheapest || forms.size() == 1)) {
      break;
    }
    origins = std::move(next);
  }
  bound_columns(rows, origins, families);
  return families;
}

double relative_error(const std::vector<Family>& families, const Sample& row) {
  double least = kNever;
  each_prediction(families, row.shape,
                  [&](Origin /*origin*/, double cycles) { least = std::min(least, cycles); });
  return least < kNever ? std::abs((least / row.cycles) - 1.0) : 1.0;
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
