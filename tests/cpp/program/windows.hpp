#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"
#include "elk/program/code/code.hpp"

namespace elk::program {

/// The buffers of a made-up decoder: layers of 16 ops, most with an activation and execute buffers,
/// every third with a preload of 2 to 120 KB that is issued as early as `room` allows.
struct Window {
  std::vector<Buffer> buffers;
  Bytes peak;
};

struct WindowOp {
  std::int64_t weight;
  std::int64_t activation;
  std::int32_t life;  // executes until the activation's last reader
  std::int64_t scratch;
};

inline std::vector<WindowOp> window_layer(std::uint64_t seed) {
  Random random{seed};
  std::vector<WindowOp> ops;
  for (int i = 0; i < 16; ++i) {
    const std::int64_t weight = i % 3 == 0 ? 2048 + (8 * random.below(14'750)) : 0;
    ops.push_back({.weight = weight,
                   .activation = 8 * (8 + random.below(600)),
                   .life = static_cast<std::int32_t>(1 + (i % 5 == 0 ? random.below(8) : 0)),
                   .scratch = 8 * (16 + random.below(2'000))});
  }
  return ops;
}

/// The sliding window itself: when every op executes, and when its weight is preloaded.
class WindowIssue {
 public:
  WindowIssue(const std::vector<WindowOp>& layer, std::int32_t layers, std::int64_t room)
      : layer_(layer),
        count_(layers * static_cast<std::int32_t>(layer.size())),
        room_(room),
        used_(static_cast<std::size_t>(count_), 0) {
    for (std::int32_t i = 0; i < count_; ++i) {
      for (std::int32_t k = i; k <= last_reader(i); ++k) {
        used_[static_cast<std::size_t>(k)] += op(i).activation;
      }
      used_[static_cast<std::size_t>(i)] += 2 * op(i).scratch;
    }
  }

  [[nodiscard]] Window run() {
    std::vector<std::int32_t> execute(static_cast<std::size_t>(count_), 0);
    std::vector<std::int32_t> preload(static_cast<std::size_t>(count_), 0);
    std::int32_t time = 0;
    std::int32_t next = 0;
    for (std::int32_t i = 0; i < count_; ++i) {
      for (; next < count_ && (next <= i || fits(i, next)); ++next) {
        if (op(next).weight > 0) {
          add(i, next);
          preload[static_cast<std::size_t>(next)] = time++;
        }
      }
      execute[static_cast<std::size_t>(i)] = time++;
    }
    Window window{.buffers = {}, .peak = {*std::max_element(used_.begin(), used_.end())}};
    for (std::int32_t i = 0; i < count_; ++i) {
      const std::int32_t now = execute[static_cast<std::size_t>(i)];
      const std::int32_t last = execute[static_cast<std::size_t>(last_reader(i))];
      window.buffers.push_back(
          {OpId{i}, TensorId{0}, Role::Activation, {0}, {op(i).activation}, now, last});
      window.buffers.push_back(
          {OpId{i}, TensorId{1}, Role::Execute, {0}, {op(i).scratch}, now, now});
      window.buffers.push_back(
          {OpId{i}, TensorId{2}, Role::Execute, {0}, {op(i).scratch}, now, now});
      if (op(i).weight > 0) {
        const std::int32_t issued = preload[static_cast<std::size_t>(i)];
        window.buffers.push_back(
            {OpId{i}, TensorId{3}, Role::Preload, {0}, {op(i).weight}, issued, now});
      }
    }
    return window;
  }

 private:
  [[nodiscard]] const WindowOp& op(std::int32_t i) const {
    return layer_[static_cast<std::size_t>(i) % layer_.size()];
  }
  [[nodiscard]] std::int32_t last_reader(std::int32_t i) const {
    return std::min(count_ - 1, i + op(i).life);
  }
  [[nodiscard]] bool fits(std::int32_t from, std::int32_t next) const {
    return next - from <= 40 &&
           std::all_of(used_.begin() + from, used_.begin() + next + 1,
                       [&](std::int64_t used) { return used + op(next).weight <= room_; });
  }
  void add(std::int32_t from, std::int32_t next) {
    for (std::int32_t k = from; k <= next; ++k) {
      used_[static_cast<std::size_t>(k)] += op(next).weight;
    }
  }

  const std::vector<WindowOp>& layer_;
  std::int32_t count_;
  std::int64_t room_;
  std::vector<std::int64_t> used_;
};

inline Window window(std::uint64_t seed, std::int32_t layers, Bytes room) {
  const std::vector<WindowOp> layer = window_layer(seed);
  return WindowIssue(layer, layers, room.value).run();
}

}  // namespace elk::program
