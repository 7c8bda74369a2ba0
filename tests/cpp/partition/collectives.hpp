#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "partition/ops.hpp"

/// Collectives on a matrix, as `shard::one_chip` writes them.
namespace elk::test {

/// Of a tensor of `rows` x `cols` f16 in all; its second dimension is what chips hold parts of. An
/// all-to-all leaves each chip with a part of the rows instead.
inline OneOp collective(ir::OpKind kind, std::int64_t rows, std::int64_t cols, std::int64_t chips) {
  using ir::OpKind;
  const bool cut_before = kind == OpKind::AllGather || kind == OpKind::AllToAll;
  const bool cut_after = kind == OpKind::ReduceScatter;
  const std::int64_t part = cols / (cut_before || cut_after ? chips : 1);
  const std::int64_t band = kind == OpKind::AllToAll ? rows / chips : rows;
  OneOp one(kind, kind == OpKind::AllReduce || cut_after ? "partials_reduce" : "slice_copy",
            {parallel("d0", band, ir::TileDim::Slices),
             parallel("d1", part, ir::TileDim::SliceElements)});
  one.op().onnx_type = "";
  one.op().params = {chips};
  ir::Dim all_rows = along(AxisId{0});
  ir::Dim all_cols = along(AxisId{1});
  if (cut_before || cut_after) {
    one.op().axes.push_back(parallel("chip1", chips, ir::TileDim::None));
    all_cols = mapped({AxisId{2}, AxisId{1}}, {part, 1});
  }
  if (kind == OpKind::AllToAll) {
    one.op().axes.push_back(parallel("chip0", chips, ir::TileDim::None));
    all_rows = mapped({AxisId{3}, AxisId{0}}, {band, 1});
  }
  one.reads(ir::Home::Activation, {rows, cut_before ? part : cols},
            {all_rows, cut_before ? along(AxisId{1}) : all_cols});
  one.writes({band, cut_after ? part : cols},
             {along(AxisId{0}), cut_after ? along(AxisId{1}) : all_cols});
  return one;
}

}  // namespace elk::test
