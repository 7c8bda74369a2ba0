#include <algorithm>
#include <cstddef>
#include <optional>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/cost/price/core_groups.hpp"
#include "elk/cost/price/pricer.hpp"
#include "elk/partition/core_needs.hpp"
#include "elk/partition/plan.hpp"

namespace elk::cost {
namespace {

using partition::element_bytes;

constexpr chip::PerDim kOneCore = {1, 1, 1};

std::int64_t cores_of(const chip::PerDim& box) { return box[0] * box[1] * box[2]; }

/// Members whose partner, whose number differs in the bit `level`, is no member.
std::int64_t pairs_across(const Members& here, std::int64_t cores, std::int64_t level) {
  std::int64_t pairs = 0;
  for (std::int64_t i = here.begin; i < here.end; ++i) {
    const std::int64_t other = i ^ level;
    pairs += other < cores && !here.contains(other) ? 1 : 0;
  }
  return pairs;
}

/// What cores do once they have received everything.
void add_after(ExchangeCost& exchange, double seconds) {
  exchange.time.value += seconds;
  exchange.tail.value += seconds;
}

/// Groups of a cut over several chips.
struct Spread {
  const Cut& cut;
  const CoreGroups& groups;
  std::int64_t chips;
};

/// Sets what a reduce-scatter of pieces of `bits` a value sends into and out of the busiest chip.
void scatter_between_chips(const partition::Scatter& pieces, std::int64_t bits,
                           const Spread& spread, Traffic& traffic) {
  const auto before = [&](std::int64_t member) {  // bytes that the members before it keep
    return element_bytes(std::min(member * pieces.piece, pieces.tile), bits).value;
  };
  const auto kept = [&](const Members& here) { return before(here.end) - before(here.begin); };
  traffic.chip_in = most_in(spread.cut, spread.groups, spread.chips, [&](const Members& here) {
    return (pieces.parts - here.length()) * kept(here);
  });
  traffic.chip_out = most_in(spread.cut, spread.groups, spread.chips, [&](const Members& here) {
    return here.length() * (before(pieces.parts) - kept(here));
  });
}

/// A row cut over `cores`, of which each has the sums of its piece of it.
struct RowCut {
  std::int64_t cores;
  std::uint64_t along;               // a bit for each row axis
  std::int64_t values;               // of a core, at first for one value a row
  std::int64_t piece;                // bytes of these values
  std::optional<CoreGroups> groups;  // of a cut over several chips, where they are regular
  chip::PerDim here{};               // cores along each dimension of one chip's grid
};

RowCut row_cut(const ir::Op& op, const Cut& cut) {
  RowCut result{.cores = 1, .along = 0, .values = 1, .piece = 0, .groups = std::nullopt};
  for (const AxisId axis : cut.factor.ids()) {
    const bool row = op.axes[axis].role == ir::AxisRole::Row;
    result.along |= row ? std::uint64_t{1} << axis.index() : 0;
    result.cores *= row ? cut.factor[axis] : 1;
    result.values *= row ? 1 : cut.tile[axis];
  }
  if (cut.wide) {
    result.groups = groups(cut, result.along);
  }
  return result;
}

/// The two ways in which all cores of a row come to know its sums.
struct RowExchange {
  const Fabric& fabric;
  tile::TileTimes& tiles;
  BusiestLink& busiest;
  const Cut& cut;
  const RowCut& row;

  /// Each core receives the values of all others.
  [[nodiscard]] ExchangeCost directly() const {
    Traffic all;
    all.received = (row.cores - 1) * row.piece;
    all.sent = fabric.multicast() ? row.piece : all.received;
    all.fragments = row.cores - 1;
    all.wide = cut.wide;
    if (row.groups) {
      all.chip_in = most_in(cut, *row.groups, fabric.chips(), [&](const Members& here) {
        return (row.cores - here.length()) * row.piece * (fabric.multicast() ? 1 : here.length());
      });
    } else if (cut.wide) {
      all.chip_in = row.piece * row.cores;
    }
    if (fabric.grid()) {
      const std::int64_t cores = cores_of(row.here);
      all.line = row.piece *
                 (fabric.multicast() ? busiest.to_all(row.here) : busiest.to_each(row.here, cores));
      all.hops = busiest.hops(row.here);
    }
    ExchangeCost result = fabric.exchange(all);
    add_after(result, tiles.add(row.cores, row.values));
    return result;
  }

  /// Pairs exchange and add, ceil(log2 cores) times.
  [[nodiscard]] ExchangeCost in_a_tree() const {
    Traffic pair;
    pair.received = row.piece;
    pair.sent = row.piece;
    pair.fragments = 1;
    pair.wide = cut.wide;
    pair.chip_in = cut.wide ? row.piece * row.cores : 0;
    ExchangeCost result = kNoExchange;
    for (std::int64_t level = 1; level < row.cores; level *= 2) {
      if (row.groups) {
        pair.chip_in = most_in(cut, *row.groups, fabric.chips(), [&](const Members& here) {
          return pairs_across(here, row.cores, level) * row.piece;
        });
      }
      if (fabric.grid()) {
        const bool here = level < cores_of(row.here);
        pair.line = here ? row.piece * busiest.in_pairs(row.here, level) : 0;
        pair.hops = here ? busiest.hops_in_pairs(row.here, level) : 0;
      }
      ExchangeCost once = fabric.exchange(pair);
      add_after(once, tiles.add(2, row.values));
      result = after(result, once);
    }
    return result;
  }
};

}  // namespace

/// The cores of one chip's grid that differ in their places along the cut axes selected by `along`.
chip::PerDim Pricer::box(const Cut& cut, std::uint64_t along) const {
  chip::PerDim result = kOneCore;
  for (const AxisId axis : cut.order) {
    if (((along >> static_cast<unsigned>(axis.value)) & 1U) != 0) {
      const std::size_t dim = subscript(cut.mesh_dims[axis]);
      const std::int64_t of_chip = fabric_.chip().length(dim);
      result[dim] = std::min(cut.factor[axis], of_chip);
    }
  }
  return result;
}

/// Sets what a reduce-scatter of pieces of `bits` a value puts on the busiest link of a grid.
void Pricer::scatter_on_grid(const partition::Scatter& pieces, std::int64_t bits,
                             const chip::PerDim& cores, Traffic& traffic) {
  const std::int64_t here = cores_of(cores);
  const std::int64_t whole = std::min(here, pieces.tile / pieces.piece);
  traffic.line = busiest_.to_each(cores, whole) * element_bytes(pieces.piece, bits).value;
  if (whole < here) {  // The next core keeps what is left.
    const std::int64_t rest = element_bytes(pieces.tile % pieces.piece, bits).value;
    traffic.line = std::max(traffic.line, busiest_.to_each(cores, whole + 1) * rest);
  }
  traffic.hops = busiest_.hops(cores);
}

/// The reduce-scatter of a partial tile: each of `parts` cores sends all but its own part of it,
/// and adds up what it receives (design 3.3).
ExchangeCost Pricer::partials(const Cut& cut, std::size_t slot) {
  const partition::Scatter& scattered = cut.held[slot].scatter;
  const std::int64_t parts = scattered.parts;
  if (parts == 1) {
    return kNoExchange;
  }
  const std::int64_t bits = std::max(wide_bits_, slots_[slot].bits);
  const std::int64_t piece = element_bytes(scattered.piece, bits).value;
  Traffic traffic;
  traffic.received = (parts - 1) * piece;
  traffic.sent = element_bytes(scattered.tile - scattered.piece, bits).value;
  traffic.fragments = (parts - 1) * scattered.runs;
  traffic.wide = cut.wide;
  const std::uint64_t along = summed_ & ~slots_[slot].contained;
  if (cut.wide) {
    const std::optional<CoreGroups> found = groups(cut, along);
    if (found) {
      scatter_between_chips(scattered, bits, {cut, *found, fabric_.chips()}, traffic);
    } else {
      traffic.chip_in = cut.held[slot].straddling * (parts / 2) * (parts - (parts / 2)) * piece;
    }
  }
  if (fabric_.grid()) {
    scatter_on_grid(scattered, bits, box(cut, along), traffic);
  }
  ExchangeCost exchange = fabric_.exchange(traffic);
  add_after(exchange, tiles_.add(parts, scattered.piece));
  return exchange;
}

/// A row cut over `cores`: every core needs the sums of all of them. Directly, each receives the
/// values of all others; in a tree, pairs exchange and add ceil(log2 cores) times. The cheaper one.
void Pricer::reduce_rows(Cut& cut) {
  RowCut row = row_cut(op_, cut);
  if (row.cores == 1) {
    return;
  }
  const partition::RowSums sums = partition::row_sums(op_);
  row.values *= sums.values;
  row.piece = element_bytes(row.values, wide_bits_).value;
  row.here = fabric_.grid() ? box(cut, row.along) : kOneCore;
  const RowExchange ways{fabric_, tiles_, busiest_, cut, row};
  const ExchangeCost direct = ways.directly();
  const ExchangeCost tree = ways.in_a_tree();
  cut.tree = tree.time < direct.time;
  for (std::int64_t round = 0; round < sums.rounds; ++round) {
    cut.reduce = after(cut.reduce, cut.tree ? tree : direct);
  }
}

/// The results back to where they lie evenly over all cores, as they would be read from there.
ExchangeCost Pricer::store(const Cut& cut) const {
  Traffic traffic;
  traffic.wide = cut.wide;
  for (std::size_t slot = reads_; slot < slots_.size(); ++slot) {
    const partition::Scatter& pieces = cut.held[slot].scatter;
    TemporalFactors piece;
    piece.slot = slot;
    piece.elements = pieces.piece;
    if (pieces.dim != DimId::none) {
      const std::int64_t count = cut.held[slot].extent[pieces.dim.index()].count;
      piece.spins = 1;
      piece.spin[0].dim = pieces.dim;
      piece.spin[0].count = ceil_div(count, pieces.parts);
    }
    traffic.sent += element_bytes(piece.elements, slots_[slot].bits).value;
    traffic.fragments += fragments(cut, piece);
  }
  const std::int64_t of_chip = std::min(cut.cores, chip_.core.count);
  traffic.chip_out = partition::lacking(traffic.sent * of_chip, fabric_.chips());
  fabric_.gather(traffic, traffic.sent * cut.cores);
  return fabric_.exchange(traffic);
}

void Pricer::reduce(Cut& cut) {
  cut.reduce = kNoExchange;
  cut.tree = false;
  for (std::size_t slot = reads_; slot < slots_.size(); ++slot) {
    cut.reduce = after(cut.reduce, partials(cut, slot));
  }
  reduce_rows(cut);
  if (stores_every_ > 0) {
    cut.reduce = part(after(cut.reduce, store(cut)), stores_every_);
  }
}

}  // namespace elk::cost
