#include <algorithm>
#include <optional>

#include "elk/cost/pricer.hpp"
#include "elk/partition/plan.hpp"
#include "elk/partition/rotation.hpp"

namespace elk::cost {
namespace {

using partition::element_bytes;

/// Groups of cores that differ in their places along some axes alone, which follow each other in
/// the core order: of each, `cores` members, every `inner` ids.
struct Groups {
  std::int64_t cores;
  std::int64_t inner;
};

/// Empty where other axes lie between those selected by `along`.
std::optional<Groups> groups(const Cut& cut, std::uint64_t along) {
  Groups result{.cores = 1, .inner = 1};
  bool left = false;  // the selected axes
  for (std::size_t i = cut.order.size(); i-- > 0;) {
    const std::int64_t factor = cut.factor[static_cast<std::size_t>(cut.order[i])];
    if (((along >> static_cast<unsigned>(cut.order[i])) & 1U) == 0) {
      result.inner *= result.cores == 1 ? factor : 1;
      left = left || result.cores > 1;
    } else if (left) {
      return std::nullopt;
    } else {
      result.cores *= factor;
    }
  }
  return result;
}

/// Into the busiest chip, where `into(here, there)` bytes come to the `here` members of a group on
/// one side of the end of a chip from the `there` on the other.
template <class Into>
std::int64_t most_in(const Cut& cut, const Groups& groups, std::int64_t chips, const Into& into) {
  const auto at = [&](std::int64_t end, bool before) {
    if (end <= 0 || end >= cut.cores) {
      return std::int64_t{0};
    }
    const std::int64_t ids = end % (groups.inner * groups.cores);
    const std::int64_t first = ids / groups.inner;  // members in front, of most groups
    const std::int64_t more = ids % groups.inner;   // groups that have one more there
    const auto side = [&](std::int64_t front) {
      const std::int64_t back = groups.cores - front;
      if (front == 0 || back == 0) {
        return std::int64_t{0};
      }
      return before ? into(front, back) : into(back, front);
    };
    return (more * side(first + 1)) + ((groups.inner - more) * side(first));
  };
  std::int64_t most = 0;
  for (std::int64_t chip = 0; chip < chips; ++chip) {
    most = std::max(most, at(chip * cut.ids, false) + at((chip + 1) * cut.ids, true));
  }
  return most;
}

/// Pairs of members `level` apart by one bit of their numbers, of which the first is in front.
std::int64_t pairs_across(std::int64_t front, std::int64_t cores, std::int64_t level) {
  std::int64_t pairs = 0;
  for (std::int64_t i = 0; i < front; ++i) {
    const std::int64_t other = i ^ level;
    pairs += other >= front && other < cores ? 1 : 0;
  }
  return pairs;
}

/// What cores do once they have received everything.
void add_after(Exchange& exchange, double seconds) {
  exchange.time.value += seconds;
  exchange.tail.value += seconds;
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
  const auto at = static_cast<std::size_t>(only);
  return {.cores = cores,
          .apart = 1,
          .around = count == 1 &&
                    partition::goes_around(chip_, cut.mesh_dims[at], cut.factor[at], cores)};
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
    traffic.chip_in =
        found ? most_in(cut, *found, fabric_.chips(),
                        [&](std::int64_t here, std::int64_t there) { return here * there * piece; })
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
  std::int64_t cores = 1;
  std::int64_t rows = 1;
  std::uint64_t along = 0;  // a bit for each row axis
  for (std::size_t axis = 0; axis < cut.factor.size(); ++axis) {
    const bool row = op_.axes[axis].role == ir::AxisRole::Row;
    along |= row ? std::uint64_t{1} << axis : 0;
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
  const std::optional<Groups> found = cut.wide ? groups(cut, along) : std::nullopt;
  if (cut.wide) {
    all.chip_in = found ? most_in(cut, *found, fabric_.chips(),
                                  [&](std::int64_t here, std::int64_t there) {
                                    return there * piece * (fabric_.multicast() ? 1 : here);
                                  })
                        : piece * cores;
    pair.chip_in = piece * cores;
  }
  const Neighbours all_cores = neighbours(cut, along, cores);
  fabric_.among(all, all_cores, piece, fabric_.multicast());
  fabric_.among(pair, all_cores, piece, true);
  Exchange direct = fabric_.exchange(all);
  add_after(direct, tiles_.add(cores, values));
  Exchange tree = kNoExchange;
  for (std::int64_t level = 1; level < cores; level *= 2) {
    if (found) {
      pair.chip_in = most_in(cut, *found, fabric_.chips(), [&](std::int64_t here, std::int64_t) {
        return pairs_across(here, cores, level) * piece;
      });
    }
    Exchange once = fabric_.exchange(pair);
    add_after(once, tiles_.add(2, values));
    tree = after(tree, once);
  }
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
