#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/memo.hpp"
#include "elk/cost/price/pricer.hpp"

namespace elk::cost {

/// `a + b`, or the largest number there is.
[[nodiscard]] std::int64_t saturated_sum(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t saturated_product(std::int64_t a, std::int64_t b);

/// The ways to split each operand over time under one cut: whole, or along one of its dimensions by
/// a divisor of the cores that share it, the smallest for every partition size.
class TemporalFactorLists {
 public:
  TemporalFactorLists(const Pricer& pricer, std::int64_t cores);

  /// Every temporal factor of design 3.1, along any dimensions at once and not only distinct ones:
  /// the product over the operands, in step or not. Saturates.
  [[nodiscard]] std::int64_t complete(const Cut& cut);
  /// The product of the numbers of turns that `build` would list. Saturates.
  [[nodiscard]] std::int64_t distinct(const Cut& cut);
  /// Whether turns of two slots may be out of step under a cut.
  [[nodiscard]] bool may_clash(const Cut& cut) const;

  void build(const Cut& cut);
  [[nodiscard]] std::span<TemporalFactors> of(std::size_t slot) { return turns_[slot]; }
  /// Whether a turn keeps in step with those of other slots (`partition::in_step`).
  [[nodiscard]] bool in_step(const TemporalFactors& turn,
                             std::span<const TemporalFactors* const> others) const {
    return !clashing_ || turn.spins == 0 || turn_in_step(turn, others);
  }
  /// Whether a turn rotates along an axis that is summed over.
  [[nodiscard]] bool summed(const TemporalFactors& turn) const;
  /// How many combinations of the turns built keep in step and leave a plan within `room` bytes; of
  /// over a million, all that there are.
  [[nodiscard]] std::int64_t fitting(const Cut& cut, std::int64_t room) const;
  /// The least space of any turn of a slot.
  [[nodiscard]] std::int64_t least(std::size_t slot) const;
  /// The least space of such a combination.
  [[nodiscard]] std::int64_t least_space(const Cut& cut) const;
  /// Keeps whole those operands whose turns would make more than `most` combinations, the smallest
  /// first.
  void coarsen(std::int64_t most);

  [[nodiscard]] const std::vector<std::int64_t>& divisors(std::int64_t number);

 private:
  [[nodiscard]] bool turn_in_step(const TemporalFactors& turn,
                                  std::span<const TemporalFactors* const> others) const;
  [[nodiscard]] std::int64_t vectors(std::size_t dims, std::int64_t sharers);
  [[nodiscard]] std::int64_t sizes(std::int64_t tile, std::int64_t sharers);
  void append(const Cut& cut, std::size_t slot, std::size_t dim);
  [[nodiscard]] bool fits_beside(const TemporalFactors& turn,
                                 std::span<const TemporalFactors* const> chosen,
                                 bool summed_allowed) const;
  [[nodiscard]] std::int64_t count_within(std::vector<const TemporalFactors*>& chosen,
                                          std::int64_t room, bool summed_allowed) const;
  [[nodiscard]] std::int64_t least_within(std::vector<const TemporalFactors*>& chosen,
                                          std::int64_t room, bool summed_allowed) const;

  const Pricer& pricer_;
  std::vector<std::uint64_t> clashes_;  // axes not in either of two slots that may clash
  bool clashing_ = false;               // whether turns of the cut built may clash
  std::vector<std::uint64_t> sharing_;  // of each read slot: the cut axes that it does not contain
  std::vector<std::vector<TemporalFactors>> turns_;  // of each read slot
  std::vector<std::vector<std::int64_t>> divisors_;  // of each number of cores
  std::vector<std::vector<std::int64_t>> vectors_;   // by dimensions, by sharers; 0: unknown
  Memo<std::int64_t> sizes_;                         // distinct partitions of a tile
};

}  // namespace elk::cost
