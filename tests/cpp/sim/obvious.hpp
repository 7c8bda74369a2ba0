#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "elk/sim/flows/fair.hpp"

namespace elk::sim {

/// An exact fraction of small numbers.
struct Fraction {
  Wide num;
  Wide den;

  Fraction(Wide n, Wide d) : num(n), den(d) {
    Wide a = num < 0 ? -num : num;
    Wide b = den;
    while (b != 0) {
      const Wide rest = a % b;
      a = b;
      b = rest;
    }
    num /= a == 0 ? 1 : a;
    den /= a == 0 ? 1 : a;
  }
  friend Fraction operator+(Fraction a, Fraction b) {
    return {(a.num * b.den) + (b.num * a.den), a.den * b.den};
  }
  friend Fraction operator*(Fraction a, Fraction b) { return {a.num * b.num, a.den * b.den}; }
  friend Fraction operator/(Fraction a, Fraction b) { return {a.num * b.den, a.den * b.num}; }
  friend Fraction operator-(Fraction a, Fraction b) {
    return {(a.num * b.den) - (b.num * a.den), a.den * b.den};
  }
  friend bool operator<(Fraction a, Fraction b) { return a.num * b.den < b.num * a.den; }
  friend bool operator==(Fraction a, Fraction b) { return a.num == b.num && a.den == b.den; }
};

/// Max-min shares, the obvious way: in rounds over all resources, in exact fractions.
inline std::vector<Fraction> obvious_shares(const FlowSet& sharing) {
  const std::size_t flows = sharing.begin.size() - 1;
  std::vector<Fraction> share(flows, {0, 1});
  std::vector<bool> fixed(flows, false);
  std::vector<Fraction> left;
  for (const Wide capacity : sharing.capacity) {
    left.emplace_back(capacity, 1);
  }
  const auto uses = [&](std::size_t flow) {
    const auto* first = sharing.uses.data();
    return std::span<const ResourceUse>(first + sharing.begin[flow],
                                        first + sharing.begin[flow + 1]);
  };
  const auto level = [&](std::size_t flow) {  // the least that a resource of `flow` can give
    Fraction least = sharing.cap[flow] > 0 ? Fraction{sharing.cap[flow], 1} : Fraction{1, 0};
    for (const ResourceUse& use : uses(flow)) {
      Wide weight = 0;
      for (std::size_t other = 0; other < flows; ++other) {
        for (const ResourceUse& same : uses(other)) {
          weight += !fixed[other] && same.resource == use.resource ? same.weight : 0;
        }
      }
      const Fraction& rest = left[use.resource.index()];
      least = std::min(least, Fraction{rest.num, rest.den * weight});
    }
    return least;
  };
  while (std::find(fixed.begin(), fixed.end(), false) != fixed.end()) {
    Fraction least{1, 0};
    std::vector<Fraction> levels(flows, least);
    for (std::size_t flow = 0; flow < flows; ++flow) {
      levels[flow] = fixed[flow] ? levels[flow] : level(flow);
      least = std::min(least, levels[flow]);
    }
    for (std::size_t flow = 0; flow < flows; ++flow) {
      if (!fixed[flow] && levels[flow] == least) {
        fixed[flow] = true;
        share[flow] = least;
        for (const ResourceUse& use : uses(flow)) {
          left[use.resource.index()] =
              left[use.resource.index()] - Fraction{least.num * use.weight, least.den};
        }
      }
    }
  }
  return share;
}

}  // namespace elk::sim
