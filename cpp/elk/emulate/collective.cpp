#include "elk/emulate/collective.hpp"

#include <cstddef>
#include <optional>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/emulate/movement.hpp"
#include "elk/emulate/operands.hpp"

namespace elk::emulate {
namespace {

constexpr std::size_t kBefore = 0;  // operands of a collective
constexpr std::size_t kAfter = 1;

/// The part of the tensor that a chip holds of one operand: where that is shorter than the other
/// along a dimension, the parts of the chips lie one after another.
Held part_of_chip(const Site& site, std::size_t k, std::size_t chip) {
  const std::vector<std::int64_t>& own = site.tensor(k).shape;
  const std::vector<std::int64_t>& other = site.tensor(k == kBefore ? kAfter : kBefore).shape;
  Held part;
  for (std::size_t dim = 0; dim < own.size(); ++dim) {
    const std::int64_t begin =
        own[dim] < other[dim] ? static_cast<std::int64_t>(chip) * own[dim] : 0;
    part.sets.push_back({{.begin = begin, .end = begin + own[dim]}});
  }
  return part;
}

std::size_t room_of(std::int64_t elements, std::int64_t bits) {
  return subscript(partition::element_bytes(elements, bits).value + 8);
}

/// What the cores of one chip hold of the operand that is read, put together.
std::vector<std::byte> handed_over(const Operands& operands) {
  const Site& site = operands.site();
  const ir::Tensor& tensor = site.tensor(kBefore);
  const std::int64_t bits = site.bits(kBefore);
  const Held all = whole(tensor);
  std::vector<std::byte> out(room_of(all.elements(), bits));
  for (std::size_t worker = 0; worker < site.workers().size(); ++worker) {
    const std::vector<std::byte> piece = operands.load(kBefore, worker, 0);
    for (const SharedRun& run : shared_runs(operands.held(kBefore, worker, 0), all)) {
      copy_elements(piece.data(), out.data(),
                    {.from = run.from, .to = run.to, .count = run.count, .bits = bits});
    }
  }
  return out;
}

/// The sum of what the chips hold, in the type of the result.
std::vector<std::byte> summed_up(const Site& site,
                                 const std::vector<std::vector<std::byte>>& held) {
  const ir::DType from = site.tensor(kBefore).dtype;
  const ir::DType to = site.tensor(kAfter).dtype;
  const std::int64_t count = whole(site.tensor(kBefore)).elements();
  const ElementRun all{.first = 0, .step = 1, .count = count};
  std::optional<Numbers> sum;
  for (const std::vector<std::byte>& bytes : held) {
    Numbers numbers = with_numbers(from, subscript(count), [&](auto& values) {
      emulate::load(Elements{.data = bytes.data(), .dtype = from}, all, values.data());
    });
    if (sum) {
      combine(site.op(), numbers, *sum);
    } else {
      sum = std::move(numbers);
    }
  }
  std::vector<std::byte> out(room_of(count, ir::bits(to)));
  std::visit(
      [&](const auto& values) { save(values.data(), all, {.data = out.data(), .dtype = to}); },
      *sum);
  return out;
}

/// Every core writes its piece of what its chip now holds to where it rests.
void keep(const Operands& operands, const std::vector<std::byte>& after) {
  const Site& site = operands.site();
  const std::int64_t bits = site.bits(kAfter);
  const Held all = whole(site.tensor(kAfter));
  operands.for_each_worker(0, [&](std::size_t worker) {
    const Held mine = operands.held(kAfter, worker, 0);
    std::vector<std::byte> piece(room_of(mine.elements(), bits));
    for (const SharedRun& run : shared_runs(all, mine)) {
      copy_elements(after.data(), piece.data(),
                    {.from = run.from, .to = run.to, .count = run.count, .bits = bits});
    }
    const Storage place = operands.storage(kAfter, worker);
    View(operands.machine().arenas[subscript(site.workers()[worker].core)], place, bits)
        .write(0, mine.elements(), piece.data());
  });
}

}  // namespace

void run_collective(const Pod& pod, std::int32_t op) {
  std::vector<std::unique_ptr<Operands>> operands;
  std::vector<std::vector<std::byte>> held;
  for (const std::unique_ptr<Machine>& machine : pod) {
    operands.push_back(std::make_unique<Operands>(*machine, op));
    gather(*operands.back());
    held.push_back(handed_over(*operands.back()));
  }
  const Site& site = operands.front()->site();
  const bool sums =
      site.op().kind == ir::OpKind::AllReduce || site.op().kind == ir::OpKind::ReduceScatter;
  if (sums) {
    held = {summed_up(site, held)};
  }
  const std::int64_t bits = site.bits(kAfter);
  for (std::size_t chip = 0; chip < pod.size(); ++chip) {
    const Held mine = part_of_chip(site, kAfter, chip);
    std::vector<std::byte> after(room_of(mine.elements(), bits));
    for (std::size_t other = 0; other < held.size(); ++other) {
      for (const SharedRun& run : shared_runs(part_of_chip(site, kBefore, other), mine)) {
        copy_elements(held[other].data(), after.data(),
                      {.from = run.from, .to = run.to, .count = run.count, .bits = bits});
      }
    }
    keep(*operands[chip], after);
  }
}

void run_slice(const Pod& pod, std::int32_t op) {
  for (std::size_t chip = 0; chip < pod.size(); ++chip) {
    const Operands operands(*pod[chip], op);
    const Site& site = operands.site();
    const std::int64_t bits = site.bits(kAfter);
    std::vector<std::byte> collected;
    const std::vector<std::byte>& held =
        pod[chip]->image(site.op().operands[kBefore].tensor, collected);
    const Held mine = part_of_chip(site, kAfter, chip);
    std::vector<std::byte> after(room_of(mine.elements(), bits));
    for (const SharedRun& run : shared_runs(whole(site.tensor(kBefore)), mine)) {
      copy_elements(held.data(), after.data(),
                    {.from = run.from, .to = run.to, .count = run.count, .bits = bits});
    }
    keep(operands, after);
  }
}

}  // namespace elk::emulate
