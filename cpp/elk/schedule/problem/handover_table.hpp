#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "elk/chip/chip.hpp"
#include "elk/partition/layout/layout.hpp"
#include "elk/schedule/problem/grid.hpp"
#include "elk/schedule/problem/handovers.hpp"

namespace elk::schedule {

/// What cores move between layouts, worked out once for each pair: plans of an op that differ
/// elsewhere need and leave a tensor in the same layouts, and so do ops alike.
class HandoverTable {
 public:
  HandoverTable(const chip::Chip& chip, bool counts) : chip_(chip), counts_(counts) {}

  /// Takes from `kept` what is known there, and puts there what is not; nothing where links are
  /// counted one by one, for what moves is then no matter of layouts alone.
  void use(Handovers& kept) { kept_ = counts_ ? nullptr : &kept; }

  /// The number of a layout: equal layouts have the same.
  [[nodiscard]] std::int32_t number(partition::Layout layout);
  [[nodiscard]] const partition::Layout& layout(std::int32_t number) const {
    return *layouts_[static_cast<std::size_t>(number)];
  }

  /// Layouts by number, and the bits of an element.
  struct LayoutPair {
    std::int32_t have;
    std::int32_t need;
    std::int64_t bits;

    friend auto operator<=>(const LayoutPair&, const LayoutPair&) = default;
  };

  /// Works out, side by side, those pairs that are not known yet.
  void learn(std::vector<LayoutPair> pairs, int threads);
  /// Of a pair that has been learnt.
  [[nodiscard]] const partition::Handover& of(const LayoutPair& pair) const {
    return known_.at(pair);
  }

 private:
  /// By what is pointed to, which may lie anywhere.
  struct PointeeHash {
    using is_transparent = void;
    std::size_t operator()(const partition::Layout& layout) const { return LayoutHash{}(layout); }
    std::size_t operator()(const std::shared_ptr<const partition::Layout>& layout) const {
      return LayoutHash{}(*layout);
    }
  };
  struct PointeeEqual {
    using is_transparent = void;
    using Shared = std::shared_ptr<const partition::Layout>;
    bool operator()(const Shared& a, const Shared& b) const { return *a == *b; }
    bool operator()(const partition::Layout& a, const Shared& b) const { return a == *b; }
    bool operator()(const Shared& a, const partition::Layout& b) const { return *a == b; }
  };

  void recall(std::vector<LayoutPair>& pairs);

  const chip::Chip& chip_;
  bool counts_;
  Handovers* kept_ = nullptr;
  std::unordered_map<std::shared_ptr<const partition::Layout>, std::int32_t, PointeeHash,
                     PointeeEqual>
      numbers_;
  std::vector<std::shared_ptr<const partition::Layout>> layouts_;  // copies share them
  std::map<LayoutPair, partition::Handover> known_;
};

}  // namespace elk::schedule
