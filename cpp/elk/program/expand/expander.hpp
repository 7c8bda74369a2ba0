#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "elk/program/code/spaces.hpp"
#include "elk/program/expand/execution.hpp"
#include "elk/program/expand/loading.hpp"

namespace elk::program {

/// The expansion of every op of a program. Equal ops under equal plans, whose operands rest in
/// equal layouts, share one: `execution_of` and `preload_of` say which.
class Expander {
 public:
  /// All that an execution depends on but the graph and the chip.
  using Signature = std::vector<std::int64_t>;

  Expander(const ir::Graph& graph, const chip::Chip& chip, const std::vector<OpPlan>& ops);
  /// With the `plan_classes` of the program.
  Expander(const ir::Graph& graph, const chip::Chip& chip, const std::vector<OpPlan>& ops,
           const std::vector<std::int32_t>& classes);

  /// Which of the distinct executions, counted from 0, an op has.
  [[nodiscard]] std::int32_t execution_of(std::int32_t op) const;
  [[nodiscard]] std::int32_t executions() const {
    return static_cast<std::int32_t>(first_of_.size());
  }
  /// The first op that has an execution, and its key: by classes of several programs, equal ones
  /// of them do the same.
  [[nodiscard]] std::int32_t first_of(std::int32_t execution) const {
    return first_of_[static_cast<std::size_t>(execution)];
  }
  [[nodiscard]] const Signature& key_of(std::int32_t execution) const {
    return key_of_[static_cast<std::size_t>(execution)];
  }
  /// All that the execution of an op, its preload or a store depends on but the chip, whatever
  /// graph they stand in.
  [[nodiscard]] std::string signature(std::int32_t op) const;
  [[nodiscard]] std::string preload_signature(std::int32_t op) const;
  [[nodiscard]] std::string store_signature(const ir::Store& store) const;
  /// Which of the distinct preloads an op has; -1: nothing comes from HBM.
  [[nodiscard]] std::int32_t preload_of(std::int32_t op) const;
  [[nodiscard]] std::int32_t preloads() const { return preloads_; }
  /// Which of the distinct stores, counted from 0 in the order of the graph, a store is.
  [[nodiscard]] std::int32_t store_of(std::size_t store) const { return store_of_[store]; }
  [[nodiscard]] std::int32_t stores() const { return stores_; }

  [[nodiscard]] Execution execution(std::int32_t op) const;
  [[nodiscard]] Loading preload(std::int32_t op) const;
  [[nodiscard]] Loading store(const ir::Store& store) const;

 private:
  /// The op that leaves on chip what `operand` reads; -1: none does.
  void append_makers(const ir::Op& op, const std::vector<std::int32_t>& classes,
                     Signature& key) const;
  std::int32_t number_stores(const std::vector<std::int32_t>& classes);
  [[nodiscard]] std::int32_t maker_of(const ir::Operand& operand) const;
  [[nodiscard]] std::int64_t result_of(std::int32_t op, std::int32_t tensor) const;

  const ir::Graph& graph_;
  const chip::Chip& chip_;
  const std::vector<OpPlan>& ops_;
  Lifetimes lives_;
  std::vector<std::int32_t> execution_of_;
  std::vector<std::int32_t> preload_of_;
  std::vector<std::int32_t> store_of_;
  std::vector<std::int32_t> first_of_;  // of each execution
  std::vector<Signature> key_of_;
  std::int32_t preloads_ = 0;
  std::int32_t stores_ = 0;
};

}  // namespace elk::program
