#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/train/pipeline.hpp"

namespace elk::train {

/// What of a stage's activations is made again in the backward pass.
enum class Recompute : std::uint8_t { None, Full, Auto };
enum class Optimizer : std::uint8_t { None, Sgd, Adam };
/// How stages lie on a grid: each on neighbouring devices, one after another along a snake; or on
/// whole lines along the shorter side of the grid.
enum class StageLayout : std::uint8_t { SShape, Line };
/// Whose devices are neighbours: those that cut operators, or those that hold equal parts.
enum class Groups : std::uint8_t { Near, Far };

/// Into how many parts axes of an op are cut.
struct AxisDegree {
  std::string axis;
  std::int64_t parts;
};

/// The cut of every op of one ONNX type, or of one name.
struct OpDegrees {
  std::string op;
  std::vector<AxisDegree> axes;
};

/// What a caller says of one stage: its ops, and its devices if they are not to follow the layout.
struct GivenStage {
  std::vector<OpId> ops;
  std::vector<CoreId> devices;
};

/// How a model is trained: three degrees of parallelism, a schedule, and what memory holds.
struct Strategy {
  std::int32_t pp = 1;
  std::int64_t tp = 1;
  std::int64_t dp = 1;
  std::int32_t chunks = 1;
  std::int64_t micro_batch = 1;
  PipelineSchedule schedule = PipelineSchedule::OneForwardOneBackward;
  std::int32_t zero = 0;
  Recompute recompute = Recompute::None;
  Optimizer optimizer = Optimizer::Adam;
  bool overlap_dp = false;
  bool overlap_pp = false;
  StageLayout layout = StageLayout::SShape;
  Groups groups = Groups::Near;
  std::vector<GivenStage> stages;  // none: chosen
  std::vector<OpDegrees> degrees;

  [[nodiscard]] bool trains() const { return optimizer != Optimizer::None; }
};

/// What no machine of `devices` could do with `batch` samples: a line for each field that is wrong,
/// with its rule and its value. Absent: rules that need them are left out.
[[nodiscard]] std::vector<std::string> complaints(const Strategy& strategy,
                                                  std::optional<std::int64_t> batch,
                                                  std::optional<std::int64_t> devices);

/// Throws InvalidInput with all complaints at once.
void validate(const Strategy& strategy, std::int64_t batch, std::int64_t devices);

/// The pipeline of a strategy that is valid for `batch` samples.
[[nodiscard]] Pipeline pipeline_of(const Strategy& strategy, std::int64_t batch);

}  // namespace elk::train
