#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/cost/price/pricer.hpp"

namespace elk::cost {

/// Which tensors rest once wherever they are made: what a floor depends on beside the op and the
/// chip. Ops that are equal share a front and read tensors of equal shapes, so that tensors are
/// told apart by no more than their shape.
[[nodiscard]] Table<TensorId, bool> rest_once(const ir::Graph& graph);

/// What the cores receive at least of an op's activations, wherever these rest.
///
/// Every result is computed once and rests once: no element of it lies on two cores (`once`). A cut
/// whose factors along the axes that an operand does not contain make P needs each of the U
/// elements that the op touches on P cores, and at most one of these has it. So all cores together
/// receive
///
///     (P - 1) U
///
/// elements at least, in the gather or, where the operand rotates, in its shifts; the busiest of
/// the cores that take part no less than their mean. Unless the chip hides shifts behind compute,
/// an exchange must carry that: a sync, a fragment and the time on the links that lead into a core.
class ActivationFloor {
 public:
  explicit ActivationFloor(const Pricer& pricer);

  /// The largest of the operands that rest once and are read whole: its slot, -1 if there is none.
  [[nodiscard]] std::int32_t largest() const { return largest_; }

  /// Bytes received by all cores of a cut whose sharers are known, or no more than they are.
  [[nodiscard]] std::int64_t moved(const Cut& cut) const;
  /// What receiving `bytes` in all adds to an execute on at most `cores` cores.
  [[nodiscard]] double seconds(std::int64_t bytes, std::int64_t cores) const;
  /// The part of these seconds in which no data passes.
  [[nodiscard]] double still(std::int64_t bytes) const {
    return bytes == 0 || hidden_ ? 0.0 : sync_ + fragment_;
  }
  /// Seconds of a reduce-scatter among `parts` cores each: `bytes` received in all, by at most
  /// `cores` cores.
  [[nodiscard]] double reduced(std::int64_t parts, std::int64_t bytes, std::int64_t cores) const;

  /// Seconds that shifts of `bytes` into one core take at least.
  [[nodiscard]] double wire(std::int64_t bytes) const {
    return hidden_ ? 0.0 : static_cast<double>(bytes) / rate_;
  }
  /// Seconds of a shift at least; none where it may be hidden behind compute.
  [[nodiscard]] double shift() const { return hidden_ ? 0.0 : sync_; }

 private:
  struct RestSlot {
    std::size_t slot;
    std::int64_t bits;  // of all elements that the op touches
  };

  std::vector<RestSlot> slots_;
  std::int32_t largest_ = -1;
  bool hidden_;
  double sync_;
  double fragment_;
  double rate_;  // bytes a second into one core
};

}  // namespace elk::cost
