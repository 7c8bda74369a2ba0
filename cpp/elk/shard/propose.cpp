#include "elk/shard/propose.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "elk/base/mechanisms.hpp"
#include "elk/base/parallel.hpp"

namespace elk::shard {
namespace {

/// Bytes that one chip can keep.
std::int64_t most_kept(const chip::Chip& chip) {
  if (!chip.hbm) {
    return chip::room(chip).value * chip.core.count;
  }
  const std::int64_t capacity = chip.hbm->capacity.value;
  return capacity > 0 ? capacity : std::numeric_limits<std::int64_t>::max();
}

/// A price of a byte at which what the model keeps costs as much as it takes.
double fair_price(const Sharding& found) {
  const auto bytes = static_cast<double>(std::max<std::int64_t>(found.kept.value, 1));
  return static_cast<double>(std::max<std::int64_t>(found.time.value, 1)) / bytes;
}

/// No slower than replicating, if that fits: what a search with few states may miss.
Sharding best_of(const ShardingCosts& ways, std::int64_t room) {
  Sharding found = cheapest(ways, {});
  Sharding all = replicated(ways);
  return all.time < found.time && all.kept.value <= room ? std::move(all) : std::move(found);
}

/// Whether `a` is to be taken rather than `b`: it fits, or is faster where both do, or smaller.
bool is_better(const Sharding& a, const Sharding& b, std::int64_t room) {
  const bool fits = a.kept.value <= room;
  if (fits != (b.kept.value <= room)) {
    return fits;
  }
  return fits ? a.time < b.time : a.kept < b.kept;
}

Sharding fastest_that_fits(const ShardingCosts& ways) {
  const std::int64_t room = most_kept(ways.chip());
  Sharding found = best_of(ways, room);
  if (found.kept.value <= room) {
    return found;
  }
  double low = 0.0;
  double high = fair_price(found) / 64.0;
  const auto fits_at = [&](double price) {
    Sharding next = cheapest(ways, {.price = price, .silent = false});
    const bool fits = next.kept.value <= room;
    if (is_better(next, found, room)) {
      found = std::move(next);
    }
    return fits;
  };
  for (int step = 0; step < tuning::kPriceRises && !fits_at(high); ++step) {
    low = high;
    high *= 8.0;
  }
  for (int step = 0; step < tuning::kPriceHalvings && found.kept.value <= room; ++step) {
    const double middle = low > 0.0 ? std::sqrt(low * high) : high / 8.0;
    (fits_at(middle) ? high : low) = middle;
  }
  return found;
}

}  // namespace

Sharding shard(const ir::Graph& graph, const chip::Chip& chip, const ExecuteTime& execute,
               int threads) {
  return fastest_that_fits(ShardingCosts(graph, chip, execute, threads));
}

std::vector<Sharding> proposals(const ir::Graph& graph, const chip::Chip& chip,
                                const ExecuteTime& execute, int threads) {
  const ShardingCosts ways(graph, chip, execute, threads);
  using Propose = Sharding (*)(const ShardingCosts&);
  constexpr std::array<Propose, 3> kKinds{
      fastest_that_fits,
      [](const ShardingCosts& some) { return cheapest(some, {.price = 0.0, .silent = true}); },
      [](const ShardingCosts& some) { return replicated(some); }};
  std::vector<Sharding> result;
  for (Sharding& one : parallel_map(
           mechanisms().shard_search ? std::span(kKinds) : std::span(kKinds).subspan(1, 1),
           [&](const Propose& propose) { return propose(ways); }, threads)) {
    if (std::find(result.begin(), result.end(), one) == result.end()) {
      result.push_back(std::move(one));
    }
  }
  return result;
}

Sharding leanest(const ir::Graph& graph, const chip::Chip& chip, const ExecuteTime& execute,
                 int threads) {
  const ShardingCosts ways(graph, chip, execute, threads);
  const double dear = 1024.0 * fair_price(replicated(ways));
  return cheapest(ways, {.price = dear, .silent = false});
}

}  // namespace elk::shard
