#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/text.hpp"
#include "elk/partition/plan.hpp"
#include "elk/program/check/rules.hpp"
#include "elk/program/code/lifetimes.hpp"

namespace elk::program {
namespace {

/// Walks the code once, as the chip would issue it.
class OrderChecker {
 public:
  explicit OrderChecker(CheckContext& context)
      : context_(context),
        graph_(context.graph),
        lives_(lifetimes(graph_)),
        preloads_(graph_.ops.size(), 0),
        store_op_(graph_.tensors.size()),
        stores_(graph_.tensors.size(), 0),
        parts_(graph_.tensors.size()) {
    for (const ir::Store& store : graph_.stores) {
      store_op_[store.tensor] = store.op;
      if (store.into != TensorId::none) {
        parts_[store.into].push_back(store.tensor);
      }
    }
  }

  void walk() {
    for (const Instruction& instruction : context_.program.code) {
      follow(
          instruction, [&](OpId op) { preload(op); }, [&](TensorId tensor) { store(tensor); },
          [&](OpId op) { execute(op); });
    }
    if (next_.index() < graph_.ops.size()) {
      fail(text("the program ends before execute of ", named(graph_, next_)));
    }
    for (const ir::Store& stored : graph_.stores) {
      if (stores_[stored.tensor] == 0) {
        fail(text("no store of ", named_tensor(graph_, stored.tensor)));
      }
    }
  }

 private:
  void fail(const std::string& what) { context_.broken.push_back(what); }
  [[nodiscard]] bool executed(OpId op) const { return op < next_; }

  void execute(OpId id) {
    if (id != next_) {
      fail(text("execute of ", named(graph_, id), " where that of op ", next_, " is due"));
      return;
    }
    if (context_.chip.hbm && has_hbm_data(graph_, graph_.ops[id]) && preloads_[id] == 0) {
      fail(text("execute of ", named(graph_, id), " before its preload"));
    }
    ++next_;
  }

  void preload(OpId id) {
    const std::string who = text("preload of ", named(graph_, id));
    const ir::Op& op = graph_.ops[id];
    if (!context_.chip.hbm) {
      fail(text(who, " on a chip without HBM"));
    }
    if (!has_hbm_data(graph_, op)) {
      fail(text(who, ", which has no data in HBM"));
    }
    if (executed(id)) {
      fail(text(who, " after its execute"));
    }
    if (++preloads_[id] > 1) {
      fail(text(who, " for the second time"));
    }
    for (const ir::Operand& operand : op.operands) {
      if (partition::from_hbm(graph_, operand)) {
        source(who, operand);
      }
    }
  }

  /// What the preload reads is in HBM by now, and known.
  void source(const std::string& who, const ir::Operand& operand) {
    if (operand.indirect) {
      const OpId made_by = lives_.producer[operand.indirect->index];
      if (made_by != OpId::none && !executed(made_by)) {
        fail(text(who, " before execute of ", named(graph_, made_by), " makes its index ",
                  named_tensor(graph_, operand.indirect->index)));
      }
    }
    if (lives_.producer[operand.tensor] != OpId::none && stores_[operand.tensor] == 0) {
      fail(text(who, " before the store of ", named_tensor(graph_, operand.tensor)));
    }
    for (const TensorId part : parts_[operand.tensor]) {
      if (stores_[part] == 0) {
        fail(text(who, " before the store of ", named_tensor(graph_, part)));
      }
    }
  }

  void store(TensorId tensor) {
    const std::string who = text("store of ", named_tensor(graph_, tensor));
    const std::optional<OpId> made_by = store_op_[tensor];
    if (!made_by) {
      fail(text(who, ", which the graph does not store"));
      return;
    }
    if (!executed(*made_by)) {
      fail(text(who, " before execute of ", named(graph_, *made_by), " makes it"));
    }
    if (++stores_[tensor] > 1) {
      fail(text(who, " for the second time"));
    }
  }

  CheckContext& context_;
  const ir::Graph& graph_;
  Lifetimes lives_;
  OpId next_{0};  // the op whose execute is due
  Table<OpId, std::int32_t> preloads_;
  Table<TensorId, std::optional<OpId>> store_op_;  // by tensor
  Table<TensorId, std::int32_t> stores_;
  Table<TensorId, std::vector<TensorId>> parts_;  // of each spilled tensor
};

}  // namespace

void check_order(CheckContext& context) { OrderChecker(context).walk(); }

}  // namespace elk::program
