#include <algorithm>
#include <cstddef>
#include <optional>

#include "elk/base/rounding.hpp"
#include "elk/cost/groups.hpp"
#include "elk/cost/pricer.hpp"
#include "elk/partition/plan.hpp"
#include "elk/partition/rotation.hpp"

namespace elk::cost {
namespace {

using partition::element_bytes;

/// Of these members those whose partner, whose number differs in the bit `level`, is none of them.
std::int64_t pairs_across(const Members& here, std::int64_t cores, std::int64_t level) {
  std::int64_t pairs = 0;
  for (std::int64_t i = here.begin; i < here.end; ++i) {
    const std::int64_t other = i ^ level;
    pairs += other < cores && !here.contains(other) ? 1 : 0;
  }
  return pairs;
}

/// What cores do once they have received everything.
void add_after(Exchange& exchange, double seconds) {
  exchange.time.value += seconds;
  exchange.tail.value += seconds;
}

/// A row cut over `cores`, of which each has the sums of its piece of it.
struct RowCut {
  std::int64_t cores;
  std::uint64_t along;           // a bit for each row axis
  std::int64_t values;           // of a core, at first for one value a row
  std::int64_t piece;            // their bytes
  std::optional<Groups> groups;  // of a cut over several chips, where they are regular
};

RowCut row_cut(const ir::Op& op, const Cut& cut) {
  RowCut result{.cores = 1, .along = 0, .values = 1, .piece = 0, .groups = std::nullopt};
  for (std::size_t axis = 0; axis < cut.factor.size(); ++axis) {
    const bool row = op.axes[axis].role == ir::AxisRole::Row;
    result.along |= row ? std::uint64_t{1} << axis : 0;
    result.cores *= row ? cut.factor[axis] : 1;
    result.values *= row ? 1 : cut.tile[axis];
  }
  if (cut.wide) {
    result.groups = groups(cut, result.along);
  }
  return result;
}

/// Each core receives the values of all others.
Exchange directly(const Fabric& fabric, TileTimes& tiles, const Cut& cut, const RowCut& row,
                  const Neighbours& near) {
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
  fabric.among(all, near, row.piece, fabric.multicast());
  Exchange result = fabric.exchange(all);
  add_after(result, tiles.add(row.cores, row.values));
  return result;
}

/// Pairs exchange and add, ceil(log2 cores) times.
Exchange in_a_tree(const Fabric& fabric, TileTimes& tiles, const Cut& cut, const RowCut& row,
                   const Neighbours& near) {
  Traffic pair;
  pair.received = row.piece;
  pair.sent = row.piece;
  pair.fragments = 1;
  pair.wide = cut.wide;
  pair.chip_in = cut.wide ? row.piece * row.cores : 0;
  fabric.among(pair, near, row.piece, true);
  Exchange result = kNoExchange;
  for (std::int64_t level = 1; level < row.cores; level *= 2) {
    if (row.groups) {
      pair.chip_in = most_in(cut, *row.groups, fabric.chips(), [&](const Members& here) {
        return pairs_across(here, row.cores, level) * row.piece;
      });
    }
    Exchange once = fabric.exchange(pair);
    add_after(once, tiles.add(2, row.values));
    result = after(result, once);
  }
  return result;
}

/// How many of `cores` neighbours along a dimension of a grid, -1: along both, lie on one chip at
/// most: between chips they meet no link of the grid. Before the chips of a cut are known, the
/// least of any order.
std::int64_t most_on_chip(const chip::Chip& chip, const Cut& cut, std::int32_t dim,
                          std::int64_t cores) {
  if (chip.chips == 1 || (dim == 1 && cut.ids > 0 && cores <= chip.core.cols)) {
    return cores;
  }
  const bool line = dim >= 0 && chip.interconnect.topology != chip::Topology::Ring;
  return std::min(cores, line ? chip.core.rows : chip.core.count);
}

}  // namespace

/// `cores` that differ in their places along the cut axes selected by `along`.
Neighbours Pricer::neighbours(const Cut& cut, std::uint64_t along, std::int64_t cores) const {
  if (!fabric_.grid()) {
    return {.cores = cores, .apart = 1, .around = true};
  }
  std::int32_t only = -1;
  int count = 0;
  for (const std::int32_t axis : cut.order) {
    if (((along >> static_cast<unsigned>(axis)) & 1U) != 0) {
      only = axis;
      ++count;
    }
  }
  const std::int32_t dim = count == 1 ? cut.mesh_dims[static_cast<std::size_t>(only)] : -1;
  return {
      .cores = most_on_chip(chip_, cut, dim, cores),
      .apart = 1,
      .around = count == 1 && partition::goes_around(
                                  chip_, dim, cut.factor[static_cast<std::size_t>(only)], cores)};
}

/// The reduce-scatter of a partial tile: each of `parts` cores sends all but its own part of it,
/// and adds up what it receives (design 3.3).
Exchange Pricer::partials(const Cut& cut, std::size_t slot) {
  const partition::Scatter& scattered = cut.held[slot].scatter;
  const std::int64_t parts = scattered.parts;
  if (parts == 1) {
    return kNoExchange;
  }
  const std::int64_t bits = std::max(wide_bits_, slots_[slot].bits);
  const std::int64_t piece = element_bytes(scattered.piece, bits).value;
  Traffic traffic;
  traffic.received = (parts - 1) * piece;
  traffic.sent = traffic.received;
  traffic.fragments = (parts - 1) * scattered.runs;
  traffic.wide = cut.wide;
  const std::uint64_t along = summed_ & ~slots_[slot].contained;
  if (cut.wide) {
    const std::optional<Groups> found = groups(cut, along);
    traffic.chip_in = found
                          ? most_in(cut, *found, fabric_.chips(),
                                    [&](const Members& here) {
                                      return here.length() * (parts - here.length()) * piece;
                                    })
                          : cut.held[slot].straddling * (parts / 2) * (parts - (parts / 2)) * piece;
  }
  fabric_.among(traffic, neighbours(cut, along, parts), piece, false);
  Exchange exchange = fabric_.exchange(traffic);
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
  const Neighbours near = neighbours(cut, row.along, row.cores);
  const Exchange direct = directly(fabric_, tiles_, cut, row, near);
  const Exchange tree = in_a_tree(fabric_, tiles_, cut, row, near);
  cut.tree = tree.time < direct.time;
  for (std::int64_t round = 0; round < sums.rounds; ++round) {
    cut.reduce = after(cut.reduce, cut.tree ? tree : direct);
  }
}

void Pricer::reduce(Cut& cut) {
  cut.reduce = kNoExchange;
  cut.tree = false;
  for (std::size_t slot = reads_; slot < slots_.size(); ++slot) {
    cut.reduce = after(cut.reduce, partials(cut, slot));
  }
  reduce_rows(cut);
}

}  // namespace elk::cost
