#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/ir/graph.hpp"
#include "elk/ir/waves.hpp"

namespace elk::ir {
namespace {

bool is_alike(const Tensor& a, const Tensor& b) {
  return a.dtype == b.dtype && a.home == b.home && a.shape == b.shape;
}

/// Whether a plan of `like` is one of `op`, both being parts of the same op. Where they begin to
/// read does not count, but for plans that may rotate what is read from its begin.
bool is_alike(const Graph& graph, const Op& op, const Graph& other, const Op& like) {
  return op.axes == like.axes &&
         std::ranges::equal(op.operands, like.operands, [&](const Operand& a, const Operand& b) {
           return a.access == b.access && a.indirect.has_value() == b.indirect.has_value() &&
                  is_alike(graph.tensors[a.tensor], other.tensors[b.tensor]) &&
                  std::ranges::equal(a.dims, b.dims, [](const Dim& x, const Dim& y) {
                    return x.axes == y.axes && x.coef == y.coef && (x.offset == 0 || y.offset != 0);
                  });
         });
}

/// What is made or filled by ops that have no place.
std::set<TensorId> made_without(const Graph& graph, const Table<OpId, OpId>& place) {
  std::set<TensorId> made;
  for (const OpId i : graph.ops.ids()) {
    for (const Operand& operand : graph.ops[i].operands) {
      if (place[i] == OpId::none && operand.access == Access::Write) {
        made.insert(operand.tensor);
      }
    }
  }
  for (const Store& store : graph.stores) {
    if (place[store.op] == OpId::none && store.into != TensorId::none) {
      made.insert(store.into);
    }
  }
  return made;
}

}  // namespace

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

std::optional<WaveGraph> last_slice(const WaveGraph& sliced) {
  const Graph& graph = sliced.graph;
  WaveGraph result{.graph = graph, .op_of = {}, .part_of = sliced.part_of};
  result.graph.ops.clear();
  Table<OpId, OpId> place(graph.ops.size(), OpId::none);  // in the slice
  std::map<OpId, OpId> last;                              // of each op of the model
  for (const OpId i : graph.ops.ids()) {
    last[sliced.op_of[i]] = i;
  }
  for (const OpId i : graph.ops.ids()) {
    if (last[sliced.op_of[i]] == i) {
      place[i] = id_at<OpId>(result.op_of.size());
      result.graph.ops.push_back(graph.ops[i]);
      result.op_of.push_back(sliced.op_of[i]);
    }
  }
  const std::set<TensorId> elsewhere = made_without(graph, place);
  Table<TensorId, char> out(graph.tensors.size(), 1);
  for (const Op& op : result.graph.ops) {
    for (const Operand& operand : op.operands) {
      if (elsewhere.contains(operand.tensor)) {
        return std::nullopt;
      }
      out[operand.tensor] = 0;
      if (operand.indirect) {
        out[operand.indirect->index] = 0;
      }
    }
  }
  std::erase_if(result.graph.stores, [&](Store& store) {
    store.op = place[store.op];
    return store.op == OpId::none;
  });
  std::erase_if(result.graph.outputs, [&](TensorId output) { return out[output] != 0; });
  drop_tensors(out, result);
  validate(result.graph);
  result.graph.repeat = find_repeat(result.graph);
  return result;
}

std::optional<Table<OpId, OpId>> repeats_of(const WaveGraph& slice, const WaveGraph& sliced) {
  std::map<OpId, std::vector<OpId>> parts;  // in the slice, of each op of the model
  for (const OpId i : slice.op_of.ids()) {
    parts[slice.op_of[i]].push_back(i);
  }
  std::map<OpId, std::size_t> count;
  Table<OpId, OpId> result;
  for (const OpId i : sliced.op_of.ids()) {
    const std::vector<OpId>& own = parts[sliced.op_of[i]];
    if (own.empty()) {
      return std::nullopt;
    }
    const OpId like = own[count[sliced.op_of[i]]++ % own.size()];
    if (!is_alike(sliced.graph, sliced.graph.ops[i], slice.graph, slice.graph.ops[like])) {
      return std::nullopt;
    }
    result.push_back(like);
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
