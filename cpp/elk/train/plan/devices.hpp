#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/chip.hpp"
#include "elk/train/strategy.hpp"
#include "elk/train/work/tensor_parallel.hpp"

namespace elk::train {

/// The devices of one stage: `dp` groups of `tp`.
class StageDevices {
 public:
  StageDevices(std::vector<CoreId> devices, std::int64_t tp) : all_(std::move(devices)), tp_(tp) {}

  [[nodiscard]] const std::vector<CoreId>& all() const { return all_; }
  [[nodiscard]] std::int64_t tp() const { return tp_; }
  [[nodiscard]] std::int64_t dp() const { return static_cast<std::int64_t>(all_.size()) / tp_; }
  [[nodiscard]] CoreId at(std::int64_t replica, std::int64_t member) const {
    return all_[subscript((replica * tp_) + member)];
  }

  /// The devices of each group that differ in one cut of its ops alone, in order.
  [[nodiscard]] std::vector<std::vector<CoreId>> sharing(GroupCut cut) const;
  /// The devices that hold equal parts of the model, one of each replica.
  [[nodiscard]] std::vector<std::vector<CoreId>> replicas() const;

 private:
  std::vector<CoreId> all_;  // replica by replica
  std::int64_t tp_;
};

/// Where stages lie on a machine.
///
/// S-shape: where each stage fits a chip and there are as many chips as stages, each has one; else
/// they follow each other. Chips lie along a snake through their grid, and so do cores of a chip.
/// Line: along lines of cores on the shorter side of the grid of all cores. Without a grid, the
/// order is that of the numbers.
[[nodiscard]] Table<PipelineStageId, StageDevices> devices_of_stages(const chip::Chip& chip,
                                                                     const Strategy& strategy);

}  // namespace elk::train
