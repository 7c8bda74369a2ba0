#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"
#include "elk/ir/waves.hpp"

namespace elk::ir {

WaveGraph in_no_waves(const Graph& graph) {
  WaveGraph result{.graph = graph, .op_of = {}, .part_of = {}};
  for (const OpId i : graph.ops.ids()) {
    result.op_of.push_back(i);
  }
  for (const TensorId t : graph.tensors.ids()) {
    result.part_of.push_back(
        {.tensor = t, .begin = Table<DimId, std::int64_t>(graph.tensors[t].shape.size(), 0)});
  }
  return result;
}

void drop_tensors(const Table<TensorId, char>& out, WaveGraph& parts) {
  Graph& graph = parts.graph;
  Table<TensorId, TensorId> moved(graph.tensors.size(), TensorId::none);
  Table<TensorId, Tensor> tensors;
  Table<TensorId, PartOf> part_of;
  for (const TensorId t : moved.ids()) {
    if (out[t] == 0) {
      moved[t] = id_at<TensorId>(tensors.size());
      tensors.push_back(std::move(graph.tensors[t]));
      part_of.push_back(std::move(parts.part_of[t]));
    }
  }
  graph.tensors = std::move(tensors);
  parts.part_of = std::move(part_of);
  for (Op& op : graph.ops) {
    for (Operand& operand : op.operands) {
      operand.tensor = moved[operand.tensor];
      if (operand.indirect) {
        operand.indirect->index = moved[operand.indirect->index];
      }
    }
  }
  for (Store& store : graph.stores) {
    store.tensor = moved[store.tensor];
    store.into = store.into != TensorId::none ? moved[store.into] : store.into;
  }
  for (TensorId& output : graph.outputs) {
    output = moved[output];
  }
}

std::string unused_name(std::string wanted, std::set<std::string>& names) {
  while (!names.insert(wanted).second) {
    wanted += "#";
  }
  return wanted;
}

}  // namespace elk::ir
