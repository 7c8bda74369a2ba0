#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/cost/front.hpp"
#include "elk/cost/rate.hpp"
#include "elk/cost/tile.hpp"
#include "elk/ir/graph.hpp"
#include "elk/schedule/handovers.hpp"
#include "elk/train/part.hpp"

namespace elk::compile {

/// How many entries were found, of how many that were asked for.
struct Reuse {
  std::int64_t asked;
  std::int64_t found;
};

/// Values by the bytes of what they depend on, for several threads. When it is full, it starts
/// afresh.
template <class Value>
class Shelf {
 public:
  explicit Shelf(std::size_t most) : most_(most) {}

  [[nodiscard]] std::optional<Value> find(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    ++reuse_.asked;
    const auto found = values_.find(key);
    if (found == values_.end()) {
      return std::nullopt;
    }
    ++reuse_.found;
    return found->second;
  }
  void put(std::string key, const Value& value) {
    const std::scoped_lock lock(mutex_);
    if (values_.size() >= most_) {
      values_.clear();
    }
    values_.emplace(std::move(key), value);
  }
  [[nodiscard]] Reuse reuse() const {
    const std::scoped_lock lock(mutex_);
    return reuse_;
  }

 private:
  mutable std::mutex mutex_;
  std::size_t most_;
  std::unordered_map<std::string, Value> values_;
  Reuse reuse_{.asked = 0, .found = 0};
};

/// What compiles of a model under one tile model leave for the next: fronts of ops, rates of tiles,
/// estimated times of parts of ops, and what layouts hand over.
///
/// An entry is looked up by all that it depends on and by nothing else, so a plan is the same with
/// it as without. The front of an op that reads nothing from HBM does not depend on the HBM, nor do
/// rates, estimates and handovers: another HBM bandwidth leaves them. That of an op that reads from
/// it does: which of its plans are prompt, how long its preloads take.
class Kept {
 public:
  [[nodiscard]] cost::Front front(const ir::Graph& graph, const ir::Op& op, const chip::Chip& chip,
                                  const cost::TileModel& tiles,
                                  const cost::Constraints& constraints);
  /// `execute`, which must be `train::by_cuts` of this graph and pod, asked once for each part.
  [[nodiscard]] train::ExecuteTime recalled(const ir::Graph& graph, const chip::Chip& pod,
                                            train::ExecuteTime execute);
  [[nodiscard]] schedule::Handovers& handovers() { return handovers_; }

  /// By what was kept.
  [[nodiscard]] std::vector<std::pair<std::string, Reuse>> reuse() const;

 private:
  Shelf<cost::Front> fronts_{256};
  Shelf<cost::Rates> rates_{512};
  Shelf<train::Execute> executes_{8192};
  schedule::Handovers handovers_;
};

}  // namespace elk::compile
