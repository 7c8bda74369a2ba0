#include "elk/partition/layout/sending.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"

namespace elk::partition {
namespace {

/// Keys for which a table is kept, for each core.
constexpr std::size_t kMostKeys = 8;

/// The cores that hold or need one and the same piece, by number.
struct PieceClasses {
  std::vector<std::int32_t> of;  // every place
  std::int32_t count = 0;
};

/// Numbers the pieces of cores in the order of their places.
PieceClasses groups_of(const Pieces& pieces) {
  PieceClasses result{.of = {}, .count = 0};
  result.of.reserve(pieces.ids.size());
  std::size_t keys = 1;
  for (const DimPieces& dim : pieces.dims) {
    keys = keys > kMostKeys * pieces.ids.size() ? keys : keys * dim.sets.size();
  }
  std::vector<std::int32_t> table(keys > kMostKeys * pieces.ids.size() ? 0 : keys, -1);
  std::unordered_map<std::size_t, std::int32_t> sparse;
  for (std::size_t place = 0; place < pieces.ids.size(); ++place) {
    std::size_t key = 0;
    for (const DimPieces& dim : pieces.dims) {
      key = (key * dim.sets.size()) + dim.at(place);
    }
    std::int32_t& number = table.empty() ? sparse.try_emplace(key, -1).first->second : table[key];
    if (number < 0) {
      number = result.count++;
    }
    result.of.push_back(number);
  }
  return result;
}

/// Places [first, last).
using PlaceRange = Interval<std::size_t>;

PlaceRange places_on(const Pieces& pieces, std::int64_t chip, const chip::Chip& machine) {
  const auto place = [&](std::int64_t id) {
    return static_cast<std::size_t>(std::lower_bound(pieces.ids.begin(), pieces.ids.end(), id) -
                                    pieces.ids.begin());
  };
  return {place(chip * machine.core.count), place((chip + 1) * machine.core.count)};
}

/// What some cores need, dimension by dimension.
struct NeededSets {
  std::vector<NeededSubset> dims;
  std::int64_t copies = 0;  // cores for each combination of sets
};

/// What a held piece sends to the cores of a demand.
struct Sent {
  std::int64_t elements = 1;
  std::int64_t sends = 1;
  std::int64_t largest = 1;
};

class Senders {
 public:
  Senders(const Pieces& held, const Pieces& needed, std::vector<Overlaps>& overlaps,
          std::int64_t enough, const chip::Chip& chip)
      : held_(held),
        needed_(needed),
        overlaps_(overlaps),
        enough_(enough),
        chip_(chip),
        multicast_(chip.interconnect.multicast),
        holding_(groups_of(held)),
        needing_(groups_of(needed)),
        holders_(count(holding_, {0, held.ids.size()})) {}

  [[nodiscard]] std::int64_t most() {
    std::int64_t result = 0;
    for (std::int64_t chip = 0; chip < chip_.chips; ++chip) {
      result = std::max(result, most_on(chip));
    }
    return result;
  }

 private:
  /// How many of some places have each piece.
  [[nodiscard]] static std::vector<std::int64_t> count(const PieceClasses& groups,
                                                       PlaceRange places) {
    std::vector<std::int64_t> result(subscript(groups.count), 0);
    for (std::size_t place = places.begin; place < places.end; ++place) {
      ++result[subscript(groups.of[place])];
    }
    return result;
  }

  [[nodiscard]] std::int64_t most_on(std::int64_t chip) {
    const PlaceRange here = places_on(held_, chip, chip_);
    const PlaceRange wanting = places_on(needed_, chip, chip_);
    const NeededSets home = demand(wanting, true);
    const NeededSets abroad = chip_.chips > 1 ? demand(wanting, false) : NeededSets{};
    const std::vector<std::int64_t> holders = count(holding_, here);
    std::vector<Sent> own(holders.size(), {.elements = 0, .sends = 0, .largest = 0});
    const auto busiest = [&] {
      std::int64_t most = 0;
      for (std::size_t place = here.begin; place < here.end; ++place) {
        const std::size_t group = subscript(holding_.of[place]);
        Sent sent = leaving(place, home);
        sent.elements -= own[group].elements;
        sent.sends -= own[group].sends;
        std::int64_t elements = of_one(sent, holders[group]);
        if (chip_.chips > 1 && holders_[group] == holders[group]) {
          elements += of_one(leaving(place, abroad), holders[group]);
        }
        most = std::max(most, elements);
      }
      return most;
    };
    const std::int64_t most = busiest();
    if (most <= enough_) {
      return most;
    }
    keep(wanting, holders, home, own);
    return busiest();
  }

  /// What the cores at some places need, or all others.
  [[nodiscard]] NeededSets demand(PlaceRange places, bool inside) const {
    NeededSets result;
    std::size_t cores = places.end - places.begin;
    cores = inside ? cores : needed_.ids.size() - cores;
    std::int64_t combinations = 1;
    for (std::size_t dim = 0; dim < overlaps_.size(); ++dim) {
      const DimPieces& pieces = needed_.dims[dim];
      std::vector<char> marked(pieces.sets.size(), 0);
      for (std::size_t place = 0; place < needed_.ids.size(); ++place) {
        if ((place >= places.begin && place < places.end) == inside) {
          marked[pieces.at(place)] = 1;
        }
      }
      combinations *= std::max<std::int64_t>(1, std::count(marked.begin(), marked.end(), 1));
      result.dims.push_back(overlaps_[dim].wanted(marked));
    }
    result.copies = ceil_div(static_cast<std::int64_t>(cores), combinations);
    return result;
  }

  [[nodiscard]] Sent leaving(std::size_t place, const NeededSets& demand) const {
    Sent sent;
    for (std::size_t dim = 0; dim < held_.dims.size(); ++dim) {
      const HeldOverlap& one = demand.dims[dim].leaving[held_.dims[dim].at(place)];
      sent.elements *= multicast_ ? one.united : one.summed;
      sent.sends *= one.boxes;
      sent.largest *= one.largest;
    }
    sent.elements *= multicast_ ? 1 : demand.copies;
    sent.sends *= multicast_ ? 1 : demand.copies;
    return sent;
  }

  /// Of what its holders take turns in sending, what falls to one at most.
  [[nodiscard]] static std::int64_t of_one(const Sent& sent, std::int64_t holders) {
    return holders == 1 ? sent.elements
                        : std::min(sent.elements, ceil_div(sent.sends, holders) * sent.largest);
  }

  /// Elements that a place needs and holds, and that no other piece has.
  [[nodiscard]] std::int64_t kept(std::size_t place, std::size_t core, const NeededSets& home) {
    std::int64_t elements = 1;
    for (std::size_t dim = 0; dim < overlaps_.size() && elements > 0; ++dim) {
      const std::size_t have = held_.dims[dim].at(place);
      const std::size_t need = needed_.dims[dim].at(core);
      elements *= multicast_ ? overlaps_[dim].common_with(have, need, home.dims[dim].once)
                             : overlaps_[dim](have, need).count;
    }
    return elements;
  }

  /// Adds up of each held piece what nobody needs from its holders: who needs it holds it.
  void keep(PlaceRange wanting, const std::vector<std::int64_t>& holders, const NeededSets& home,
            std::vector<Sent>& own) {
    const std::vector<std::int64_t> sharers = count(needing_, wanting);
    std::unordered_map<std::int64_t, std::int64_t> both;  // cores that hold and need two pieces
    for (std::size_t core = wanting.begin; core < wanting.end; ++core) {
      const std::int32_t place = held_.place(needed_.ids[core]);
      if (place < 0) {
        continue;
      }
      const std::size_t group = subscript(holding_.of[subscript(place)]);
      const std::int64_t needing = needing_.of[core];
      const std::int64_t key = (static_cast<std::int64_t>(group) * needing_.count) + needing;
      const std::int64_t alike = holders[group] == 1 ? 1 : ++both[key];
      if (multicast_ && alike != sharers[subscript(needing)]) {
        continue;
      }
      const std::int64_t elements = kept(subscript(place), core, home);
      own[group].elements += elements;
      own[group].sends += elements > 0 ? 1 : 0;
    }
  }

  const Pieces& held_;
  const Pieces& needed_;
  std::vector<Overlaps>& overlaps_;
  std::int64_t enough_;
  const chip::Chip& chip_;
  bool multicast_;
  PieceClasses holding_;
  PieceClasses needing_;
  std::vector<std::int64_t> holders_;  // of each held piece, on all chips
};

}  // namespace

std::int64_t most_sent(const Pieces& held, const Pieces& needed, std::vector<Overlaps>& overlaps,
                       std::int64_t enough, const chip::Chip& chip) {
  if (chip.chips == 1 && chip.interconnect.multicast) {
    std::int64_t largest = 1;
    for (const DimPieces& dim : held.dims) {
      largest *= *std::max_element(dim.counts.begin(), dim.counts.end());
    }
    if (largest <= enough) {
      return largest;
    }
  }
  return Senders(held, needed, overlaps, enough, chip).most();
}

}  // namespace elk::partition
