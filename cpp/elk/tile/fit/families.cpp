#include "elk/tile/fit/families.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "elk/tile/fit/linear.hpp"

namespace elk::tile {
namespace {

using std::int32_t;
using std::size_t;

constexpr double kNeverChosen = std::numeric_limits<double>::infinity();
constexpr double kTie = 1e-7;  // a later family must explain a row better by more than this

constexpr int32_t kAnyFamily = -1;
constexpr int32_t kAnyOther = -2;  // than the first

/// Whether no coefficient of a piece with `rows` rows may be negative: where rows are few, and
/// other pieces of the formula say nothing about this one, sums of costs are the safer guess.
bool only_adds(const Formula& form, size_t rows) {
  return std::holds_alternative<WindowDots>(form) ||
         (std::holds_alternative<RowPasses>(form) &&
          rows < static_cast<size_t>(feature_count(form)));
}

/// Calls `visit(origin, prediction)` for each family and orientation that applies to the row.
template <class Visit>
void each_prediction(const std::vector<Family>& families, const TileShape& shape,
                     const Visit& visit) {
  for (size_t at = 0; at < families.size(); ++at) {
    const FormulaNeeds needs = needs_of({&families[at].form, 1});
    for (const bool turned : {false, true}) {
      if (turned && !needs.product) {
        continue;
      }
      const TileCall call = oriented(shape, needs, turned);
      const form::Domain domain{.most_columns = families[at].most_columns,
                                .most_depth = families[at].most_depth};
      const double cycles =
          domain.contains(call.product) ? family_cycles(families[at], call) : kNeverChosen;
      if (cycles < kNeverChosen) {
        visit(RowFamily{static_cast<int32_t>(at), turned}, cycles);
      }
    }
  }
}

}  // namespace

TileCall oriented(const TileShape& shape, const FormulaNeeds& needs, bool transposed) {
  TileCall call(shape, needs);
  if (transposed) {
    call.exchange(needs);
  }
  return call;
}

RowFamily best_origin(const std::vector<Family>& families, const ProfileRow& row, bool cheapest) {
  RowFamily best{kAnyFamily, false};
  double least = kNeverChosen;
  each_prediction(families, row.shape, [&](RowFamily origin, double cycles) {
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

namespace {

double dot(const Terms& terms, const std::vector<double>& coefficients) {
  double sum = 0.0;
  for (size_t i = 0; i < coefficients.size(); ++i) {
    sum += terms.value[i] * coefficients[i];
  }
  return sum;
}

/// Rows of one piece: features and cycles.
struct LeafRows {
  std::vector<Terms> features;
  std::vector<double> cycles;
};

/// Fits `form` to the rows whose origin is family `at`. What the rows of a piece leave open, all
/// rows of the family decide.
Family fit_family(const Formula& form, int32_t at, const ProfileRows& rows,
                  std::span<const RowFamily> origins, std::size_t least_rows) {
  const FormulaNeeds needs = needs_of({&form, 1});
  std::vector<LeafRows> pieces(static_cast<size_t>(leaf_count(form)));
  LeafRows all;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (origins[i].family != at) {
      continue;
    }
    const Terms found = terms(form, oriented(rows[i]->shape, needs, origins[i].transposed));
    if (found.leaf >= 0) {
      for (LeafRows* piece : {&all, &pieces[static_cast<size_t>(found.leaf)]}) {
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
                .most_columns = std::numeric_limits<std::int64_t>::max(),
                .most_depth = std::numeric_limits<std::int64_t>::max(),
                .outside = {}};
  for (const LeafRows& piece : pieces) {
    std::vector<double> fitted(static_cast<size_t>(width), kNeverChosen);
    if (piece.cycles.size() >= least_rows) {
      fitted = only_adds(form, piece.cycles.size())
                   ? fit_relative_nonnegative(piece.features, piece.cycles)
                   : fit_relative(piece.features, piece.cycles, pooled);
    }
    family.coefficients.insert(family.coefficients.end(), fitted.begin(), fitted.end());
  }
  return family;
}

/// Orientations of a product that the profile does not name: those that are cheaper under the
/// smooth features of `form`, fitted and chosen in turn.
std::vector<RowFamily> guessed_orientations(const Formula& form, const ProfileRows& rows) {
  constexpr int kTurns = 6;
  const FormulaNeeds needs = needs_of({&form, 1});
  std::vector<RowFamily> origins(rows.size(), RowFamily{0, false});
  for (int turn = 0; turn < kTurns; ++turn) {
    std::vector<Terms> features;
    std::vector<double> cycles;
    for (size_t i = 0; i < rows.size(); ++i) {
      features.push_back(
          smooth_terms(form, oriented(rows[i]->shape, needs, origins[i].transposed)));
      cycles.push_back(rows[i]->cycles);
    }
    const std::vector<double> fitted = fit_relative_nonnegative(features, cycles);
    for (size_t i = 0; i < rows.size(); ++i) {
      const double given = dot(smooth_terms(form, oriented(rows[i]->shape, needs, false)), fitted);
      const double turned = dot(smooth_terms(form, oriented(rows[i]->shape, needs, true)), fitted);
      origins[i].transposed = turned < given;
    }
  }
  return origins;
}

/// Takes from the first family the rows that it makes too dear: cheaper families computed them.
/// Those families see the shorter free axis as columns.
void split_off_cheaper(const Formula& first, const ProfileRows& rows,
                       std::vector<RowFamily>& origins, size_t least_rows) {
  constexpr int kTurns = 6;
  constexpr double kTooDear = 1.03;
  const FormulaNeeds needs = needs_of({&first, 1});
  for (int turn = 0; turn < kTurns; ++turn) {
    const Family family = fit_family(first, 0, rows, origins, least_rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      const double given = family_cycles(family, oriented(rows[i]->shape, needs, false));
      const double turned = family_cycles(family, oriented(rows[i]->shape, needs, true));
      const bool mine = std::min(given, turned) <= kTooDear * rows[i]->cycles;
      const bool wide = oriented(rows[i]->shape, needs, false).product.columns >
                        oriented(rows[i]->shape, needs, true).product.columns;
      origins[i] = {mine ? 0 : kAnyOther, mine ? turned < given : wide};
    }
  }
}

/// Where rows start: what the profile names; else what the first family does not explain is for the
/// others; where there are no orientations, every family is fitted to all rows.
std::vector<RowFamily> first_origins(const std::vector<Formula>& forms, const ProfileRows& rows,
                                     size_t least_rows) {
  const bool named =
      std::any_of(rows.begin(), rows.end(), [](const ProfileRow* row) { return row->family >= 0; });
  const bool guess = !named && forms.size() > 1 && needs_of({forms.data(), 1}).product;
  std::vector<RowFamily> start(rows.size(), RowFamily{kAnyFamily, false});
  if (guess) {
    start = guessed_orientations(forms.front(), rows);
    split_off_cheaper(forms.front(), rows, start, least_rows);
  } else {
    std::transform(rows.begin(), rows.end(), start.begin(), [](const ProfileRow* row) {
      return RowFamily{row->family < 0 ? kAnyFamily : row->family, row->transposed == 1};
    });
  }
  std::vector<Family> families;
  for (size_t at = 0; at < forms.size(); ++at) {
    const auto family = static_cast<int32_t>(at);
    std::vector<RowFamily> origins = start;
    for (RowFamily& origin : origins) {
      const bool open = origin.family == kAnyFamily || (origin.family == kAnyOther && at > 0);
      origin.family = open ? family : origin.family;
    }
    families.push_back(fit_family(forms[at], family, rows, origins, least_rows));
  }
  std::vector<RowFamily> best;
  best.reserve(rows.size());
  for (const ProfileRow* row : rows) {
    best.push_back(best_origin(families, *row, false));
  }
  return best;
}

/// Leaves products and windows larger than any that a family computed to the others, along axes
/// where its rows do not come near the largest of all.
void bound_sizes(const ProfileRows& rows, std::span<const RowFamily> origins,
                 std::vector<Family>& families) {
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  const auto bound = [](std::int64_t own, std::int64_t all) { return 2 * own < all ? own : kAny; };
  std::vector<Product> most(families.size());
  Product all{};
  for (size_t i = 0; i < rows.size(); ++i) {
    if (origins[i].family < 0) {
      continue;
    }
    const auto at = static_cast<size_t>(origins[i].family);
    const FormulaNeeds needs = needs_of({&families[at].form, 1});
    const TileCall call = oriented(rows[i]->shape, needs, origins[i].transposed);
    for (Product* product : {&most[at], &all}) {
      product->columns = std::max(product->columns, call.product.columns);
      product->depth = std::max(product->depth, call.product.depth);
    }
  }
  for (size_t at = 1; at < families.size(); ++at) {
    families[at].most_columns = bound(most[at].columns, all.columns);
    families[at].most_depth = bound(most[at].depth, all.depth);
  }
}

}  // namespace

std::vector<Family> fit_families(const std::vector<Formula>& forms, const ProfileRows& rows,
                                 const FitOptions& options) {
  const size_t least_rows = forms.size() > 1 ? options.least_rows : 1;
  std::vector<RowFamily> origins = first_origins(forms, rows, least_rows);
  std::vector<Family> families;
  for (int32_t round = 0; round < options.rounds; ++round) {
    families.clear();
    for (size_t at = 0; at < forms.size(); ++at) {
      families.push_back(
          fit_family(forms[at], static_cast<int32_t>(at), rows, origins, least_rows));
    }
    const bool cheapest = 2 * round >= options.rounds;
    std::vector<RowFamily> next;
    next.reserve(rows.size());
    for (const ProfileRow* row : rows) {
      next.push_back(best_origin(families, *row, cheapest));
    }
    if (next == origins && (cheapest || forms.size() == 1)) {
      break;
    }
    origins = std::move(next);
  }
  bound_sizes(rows, origins, families);
  return families;
}

std::vector<Family> loosened(std::vector<Family> families, const Slack& slack) {
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  const auto times = [](std::int64_t most, double factor) {
    const double size = most == 0 ? 0.0 : factor * static_cast<double>(most);
    return size < static_cast<double>(kAny) ? static_cast<std::int64_t>(size) : kAny;
  };
  for (Family& family : families) {
    if (family.most_columns < kAny) {
      family.most_columns = times(family.most_columns, slack.columns);
    }
    if (family.most_depth < kAny) {
      family.most_depth = times(family.most_depth, slack.depth);
    }
  }
  return families;
}

}  // namespace elk::tile
