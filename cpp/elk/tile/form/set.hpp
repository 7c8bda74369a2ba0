#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/tile/form/features.hpp"

/// Families laid out for evaluation: what several of them ask of a tile is worked out once.
namespace elk::tile::form {

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
  struct ProductFamily {
    double most_columns;
    double most_depth;
    std::int32_t in_group;
    std::int32_t out_group;
    std::vector<double> coefficients;
  };

  std::vector<ProductFamily> families_;
  std::int32_t workers_ = 1;
  bool cast_ = false;
};

/// How many blocks of the sizes of two families.
class BlockCount {
 public:
  void set(std::size_t family, std::int32_t size) { per_block_[family] = 1.0 / size; }

  /// ceil(amount / size): of integers, (amount - 1/2) / size + 1/2 is never halfway between two.
  [[nodiscard]] Pair of(std::int64_t amount) const {
    return nearest(((real(amount) - 0.5) * per_block_) + 0.5);
  }

 private:
  Pair per_block_{};
};

/// Two families of blocks, side by side; the second may take no tile.
template <std::size_t kPieces, std::size_t kFeatures>
struct Twins {
  Pair most_columns{};
  Pair most_depth{};
  BlockCount out{};
  BlockCount in{};
  BlockCount merged{};
  std::array<std::array<Pair, kFeatures>, kPieces> coefficients{};
};

/// Convolutions in blocks of several sizes, and 1 x 1 kernels among them as products in blocks: two
/// families at a time.
class WindowSet {
 public:
  /// False, and nothing is added, where the family has too little in common with the others.
  [[nodiscard]] bool add(const WindowBlocks& blocks, const Domain& domain,
                         std::span<const double> coefficients);
  [[nodiscard]] bool add(const Blocks& blocks, const Domain& domain,
                         std::span<const double> coefficients);

  /// The cheapest of them; infinite if none applies.
  [[nodiscard]] double cheapest(const TileCall& call) const;

  [[nodiscard]] bool empty() const { return windows_.empty() && flats_.empty(); }

 private:
  // Features, of a cast four.
  using WindowTwins = Twins<1, 16>;
  using FlatTwins = Twins<kRowPieces, 14>;

  /// Whether a family agrees with those here on who works and what is cast.
  [[nodiscard]] bool agrees(std::int32_t workers, bool cast);

  [[nodiscard]] Pair cheapest_window(const TileCall& call, const Casting& casting) const;
  [[nodiscard]] Pair cheapest_flat(const TileCall& call, const Casting& casting) const;

  std::vector<WindowTwins> windows_;
  std::vector<FlatTwins> flats_;
  std::int32_t workers_ = 1;
  bool cast_ = false;
};

}  // namespace elk::tile::form
