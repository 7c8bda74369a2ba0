#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "elk/sim/play/demand.hpp"

namespace elk::sim {

/// Numbers pairs of numbers in the order in which they are first seen.
class PairNumbers {
 public:
  /// The number of a pair, and whether it is new.
  std::pair<std::int32_t, bool> operator()(std::int32_t a, std::int32_t b) {
    if (a == last_a_ && b == last_b_) {
      return {last_, false};
    }
    const std::int64_t key = (std::int64_t{a} << 32U) | static_cast<std::uint32_t>(b);
    const auto next = static_cast<std::int32_t>(known_.size());
    const auto [found, is_new] = known_.try_emplace(key, next);
    last_a_ = a;
    last_b_ = b;
    last_ = found->second;
    return {last_, is_new};
  }

 private:
  std::unordered_map<std::int64_t, std::int32_t> known_;
  std::int32_t last_a_ = -2;
  std::int32_t last_b_ = -2;
  std::int32_t last_ = -1;
};

/// Resources that two demands load alike: what an execute wants of them, and a preload or store.
struct Meeting {
  Wide left;           // of the execute: grains; of a computation, what its port moves meanwhile
  Wide speed;          // of the resource, grains in a picosecond
  std::int64_t other;  // what the preload or store wants of it in all
  Picoseconds tail;
  bool flows;  // whether the execute moves bytes there, rather than computes

  friend bool operator==(const Meeting&, const Meeting&) = default;
};

/// Where the resources of a machine stand: which of the meetings each belongs to.
struct Meetings {
  std::vector<Meeting> all;
  std::vector<std::int32_t> of;  // of every resource
};

/// What an execute's demand and a preload's or store's have in common; resources that neither loads
/// are left out (-1).
[[nodiscard]] Meetings meet(const Demand& execute, const Demand& load);

/// The meetings in the middle of the execute's demand, once another preload or store follows.
[[nodiscard]] Meetings meet_again(const Meetings& before, const Demand& load);

}  // namespace elk::sim
