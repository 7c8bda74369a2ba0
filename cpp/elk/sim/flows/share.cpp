#include "elk/sim/flows/share.hpp"

#include <cmath>
#include <numeric>

#include "elk/base/errors.hpp"
#include "elk/base/text.hpp"

namespace elk::sim {
namespace {

constexpr double kMostRate = 1e18;  // bytes per second, as in chip files

}  // namespace

Rate to_rate(double bytes_per_s) {
  const bool inside = bytes_per_s >= 1.0 && bytes_per_s <= kMostRate;
  if (!inside) {
    throw InvalidInput(text("a rate must be from 1 to ", kMostRate, " bytes/s, got ", bytes_per_s));
  }
  return {static_cast<std::int64_t>(std::floor(bytes_per_s))};
}

Picoseconds to_latency(Seconds constant) {
  return {static_cast<std::int64_t>(std::llround(constant.value * 1e12))};
}

FairShare split(Wide left, std::int64_t weight) {
  const Wide whole = left / weight;
  const auto rest = static_cast<std::int64_t>(left - (whole * weight));
  if (rest == 0) {
    return {whole, 1};
  }
  const std::int64_t den = weight / std::gcd(rest, weight);
  if (den > kMostSharers) {
    return {whole, 1};
  }
  return {(whole * den) + (rest / (weight / den)), den};
}

}  // namespace elk::sim
