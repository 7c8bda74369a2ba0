#include "elk/cost/exchange/store.hpp"

#include <array>
#include <cmath>
#include <cstddef>

#include "elk/chip/delivery.hpp"

namespace elk::cost {
namespace {

struct StoreEfficiency {
  double run;  // contiguous bytes on one channel
  double efficiency;
};

/// data/hbm/ramulator21_hbm.csv, HBM3E-like, random_chunks at queue depth 64, over its value at
/// 32 KiB. Reads: the file has no scattered writes, and reads and writes cost a bank the same
/// opening and closing of rows.
constexpr std::array<StoreEfficiency, 7> kSamples = {{
    {256.0, 0.1998 / 0.8347},
    {512.0, 0.3934 / 0.8347},
    {1024.0, 0.6077 / 0.8347},
    {2048.0, 0.7058 / 0.8347},
    {4096.0, 0.7335 / 0.8347},
    {8192.0, 0.8175 / 0.8347},
    {32768.0, 1.0},
}};

}  // namespace

double piece_efficiency(Bytes run) {
  const auto bytes = static_cast<double>(run.value);
  if (bytes <= kSamples.front().run) {
    return kSamples.front().efficiency * bytes / kSamples.front().run;
  }
  for (std::size_t k = 1; k < kSamples.size(); ++k) {
    const StoreEfficiency& low = kSamples[k - 1];
    const StoreEfficiency& high = kSamples[k];
    if (bytes <= high.run) {
      const double at = std::log2(bytes / low.run) / std::log2(high.run / low.run);
      return low.efficiency + (at * (high.efficiency - low.efficiency));
    }
  }
  return 1.0;
}

Seconds store_time(const chip::Chip& chip, Bytes whole, Bytes run) {
  if (!chip.hbm || whole.value <= 0) {
    return {0.0};
  }
  const double per_chip = static_cast<double>(whole.value) / static_cast<double>(chip.chips);
  return {chip::hbm_time(chip, per_chip, false).value / piece_efficiency(run)};
}

}  // namespace elk::cost
