#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <pybind11/native_enum.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/text.hpp"
#include "elk/ir/graph.hpp"
#include "elk/ir/rounds.hpp"
#include "id_casters.hpp"
#include "pickled.hpp"

namespace py = pybind11;
using namespace pybind11::literals;
using elk::AxisId;
using elk::Bytes;
using elk::DimId;
using elk::id_at;
using elk::OperandId;
using elk::OpId;
using elk::Table;
using elk::TensorId;
using elk::bindings::by_members;
namespace ir = elk::ir;

namespace {

/// The members of a vector as a tuple of references that keep `self` alive: no copies.
template <class Struct, class List>
auto members(List Struct::*field) {
  return [field](const py::object& self) {
    const std::vector<typename List::value_type>& items = self.cast<const Struct&>().*field;
    py::tuple out(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      out[i] = py::cast(&items[i], py::return_value_policy::reference_internal, self);
    }
    return out;
  };
}

/// The members of a long vector, seen one at a time: making it costs the same for any length.
template <class Member>
struct Items {
  const std::vector<Member>* members;

  [[nodiscard]] const Member& at(py::ssize_t index) const {
    const auto size = static_cast<py::ssize_t>(members->size());
    if (index < -size || index >= size) {
      throw py::index_error(elk::text("index ", index, " of ", size));
    }
    return (*members)[static_cast<std::size_t>(index < 0 ? index + size : index)];
  }
};

template <class Member>
void bind_items(py::module_& m, const char* name) {
  using Seen = Items<Member>;
  py::class_<Seen>(m, name)
      .def("__len__", [](const Seen& items) { return items.members->size(); })
      .def("__getitem__", &Seen::at, py::return_value_policy::reference_internal)
      .def(
          "__iter__",
          [](const Seen& items) {
            return py::make_iterator<py::return_value_policy::reference_internal>(
                items.members->begin(), items.members->end());
          },
          py::keep_alive<0, 1>());
}

template <class Struct, class List>
auto items(List Struct::*field) {
  using Seen = Items<typename List::value_type>;
  return py::cpp_function([field](const Struct& self) { return Seen{&(self.*field)}; },
                          py::keep_alive<0, 1>());
}

void bind_types(py::module_& m) {
  using ir::DType;
  py::native_enum<DType> dtypes(m, "DType", "enum.Enum", "Element types, named as in files.");
  for (int i = 0; i <= static_cast<int>(DType::Bool); ++i) {
    dtypes.value(ir::name(static_cast<DType>(i)), static_cast<DType>(i));
  }
  dtypes.finalize();
  py::native_enum<ir::Home>(m, "Home", "enum.Enum", "Where a tensor lives between ops.")
      .value("Weight", ir::Home::Weight)
      .value("State", ir::Home::State)
      .value("Input", ir::Home::Input)
      .value("Output", ir::Home::Output)
      .value("Activation", ir::Home::Activation)
      .value("Spilled", ir::Home::Spilled)
      .finalize();
  py::native_enum<ir::Access>(m, "Access", "enum.Enum", "What an op does with an operand.")
      .value("Read", ir::Access::Read)
      .value("Write", ir::Access::Write)
      .finalize();
  py::native_enum<ir::AxisRole>(m, "AxisRole", "enum.Enum", "What running along an axis means.")
      .value("Parallel", ir::AxisRole::Parallel)
      .value("Reduction", ir::AxisRole::Reduction)
      .value("Row", ir::AxisRole::Row)
      .finalize();
}

void bind_tile_dim(py::module_& m) {
  using ir::TileDim;
  py::native_enum<TileDim>(m, "TileDim", "enum.Enum", "The place of an axis in a kernel call.")
      .value("None_", TileDim::None)
      .value("Group", TileDim::Group)
      .value("M", TileDim::M)
      .value("N", TileDim::N)
      .value("K", TileDim::K)
      .value("Batch", TileDim::Batch)
      .value("OutH", TileDim::OutH)
      .value("OutW", TileDim::OutW)
      .value("InCh", TileDim::InCh)
      .value("OutCh", TileDim::OutCh)
      .value("KernelH", TileDim::KernelH)
      .value("KernelW", TileDim::KernelW)
      .value("Rows", TileDim::Rows)
      .value("Cols", TileDim::Cols)
      .value("Elements", TileDim::Elements)
      .value("Slices", TileDim::Slices)
      .value("SliceElements", TileDim::SliceElements)
      .finalize();
}

void bind_kind(py::module_& m) {
  using ir::OpKind;
  py::native_enum<OpKind>(m, "OpKind", "enum.Enum", "The kinds of ops.")
      .value("MatMul", OpKind::MatMul)
      .value("Conv", OpKind::Conv)
      .value("DepthwiseConv", OpKind::DepthwiseConv)
      .value("Pool", OpKind::Pool)
      .value("Elementwise", OpKind::Elementwise)
      .value("Reduce", OpKind::Reduce)
      .value("Softmax", OpKind::Softmax)
      .value("Norm", OpKind::Norm)
      .value("Gather", OpKind::Gather)
      .value("Copy", OpKind::Copy)
      .value("Opaque", OpKind::Opaque)
      .value("AllReduce", OpKind::AllReduce)
      .value("AllGather", OpKind::AllGather)
      .value("ReduceScatter", OpKind::ReduceScatter)
      .value("AllToAll", OpKind::AllToAll)
      .finalize();
}

void bind_axes(py::module_& m) {
  py::class_<ir::Axis>(m, "Axis", "A loop of an op.")
      .def(py::init<std::string, std::int64_t, ir::AxisRole, ir::TileDim>(), py::kw_only(),
           "name"_a, "size"_a, "role"_a, "tile_dim"_a)
      .def(by_members(&ir::Axis::name, &ir::Axis::size, &ir::Axis::role, &ir::Axis::tile_dim))
      .def_readonly("name", &ir::Axis::name)
      .def_readonly("size", &ir::Axis::size)
      .def_readonly("role", &ir::Axis::role)
      .def_readonly("tile_dim", &ir::Axis::tile_dim);
  py::class_<ir::Dim>(m, "Dim", "How axes index one dimension: offset + sum of coef * axis.")
      .def(py::init<std::vector<AxisId>, std::vector<std::int64_t>, std::int64_t>(), py::kw_only(),
           "axes"_a, "coef"_a, "offset"_a)
      .def(by_members(&ir::Dim::axes, &ir::Dim::coef, &ir::Dim::offset))
      .def_readonly("axes", &ir::Dim::axes)
      .def_readonly("coef", &ir::Dim::coef)
      .def_readonly("offset", &ir::Dim::offset);
  py::class_<ir::Indirect>(m, "Indirect", "A dimension that an index tensor picks.")
      .def(py::init<TensorId, DimId, std::vector<AxisId>, double>(), py::kw_only(), "index"_a,
           "dim"_a, "axes"_a, "expected_picks"_a)
      .def(by_members(&ir::Indirect::index, &ir::Indirect::dim, &ir::Indirect::axes,
                      &ir::Indirect::expected_picks))
      .def_readonly("index", &ir::Indirect::index)
      .def_readonly("dim", &ir::Indirect::dim)
      .def_readonly("axes", &ir::Indirect::axes)
      .def_readonly("expected_picks", &ir::Indirect::expected_picks);
}

void bind_tensors(py::module_& m) {
  py::class_<ir::Operand>(m, "Operand", "What an op reads or writes, and where.")
      .def(py::init([](TensorId tensor, ir::Access access, Table<DimId, ir::Dim> dims,
                       std::optional<ir::Indirect> indirect, std::int32_t input, bool covers) {
             return ir::Operand{tensor, access, std::move(dims), std::move(indirect),
                                input,  covers};
           }),
           py::kw_only(), "tensor"_a, "access"_a, "dims"_a, "indirect"_a = py::none(),
           "input"_a = -1, "covers"_a = false)
      .def(by_members(&ir::Operand::tensor, &ir::Operand::access, &ir::Operand::dims,
                      &ir::Operand::indirect, &ir::Operand::input, &ir::Operand::covers))
      .def_readonly("tensor", &ir::Operand::tensor)
      .def_readonly("access", &ir::Operand::access)
      .def_property_readonly("dims", members(&ir::Operand::dims))
      .def_readonly("indirect", &ir::Operand::indirect)
      .def_readonly("input", &ir::Operand::input)
      .def_readonly("covers", &ir::Operand::covers);
  py::class_<ir::Tensor>(m, "Tensor", "A stored tensor.")
      .def(py::init<std::string, ir::DType, std::vector<std::int64_t>, ir::Home>(), py::kw_only(),
           "name"_a, "dtype"_a, "shape"_a, "home"_a)
      .def(by_members(&ir::Tensor::name, &ir::Tensor::dtype, &ir::Tensor::shape, &ir::Tensor::home))
      .def_readonly("name", &ir::Tensor::name)
      .def_readonly("dtype", &ir::Tensor::dtype)
      .def_readonly("shape", &ir::Tensor::shape)
      .def_readonly("home", &ir::Tensor::home)
      .def_property_readonly("bytes",
                             [](const ir::Tensor& tensor) { return ir::bytes(tensor).value; });
}

void bind_op(py::module_& m) {
  py::class_<ir::Op>(m, "Op", "A tensor expression over named axes.")
      .def(py::init([](std::string name, ir::OpKind kind, std::string onnx_type,
                       std::string function, std::vector<std::int64_t> params, ir::DType compute,
                       ir::DType accumulate, Table<AxisId, ir::Axis> axes,
                       Table<OperandId, ir::Operand> operands, std::int64_t flops,
                       std::vector<double> scalars, std::vector<std::int32_t> constants) {
             return ir::Op{
                 std::move(name),     kind,    std::move(onnx_type), std::move(function),
                 std::move(params),   compute, accumulate,           std::move(axes),
                 std::move(operands), flops,   std::move(scalars),   std::move(constants)};
           }),
           py::kw_only(), "name"_a, "kind"_a, "onnx_type"_a, "function"_a, "params"_a, "compute"_a,
           "accumulate"_a, "axes"_a, "operands"_a, "flops"_a, "scalars"_a, "constants"_a)
      .def(by_members(&ir::Op::name, &ir::Op::kind, &ir::Op::onnx_type, &ir::Op::function,
                      &ir::Op::params, &ir::Op::compute, &ir::Op::accumulate, &ir::Op::axes,
                      &ir::Op::operands, &ir::Op::flops, &ir::Op::scalars, &ir::Op::constants))
      .def_readonly("name", &ir::Op::name)
      .def_readonly("kind", &ir::Op::kind)
      .def_readonly("onnx_type", &ir::Op::onnx_type)
      .def_readonly("function", &ir::Op::function)
      .def_readonly("params", &ir::Op::params)
      .def_readonly("compute", &ir::Op::compute)
      .def_readonly("accumulate", &ir::Op::accumulate)
      .def_property_readonly("axes", members(&ir::Op::axes))
      .def_property_readonly("operands", members(&ir::Op::operands))
      .def_readonly("flops", &ir::Op::flops)
      .def_readonly("scalars", &ir::Op::scalars)
      .def_readonly("constants", &ir::Op::constants);
}

using OpRow = std::tuple<std::string, std::size_t, std::vector<TensorId>>;
using StoreRow = std::tuple<TensorId, OpId, std::int64_t, TensorId, std::vector<std::int64_t>>;

/// The ops that `rows` describe: each one of `patterns` under a name and over tensors of a graph.
Table<OpId, ir::Op> instances(const std::vector<ir::Op>& patterns, const std::vector<OpRow>& rows) {
  Table<OpId, ir::Op> ops;
  ops.reserve(rows.size());
  for (const auto& [name, pattern, tensors] : rows) {
    ops.push_back(ir::instantiate(patterns.at(pattern), name, std::span(tensors)));
  }
  return ops;
}

std::vector<ir::Store> stores_of(const std::vector<StoreRow>& rows) {
  std::vector<ir::Store> stores;
  stores.reserve(rows.size());
  for (const auto& [tensor, op, run, into, begin] : rows) {
    stores.push_back({tensor, op, Bytes{run}, into, begin});
  }
  return stores;
}

/// `op` without its name, over tensors that count from zero in the order in which it names them
/// first; and these: what `ir::instantiate` makes it of.
std::pair<ir::Op, std::vector<TensorId>> pattern_of(ir::Op op) {
  std::vector<TensorId> named;
  const auto position = [&](TensorId tensor) {
    const auto found = std::ranges::find(named, tensor);
    const auto at = id_at<TensorId>(found - named.begin());
    if (found == named.end()) {
      named.push_back(tensor);
    }
    return at;
  };
  for (ir::Operand& operand : op.operands) {
    operand.tensor = position(operand.tensor);
    if (operand.indirect) {
      operand.indirect->index = position(operand.indirect->index);
    }
  }
  op.name.clear();
  return {std::move(op), std::move(named)};
}

using GraphState = std::tuple<std::string, std::vector<ir::Tensor>, std::vector<ir::Op>,
                              std::vector<OpRow>, std::vector<StoreRow>, std::vector<TensorId>>;

ir::Graph graph_of(GraphState state) {
  auto& [name, tensors, patterns, ops, stores, outputs] = state;
  ir::Graph graph{.name = std::move(name),
                  .tensors = std::move(tensors),
                  .ops = instances(patterns, ops),
                  .stores = stores_of(stores),
                  .repeat = {},
                  .outputs = std::move(outputs)};
  ir::validate(graph);
  graph.repeat = ir::find_repeat(graph);
  return graph;
}

/// What `graph_of` makes `graph` of. Ops share a pattern with the last op that `equal_ops` has for
/// their equal, where they are that one but for names and tensors.
GraphState state_of(const ir::Graph& graph) {
  GraphState state{graph.name, graph.tensors, {}, {}, {}, graph.outputs};
  auto& [name, tensors, patterns, ops, stores, outputs] = state;
  const Table<OpId, OpId> equal = ir::equal_ops(graph);
  Table<OpId, std::size_t> last(graph.ops.size(), graph.ops.size());
  ops.reserve(graph.ops.size());
  for (const OpId i : graph.ops.ids()) {
    auto [pattern, of] = pattern_of(graph.ops[i]);
    std::size_t& known = last[equal[i]];
    if (known == graph.ops.size() || patterns[known] != pattern) {
      known = patterns.size();
      patterns.push_back(std::move(pattern));
    }
    ops.emplace_back(graph.ops[i].name, known, std::move(of));
  }
  for (const ir::Store& store : graph.stores) {
    stores.emplace_back(store.tensor, store.op, store.run.value, store.into, store.begin);
  }
  return state;
}

void bind_graph(py::module_& m) {
  bind_items<ir::Tensor>(m, "_Tensors");
  bind_items<ir::Op>(m, "_Ops");
  py::class_<ir::Store>(m, "GraphStore", "A tensor written back to HBM after an op.")
      .def_readonly("tensor", &ir::Store::tensor)
      .def_readonly("op", &ir::Store::op)
      .def_property_readonly("run_bytes", [](const ir::Store& store) { return store.run.value; })
      .def_readonly("into", &ir::Store::into)
      .def_readonly("begin", &ir::Store::begin);
  py::class_<ir::Repeat>(m, "Repeat", "`count` times the same `period` ops, from op `begin` on.")
      .def_readonly("begin", &ir::Repeat::begin)
      .def_readonly("period", &ir::Repeat::period)
      .def_readonly("count", &ir::Repeat::count);
  py::class_<ir::Graph>(m, "Graph",
                        "The planned graph. Validated, and its repeat found, when made.")
      .def(py::init([](std::string name, std::vector<ir::Tensor> tensors,
                       std::vector<ir::Op> patterns, std::vector<OpRow> ops,
                       std::vector<StoreRow> stores, std::vector<TensorId> outputs) {
             return graph_of({std::move(name), std::move(tensors), std::move(patterns),
                              std::move(ops), std::move(stores), std::move(outputs)});
           }),
           py::kw_only(), "name"_a, "tensors"_a, "patterns"_a, "ops"_a, "stores"_a, "outputs"_a)
      .def(py::pickle(&state_of, &graph_of))
      .def_readonly("name", &ir::Graph::name)
      .def_property_readonly("tensors", items(&ir::Graph::tensors))
      .def_property_readonly("ops", items(&ir::Graph::ops))
      .def_property_readonly("stores", members(&ir::Graph::stores))
      .def_readonly("repeat", &ir::Graph::repeat)
      .def_readonly("outputs", &ir::Graph::outputs);
}

}  // namespace

void bind_ir(py::module_& m) {
  bind_types(m);
  bind_tile_dim(m);
  bind_kind(m);
  bind_axes(m);
  bind_tensors(m);
  bind_op(m);
  bind_graph(m);
  m.def(
      "in_rounds",
      [](const ir::Graph& graph, const std::vector<std::pair<AxisId, std::int64_t>>& rounds) {
        Table<OpId, ir::Rounds> all;
        for (const auto& [axis, count] : rounds) {
          all.push_back({.axis = axis, .count = count});
        }
        return ir::in_rounds(graph, all);
      },
      py::arg("graph"), py::arg("rounds"),
      "`graph` with one round in place of each op: of each the axis, -1 for none, and the count.");
}
