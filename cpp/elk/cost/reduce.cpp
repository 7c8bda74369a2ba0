#include <algorithm>
#include <bit>

#include "elk/cost/pricer.hpp"
#include "elk/partition/plan.hpp"

namespace elk::cost {
namespace {

using partition::element_bytes;

}  // namespace

/// The reduce-scatter of a partial tile: each of `parts` cores sends all but its own part of it,
/// and adds up what it receives (design 3.3).
Exchange Pricer::partials(const Cut& cut, std::size_t slot) {
  const partition::Scatter& scattered = cut.held[slot].scatter;
  const std::int64_t parts = scattered.parts;
  if (parts == 1) {
    return {.time = {0.0}, .bytes = {0}, .wire = {0.0}};
  }
  const std::int64_t bits = std::max(wide_bits_, slots_[slot].bits);
  const std::int64_t piece = element_bytes(scattered.piece, bits).value;
  Traffic traffic;
  traffic.received = (parts - 1) * piece;
  traffic.sent = traffic.received;
  traffic.fragments = (parts - 1) * scattered.runs;
  traffic.wide = cut.wide;
  traffic.chip_in = cut.held[slot].straddling * (parts / 2) * (parts - (parts / 2)) * piece;
  fabric_.among(traffic, parts, piece, false);
  Exchange exchange = fabric_.exchange(traffic);
  exchange.time.value += tiles_.add(parts, scattered.piece);
  return exchange;
}

/// A row cut over `cores`: every core needs the sums of all of them. Directly, each receives the
/// values of all others; in a tree, pairs exchange and add ceil(log2 cores) times. The cheaper one.
void Pricer::reduce_rows(Cut& cut) {
  std::int64_t cores = 1;
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis < cut.factor.size(); ++axis) {
    const bool row = op_.axes[axis].role == ir::AxisRole::Row;
    cores *= row ? cut.factor[axis] : 1;
    rows *= row ? 1 : cut.tile[axis];
  }
  if (cores == 1) {
    return;
  }
  const partition::RowSums sums = partition::row_sums(op_);
  const std::int64_t values = rows * sums.values;
  const std::int64_t piece = element_bytes(values, wide_bits_).value;
  Traffic all;
  all.received = (cores - 1) * piece;
  all.sent = fabric_.multicast() ? piece : all.received;
  all.fragments = cores - 1;
  all.wide = cut.wide;
  Traffic pair;
  pair.received = piece;
  pair.sent = piece;
  pair.fragments = 1;
  pair.wide = cut.wide;
  if (cut.wide) {
    all.chip_in = piece * cores;
    pair.chip_in = piece * cores;
  }
  fabric_.among(all, cores, piece, fabric_.multicast());
  fabric_.among(pair, cores, piece, true);
  Exchange direct = fabric_.exchange(all);
  direct.time.value += tiles_.add(cores, values);
  Exchange once = fabric_.exchange(pair);
  once.time.value += tiles_.add(2, values);
  const auto levels = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(cores - 1)));
  Exchange tree{.time = {0.0}, .bytes = {0}, .wire = {0.0}};
  for (int level = 0; level < levels; ++level) {
    tree = after(tree, once);
  }
  cut.tree = tree.time < direct.time;
  for (std::int64_t round = 0; round < sums.rounds; ++round) {
    cut.reduce = after(cut.reduce, cut.tree ? tree : direct);
  }
}

void Pricer::reduce(Cut& cut) {
  cut.reduce = {.time = {0.0}, .bytes = {0}, .wire = {0.0}};
  cut.tree = false;
  for (std::size_t slot = reads_; slot < slots_.size(); ++slot) {
    cut.reduce = after(cut.reduce, partials(cut, slot));
  }
  reduce_rows(cut);
}

}  // namespace elk::cost
