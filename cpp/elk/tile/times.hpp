#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/memo.hpp"
#include "elk/base/table.hpp"
#include "elk/chip/chip.hpp"
#include "elk/ir/converted_inputs.hpp"
#include "elk/ir/graph.hpp"
#include "elk/tile/tile.hpp"

namespace elk::tile {

/// Seconds of the tile calls that plans of one op make. A caller's function is asked once for each
/// distinct call; fitted sub-tasks may be worked out anew. Not shared between threads.
class TileTimes {
 public:
  TileTimes(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
            const TileModel& tiles);

  /// One call of the op's kernel on a sub-task of these axis sizes, and those that convert what it
  /// reads (`ir::converted_inputs`).
  [[nodiscard]] double sub_task(TableView<AxisId, const std::int64_t> size);
  [[nodiscard]] bool extrapolated(TableView<AxisId, const std::int64_t> size) const;
  /// Adding up `parts` partial results of `elements` each.
  [[nodiscard]] double add(std::int64_t parts, std::int64_t elements);
  /// Copying `slices` runs of `elements` elements of `bits` within a core.
  [[nodiscard]] double copy(std::int64_t slices, std::int64_t elements, std::int64_t bits);

 private:
  /// The calls that bring one input from its stored type into the op's, before the op's own.
  struct Converting {
    std::vector<OperandId> operands;
    std::vector<Kernel> kernels;  // of all elements: cast and zero, where there are any
    bool scales;
    std::vector<AxisId> blocks;     // reduction axes along which the scale varies
    std::vector<OperandId> others;  // the other input, where it varies along all axes of the scale
  };

  [[nodiscard]] Converting converting(const ir::ConvertedInput& input);
  [[nodiscard]] TileShape shape(TableView<AxisId, const std::int64_t> size) const;
  [[nodiscard]] double timed(TableView<AxisId, const std::int64_t> size) const;
  [[nodiscard]] double converted(const Converting& calls,
                                 TableView<AxisId, const std::int64_t> size) const;
  [[nodiscard]] double seconds(Kernel kernel, const TileShape& shape) const {
    return tiles_.cycles(kernel, shape) / clock_;
  }

  const ir::Graph& graph_;
  const ir::Op& op_;
  const TileModel& tiles_;
  double clock_;
  Kernel kernel_;
  Kernel add_;
  Kernel scale_;  // multiplies by the scale of an input
  Kernel sum_;    // adds up scaled sums of blocks
  std::vector<Converting> converting_;
  std::vector<std::pair<std::int64_t, Kernel>> copies_;  // by bits
  bool opaque_;
  bool asks_;                    // a caller's function
  Table<AxisId, int> key_bits_;  // of each axis; empty where sizes do not fit one key
  Table<AxisId, std::int64_t> whole_;
  Memo<double> asked_;            // of all sub-tasks
  RecentMemo<double> sub_tasks_;  // of a fitted kernel
  Memo<double> adds_;
  Memo<double> copied_;
};

}  // namespace elk::tile
