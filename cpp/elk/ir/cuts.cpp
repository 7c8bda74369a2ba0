#include "elk/ir/cuts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "elk/base/rounding.hpp"
#include "elk/ir/chains.hpp"
#include "elk/ir/ir_tuning.hpp"
#include "elk/ir/touched.hpp"

namespace elk::ir {
namespace {

/// Chooses along which axis heavy ops of a graph go in waves, and in how many.
class WaveChooser {
 public:
  WaveChooser(const Graph& graph, double room, double most)
      : graph_(graph),
        whole_(kept_whole(graph)),
        room_(room),
        most_(most),
        readers_(graph.tensors.size()) {
    for (const OpId i : graph.ops.ids()) {
      heavy_.push_back(touched(graph, graph.ops[i]).all() > most ? char{1} : char{0});
      for (const Operand& operand : graph.ops[i].operands) {
        if (operand.access == Access::Read) {
          readers_[operand.tensor].push_back(i);
        }
      }
    }
  }

  [[nodiscard]] std::vector<Chain> choose() const {
    std::vector<Chain> chosen;
    OpId free{0};  // behind the last chain
    for (const OpId i : graph_.ops.ids()) {
      if (heavy_[i] != 0 && i >= free) {
        if (std::optional<Chain> chain = best_from(i)) {
          free = chain->links.back().op + 1;
          chosen.push_back(std::move(*chain));
        }
      }
    }
    return chosen;
  }

 private:
  /// How good a chain is, less being better: whether ops fit, and bytes added for each one freed.
  struct ChainRank {
    bool misses;
    double price;
    std::int64_t links;

    [[nodiscard]] bool is_before(const ChainRank& other) const {
      return std::tie(misses, price, links) < std::tie(other.misses, other.price, other.links);
    }
  };

  [[nodiscard]] std::optional<Chain> best_from(OpId first) const {
    std::optional<Chain> best;
    ChainRank least{};
    const auto look = [&](Chain chain) {
      if (const std::optional<ChainRank> rank = settle(chain);
          rank && (!best || rank->is_before(least))) {
        least = *rank;
        best = std::move(chain);
      }
    };
    const ChainMarks marks{.heavy = heavy_, .whole = whole_};
    for (const Chain& chain : chains_from(graph_, first, marks)) {
      look(chain);
      look({.links = {chain.links.front()}, .length = chain.length, .waves = 1});
    }
    return best;
  }

  /// Sets how many waves a chain goes in; empty if that frees little of what its first op touches.
  [[nodiscard]] std::optional<ChainRank> settle(Chain& chain) const {
    bool misses = false;
    double wanted = 2.0;
    for (const Chain::ChainOp& link : chain.links) {
      const TouchedBytes bytes = touched(graph_, graph_.ops[link.op], link.axis);
      const bool fits = bytes.fixed <= tuning::kMostFixed * room_;
      misses = misses || !fits;
      const double aim =
          fits ? std::max(most_ - bytes.fixed, tuning::kLeastAlong * room_) : most_ / 2;
      wanted = std::max(wanted, std::ceil(bytes.along / aim));
    }
    misses = misses || wanted > static_cast<double>(chain.length);
    chain.waves =
        equal_parts(chain.length,
                    static_cast<std::int64_t>(std::min(wanted, static_cast<double>(chain.length))));
    const Chain::ChainOp& first = chain.links.front();
    const TouchedBytes bytes = touched(graph_, graph_.ops[first.op], first.axis);
    const double after = bytes.in_waves(chain.waves);
    if (after > tuning::kMostLeft * bytes.all()) {
      return std::nullopt;
    }
    return ChainRank{.misses = misses,
                     .price = added(chain) / (bytes.all() - after),
                     .links = -static_cast<std::int64_t>(chain.links.size())};
  }

  /// At least `parts` of a length, more of them where these are equal and not twice as many.
  static std::int64_t equal_parts(std::int64_t length, std::int64_t parts) {
    for (std::int64_t more = parts; more <= std::min(length, 2 * parts); ++more) {
      if (length % more == 0) {
        return more;
      }
    }
    return parts;
  }

  /// Bytes that waves read again or spill, less those that would be spilled of what never leaves
  /// them.
  [[nodiscard]] double added(const Chain& chain) const {
    std::set<OpId> members;
    std::set<TensorId> made;
    double bytes = 0.0;
    for (const Chain::ChainOp& link : chain.links) {
      members.insert(link.op);
      for (const Operand& operand : graph_.ops[link.op].operands) {
        const bool again = !made.contains(operand.tensor) && is_reread(operand, link.axis);
        bytes += again ? static_cast<double>(chain.waves - 1) *
                             touched(graph_, graph_.ops[link.op], operand)
                       : 0.0;
        if (operand.access == Access::Write) {
          made.insert(operand.tensor);
        }
      }
    }
    for (const TensorId t : made) {
      bytes += moved_to_hbm(t, members, chain.waves);
    }
    return bytes;
  }

  /// Bytes that are stored and read again of a result in so many waves: less than none where it is
  /// large and none but `members` reads it.
  [[nodiscard]] double moved_to_hbm(TensorId t, const std::set<OpId>& members,
                                    std::int64_t waves) const {
    const double moved = 2.0 * static_cast<double>(ir::bytes(graph_.tensors[t]).value);
    const bool stays =
        std::ranges::all_of(readers_[t], [&](OpId reader) { return members.contains(reader); });
    if (stays) {
      return is_large(t) ? -moved : 0.0;
    }
    return waves > std::int64_t{tuning::kMostParts} ? moved : 0.0;
  }

  /// Whether every wave along `axis` reads the same of an operand, from HBM.
  [[nodiscard]] bool is_reread(const Operand& operand, AxisId axis) const {
    return operand.access == Access::Read && !is_along(operand, axis) &&
           (in_hbm(graph_.tensors[operand.tensor]) || is_large(operand.tensor));
  }

  /// Whether a tensor is too large to rest beside others.
  [[nodiscard]] bool is_large(TensorId t) const {
    return static_cast<double>(ir::bytes(graph_.tensors[t]).value) > tuning::kLarge * room_;
  }

  const Graph& graph_;
  Table<TensorId, char> whole_;
  double room_;
  double most_;
  Table<OpId, char> heavy_;
  Table<TensorId, std::vector<OpId>> readers_;
};

/// Ops of a graph once chains go in waves.
std::size_t ops_in_waves(const Graph& graph, const std::vector<Chain>& chains) {
  std::size_t count = graph.ops.size();
  for (const Chain& chain : chains) {
    count += chain.links.size() * static_cast<std::size_t>(chain.waves - 1);
  }
  return count;
}

}  // namespace

std::optional<WaveGraph> cut_to_fit(WaveGraph parts, const CutLimits& limits) {
  for (int round = 0; round < tuning::kCutRounds; ++round) {
    const std::vector<Chain> chains = WaveChooser(parts.graph, limits.room, limits.most).choose();
    if (chains.empty()) {
      break;
    }
    if (ops_in_waves(parts.graph, chains) > limits.ops) {
      return std::nullopt;
    }
    parts = in_waves(parts, chains);
  }
  return parts;
}

}  // namespace elk::ir
