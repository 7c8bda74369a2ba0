#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/graph.hpp"
#include "elk/shard/conversion.hpp"
#include "elk/shard/lengths.hpp"
#include "elk/shard/split_cost.hpp"

namespace elk::shard {

/// What a sharding is made of: how each op may be split, and what a tensor costs on its way from
/// one form to another.
class ShardingCosts {
 public:
  /// `execute` is called by several threads.
  ShardingCosts(const ir::Graph& graph, const chip::Chip& chip, const ExecuteTime& execute,
                int threads);

  [[nodiscard]] const ir::Graph& graph() const { return graph_; }
  [[nodiscard]] const chip::Chip& chip() const { return chip_; }
  [[nodiscard]] const HbmTimes& loading() const { return loading_; }

  /// The splits of an op that may fit: those of which a chip's SRAM holds what the op touches, or
  /// all if it holds none.
  [[nodiscard]] const std::vector<SplitCost>& parts(std::int32_t op) const {
    return parts_[static_cast<std::size_t>(of_[static_cast<std::size_t>(op)])];
  }
  /// All of an op.
  [[nodiscard]] const SplitCost& whole_op(std::int32_t op) const {
    return whole_[static_cast<std::size_t>(of_[static_cast<std::size_t>(op)])];
  }

  /// Bytes that a chip holds of a tensor that ops make.
  [[nodiscard]] Bytes held(std::int32_t tensor, Form form) const;
  [[nodiscard]] FormChange passing(std::int32_t tensor, Form from, Form to) const;
  /// What that costs: its time, and what chips wait for each other.
  [[nodiscard]] Picoseconds time(std::int32_t tensor, Form from, Form to) const;

 private:
  const ir::Graph& graph_;
  const chip::Chip& chip_;
  HbmTimes loading_;
  PartLengths lengths_;
  std::vector<std::int32_t> of_;  // of each op: its place in the next two
  std::vector<std::vector<SplitCost>> parts_;
  std::vector<SplitCost> whole_;
  std::vector<std::int64_t> addend_bits_;  // of each tensor: at which its addends are kept
};

}  // namespace elk::shard
