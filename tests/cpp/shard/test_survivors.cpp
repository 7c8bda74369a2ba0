#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "elk/base/random.hpp"
#include "elk/shard/survivors.hpp"
#include "schedule/models.hpp"

namespace elk::shard {
namespace {

constexpr std::int64_t kLayers = 40;

class SurvivorsTest : public testing::Test {
 protected:
  static chip::Chip pod() {
    chip::Chip chip = test::tight_pair(16, 65536);
    chip.chips = 4;
    chip.inter_chip->rate = 1e11;
    chip.inter_chip->latency = {0.0};
    chip.inter_chip->sync_latency = {0.0};
    chip.interconnect.sync_latency = {0.0};
    return chip;
  }

  /// Results of the first ops, so that each can be had in any form.
  std::vector<std::int32_t> made(std::size_t count) const {
    std::vector<std::int32_t> result;
    for (std::size_t op = 0; result.size() < count; ++op) {
      result.push_back(graph_.ops[op].operands.back().tensor);
    }
    return result;
  }

  static Forms some_forms(Random& random) {
    Forms forms = Forms::of(cut(static_cast<std::int32_t>(random.below(2))));
    for (const Form form : {whole(), cut(0), cut(1)}) {
      if (random.below(4) == 0) {
        forms.add(form);
      }
    }
    return forms;
  }

  /// States of which some grow by as much, and a few end at the same time.
  std::vector<ShardingState> some_states(Random& random, std::size_t count) const {
    const std::int64_t step = count < 64 ? 50 : 1;
    std::vector<ShardingState> states;
    for (std::size_t i = 0; i < count; ++i) {
      ShardingState& state =
          states.emplace_back(ShardingState{.live = {},
                                            .time = step * random.below(40 * 50 / step),
                                            .pace = random.below(4),
                                            .node = -1});
      for (const std::int32_t tensor : made(4)) {
        state.live.push_back({.tensor = tensor, .forms = some_forms(random)});
      }
    }
    return states;
  }

  /// The states that stay, by their numbers.
  std::vector<std::size_t> kept(const std::vector<ShardingState>& states) {
    Survivors fresh(routes_);
    std::vector<std::size_t> result = fresh.among(states);
    std::sort(result.begin(), result.end());
    return result;
  }

  ir::Graph graph_ =
      test::transformer({.layers = 2, .rows = 4, .width = 8, .inner = 16, .keys = 0});
  chip::Chip chip_ = pod();
  ShardingCosts ways_{graph_, chip_,
                      [](const ir::Op& /*op*/) {
                        return ChipExecute{.about = {.time = {1e-9}, .exchange = {0.0}},
                                           .least = {0.0}};
                      },
                      1};
  Routes routes_{ways_, false};
};

void grow(std::vector<ShardingState>& states) {
  for (ShardingState& state : states) {
    state.time += state.pace;
  }
}

TEST_F(SurvivorsTest, StayTheSameForAsManyLayersAsTold) {
  Random random{3};
  int told = 0;
  int turned = 0;   // rounds in which the order of survivors changed meanwhile
  int limited = 0;  // rounds in which there were too many
  int exact = 0;    // rounds in which others survive one layer later
  for (int round = 0; round < 400; ++round) {
    const std::size_t count = round % 2 == 0 ? 12 : 400;
    std::vector<ShardingState> states = some_states(random, count);
    Survivors survivors(routes_);
    survivors.foresee(kLayers);
    const std::vector<std::size_t> order = survivors.among(states);
    const std::int64_t alike = survivors.alike();
    const std::vector<std::size_t> expected = kept(states);
    for (std::int64_t layer = 1; layer <= alike; ++layer) {
      grow(states);
      ASSERT_EQ(kept(states), expected) << "round " << round << ", layer " << layer;
    }
    told += alike > 0 ? 1 : 0;
    turned += Survivors(routes_).among(states) != order ? 1 : 0;
    limited += order.size() >= 64 && alike > 0 ? 1 : 0;
    grow(states);
    exact += alike < kLayers && kept(states) != expected ? 1 : 0;
  }
  EXPECT_GT(told, 100);
  EXPECT_GT(turned, 20);
  EXPECT_GT(limited, 20);
  EXPECT_GT(exact, 20);
}

TEST_F(SurvivorsTest, LeaveOutWhatAnotherIsAsGoodAs) {
  Random random{5};
  for (int round = 0; round < 100; ++round) {
    const std::vector<ShardingState> states = some_states(random, 12);
    const std::vector<std::size_t> survivors = kept(states);
    for (std::size_t i = 0; i < states.size(); ++i) {
      bool as_good = false;
      bool better = false;  // Of two that are as good as each other one stays.
      for (const std::size_t other : survivors) {
        std::int64_t sum = states[other].time;
        for (std::size_t k = 0; k < states[i].live.size(); ++k) {
          Forms missing = states[i].live[k].forms.without(states[other].live[k].forms);
          for (; !missing.empty(); missing.drop_first()) {
            sum += routes_
                       .find(states[i].live[k].tensor, states[other].live[k].forms, missing.first())
                       ->time;
          }
        }
        as_good = as_good || (other != i && sum <= states[i].time);
        better = better || sum < states[i].time;
      }
      const bool stays = std::binary_search(survivors.begin(), survivors.end(), i);
      EXPECT_TRUE(stays ? !better : as_good) << "round " << round << ", state " << i;
    }
  }
}

}  // namespace
}  // namespace elk::shard
