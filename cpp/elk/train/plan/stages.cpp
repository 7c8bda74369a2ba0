#include "elk/train/plan/stages.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/table.hpp"
#include "elk/base/text.hpp"
#include "elk/train/plan/layers.hpp"
#include "elk/train/work/kernel_groups.hpp"

namespace elk::train {
namespace {

/// What layers are: the same ops stand in each.
std::vector<Unit> by_layer(const std::optional<ir::Repeat>& layers, std::span<const OpId> ops) {
  std::vector<Unit> units;
  std::optional<std::int32_t> last;
  for (const OpId op : ops) {
    const std::optional<std::int32_t> layer = layer_of(layers, op);
    if (units.empty() || layer != last) {
      units.push_back({.ops = {}, .layer = layer.has_value()});
      last = layer;
    }
    units.back().ops.push_back(op);
  }
  return units;
}

/// Ops that are not made of inputs alone, in order.
std::vector<OpId> body_of(const ir::Graph& graph) {
  const Table<OpId, Origin> origin = origins(graph);
  std::vector<OpId> body;
  for (const OpId op : graph.ops.ids()) {
    if (origin[op] != Origin::Inputs) {
      body.push_back(op);
    }
  }
  return body;
}

/// Puts in front of a part what it reads of what only inputs make.
class InputMaker {
 public:
  explicit InputMaker(const ir::Graph& graph)
      : graph_(graph), origins_(origins(graph)), maker_(graph.tensors.size(), OpId::none) {
    for (const OpId op : graph.ops.ids()) {
      for (const TensorId written : written_by(graph.ops[op])) {
        maker_[written] = op;
      }
    }
  }

  void complete(ModelPart& part) const {
    std::set<OpId> needed;
    for (const Unit& unit : part.units) {
      for (const OpId op : unit.ops) {
        add_needs(op, needed);
      }
    }
    std::vector<OpId>& first = part.units.front().ops;
    first.insert(first.begin(), needed.begin(), needed.end());
  }

 private:
  void add_needs(OpId op, std::set<OpId>& needed) const {
    for (const ir::Operand& one : graph_.ops[op].operands) {
      if (one.access == ir::Access::Read) {
        add(maker_[one.tensor], needed);
      }
      if (one.indirect) {
        add(maker_[one.indirect->index], needed);
      }
    }
  }
  void add(OpId maker, std::set<OpId>& needed) const {
    if (maker != OpId::none && origins_[maker] == Origin::Inputs && needed.insert(maker).second) {
      add_needs(maker, needed);
    }
  }

  const ir::Graph& graph_;
  Table<OpId, Origin> origins_;
  Table<TensorId, OpId> maker_;
};

/// Whether runs that cost `most` at most are enough.
bool suffices(std::span<const Picoseconds> costs, std::size_t parts, Picoseconds most) {
  std::size_t used = 1;
  Picoseconds now{0};
  for (const Picoseconds cost : costs) {
    if (cost > most) {
      return false;
    }
    if (now + cost > most) {
      ++used;
      now = {0};
    }
    now += cost;
  }
  return used <= parts;
}

/// The cost of the costliest of `parts` runs, where it is least.
Picoseconds least_longest(std::span<const Picoseconds> costs, std::size_t parts) {
  Picoseconds low{0};
  Picoseconds high{0};
  for (const Picoseconds cost : costs) {
    low = std::max(low, cost);
    high += cost;
  }
  while (low < high) {
    const Picoseconds middle{low.value + ((high.value - low.value) / 2)};
    if (suffices(costs, parts, middle)) {
      high = middle;
    } else {
      low = middle + Picoseconds{1};
    }
  }
  return high;
}

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Of as many runs as end before each unit the least sum of squares, and where the last one begins.
struct RunSums {
  std::vector<double> squares;
  std::vector<std::size_t> begin;
};

/// One run more than the `runs` that have these sums of squares, none costlier than `longest`.
RunSums with_one_more(std::span<const Picoseconds> costs, Picoseconds longest,
                      const std::vector<double>& before, std::size_t runs) {
  RunSums now{.squares = std::vector<double>(costs.size() + 1, kNever),
              .begin = std::vector<std::size_t>(costs.size() + 1, 0)};
  for (std::size_t end = runs + 1; end <= costs.size(); ++end) {
    Picoseconds sum{0};
    for (std::size_t first = end; first-- > runs;) {
      sum += costs[first];
      const auto length = static_cast<double>(sum.value);
      const double squares = before[first] + (length * length);
      if (sum <= longest && squares < now.squares[end]) {
        now.squares[end] = squares;
        now.begin[end] = first;
      }
      first = sum > longest ? runs : first;
    }
  }
  return now;
}

/// Reads the parts that a caller gives.
class GivenParts {
 public:
  GivenParts(const ir::Graph& graph, const Strategy& strategy)
      : graph_(graph),
        strategy_(strategy),
        origin_(origins(graph)),
        part_(graph.ops.size(), PartId::none) {}

  Table<PartId, ModelPart> read() {
    const std::optional<ir::Repeat> layers = layers_of(graph_);
    Table<PartId, ModelPart> parts;
    for (const GivenStage& given : strategy_.stages) {
      parts.push_back({.units = by_layer(layers, ops_of(given, parts.end_id()))});
    }
    check_order();
    return parts;
  }

 private:
  /// What a caller names of a part, in order; what only inputs make is made where it is read.
  std::vector<OpId> ops_of(const GivenStage& given, PartId number) {
    std::vector<OpId> ops;
    for (const OpId op : given.ops) {
      if (!graph_.ops.has(op)) {
        refuse(number, text("name operators from 0 to ", graph_.ops.size() - 1, ", got ", op));
      }
      if (origin_[op] == Origin::Inputs) {
        continue;
      }
      if (std::exchange(part_[op], number) != PartId::none) {
        refuse(number, text("name no operator twice, got ", op));
      }
      ops.push_back(op);
    }
    if (ops.empty()) {
      refuse(number, "name an operator that does more than read inputs, got none");
    }
    std::ranges::sort(ops);
    return ops;
  }

  /// Every op stands in a part, and reads of none behind its own.
  void check_order() const {
    Table<TensorId, PartId> made(graph_.tensors.size(), PartId::none);
    for (const OpId op : graph_.ops.ids()) {
      if (origin_[op] == Origin::Inputs) {
        continue;
      }
      if (part_[op] == PartId::none) {
        throw InvalidInput(text("stages must name every operator, and not one does operator ", op,
                                ", ", graph_.ops[op].name),
                           "strategy");
      }
      for (const ir::Operand& one : graph_.ops[op].operands) {
        if (one.access == ir::Access::Read && made[one.tensor] > part_[op]) {
          refuse(part_[op], text("read what it or a stage before makes, and operator ", op,
                                 " reads of stages[", made[one.tensor], "]"));
        }
        made[one.tensor] = one.access == ir::Access::Write ? part_[op] : made[one.tensor];
      }
    }
  }

  [[noreturn]] static void refuse(PartId part, const std::string& rule) {
    throw InvalidInput(text("stages[", part, "] must ", rule), "strategy");
  }

  const ir::Graph& graph_;
  const Strategy& strategy_;
  Table<OpId, Origin> origin_;
  Table<OpId, PartId> part_;  // of each op that is named
};

/// All of a part without layers as one, to be made again as a whole.
Unit as_layer(const ModelPart& part) {
  Unit whole{.ops = {}, .layer = true};
  for (const Unit& unit : part.units) {
    whole.ops.insert(whole.ops.end(), unit.ops.begin(), unit.ops.end());
  }
  return whole;
}

/// Notes for an op of `part` what parts before hand it.
void hand_on(const ir::Op& op, PartId part, const Table<TensorId, PartId>& made,
             Table<PartId, std::set<TensorId>>& handed) {
  for (const ir::Operand& one : op.operands) {
    const bool handed_on = one.access == ir::Access::Read && made[one.tensor] != PartId::none;
    for (PartId q = handed_on ? made[one.tensor] : part; q < part; ++q) {
      handed[q].insert(one.tensor);
    }
  }
}

}  // namespace

std::vector<Unit> units_of(const ir::Graph& graph, const TensorParallel& cuts, std::int64_t parts) {
  const std::vector<OpId> body = body_of(graph);
  std::vector<Unit> units = by_layer(layers_of(graph), body);
  if (static_cast<std::int64_t>(units.size()) >= parts) {
    return units;
  }
  units.clear();
  for (KernelGroup& group : kernel_groups(graph, cuts, body)) {
    units.push_back({.ops = std::move(group.ops), .layer = false});
  }
  if (static_cast<std::int64_t>(units.size()) < parts) {
    throw InvalidInput(text("pp * chunks must be at most the ", units.size(),
                            " kernels of the model, got ", parts),
                       "strategy");
  }
  return units;
}

std::vector<std::size_t> balanced(std::span<const Picoseconds> costs, std::size_t parts) {
  const Picoseconds longest = least_longest(costs, parts);
  RunSums sums{.squares = std::vector<double>(costs.size() + 1, kNever), .begin = {}};
  sums.squares[0] = 0.0;
  std::vector<std::vector<std::size_t>> begins;
  for (std::size_t p = 0; p < parts; ++p) {
    sums = with_one_more(costs, longest, sums.squares, p);
    begins.push_back(sums.begin);
  }
  std::vector<std::size_t> result(parts);
  std::size_t end = costs.size();
  for (std::size_t p = parts; p-- > 0;) {
    end = begins[p][end];
    result[p] = end;
  }
  return result;
}

Table<PartId, ModelPart> parts_of(const ir::Graph& graph, const TensorParallel& cuts,
                                  const Strategy& strategy,
                                  const std::function<Picoseconds(const Unit&)>& cost) {
  Table<PartId, ModelPart> parts;
  if (!strategy.stages.empty()) {
    parts = GivenParts(graph, strategy).read();
  } else {
    const auto count = subscript(std::int64_t{strategy.pp} * strategy.chunks);
    std::vector<Unit> units = units_of(graph, cuts, static_cast<std::int64_t>(count));
    std::vector<Picoseconds> costs;
    costs.reserve(units.size());
    for (const Unit& unit : units) {
      costs.push_back(cost(unit));
    }
    const std::vector<std::size_t> begins = balanced(costs, count);
    for (std::size_t p = 0; p < count; ++p) {
      const std::size_t end = p + 1 < count ? begins[p + 1] : units.size();
      ModelPart& part = parts.emplace_back();
      for (std::size_t u = begins[p]; u < end; ++u) {
        part.units.push_back(std::move(units[u]));
      }
    }
  }
  const InputMaker maker(graph);
  for (ModelPart& part : parts) {
    if (std::ranges::none_of(part.units, &Unit::layer)) {
      part.units = {as_layer(part)};
    }
    maker.complete(part);
  }
  return parts;
}

Table<PartId, std::set<TensorId>> handed_on(const ir::Graph& graph,
                                            const Table<PartId, ModelPart>& parts) {
  const Table<OpId, Origin> origin = origins(graph);
  Table<TensorId, PartId> made(graph.tensors.size(), PartId::none);
  Table<PartId, std::set<TensorId>> handed(parts.size());
  for (const PartId part : parts.ids()) {
    for (const Unit& unit : parts[part].units) {
      for (const OpId op : unit.ops) {
        hand_on(graph.ops[op], part, made, handed);
        for (const TensorId written : written_by(graph.ops[op])) {
          // What only inputs make is made in each part that reads it.
          made[written] = origin[op] == Origin::Inputs ? PartId::none : part;
        }
      }
    }
  }
  return handed;
}

}  // namespace elk::train
