#include "elk/train/work/group_work.hpp"

#include <algorithm>
#include <utility>

#include "elk/base/rounding.hpp"
#include "elk/train/work/local_sizes.hpp"

namespace elk::train {
namespace {

Bytes sum_of(const std::map<TensorId, Bytes>& sizes) {
  Bytes sum{0};
  for (const auto& one : sizes) {
    sum += one.second;
  }
  return sum;
}

/// Writes down what one group of ops does.
class GroupWriter {
 public:
  GroupWriter(const WorkFacts& facts, const KernelGroup& group, bool trains, GradientSums& sums,
              Work& work)
      : facts_(facts), local_(facts), group_(group), trains_(trains), sums_(sums), work_(work) {
    for (const OpId id : group.ops) {
      const std::vector<TensorId> written = written_by(op(id));
      made_.insert(written.begin(), written.end());
    }
  }

  std::vector<WorkStep> write() {
    write_gathers();
    switch (group_.kind) {
      case GroupKind::Products:
        write_products();
        break;
      case GroupKind::Elementwise:
        write_elementwise();
        break;
      case GroupKind::Other:
        write_other();
        break;
    }
    write_sums();
    write_weights();
    write_gradient_sums();
    return std::move(backward_);
  }

 private:
  [[nodiscard]] const ir::Op& op(OpId id) const { return facts_.graph.ops[id]; }
  [[nodiscard]] const OpCut& cut(OpId id) const { return facts_.cuts.ops[id]; }
  [[nodiscard]] const ir::Tensor& tensor(TensorId id) const { return facts_.graph.tensors[id]; }
  [[nodiscard]] bool has_gradient(TensorId id) const { return trains_ && facts_.gradient[id] != 0; }
  [[nodiscard]] bool is_weight(TensorId id) const {
    return tensor(id).home == ir::Home::Weight && is_float(tensor(id).dtype);
  }

  void forward(DeviceKernel kernel) { push(kernel, work_.forward); }
  void backward(DeviceKernel kernel) { push(kernel, backward_); }
  void push(const DeviceKernel& kernel, std::vector<WorkStep>& steps) {
    steps.push_back({.kernel = kernel, .exchange = std::nullopt});
    work_.largest = std::max(work_.largest, kernel.input + kernel.output);
  }
  static void push(GroupExchange exchange, std::vector<WorkStep>& steps) {
    if (!exchange.cut.whole() && exchange.bytes > Bytes{0}) {
      steps.push_back({.kernel = std::nullopt, .exchange = exchange});
    }
  }
  void save(TensorId id, Bytes size) {
    if (trains_ && tensor(id).home != ir::Home::Weight && facts_.transient[id] == 0) {
      work_.saved[id] = std::max(work_.saved[id], size);
    }
  }

  void write_gathers() {
    for (const OpId id : group_.ops) {
      for (const TensorId gathered : cut(id).gathered) {
        Bytes size = facts_.held[gathered];
        for (const DimCut& held : facts_.cuts.held[gathered]) {
          size = size * held.cut.parts;
          push({.kind = RingKind::AllGather, .cut = held.cut, .bytes = size}, work_.forward);
        }
      }
    }
  }

  /// Results that are sums, and what rows share of which each device has a part.
  void write_sums() {
    for (const OpId id : group_.ops) {
      for (const ir::Operand& one : op(id).operands) {
        if (one.access == ir::Access::Write) {
          for (const GroupCut& sum : sums_over(op(id), cut(id), one)) {
            push({.kind = RingKind::AllReduce, .cut = sum, .bytes = local_.bytes(id, one)},
                 work_.forward);
          }
        }
      }
      write_row_sums(id);
    }
  }

  /// Two numbers of each row, whose parts lie on several devices: maximum and sum, or both moments.
  void write_row_sums(OpId id) {
    if (op(id).kind != ir::OpKind::Softmax && op(id).kind != ir::OpKind::Norm) {
      return;
    }
    const Table<AxisId, std::int64_t> sizes = local_.axes(id);
    std::int64_t rows = 1;
    for (const AxisId axis : op(id).axes.ids()) {
      rows *= op(id).axes[axis].role == ir::AxisRole::Row ? 1 : sizes[axis];
    }
    const Bytes both{2 * rows * ir::bits(op(id).accumulate) / 8};
    for (const AxisId axis : op(id).axes.ids()) {
      if (op(id).axes[axis].role == ir::AxisRole::Row) {
        const GroupExchange sums{
            .kind = RingKind::AllReduce, .cut = cut(id).axes[axis], .bytes = both};
        push(sums, work_.forward);
        if (has_gradient(op(id).operands.back().tensor)) {
          push(sums, backward_);
        }
      }
    }
  }

  void write_weights() {
    for (const OpId id : group_.ops) {
      for (const ir::Operand& one : op(id).operands) {
        if (one.access == ir::Access::Write || !is_weight(one.tensor)) {
          continue;
        }
        std::int64_t count = local_.elements(id, one);
        if (one.indirect) {
          count = ceil_div(ir::elements(tensor(one.tensor)), cut(id).picked.parts);
        }
        HeldWeight& held = work_.weights.try_emplace(one.tensor).first->second;
        if (count > held.elements) {
          held = {.elements = count,
                  .bytes = {ceil_div(count * ir::bits(tensor(one.tensor).dtype), 8)},
                  .sums = sums_over(op(id), cut(id), one)};
        }
      }
    }
  }

  /// Adds up the gradients of what others read, too, and reduces those that are sums.
  void write_gradient_sums() {
    std::set<TensorId> seen;
    for (const OpId id : group_.ops) {
      for (const ir::Operand& one : op(id).operands) {
        const TensorId read = one.tensor;
        if (one.access == ir::Access::Write || is_weight(read) || !has_gradient(read) ||
            made_.contains(read) || !seen.insert(read).second) {
          continue;
        }
        const Bytes size = local_.bytes(id, one);
        if (!is_last_reader(read)) {
          backward(pass_kernel(size * 2, size, local_.pass(id, one)));
        }
        reduce(read, size);
      }
    }
  }

  [[nodiscard]] bool is_last_reader(TensorId read) const {
    return std::ranges::find(group_.ops, facts_.last_reader[read]) != group_.ops.end();
  }

  /// The first who reads a tensor reduces its gradient, to which all have added by then.
  void reduce(TensorId read, Bytes size) {
    const auto found = sums_.find(read);
    if (found == sums_.end()) {
      return;
    }
    for (const GroupCut& sum : found->second) {
      push({.kind = RingKind::AllReduce, .cut = sum, .bytes = size}, backward_);
    }
    sums_.erase(found);
  }

  void write_products() {
    const OpId id = group_.ops.front();
    const ir::Op& first = op(id);
    const ir::Operand& a = first.operands[OperandId{0}];
    const bool pair = reads_of(first) > 1;
    const ir::Operand& b = first.operands[OperandId{pair ? 1 : 0}];
    ProductSize size = product_size(first, local_.axes(id));
    Bytes second{0};
    Bytes result{0};
    std::int64_t columns = 0;
    for (const OpId one : group_.ops) {
      second += pair ? local_.bytes(one, op(one).operands[OperandId{1}]) : Bytes{0};
      result += local_.bytes(one, op(one).operands.back());
      columns += product_size(op(one), local_.axes(one)).n;
    }
    const Table<AxisId, std::int64_t> sizes =
        group_.ops.size() == 1 ? local_.axes(id) : widened(first, local_.axes(id), columns);
    size.n = columns;
    const Bytes input = local_.bytes(id, a);
    forward({.product = size,
             .input = input,
             .weight = second,
             .output = result,
             .on_core = local_.called(id, sizes, CallRole::Forward),
             .accumulates = false});
    if (!has_gradient(first.operands.back().tensor)) {
      return;
    }
    if (has_gradient(a.tensor)) {
      backward({.product = ProductSize{size.groups, size.m, size.k, size.n},
                .input = result,
                .weight = second,
                .output = input,
                .on_core = local_.called(id, sizes, CallRole::FirstGradient),
                .accumulates = is_weight(a.tensor)});
      save(b.tensor, local_.bytes(id, b));
    }
    if (pair && has_gradient(b.tensor)) {
      backward({.product = ProductSize{size.groups, size.k, size.n, size.m},
                .input = input,
                .weight = result,
                .output = second,
                .on_core = local_.called(id, sizes, CallRole::SecondGradient),
                .accumulates = is_weight(b.tensor)});
      save(a.tensor, input);
    }
  }

  void write_elementwise() {
    DeviceKernel kernel = pass_kernel({0}, {0}, {0});
    std::map<TensorId, Bytes> outside;  // activations that it reads
    std::map<TensorId, Bytes> weights;
    for (const OpId id : group_.ops) {
      kernel.on_core += local_.called(id);
      for (const ir::Operand& one : op(id).operands) {
        const Bytes size = local_.bytes(id, one);
        if (one.access == ir::Access::Write && is_read_outside(one.tensor)) {
          kernel.output += size;
        } else if (!made_.contains(one.tensor)) {
          (is_weight(one.tensor) ? weights : outside).emplace(one.tensor, size);
        }
      }
    }
    kernel.input = sum_of(outside);
    kernel.weight = sum_of(weights);
    const std::map<TensorId, Bytes> saved = saved_of_run(outside);
    forward(with_saved(kernel, saved));
    write_elementwise_gradients(outside, saved);
  }

  /// Saves what gradients of a run need; what the run itself makes of that it writes.
  [[nodiscard]] DeviceKernel with_saved(DeviceKernel kernel,
                                        const std::map<TensorId, Bytes>& saved) {
    for (const auto& [id, size] : saved) {
      kernel.output += made_.contains(id) ? size : Bytes{0};
      save(id, size);
    }
    return kernel;
  }

  /// Whether ops of other groups read a tensor, or it leaves the model.
  [[nodiscard]] bool is_read_outside(TensorId id) const {
    return tensor(id).home == ir::Home::Output ||
           std::ranges::any_of(facts_.readers[id], [this](OpId reader) {
             return std::ranges::find(group_.ops, reader) == group_.ops.end();
           });
  }

  /// What gradients of a run need: masks, and of what it reads and makes itself its inputs.
  [[nodiscard]] std::map<TensorId, Bytes> saved_of_run(
      const std::map<TensorId, Bytes>& outside) const {
    std::map<TensorId, Bytes> saved;
    for (const OpId id : group_.ops) {
      if (has_gradient(op(id).operands.back().tensor) && !is_linear(op(id))) {
        for (const ir::Operand& one : op(id).operands) {
          add_needed(id, one, outside, saved);
        }
      }
    }
    return saved;
  }

  void add_needed(OpId id, const ir::Operand& one, const std::map<TensorId, Bytes>& outside,
                  std::map<TensorId, Bytes>& saved) const {
    const bool mask = tensor(one.tensor).dtype == ir::DType::Bool;
    const bool selected = kernel_of(op(id)) == "where" && !mask;
    if (one.access == ir::Access::Write || is_weight(one.tensor) || selected) {
      return;
    }
    if (made_.contains(one.tensor) && !mask) {
      saved.insert(outside.begin(), outside.end());
    } else {
      saved[one.tensor] = local_.bytes(id, one);
    }
  }

  void write_elementwise_gradients(const std::map<TensorId, Bytes>& outside,
                                   const std::map<TensorId, Bytes>& saved) {
    DeviceKernel kernel = pass_kernel({0}, {0}, {0});
    bool changes = false;
    for (const OpId id : group_.ops) {
      const ir::Operand& result = op(id).operands.back();
      if (!has_gradient(result.tensor)) {
        continue;
      }
      kernel.input += is_read_outside(result.tensor) ? local_.bytes(id, result) : Bytes{0};
      if (!passes_gradients(op(id))) {
        changes = true;
        kernel.on_core += local_.called(id);
      }
      write_bias(id);
    }
    if (!changes) {
      return;
    }
    kernel.input += sum_of(saved);
    for (const auto& [id, size] : outside) {
      kernel.output += has_gradient(id) ? size : Bytes{0};
    }
    backward(kernel);
  }

  /// The gradient of a weight that is added or multiplied: a pass over that of the result.
  void write_bias(OpId id) {
    const ir::Operand& result = op(id).operands.back();
    for (const ir::Operand& one : op(id).operands) {
      if (one.access == ir::Access::Read && is_weight(one.tensor)) {
        DeviceKernel kernel =
            pass_kernel(local_.bytes(id, result), local_.bytes(id, one), local_.pass(id, result));
        kernel.accumulates = true;
        backward(kernel);
      }
    }
  }

  void write_other() {
    const OpId id = group_.ops.front();
    const ir::Op& node = op(id);
    DeviceKernel kernel = pass_kernel({0}, {0}, local_.called(id));
    Bytes gradients{0};
    for (const ir::Operand& one : node.operands) {
      const Bytes size = local_.bytes(id, one);
      if (one.access == ir::Access::Write) {
        kernel.output += size;
        continue;
      }
      (is_weight(one.tensor) && !one.indirect ? kernel.weight : kernel.input) += size;
      gradients += has_gradient(one.tensor) ? size : Bytes{0};
    }
    forward(kernel);
    if (has_gradient(node.operands.back().tensor)) {
      write_other_gradient(id, gradients);
    }
  }

  /// A pass over what a softmax or a norm saved, the gradient of its result and that of its input;
  /// of anything else over the gradients of its result and of what it reads.
  void write_other_gradient(OpId id, Bytes gradients) {
    const ir::Op& node = op(id);
    const ir::Operand& result = node.operands.back();
    const ir::Operand& input = node.operands[OperandId{0}];
    const Bytes made = local_.bytes(id, result);
    if (node.kind != ir::OpKind::Softmax && node.kind != ir::OpKind::Norm) {
      backward(pass_kernel(made, gradients, local_.pass(id, result)));
      return;
    }
    backward(pass_kernel(made * 2, made, local_.called(id)));
    if (node.kind == ir::OpKind::Softmax) {
      save(result.tensor, made);
    } else {
      save(input.tensor, local_.bytes(id, input));
    }
  }

  const WorkFacts& facts_;
  LocalSizes local_;
  const KernelGroup& group_;
  bool trains_;
  GradientSums& sums_;
  Work& work_;
  std::set<TensorId> made_;  // by ops of the group
  std::vector<WorkStep> backward_;
};

}  // namespace

std::vector<WorkStep> add_group(const WorkFacts& facts, const KernelGroup& group, bool trains,
                                GradientSums& sums, Work& work) {
  return GroupWriter(facts, group, trains, sums, work).write();
}

}  // namespace elk::train
