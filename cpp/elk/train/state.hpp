#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "elk/train/forms.hpp"
#include "elk/train/shard.hpp"

namespace elk::train {

/// A tensor that ops still read, and the forms of it that are at hand.
struct Live {
  std::int32_t tensor;
  Forms forms;

  friend auto operator<=>(const Live&, const Live&) = default;
};

/// What is at hand after some ops, the time until then, and the last decision that led there.
struct State {
  std::vector<Live> live;  // by tensor
  std::int64_t time;       // picoseconds
  std::int32_t node;
};

/// The decision on one op.
struct Node {
  std::int32_t before;  // -1: none
  std::int32_t op;
  std::int32_t split;
  std::vector<Collective> moves;
};

}  // namespace elk::train
