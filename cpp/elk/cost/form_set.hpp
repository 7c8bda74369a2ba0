#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/cost/form_features.hpp"

/// Families laid out for evaluation: what several of them ask of a tile is worked out once.
namespace elk::cost::form {

/// Two numbers that the processor works on together.
using Pair [[gnu::vector_size(16)]] = double;

/// The tiles that a family is ever cheapest for. Channels of a window: out are columns, in depth.
struct Domain {
  std::int64_t most_columns;
  std::int64_t most_depth;

  [[nodiscard]] bool contains(const Product& product) const {
    return product.columns <= most_columns && product.depth <= most_depth;
  }
};

/// Products in blocks of several sizes, in both orientations at a time.
class ProductSet {
 public:
  /// False, and nothing is added, where the family has too little in common with the others.
  [[nodiscard]] bool add(const Blocks& blocks, const Domain& domain,
                         std::span<const double> coefficients);

  /// The cheapest of them and of the two orientations of a product; infinite if none applies.
  [[nodiscard]] double cheapest(const Product& given, const Product& turned) const;

  [[nodiscard]] bool empty() const { return families_.empty(); }

 private:
  struct Family {
    double most_columns;
    double most_depth;
    std::int32_t in_group;
    std::int32_t out_group;
    std::vector<double> coefficients;
  };

  std::vector<Family> families_;
  std::int32_t workers_ = 1;
  bool cast_ = false;
};

/// Convolutions in blocks of several sizes, two families at a time: they ask for few different
/// numbers of blocks.
class BlockSet {
 public:
  /// False, and nothing is added, where the family has too little in common with the others.
  [[nodiscard]] bool add(const WindowBlocks& blocks, const Domain& domain,
                         std::span<const double> coefficients);

  /// The cheapest of them; infinite if none applies.
  [[nodiscard]] double cheapest(const TileCall& call) const;

  [[nodiscard]] bool empty() const { return twins_.empty(); }

 private:
  static constexpr std::size_t kMostSteps = 4;  // different sizes along each dimension
  static constexpr std::size_t kWidth = 16;     // features, of a cast four

  /// Sizes of blocks along one dimension.
  using Sizes = std::vector<std::int32_t>;
  /// Numbers of blocks, for each size.
  using Counts = std::array<double, kMostSteps>;

  /// Two families; the second may take no tile.
  struct Twins {
    Pair most_columns;
    Pair most_depth;
    std::array<std::size_t, 2> out;  // the places of their sizes
    std::array<std::size_t, 2> in;
    std::array<std::size_t, 2> merged;
    std::array<Pair, kWidth> coefficients;
  };

  [[nodiscard]] static Counts count(std::int64_t amount, const Sizes& sizes);

  std::vector<Twins> twins_;
  bool full_ = true;  // whether the last twins are two
  Sizes out_groups_;
  Sizes in_groups_;
  Sizes merges_;
  std::int32_t workers_ = 1;
  bool cast_ = false;
};

}  // namespace elk::cost::form
