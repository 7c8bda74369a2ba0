#include "elk/emulate/kernels/rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "elk/emulate/kernels/pack.hpp"

namespace elk::emulate {
namespace {

bool is_softmax(const ir::Op& op) { return op.kind == ir::OpKind::Softmax; }
bool is_layer_norm(const ir::Op& op) { return op.function == "layernorm"; }

/// Rows of a tile one after another.
struct TileRows {
  AxesByRole parts;
  std::vector<double> x;
  std::size_t length;
  std::size_t count;

  explicit TileRows(const KernelCall& tile)
      : parts(folded(tile, ir::AxisRole::Row)),
        x(pack<double>(tile, 0, parts.both).value),
        length(static_cast<std::size_t>(parts.over.count())),
        count(static_cast<std::size_t>(parts.kept.count())) {}

  [[nodiscard]] const double* row(std::size_t i) const { return x.data() + (i * length); }
};

double largest(const double* x, std::size_t length) { return *std::max_element(x, x + length); }

double exponentials(const double* x, std::size_t length, double top) {
  double sum = 0;
  for (std::size_t i = 0; i < length; ++i) {
    sum += std::exp(x[i] - top);
  }
  return sum;
}

double mean(const double* x, std::size_t length) {
  double sum = 0;
  for (std::size_t i = 0; i < length; ++i) {
    sum += x[i];
  }
  return sum / static_cast<double>(length);
}

double mean_square(const double* x, std::size_t length, double centre) {
  double sum = 0;
  for (std::size_t i = 0; i < length; ++i) {
    sum += (x[i] - centre) * (x[i] - centre);
  }
  return sum / static_cast<double>(length);
}

/// The place of constant input `input` among the scalars, behind epsilon.
const double* constant(const ir::Op& op, std::int32_t input) {
  for (std::size_t i = 0; i < op.constants.size(); ++i) {
    if (op.constants[i] == input) {
      return &op.scalars[i + 1];
    }
  }
  return nullptr;
}

/// Scale or bias of a norm at every point.
std::vector<double> vector_of(const KernelCall& tile, std::int32_t input, const AxisRanges& points,
                              double otherwise) {
  const std::vector<std::int32_t> given = inputs(tile.op);
  if (std::find(given.begin(), given.end(), input) != given.end()) {
    return pack<double>(tile, input, points).value;
  }
  const double* number = constant(tile.op, input);
  return std::vector<double>(static_cast<std::size_t>(points.count()),
                             number != nullptr ? *number : otherwise);
}

void apply_softmax(const TileRows& rows, const std::vector<std::vector<double>>& values, bool logs,
                   std::vector<double>& out) {
  for (std::size_t row = 0; row < rows.count; ++row) {
    const double top = values[0][row];
    const double sum = values[1][row];
    for (std::size_t i = 0; i < rows.length; ++i) {
      const double x = rows.row(row)[i] - top;
      out[(row * rows.length) + i] = logs ? x - std::log(sum) : std::exp(x) / sum;
    }
  }
}

void apply_norm(const KernelCall& tile, const TileRows& rows,
                const std::vector<std::vector<double>>& values, std::vector<double>& out) {
  const std::vector<double> scale = vector_of(tile, 1, rows.parts.both, 1);
  const std::vector<double> bias = vector_of(tile, 2, rows.parts.both, 0);
  const bool centred = is_layer_norm(tile.op);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const double centre = centred ? values[0][row] : 0;
    const double spread = std::sqrt(values[centred ? 1 : 0][row] + tile.op.scalars[0]);
    for (std::size_t i = 0; i < rows.length; ++i) {
      const std::size_t at = (row * rows.length) + i;
      out[at] = ((rows.x[at] - centre) / spread * scale[at]) + bias[at];
    }
  }
}

}  // namespace

bool has_row_function(const ir::Op& op) {
  return op.function == "softmax" || op.function == "log_softmax" || op.function == "layernorm" ||
         op.function == "rmsnorm";
}

int rounds(const ir::Op& op) { return is_softmax(op) ? 2 : 1; }

RowValues row_state(const KernelCall& tile, int round, const RowValues& known) {
  const TileRows rows(tile);
  RowValues result{.rows = rows.parts.kept,
                   .values = {std::vector<double>(rows.count)},
                   .count = static_cast<double>(rows.length)};
  const bool centred = is_layer_norm(tile.op);
  if (centred) {
    result.values.emplace_back(rows.count);
  }
  for (std::size_t i = 0; i < rows.count && rows.length > 0; ++i) {
    const double* x = rows.row(i);
    if (is_softmax(tile.op)) {
      result.values[0][i] =
          round == 0 ? largest(x, rows.length) : exponentials(x, rows.length, known.values[0][i]);
    } else if (centred) {
      result.values[0][i] = mean(x, rows.length);
      result.values[1][i] = mean_square(x, rows.length, result.values[0][i]);
    } else {
      result.values[0][i] = mean_square(x, rows.length, 0);
    }
  }
  return result;
}

/// Means are weighed by their counts; mean squares about two means by Chan, Golub and LeVeque,
/// "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
void combine(const ir::Op& op, int round, const RowValues& more, RowValues& into) {
  const double total = into.count + more.count;
  const double share = total > 0 ? more.count / total : 0;
  for (std::size_t i = 0; i < into.values[0].size() && more.count > 0; ++i) {
    double& first = into.values[0][i];
    const double other = more.values[0][i];
    if (is_softmax(op)) {
      first = round == 0 ? std::max(first, other) : first + other;
    } else if (is_layer_norm(op)) {
      const double apart = other - first;
      double& square = into.values[1][i];
      square += ((more.values[1][i] - square) * share) + (apart * apart * share * (1 - share));
      first += apart * share;
    } else {
      first += (other - first) * share;
    }
  }
  into.count = total;
}

Numbers row_results(const KernelCall& tile, const RowValues& state) {
  const TileRows rows(tile);
  std::vector<std::vector<double>> values;
  values.reserve(state.values.size());
  for (const std::vector<double>& value : state.values) {
    values.push_back(regrouped(value, state.rows, rows.parts.kept));
  }
  std::vector<double> out(rows.x.size());
  if (is_softmax(tile.op)) {
    apply_softmax(rows, values, tile.op.function == "log_softmax", out);
  } else {
    apply_norm(tile, rows, values, out);
  }
  return regrouped(std::move(out), rows.parts.both, result_points(tile));
}

}  // namespace elk::emulate
