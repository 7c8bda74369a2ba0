#include <cmath>
#include <limits>

#include "elk/emulate/kernels/functions_shared.hpp"

namespace elk::emulate {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kGelu = 0.79788456080286535588;  // sqrt(2 / pi)
constexpr double kGeluCubic = 0.044715;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::abs(x))); }
double sign(double x) {
  if (x > 0) {
    return 1;
  }
  return x < 0 ? -1 : x;
}

/// The remainder with the sign of `y`.
double modulo(double x, double y) {
  const double rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

double shrunk(double x, const double* a) {
  if (x < -a[1]) {
    return x + a[0];
  }
  return x > a[1] ? x - a[0] : 0;
}

double infinite(double x, const double* wanted) {
  return static_cast<double>(std::isinf(x) && wanted[x > 0 ? 1 : 0] > 0);
}

void mean(const Arguments<double>& a, double* out) {
  for (std::size_t i = 0; i < a.count; ++i) {
    double sum = 0;
    for (const Arguments<double>::Values& values : a.values) {
      sum += values[i];
    }
    out[i] = sum / static_cast<double>(a.values.size());
  }
}

/// x, scale, bias, mean and variance; epsilon.
void batch_norm(const Arguments<double>& a, double* out) {
  for (std::size_t i = 0; i < a.count; ++i) {
    const double spread = std::sqrt(a.values[4][i] + a.extra[0]);
    out[i] = ((a.values[0][i] - a.values[3][i]) / spread * a.values[1][i]) + a.values[2][i];
  }
}

Functions<double> arithmetic() {
  return {
      {"abs", one<double>([](double x) { return std::abs(x); })},
      {"add", many<double>([](double x, double y) { return x + y; })},
      {"batchnorm", batch_norm},
      {"ceil", one<double>([](double x) { return std::ceil(x); })},
      {"div", two<double>([](double x, double y) { return x / y; })},
      {"floor", one<double>([](double x) { return std::floor(x); })},
      {"fmod", two<double>([](double x, double y) { return std::fmod(x, y); })},
      {"isinf", one_with<double>(infinite)},
      {"isnan", one<double>([](double x) { return static_cast<double>(std::isnan(x)); })},
      {"mean", mean},
      {"mod", two<double>(modulo)},
      {"mul", two<double>([](double x, double y) { return x * y; })},
      {"neg", one<double>([](double x) { return -x; })},
      {"pow", two<double>([](double x, double y) { return std::pow(x, y); })},
      {"prelu", two<double>([](double x, double slope) { return x < 0 ? slope * x : x; })},
      {"reciprocal", one<double>([](double x) { return 1 / x; })},
      {"round", one<double>([](double x) { return std::nearbyint(x); })},
      {"rsqrt", one<double>([](double x) { return 1 / std::sqrt(x); })},
      {"shrink", one_with<double>(shrunk)},
      {"sign", one<double>(sign)},
      {"sqrt", one<double>([](double x) { return std::sqrt(x); })},
      {"square", one<double>([](double x) { return x * x; })},
      {"sub", two<double>([](double x, double y) { return x - y; })},
  };
}

Functions<double> activations() {
  return {
      {"celu", one_with<double>([](double x, const double* a) {
         return std::fmax(x, 0) + std::fmin(0, a[0] * std::expm1(x / a[0]));
       })},
      {"elu", one_with<double>(
                  [](double x, const double* a) { return x > 0 ? x : a[0] * std::expm1(x); })},
      {"gelu", one<double>([](double x) {
         return 0.5 * x * (1 + std::tanh(kGelu * (x + (kGeluCubic * x * x * x))));
       })},
      {"gelu_erf", one<double>([](double x) { return 0.5 * x * (1 + std::erf(x * kSqrtHalf)); })},
      {"hard_sigmoid", one_with<double>([](double x, const double* a) {
         return std::fmin(std::fmax((a[0] * x) + a[1], 0), 1);
       })},
      {"hard_swish",
       one<double>([](double x) { return x * std::fmin(std::fmax((x / 6) + 0.5, 0), 1); })},
      {"leaky_relu",
       one_with<double>([](double x, const double* a) { return x < 0 ? a[0] * x : x; })},
      {"mish", one<double>([](double x) { return x * std::tanh(softplus(x)); })},
      {"selu", one_with<double>([](double x, const double* a) {
         return a[1] * (x > 0 ? x : a[0] * std::expm1(x));
       })},
      {"sigmoid", one<double>(sigmoid)},
      {"silu", one_with<double>([](double x, const double* a) { return x * sigmoid(a[0] * x); })},
      {"softplus", one<double>(softplus)},
      {"softsign", one<double>([](double x) { return x / (1 + std::abs(x)); })},
      {"thresholded_relu",
       one_with<double>([](double x, const double* a) { return x > a[0] ? x : 0; })},
  };
}

Functions<double> transcendental() {
  return {
      {"acos", one<double>([](double x) { return std::acos(x); })},
      {"acosh", one<double>([](double x) { return std::acosh(x); })},
      {"asin", one<double>([](double x) { return std::asin(x); })},
      {"asinh", one<double>([](double x) { return std::asinh(x); })},
      {"atan", one<double>([](double x) { return std::atan(x); })},
      {"atanh", one<double>([](double x) { return std::atanh(x); })},
      {"cos", one<double>([](double x) { return std::cos(x); })},
      {"cosh", one<double>([](double x) { return std::cosh(x); })},
      {"erf", one<double>([](double x) { return std::erf(x); })},
      {"exp", one<double>([](double x) { return std::exp(x); })},
      {"log", one<double>([](double x) { return std::log(x); })},
      {"sin", one<double>([](double x) { return std::sin(x); })},
      {"sinh", one<double>([](double x) { return std::sinh(x); })},
      {"tan", one<double>([](double x) { return std::tan(x); })},
      {"tanh", one<double>([](double x) { return std::tanh(x); })},
  };
}

Functions<double> all() {
  Functions<double> table = deciding_functions<double>();
  for (Functions<double> part : {arithmetic(), activations(), transcendental()}) {
    table.merge(part);
  }
  return table;
}

}  // namespace

const Function<double>* find_real(std::string_view name) {
  static const Functions<double> table = all();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace elk::emulate
