#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "elk/shard/routes.hpp"
#include "elk/shard/state.hpp"

namespace elk::shard {

/// Which states after an op are worth going on from: those that no other, brought into their forms,
/// is as good as, and of these the cheapest.
///
/// It also tells for how many further layers all that it decided stays as it is, if each state
/// takes its `pace` longer with each. The order of two survivors may turn in that time, as long as
/// neither gets to be as good as the other: it decides nothing else.
class Survivors {
 public:
  explicit Survivors(Routes& routes) : routes_(routes) {}

  /// Decisions from here on are to be told for up to that many layers more.
  void foresee(std::int64_t layers) { alike_ = layers; }
  /// For how many layers those made since then stay as they are.
  [[nodiscard]] std::int64_t alike() const { return alike_; }

  /// By time, then by what is at hand.
  [[nodiscard]] std::vector<std::size_t> among(const std::vector<ShardingState>& states);

 private:
  struct Verdict {
    bool as_good;
    std::int64_t alike;  // for how many further layers
  };

  [[nodiscard]] Verdict compare(const ShardingState& from, const ShardingState& to,
                                std::int64_t layers);
  [[nodiscard]] std::optional<std::int64_t> completing_time(const ShardingState& from,
                                                            const ShardingState& to,
                                                            std::int64_t most);
  using KeptStates = std::vector<const ShardingState*>;
  [[nodiscard]] bool is_dominated(const ShardingState& state, const KeptStates& kept);
  void leave_out(const ShardingState& state, const KeptStates& kept);
  void let_order_turn(const KeptStates& kept);

  Routes& routes_;
  std::int64_t alike_ = 0;
};

}  // namespace elk::shard
