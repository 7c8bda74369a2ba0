#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elk/ir/graph.hpp"
#include "elk/tile/times.hpp"

namespace elk::tile {

/// The time of a tile in one step, and whether it lies beyond the fitted range of its kernel.
struct TileTime {
  double time;
  bool beyond;
};

/// Least times of tiles without timing them: the best rate, in seconds for each unit of volume,
/// that tiles no longer than this along one axis reach.
///
/// Rates come from a sample: every length of each axis, with some lengths of the others, the whole
/// ones among them, where call overheads count least. A margin is left for what the sample missed,
/// wide enough for tiles drawn at random. Whoever relies on it checks every tile he times.
class TileRates {
 public:
  TileRates(const ir::Op& op, TileTimes& tiles);

  /// `least` of the whole op: nothing is timed that only says what steps gain.
  [[nodiscard]] static double least_whole(const ir::Op& op, TileTimes& tiles);

  /// Seconds that tiles of `size` take at least, in however many equal steps.
  [[nodiscard]] double least(std::span<const std::int64_t> size) const {
    return rate(size) * volume(size);
  }
  /// Seconds for each unit of volume, of tiles of at most `size`.
  [[nodiscard]] double rate(std::span<const std::int64_t> size) const;
  /// Seconds for each unit of volume, of tiles that are at most `length` long along `axis`.
  [[nodiscard]] double rate(std::size_t axis, std::int64_t length) const {
    return place_[axis] < 0 ? 0.0
                            : margin_ * axes_[static_cast<std::size_t>(place_[axis])].at(length);
  }
  [[nodiscard]] double volume(std::span<const std::int64_t> size) const;

  /// Whether an axis counts in the volume.
  [[nodiscard]] bool counts(std::size_t axis) const { return place_[axis] >= 0; }

  /// The least part of the time of a tile that going through it in equal steps takes.
  [[nodiscard]] double gain() const { return gain_; }
  /// The gain of this tile, in steps along axes that operands rotate along. Beyond the fitted range
  /// of a kernel, where tiles are timed generously, steps within it gain much more.
  [[nodiscard]] double gain(const TileTime& whole) const {
    return whole.beyond ? turn_gains_.beyond : turn_gains_.within;
  }
  /// Whether it matters for the gain that a tile lies beyond the fitted range.
  [[nodiscard]] bool tells_beyond() const { return turn_gains_.beyond != turn_gains_.within; }

  /// Whether `time`, of going through a tile in steps, is no less than it was said to be at least:
  /// `least` by the rates, and by the gain on what the tile takes `whole`. Lowers what was too
  /// high.
  [[nodiscard]] bool holds(double time, double least, const TileTime& whole);

  friend bool operator==(const TileRates&, const TileRates&) = default;

 private:
  enum class Learning : std::uint8_t { All, NoGain };

  TileRates(const ir::Op& op, TileTimes& tiles, Learning learns);

  struct AxisRates {
    std::size_t axis;
    std::int64_t size;
    std::int64_t root;  // lengths up to it are looked up, others by how often they fit
    std::vector<double> shorter;
    std::vector<double> longer;
    std::vector<std::int64_t> factors;  // one for each length, longest last

    [[nodiscard]] double at(std::int64_t length) const {
      const auto index = static_cast<std::size_t>(
          length <= root ? length : (size / length) + (size % length != 0 ? 1 : 0));
      return length <= root ? shorter[index] : longer[index];
    }
    void put(std::int64_t length, double rate);

    friend bool operator==(const AxisRates&, const AxisRates&) = default;
  };

  void sample(const ir::Op& op, TileTimes& tiles, AxisRates& rates,
              const std::vector<std::vector<std::int64_t>>& others);

  void calibrate(const ir::Op& op, TileTimes& tiles, Learning learns);

  std::vector<AxisRates> axes_;
  std::vector<std::int32_t> place_;   // of each axis in `axes_`, -1: not there
  std::vector<std::size_t> counted_;  // axes that make up the volume
  double margin_ = 0.95;
  double gain_ = 0.95;
  struct RotationGains {
    double within;  // the fitted range
    double beyond;

    friend bool operator==(const RotationGains&, const RotationGains&) = default;
  };
  RotationGains turn_gains_{.within = 0.95, .beyond = 0.95};
};

}  // namespace elk::tile
