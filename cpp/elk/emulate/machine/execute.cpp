#include "elk/emulate/machine/execute.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/emulate/machine/movement.hpp"
#include "elk/emulate/machine/pieces.hpp"
#include "elk/emulate/machine/scatter.hpp"

namespace elk::emulate {
namespace {

/// Pieces of the operands of one worker, as kernels read them.
struct Loaded {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<std::optional<Shifts>> shifts;  // when they were loaded
  std::vector<PieceBytes> pieces;
};

class OpExecution {
 public:
  explicit OpExecution(const Operands& operands)
      : operands_(operands),
        site_(operands.site()),
        results_(result_operands(site_.op())),
        loaded_(site_.workers().size()),
        rows_(site_.workers().size()) {
    for (Loaded& loaded : loaded_) {
      loaded.bytes.resize(site_.op().operands.size());
      loaded.shifts.resize(site_.op().operands.size());
      for (std::size_t k = 0; k < site_.op().operands.size(); ++k) {
        loaded.pieces.push_back({.held = {}, .bytes = nullptr, .dtype = site_.tensor(k).dtype});
      }
    }
  }

  void run() {
    gather(operands_);
    distribute(operands_);
    if (works_on_rows(site_.op())) {
      tell_rows();
    }
    for (std::int64_t step = 0; step < site_.tiling().steps; ++step) {
      operands_.for_each_worker(step, [&](std::size_t worker) { compute(worker, step); });
      shift(operands_, step);
    }
    if (site_.accumulates()) {
      reduce_scatter(operands_);
    }
  }

 private:
  void load(std::size_t worker, std::int64_t step) {
    Loaded& loaded = loaded_[worker];
    for (std::size_t k = 0; k < loaded.pieces.size(); ++k) {
      if (site_.op().operands[k].access == ir::Access::Write) {
        continue;
      }
      const std::size_t source = partition::first_like(site_.op(), k);
      Shifts shifts = site_.shifts(source, step);
      if (loaded.shifts[k] == shifts) {
        continue;
      }
      if (source == k) {
        loaded.pieces[k].bytes = operands_.in_place(k, worker);
      } else {
        loaded.pieces[k].bytes = loaded.pieces[source].bytes;
      }
      if (loaded.pieces[k].bytes == nullptr) {
        loaded.bytes[k] = operands_.load(k, worker, shifts);
        loaded.pieces[k].bytes = loaded.bytes[k].data();
      }
      loaded.pieces[k].held = operands_.held(source, worker, shifts);
      loaded.shifts[k] = std::move(shifts);
    }
  }

  [[nodiscard]] KernelCall tile(std::size_t worker, const Ranges& ranges) const {
    return {site_.placed().graph, site_.op(), loaded_[worker].pieces, ranges};
  }

  void compute(std::size_t worker, std::int64_t step) {
    load(worker, step);
    const bool begins = site_.begins_sums(step);
    const std::vector<Ranges> parts = site_.sub_task(worker, step);
    for (auto ranges = parts.begin(); ranges != parts.end(); ++ranges) {
      const KernelCall part = tile(worker, *ranges);
      if (site_.accumulates()) {
        add_up(worker, part, begins && std::none_of(parts.begin(), ranges, [&](const Ranges& one) {
                               return same_sums(one, *ranges);
                             }));
      } else if (works_on_rows(site_.op())) {
        put(worker, results_.front(), part, row_results(part, rows_[worker]));
      } else {
        const std::vector<Numbers> numbers = results(part);
        for (std::size_t i = 0; i < results_.size(); ++i) {
          put(worker, results_[i], part, numbers[i]);
        }
      }
    }
  }

  /// Whether two parts of a sub-task add to the same sums.
  [[nodiscard]] bool same_sums(const Ranges& one, const Ranges& other) const {
    for (std::size_t axis = 0; axis < one.size(); ++axis) {
      if (one[axis] != other[axis] && site_.op().axes[axis].role != ir::AxisRole::Reduction) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] ir::DType partial_type() const {
    return partial_dtype(site_.op(), site_.tensor(results_.front()).dtype);
  }

  void add_up(std::size_t worker, const KernelCall& part, bool first) {
    const std::size_t k = results_.front();
    Numbers numbers = partial(part);
    if (!first) {
      Numbers sum = get(worker, k, part, partial_type());
      combine(site_.op(), numbers, sum);
      numbers = std::move(sum);
    }
    store(worker, k, part, {&numbers, partial_type()});
  }

  struct Typed {
    const Numbers* numbers;
    ir::DType dtype;
  };

  void put(std::size_t worker, std::size_t k, const KernelCall& part, const Numbers& numbers) {
    store(worker, k, part, {&numbers, site_.tensor(k).dtype});
  }

  [[nodiscard]] std::vector<ElementStride> points(std::size_t worker, std::size_t k,
                                                  const KernelCall& part) const {
    const ir::Operand& operand = site_.op().operands[k];
    return touched(operand, operands_.first_held(k, worker), site_.tensor(k).shape,
                   points_of(operand, part.ranges));
  }

  [[nodiscard]] Arena& arena(std::size_t worker) const {
    return operands_.machine().arenas[subscript(site_.workers()[worker].core)];
  }

  /// Writes numbers at the points of a result into its tile.
  void store(std::size_t worker, std::size_t k, const KernelCall& part, const Typed& values) {
    const std::int64_t bits = ir::bits(values.dtype);
    const Storage& place = operands_.storage(k, worker);
    const View view(arena(worker), place, bits);
    std::vector<std::byte> bytes;
    for (const ElementStride& run : points(worker, k, part)) {
      const std::int64_t together = run.step == 1 ? run.count : 1;
      for (std::int64_t i = 0; i < run.count; i += together) {
        const std::int64_t element = run.element + (i * run.step);
        std::byte* to = view.writing(element, together);
        const bool in_place = to != nullptr;
        if (!in_place) {
          bytes.resize(subscript(partition::element_bytes(together, bits).value + 1));
          to = bytes.data();
        }
        save_part(*values.numbers, run.point + i, together, {.data = to, .dtype = values.dtype});
        if (!in_place) {
          view.write(element, together, bytes.data());
        }
      }
    }
  }

  /// The numbers of a partial result at the points of a sub-task.
  [[nodiscard]] Numbers get(std::size_t worker, std::size_t k, const KernelCall& part,
                            ir::DType dtype) const {
    const std::int64_t elements = operands_.first_held(k, worker).elements();
    const Storage& place = operands_.storage(k, worker);
    std::vector<std::byte> bytes(
        subscript(partition::element_bytes(elements, ir::bits(dtype)).value));
    const View view(arena(worker), place, ir::bits(dtype));
    for (const ElementStride& run : points(worker, k, part)) {
      const std::int64_t together = run.step == 1 ? run.count : 1;
      for (std::int64_t i = 0; i < run.count; i += together) {
        const std::int64_t element = run.element + (i * run.step);
        view.read(element, together,
                  bytes.data() + partition::element_bytes(element, ir::bits(dtype)).value);
      }
    }
    return read(part, k,
                {.held = operands_.first_held(k, worker), .bytes = bytes.data(), .dtype = dtype});
  }

  /// Values of rows, combined among the cores that share them, in the order of core ids.
  void tell_rows() {
    operands_.for_each_worker(0, [&](std::size_t worker) { load(worker, 0); });
    const std::vector<std::vector<std::size_t>> partners = site_.partners();
    for (int round = 0; round < rounds(site_.op()); ++round) {
      std::vector<RowValues> parts(rows_.size());
      operands_.for_each_worker(0, [&](std::size_t worker) {
        parts[worker] = row_state(tile(worker, site_.workers()[worker].tile), round, rows_[worker]);
      });
      for (const std::vector<std::size_t>& group : partners) {
        RowValues sum = parts[group.front()];
        for (std::size_t i = 1; i < group.size(); ++i) {
          combine(site_.op(), round, parts[group[i]], sum);
        }
        for (const std::size_t worker : group) {
          rows_[worker].rows = parts[worker].rows;
          rows_[worker].count = sum.count;
          rows_[worker].values.insert(rows_[worker].values.end(), sum.values.begin(),
                                      sum.values.end());
        }
      }
    }
  }

  const Operands& operands_;
  const Site& site_;
  std::vector<std::size_t> results_;
  std::vector<Loaded> loaded_;
  std::vector<RowValues> rows_;
};

}  // namespace

void execute(const Operands& operands) { OpExecution(operands).run(); }

}  // namespace elk::emulate
