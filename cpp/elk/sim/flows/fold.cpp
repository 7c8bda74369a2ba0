#include "elk/sim/flows/fold.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/random.hpp"

namespace elk::sim {
namespace {

using Colours = std::vector<std::int32_t>;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  Random random{a ^ (b * 0x9e3779b97f4a7c15U)};
  return random.next();
}

/// Numbers `keys` in the order of their first appearance.
template <class Key>
Colours numbered(const std::vector<Key>& keys, std::int32_t& count) {
  std::unordered_map<Key, std::int32_t> number;
  Colours colours;
  colours.reserve(keys.size());
  for (const Key& key : keys) {
    const auto next = static_cast<std::int32_t>(number.size());
    colours.push_back(number.try_emplace(key, next).first->second);
  }
  count = static_cast<std::int32_t>(number.size());
  return colours;
}

class Refinement {
 public:
  Refinement(const Machine& machine, const Crossings& crossings)
      : crossings_(crossings), items_(crossings.kind.size()) {
    std::map<std::tuple<Rate, Rate, bool>, std::uint64_t> kinds;
    std::vector<std::uint64_t> resource_keys;
    for (const Resource& resource : machine.resources) {
      const auto next = static_cast<std::uint64_t>(kinds.size());
      resource_keys.push_back(
          kinds.try_emplace({resource.capacity, resource.sustained, resource.refreshes}, next)
              .first->second);
    }
    resources = numbered(resource_keys, resource_count);
    items = numbered(crossings.kind, item_count);
  }

  void refine() {
    std::int32_t before = -1;
    while (before != resource_count + item_count) {
      before = resource_count + item_count;
      round();
    }
  }

  Colours resources;
  Colours items;
  std::int32_t resource_count = 0;
  std::int32_t item_count = 0;

 private:
  /// A hash of what each crosses, and by what it is crossed: sums, for order must not matter.
  void round() {
    std::vector<std::uint64_t> item_keys(items_);
    for (std::size_t i = 0; i < items_; ++i) {
      std::uint64_t sum = 0;
      for (std::int32_t u = crossings_.begin[i]; u < crossings_.begin[i + 1]; ++u) {
        const ResourceUse& use = crossings_.uses[subscript(u)];
        sum += mixed(static_cast<std::uint64_t>(resources[use.resource.index()]),
                     static_cast<std::uint64_t>(use.weight));
      }
      item_keys[i] = mixed(sum, static_cast<std::uint64_t>(items[i]));
    }
    items = numbered(item_keys, item_count);
    std::vector<std::uint64_t> sums(resources.size(), 0);
    for (std::size_t i = 0; i < items_; ++i) {
      for (std::int32_t u = crossings_.begin[i]; u < crossings_.begin[i + 1]; ++u) {
        const ResourceUse& use = crossings_.uses[subscript(u)];
        sums[use.resource.index()] +=
            mixed(static_cast<std::uint64_t>(items[i]), static_cast<std::uint64_t>(use.weight));
      }
    }
    for (std::size_t r = 0; r < sums.size(); ++r) {
      sums[r] = mixed(sums[r], static_cast<std::uint64_t>(resources[r]));
    }
    resources = numbered(sums, resource_count);
  }

  const Crossings& crossings_;
  std::size_t items_;
};

/// What one item, or the items of one class, load: by class of resources.
using ClassLoads = std::map<std::int32_t, std::int64_t>;

/// For each class of items, what all of it loads one resource of each class with. Refinement went
/// by hashes: that every item, and every resource, is as the first of its class is checked here.
class Quotient {
 public:
  Quotient(const Crossings& crossings, const Refinement& classes)
      : crossings_(crossings), classes_(classes) {}

  void fill(FoldedMachine& folded) const {
    std::vector<std::int64_t> sizes(subscript(classes_.resource_count), 0);
    for (const std::int32_t colour : classes_.resources) {
      ++sizes[subscript(colour)];
    }
    folded.item_first.assign(subscript(classes_.item_count), -1);
    folded.item_count.assign(subscript(classes_.item_count), 0);
    for (std::size_t i = 0; i < classes_.items.size(); ++i) {
      const std::size_t colour = subscript(classes_.items[i]);
      if (folded.item_first[colour] < 0) {
        folded.item_first[colour] = static_cast<std::int32_t>(i);
      } else if (loads(i) != loads(subscript(folded.item_first[colour]))) {
        throw InternalError("fold: two items have one hash and are not equal");
      }
      ++folded.item_count[colour];
    }
    folded.begin.push_back(0);
    for (std::size_t colour = 0; colour < folded.item_first.size(); ++colour) {
      for (const auto& [resource, weight] : loads(subscript(folded.item_first[colour]))) {
        const std::int64_t all = weight * folded.item_count[colour];
        if (all % sizes[subscript(resource)] != 0) {
          throw InternalError("fold: two resources have one hash and are not equal");
        }
        folded.uses.push_back(
            {{resource}, static_cast<std::int32_t>(all / sizes[subscript(resource)])});
      }
      folded.begin.push_back(static_cast<std::int32_t>(folded.uses.size()));
    }
  }

 private:
  [[nodiscard]] ClassLoads loads(std::size_t item) const {
    ClassLoads sum;
    for (std::int32_t u = crossings_.begin[item]; u < crossings_.begin[item + 1]; ++u) {
      const ResourceUse& use = crossings_.uses[subscript(u)];
      sum[classes_.resources[use.resource.index()]] += use.weight;
    }
    return sum;
  }

  const Crossings& crossings_;
  const Refinement& classes_;
};

}  // namespace

std::span<const ResourceUse> FoldedMachine::uses_of(std::int32_t item) const {
  return std::span(uses).subspan(subscript(begin[subscript(item)]),
                                 subscript(begin[subscript(item) + 1] - begin[subscript(item)]));
}

FoldedMachine fold(const Machine& machine, const Crossings& crossings) {
  Refinement classes(machine, crossings);
  classes.refine();
  FoldedMachine folded{.machine = {.resources = {}, .refresh = machine.refresh},
                       .resource_class = classes.resources,
                       .item_class = classes.items,
                       .item_first = {},
                       .item_count = {},
                       .begin = {},
                       .uses = {}};
  folded.machine.resources.resize(subscript(classes.resource_count), steady({1}));
  for (std::size_t r = 0; r < machine.resources.size(); ++r) {
    folded.machine.resources[subscript(classes.resources[r])] = machine.resources[r];
  }
  Quotient(crossings, classes).fill(folded);
  return folded;
}

}  // namespace elk::sim
