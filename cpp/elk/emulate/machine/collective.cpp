#include "elk/emulate/machine/collective.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "elk/base/ids.hpp"
#include "elk/emulate/machine/link.hpp"
#include "elk/emulate/machine/movement.hpp"
#include "elk/emulate/machine/operands.hpp"
#include "elk/partition/collective.hpp"

namespace elk::emulate {
namespace {

std::size_t room_of(std::int64_t elements, std::int64_t bits) {
  return subscript(partition::element_bytes(elements, bits).value + 8);
}

/// Every core writes its piece of what its chip now holds to where it rests.
void keep(const Operands& operands, const std::vector<std::byte>& after) {
  const Site& site = operands.site();
  const std::int64_t bits = site.bits(kAfter);
  const DensePiece all = whole(site.tensor(kAfter));
  operands.for_each_worker(0, [&](std::size_t worker) {
    const DensePiece& mine = operands.first_held(kAfter, worker);
    std::vector<std::byte> piece(room_of(mine.elements(), bits));
    for (const OverlapRange& run : shared_runs(all, mine)) {
      copy_elements(after.data(), piece.data(),
                    {.from = run.from, .to = run.to, .count = run.count, .bits = bits});
    }
    operands.view(kAfter, worker, bits).write(0, mine.elements(), piece.data());
  });
}

/// The workers of an op in the order of their core ids.
std::vector<std::size_t> by_core(const Site& site) {
  std::vector<std::size_t> workers(site.workers().size());
  std::iota(workers.begin(), workers.end(), std::size_t{0});
  std::sort(workers.begin(), workers.end(), [&](std::size_t a, std::size_t b) {
    return site.workers()[a].core < site.workers()[b].core;
  });
  return workers;
}

/// Writes on every chip what a worker now holds to where it rests.
void hand_out(const ChipOperands& sides, std::size_t worker,
              const std::vector<std::vector<std::byte>>& held) {
  for (std::size_t chip = 0; chip < sides.size(); ++chip) {
    const Operands& operands = *sides[chip];
    operands.view(kAfter, worker, operands.site().bits(kAfter))
        .write(0, operands.first_held(kAfter, worker).elements(), held[chip].data());
  }
}

}  // namespace

void run_collective(const ChipStates& pod, std::int32_t op) {
  ChipOperands sides;
  for (const std::unique_ptr<ChipState>& machine : pod) {
    sides.push_back(std::make_unique<Operands>(*machine, op));
    gather(*sides.back());
  }
  const std::vector<std::size_t> order = by_core(sides.front()->site());
  const auto shared = subscript(
      partition::cores_of_port(pod.front()->job.chip, static_cast<std::int64_t>(order.size())));
  std::vector<std::size_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
  }
  sides.front()->for_each_worker(0, [&](std::size_t port) {
    if (place[port] % shared != 0) {
      return;  // The core hands its piece to a port.
    }
    const std::size_t end = std::min(place[port] + shared, order.size());
    for (std::size_t i = place[port]; i < end; ++i) {
      hand_out(sides, order[i], exchanged(sides, order[i], port));
    }
  });
}

void run_slice(const ChipStates& pod, std::int32_t op) {
  for (std::size_t chip = 0; chip < pod.size(); ++chip) {
    const Operands operands(*pod[chip], op);
    const Site& site = operands.site();
    const std::int64_t bits = site.bits(kAfter);
    std::vector<std::byte> collected;
    const std::span<const std::byte> held =
        pod[chip]->image(site.op().operands[kBefore].tensor, collected);
    const DensePiece mine = part_of_chip(site, kAfter, chip);
    std::vector<std::byte> after(room_of(mine.elements(), bits));
    for (const OverlapRange& run : shared_runs(whole(site.tensor(kBefore)), mine)) {
      copy_elements(held.data(), after.data(),
                    {.from = run.from, .to = run.to, .count = run.count, .bits = bits});
    }
    keep(operands, after);
  }
}

}  // namespace elk::emulate
