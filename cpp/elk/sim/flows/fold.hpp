#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elk/sim/flows/engine.hpp"

namespace elk::sim {

/// What will ever cross a machine, all phases of a program together: one entry a flow or
/// computation. `kind` says all of it but its way: the same number only for what starts at the same
/// event, moves as many bytes, has the same cap and latency, and is waited for alike.
struct Crossings {
  std::vector<std::int64_t> kind;   // per item
  std::vector<std::int32_t> begin;  // item i uses [begin[i], begin[i + 1]); one more than items
  std::vector<ResourceUse> uses;
};

/// A machine with one resource for each class of equal ones, and one item for each class of equal
/// items, in the order of their first members.
struct FoldedMachine {
  Machine machine;
  std::vector<std::int32_t> resource_class;  // of each resource of the whole machine
  std::vector<std::int32_t> item_class;      // of each item
  std::vector<std::int32_t> item_first;      // per class: its first item
  std::vector<std::int64_t> item_count;      // per class
  std::vector<std::int32_t> begin;           // per class: its uses in the folded machine
  std::vector<ResourceUse> uses;

  [[nodiscard]] std::span<const ResourceUse> uses_of(std::int32_t item) const;
};

/// Folds what is equal: the coarsest partition in which all resources of a class are crossed by as
/// many items of each class with each weight, and all items of a class cross as many resources of
/// each class. Filling resources (`fair_shares`) then does the same to all members of a class at
/// every step, so their shares, and their ends to the picosecond, are those of the whole machine.
/// An item of the folded machine loads a class with the weight of all items of its class that cross
/// one resource of it.
///
/// Colour refinement (Ramana, Scheinerman and Ullman, Discrete Mathematics 132, 1994), O(uses) a
/// round.
[[nodiscard]] FoldedMachine fold(const Machine& machine, const Crossings& crossings);

}  // namespace elk::sim
