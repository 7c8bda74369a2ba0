#include "elk/emulate/machine/link.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"

namespace elk::emulate {
namespace {

using Data = std::vector<std::byte>;

/// Elements on their way.
struct ElementBuffer {
  Data data;
  std::int64_t count;
  std::int64_t bits;  // of an element

  ElementBuffer(std::int64_t elements, std::int64_t width)
      : data(subscript(partition::element_bytes(elements, width).value + 8)),
        count(elements),
        bits(width) {}

  [[nodiscard]] std::int64_t bytes() const { return partition::element_bytes(count, bits).value; }
};

/// What a worker holds of an operand, in the indices of the tensor that the chips have together.
DensePiece on_all_chips(const Operands& operands, std::size_t k, std::size_t worker,
                        std::size_t chip) {
  const DensePiece origin = part_of_chip(operands.site(), k, chip);
  DensePiece held = operands.first_held(k, worker);
  for (std::size_t dim = 0; dim < held.sets.size(); ++dim) {
    for (partition::IndexRange& run : held.sets[dim]) {
      run.begin += origin.sets[dim].front().begin;
      run.end += origin.sets[dim].front().begin;
    }
  }
  return held;
}

class WorkerLink {
 public:
  WorkerLink(const ChipOperands& sides, std::size_t worker, std::size_t port)
      : sides_(sides), worker_(worker), port_(port), chips_(sides.size()) {
    for (std::size_t chip = 0; chip < chips_; ++chip) {
      before_.push_back(on_all_chips(*sides_[chip], kBefore, worker_, chip));
      after_.push_back(on_all_chips(*sides_[chip], kAfter, worker_, chip));
      ElementBuffer own(before_.back().elements(), width(kBefore));
      own.data = sides_[chip]->load(kBefore, worker_, {});
      own_.push_back(std::move(own));
      result_.emplace_back(after_.back().elements(), width(kAfter));
    }
  }

  std::vector<Data> run() {
    if (worker_ != port_) {
      for (std::size_t chip = 0; chip < chips_; ++chip) {
        note(chip, port_, {Action::Gather, 0, kBefore, core(worker_), own_[chip].bytes()});
        own_[chip] = through_port(chip, std::move(own_[chip]));
      }
    }
    link();
    std::vector<Data> held;
    for (std::size_t chip = 0; chip < chips_; ++chip) {
      if (worker_ != port_) {
        note(chip, worker_, {Action::Reduce, 0, kAfter, core(port_), result_[chip].bytes()});
      }
      held.push_back(std::move(result_[chip].data));
    }
    return held;
  }

 private:
  [[nodiscard]] const Site& site() const { return sides_.front()->site(); }
  [[nodiscard]] std::int64_t width(std::size_t k) const { return site().bits(k); }
  [[nodiscard]] std::int32_t core(std::size_t worker) const {
    return site().workers()[worker].core;
  }
  [[nodiscard]] bool ring() const { return site().placed().plan.ring; }
  /// The chip `hops` further on in the ring.
  [[nodiscard]] std::size_t onward(std::size_t chip, std::size_t hops) const {
    return (chip + hops) % chips_;
  }

  struct Noted {
    Action action;
    std::size_t step;
    std::size_t k;
    std::int32_t from;
    std::int64_t bytes;
  };

  void note(std::size_t chip, std::size_t at, const Noted& one) const {
    sides_[chip]->note(at, {.action = one.action,
                            .op = -1,
                            .step = static_cast<std::int64_t>(one.step),
                            .operand = static_cast<std::int32_t>(one.k),
                            .from = one.from,
                            .bytes = one.bytes});
  }

  /// Fills and empties the transfer buffer of a port, load after load.
  [[nodiscard]] ElementBuffer through_port(std::size_t chip, ElementBuffer parts) const {
    Arena& arena = sides_[chip]->machine().arenas[subscript(core(port_))];
    const std::int64_t room = site().placed().chip.core.reserved.value;
    const std::int64_t bytes = parts.bytes();
    for (std::int64_t begin = 0; begin < bytes && room > 0; begin += room) {
      const std::int64_t load = std::min(room, bytes - begin);
      std::copy_n(parts.data.data() + begin, load, arena.writing(0, load));
      std::copy_n(arena.reading(0, load), load, parts.data.data() + begin);
    }
    return parts;
  }

  /// What arrives at a chip from another in a step.
  [[nodiscard]] ElementBuffer arrived(std::size_t chip, std::size_t step,
                                      ElementBuffer parts) const {
    note(chip, port_, {Action::Shift, step, kBefore, kAbroad, parts.bytes()});
    return through_port(chip, std::move(parts));
  }

  void link() {
    const ir::OpKind kind = site().op().kind;
    if (kind == ir::OpKind::AllReduce) {
      all_reduce();
    } else if (kind == ir::OpKind::ReduceScatter) {
      reduce_scatter();
    } else if (kind == ir::OpKind::AllGather && ring()) {
      all_gather();
    } else {
      deal();
    }
  }

  /// The elements of `chip` that `other` is to hold, in their order.
  [[nodiscard]] ElementBuffer cut(std::size_t chip, std::size_t other) const {
    ElementBuffer part(0, width(kBefore));
    for_each_shared_run(before_[chip], after_[other],
                        [&](const OverlapRange& run) { part.count += run.count; });
    ElementBuffer out(part.count, part.bits);
    std::int64_t done = 0;
    for_each_shared_run(before_[chip], after_[other], [&](const OverlapRange& run) {
      copy_elements(own_[chip].data.data(), out.data.data(),
                    {.from = run.from, .to = done, .count = run.count, .bits = out.bits});
      done += run.count;
    });
    return out;
  }

  void place(std::size_t chip, std::size_t other, const ElementBuffer& part) {
    std::int64_t done = 0;
    for_each_shared_run(before_[chip], after_[other], [&](const OverlapRange& run) {
      copy_elements(part.data.data(), result_[other].data.data(),
                    {.from = done, .to = run.to, .count = run.count, .bits = part.bits});
      done += run.count;
    });
  }

  /// What every chip holds goes around the ring.
  void all_gather() {
    for (std::size_t chip = 0; chip < chips_; ++chip) {
      place(chip, chip, own_[chip]);
      ElementBuffer block = own_[chip];
      for (std::size_t step = 0; step + 1 < chips_; ++step) {
        const std::size_t at = onward(chip, step + 1);
        block = arrived(at, step, std::move(block));
        place(chip, at, block);
      }
    }
  }

  /// A part of its own from every chip to every other, at once or passing the chips in between.
  void deal() {
    for (std::size_t chip = 0; chip < chips_; ++chip) {
      for (std::size_t hops = 0; hops < chips_; ++hops) {
        const std::size_t other = onward(chip, hops);
        ElementBuffer part = cut(chip, other);
        for (std::size_t step = 0; step < hops && ring(); ++step) {
          part = arrived(onward(chip, step + 1), step, std::move(part));
        }
        if (hops > 0 && !ring()) {
          part = arrived(other, 0, std::move(part));
        }
        place(chip, other, part);
      }
    }
  }

  [[nodiscard]] Numbers numbers(const ElementBuffer& parts) const {
    const ir::DType dtype = site().tensor(kBefore).dtype;
    return with_numbers(dtype, subscript(parts.count), [&](auto& values) {
      emulate::load(Elements{.data = parts.data.data(), .dtype = dtype},
                    {.first = 0, .step = 1, .count = parts.count}, values.data());
    });
  }

  [[nodiscard]] ElementBuffer saved(const Numbers& sum, std::int64_t count, std::size_t k) const {
    ElementBuffer parts(count, width(k));
    save_part(sum, 0, count, {.data = parts.data.data(), .dtype = site().tensor(k).dtype});
    return parts;
  }

  /// The sum of what all chips have of part number `part`, as that chip gets it.
  template <class Addend>
  [[nodiscard]] ElementBuffer summed(std::size_t part, const Addend& addend) const {
    return ring() ? summed_around(part, addend) : summed_at_once(part, addend);
  }

  /// The sum grows from chip to chip.
  template <class Addend>
  [[nodiscard]] ElementBuffer summed_around(std::size_t part, const Addend& addend) const {
    ElementBuffer sum = addend(onward(part, 1));
    for (std::size_t step = 0; step + 1 < chips_; ++step) {
      const std::size_t at = onward(part, step + 2);
      Numbers both = numbers(arrived(at, step, std::move(sum)));
      const ElementBuffer own = addend(at);
      combine(site().op(), numbers(own), both);
      sum = saved(both, own.count, kBefore);
    }
    return saved(numbers(sum), sum.count, kAfter);
  }

  /// All addends arrive, and are added up in the order of chips.
  template <class Addend>
  [[nodiscard]] ElementBuffer summed_at_once(std::size_t part, const Addend& addend) const {
    std::optional<Numbers> sum;
    std::int64_t count = 0;
    for (std::size_t chip = 0; chip < chips_; ++chip) {
      ElementBuffer more = addend(chip);
      count = more.count;
      const Numbers added =
          numbers(chip == part ? std::move(more) : arrived(part, 0, std::move(more)));
      if (sum) {
        combine(site().op(), added, *sum);
      } else {
        sum = added;
      }
    }
    return saved(*sum, count, kAfter);
  }

  void reduce_scatter() {
    for (std::size_t into = 0; into < chips_; ++into) {
      const ElementBuffer sum = summed(into, [&](std::size_t chip) { return cut(chip, into); });
      copy_elements(sum.data.data(), result_[into].data.data(),
                    {.from = 0, .to = 0, .count = sum.count, .bits = sum.bits});
    }
  }

  /// Every chip sums its part of the elements; then the sums go to all.
  void all_reduce() {
    const std::int64_t all = own_.front().count;
    const std::int64_t length = ceil_div(all, static_cast<std::int64_t>(chips_));
    for (std::size_t part = 0; part < chips_; ++part) {
      const std::int64_t begin = std::min(all, static_cast<std::int64_t>(part) * length);
      const std::int64_t count = std::min(length, all - begin);
      ElementBuffer sum = summed(part, [&](std::size_t chip) {
        ElementBuffer addend(count, width(kBefore));
        copy_elements(own_[chip].data.data(), addend.data.data(),
                      {.from = begin, .to = 0, .count = count, .bits = addend.bits});
        return addend;
      });
      for (std::size_t hops = 0; hops < chips_; ++hops) {
        const std::size_t at = onward(part, hops);
        if (hops > 0) {
          sum = arrived(at, ring() ? chips_ - 2 + hops : 1, std::move(sum));
        }
        copy_elements(sum.data.data(), result_[at].data.data(),
                      {.from = 0, .to = begin, .count = count, .bits = sum.bits});
      }
    }
  }

  const ChipOperands& sides_;
  std::size_t worker_;
  std::size_t port_;
  std::size_t chips_;
  std::vector<DensePiece> before_;  // of every chip
  std::vector<DensePiece> after_;
  std::vector<ElementBuffer> own_;
  std::vector<ElementBuffer> result_;
};

}  // namespace

DensePiece part_of_chip(const Site& site, std::size_t k, std::size_t chip) {
  const std::vector<std::int64_t>& own = site.tensor(k).shape;
  const std::vector<std::int64_t>& other = site.tensor(k == kBefore ? kAfter : kBefore).shape;
  DensePiece part;
  for (std::size_t dim = 0; dim < own.size(); ++dim) {
    const std::int64_t begin =
        own[dim] < other[dim] ? static_cast<std::int64_t>(chip) * own[dim] : 0;
    part.sets.push_back({{.begin = begin, .end = begin + own[dim]}});
  }
  return part;
}

std::vector<Data> exchanged(const ChipOperands& sides, std::size_t worker, std::size_t port) {
  return WorkerLink(sides, worker, port).run();
}

}  // namespace elk::emulate
