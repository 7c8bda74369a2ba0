#include "elk/emulate/execute.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "elk/base/errors.hpp"
#include "elk/base/ids.hpp"
#include "elk/emulate/movement.hpp"
#include "elk/emulate/pieces.hpp"

namespace elk::emulate {
namespace {

/// Pieces of the operands of one worker, as kernels read them.
struct Loaded {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<std::int64_t> turns;  // when they were loaded, -1: not yet
  std::vector<Piece> pieces;
};

class Execution {
 public:
  explicit Execution(const Operands& operands)
      : operands_(operands),
        site_(operands.site()),
        results_(result_operands(site_.op())),
        loaded_(site_.workers().size()),
        rows_(site_.workers().size()) {
    for (Loaded& loaded : loaded_) {
      loaded.bytes.resize(site_.op().operands.size());
      loaded.turns.assign(site_.op().operands.size(), -1);
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
      reduce();
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
      const std::int64_t turns =
          site_.spin(source) ? site_.turns(site_.spin(source)->axis, step) : 0;
      if (loaded.turns[k] == turns) {
        continue;
      }
      if (source == k) {
        loaded.bytes[k] = operands_.load(k, worker, turns);
      }
      loaded.pieces[k].held = operands_.held(source, worker, turns);
      loaded.pieces[k].bytes = loaded.bytes[source].data();
      loaded.turns[k] = turns;
    }
  }

  [[nodiscard]] Tile tile(std::size_t worker, const Ranges& ranges) const {
    return {site_.placed().graph, site_.op(), loaded_[worker].pieces, ranges};
  }

  void compute(std::size_t worker, std::int64_t step) {
    load(worker, step);
    bool first = site_.begins_sums(step);
    for (const Ranges& ranges : site_.sub_task(worker, step)) {
      const Tile part = tile(worker, ranges);
      if (site_.accumulates()) {
        add_up(worker, part, first);
        first = first && !more_of_a_sum(worker, ranges, step);
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

  /// Whether a later part of the same sub-task adds to what this one has written.
  [[nodiscard]] bool more_of_a_sum(std::size_t worker, const Ranges& ranges,
                                   std::int64_t step) const {
    for (const Ranges& other : site_.sub_task(worker, step)) {
      for (std::size_t axis = 0; axis < ranges.size(); ++axis) {
        if (other[axis] != ranges[axis] && site_.op().axes[axis].role == ir::AxisRole::Reduction) {
          return true;
        }
      }
    }
    return false;
  }

  [[nodiscard]] ir::DType partial_type() const {
    return partial_dtype(site_.op(), site_.tensor(results_.front()).dtype);
  }

  void add_up(std::size_t worker, const Tile& part, bool first) {
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

  void put(std::size_t worker, std::size_t k, const Tile& part, const Numbers& numbers) {
    store(worker, k, part, {&numbers, site_.tensor(k).dtype});
  }

  [[nodiscard]] std::vector<Touched> points(std::size_t worker, std::size_t k,
                                            const Tile& part) const {
    const ir::Operand& operand = site_.op().operands[k];
    return touched(operand, site_.held(k, worker, 0), site_.tensor(k).shape,
                   points_of(operand, part.ranges));
  }

  [[nodiscard]] Arena& arena(std::size_t worker) const {
    return operands_.machine().arenas[subscript(site_.workers()[worker].core)];
  }

  /// Writes numbers at the points of a result into its tile.
  void store(std::size_t worker, std::size_t k, const Tile& part, const Typed& values) {
    const std::int64_t bits = ir::bits(values.dtype);
    const Storage place = operands_.storage(k, worker);
    const View view(arena(worker), place, bits);
    std::vector<std::byte> bytes;
    for (const Touched& run : points(worker, k, part)) {
      const std::int64_t together = run.step == 1 ? run.count : 1;
      bytes.resize(subscript(partition::element_bytes(together, bits).value + 1));
      for (std::int64_t i = 0; i < run.count; i += together) {
        std::visit(
            [&](const auto& numbers) {
              save(numbers.data() + run.point + i, {.first = 0, .step = 1, .count = together},
                   {.data = bytes.data(), .dtype = values.dtype});
            },
            *values.numbers);
        view.write(run.element + (i * run.step), together, bytes.data());
      }
    }
  }

  /// The numbers of a partial result at the points of a sub-task.
  [[nodiscard]] Numbers get(std::size_t worker, std::size_t k, const Tile& part,
                            ir::DType dtype) const {
    const std::int64_t elements = site_.held(k, worker, 0).elements();
    const Storage place = operands_.storage(k, worker);
    std::vector<std::byte> bytes(
        subscript(partition::element_bytes(elements, ir::bits(dtype)).value));
    const View view(arena(worker), place, ir::bits(dtype));
    for (const Touched& run : points(worker, k, part)) {
      const std::int64_t together = run.step == 1 ? run.count : 1;
      for (std::int64_t i = 0; i < run.count; i += together) {
        const std::int64_t element = run.element + (i * run.step);
        view.read(element, together,
                  bytes.data() + partition::element_bytes(element, ir::bits(dtype)).value);
      }
    }
    return read(part, k, {.held = site_.held(k, worker, 0), .bytes = bytes.data(), .dtype = dtype});
  }

  /// Values of rows, combined among the cores that share them, in the order of core ids.
  void tell_rows() {
    operands_.for_each_worker(0, [&](std::size_t worker) { load(worker, 0); });
    const std::vector<std::vector<std::size_t>> partners = site_.partners();
    for (int round = 0; round < rounds(site_.op()); ++round) {
      std::vector<RowState> parts(rows_.size());
      operands_.for_each_worker(0, [&](std::size_t worker) {
        parts[worker] = row_state(tile(worker, site_.workers()[worker].tile), round, rows_[worker]);
      });
      for (const std::vector<std::size_t>& group : partners) {
        RowState sum = parts[group.front()];
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

  void reduce();
  void receive(std::size_t worker, const std::vector<std::size_t>& group, const Held& mine);
  [[nodiscard]] std::vector<std::byte> summed(std::size_t worker, std::size_t parts,
                                              std::size_t own, const Held& mine) const;
  void settle(std::size_t worker, const std::vector<std::byte>& sums, const Held& mine);

  /// The room in which parts from others arrive, behind the partial tile.
  [[nodiscard]] Storage room(std::size_t worker) const {
    const std::size_t k = results_.front();
    const Held most = site_.held(k, 0, 0);  // The first core's tile is the largest.
    const std::int64_t skipped =
        partition::aligned(partition::element_bytes(most.elements(), ir::bits(partial_type())))
            .value;
    Storage out;
    std::int64_t passed = 0;
    for (const Segment& segment : operands_.storage(k, worker).segments) {
      const std::int64_t low = std::clamp<std::int64_t>(skipped - passed, 0, segment.bytes);
      if (low < segment.bytes) {
        out.segments.push_back({.begin = segment.begin + low, .bytes = segment.bytes - low});
      }
      passed += segment.bytes;
    }
    return out;
  }

  const Operands& operands_;
  const Site& site_;
  std::vector<std::size_t> results_;
  std::vector<Loaded> loaded_;
  std::vector<RowState> rows_;
};

/// Every core receives its part of the tile from all others that share it, adds, and finishes.
void Execution::reduce() {
  const std::size_t k = results_.front();
  const partition::Layout layout = partition::layout(
      site_.placed().graph, site_.op(), k, site_.placed().plan.execute, site_.placed().chip);
  const partition::Pieces pieces(layout);
  std::vector<Held> mine;
  std::vector<std::pair<std::size_t, std::size_t>> place(site_.workers().size());
  for (const Worker& worker : site_.workers()) {
    mine.push_back(held_at(pieces, static_cast<std::size_t>(pieces.place(worker.core))));
  }
  const std::vector<std::vector<std::size_t>> partners = site_.partners();
  for (std::size_t group = 0; group < partners.size(); ++group) {
    for (std::size_t number = 0; number < partners[group].size(); ++number) {
      place[partners[group][number]] = {group, number};
    }
  }
  const std::int64_t step = site_.tiling().steps;
  operands_.for_each_worker(step, [&](std::size_t worker) {
    receive(worker, partners[place[worker].first], mine[worker]);
  });
  std::vector<std::vector<std::byte>> sums(mine.size());
  operands_.for_each_worker(step, [&](std::size_t worker) {
    sums[worker] =
        summed(worker, partners[place[worker].first].size(), place[worker].second, mine[worker]);
  });
  operands_.for_each_worker(
      step, [&](std::size_t worker) { settle(worker, sums[worker], mine[worker]); });
}

void Execution::receive(std::size_t worker, const std::vector<std::size_t>& group,
                        const Held& mine) {
  const std::size_t k = results_.front();
  const std::int64_t bits = ir::bits(partial_type());
  const Storage into = room(worker);
  const View view(arena(worker), into, bits);
  std::vector<std::byte> part;
  std::int64_t slot = 0;
  for (const std::size_t other : group) {
    if (other == worker) {
      continue;
    }
    const Storage there = operands_.storage(k, other);
    const View from(arena(other), there, bits);
    for (const SharedRun& run : shared_runs(site_.held(k, other, 0), mine)) {
      part.resize(subscript(partition::element_bytes(run.count, bits).value + 1));
      from.read(run.from, run.count, part.data());
      view.write((slot * mine.elements()) + run.to, run.count, part.data());
    }
    operands_.note(worker, {.action = Action::Reduce,
                            .op = -1,
                            .step = 0,
                            .operand = static_cast<std::int32_t>(k),
                            .from = site_.workers()[other].core,
                            .bytes = partition::element_bytes(mine.elements(), bits).value});
    slot += 1;
  }
}

std::vector<std::byte> Execution::summed(std::size_t worker, std::size_t parts, std::size_t own,
                                         const Held& mine) const {
  const std::size_t k = results_.front();
  const ir::DType dtype = partial_type();
  const std::int64_t bits = ir::bits(dtype);
  const std::int64_t count = mine.elements();
  const Storage received = room(worker);
  const Storage tile = operands_.storage(k, worker);
  std::vector<std::byte> bytes(subscript(partition::element_bytes(count, bits).value) + 8);
  std::optional<Numbers> sum;
  std::int64_t slot = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    if (part == own) {
      const View view(arena(worker), tile, bits);
      for (const SharedRun& run : shared_runs(site_.held(k, worker, 0), mine)) {
        view.read(run.from, run.count, bytes.data() + partition::element_bytes(run.to, bits).value);
      }
    } else {
      View(arena(worker), received, bits).read(slot++ * count, count, bytes.data());
    }
    const ElementRun all{.first = 0, .step = 1, .count = count};
    Numbers numbers = with_numbers(dtype, subscript(count), [&](auto& values) {
      emulate::load(Elements{.data = bytes.data(), .dtype = dtype}, all, values.data());
    });
    if (sum) {
      combine(site_.op(), numbers, *sum);
    } else {
      sum = std::move(numbers);
    }
  }
  std::visit(
      [&](const auto& values) {
        save(values.data(), {.first = 0, .step = 1, .count = count},
             {.data = bytes.data(), .dtype = dtype});
      },
      *sum);
  return bytes;
}

/// Finishes a core's part of the tile and writes it where it rests.
void Execution::settle(std::size_t worker, const std::vector<std::byte>& sums, const Held& mine) {
  const std::size_t k = results_.front();
  const ir::DType wide = partial_type();
  const ir::DType stored = site_.tensor(k).dtype;
  const Held whole_tile = site_.held(k, worker, 0);
  const auto bytes_of = [](std::int64_t elements, ir::DType dtype) {
    return subscript(partition::element_bytes(elements, ir::bits(dtype)).value + 8);
  };
  const std::vector<SharedRun> runs = shared_runs(whole_tile, mine);
  std::vector<std::byte> partials(bytes_of(whole_tile.elements(), wide));
  for (const SharedRun& run : runs) {
    copy_elements(sums.data(), partials.data(),
                  {.from = run.to, .to = run.from, .count = run.count, .bits = ir::bits(wide)});
  }
  const Tile all = tile(worker, site_.workers()[worker].tile);
  Numbers numbers = read(all, k, {.held = whole_tile, .bytes = partials.data(), .dtype = wide});
  finish(all, numbers);
  std::vector<std::byte> finished(bytes_of(whole_tile.elements(), stored));
  write(all, k, numbers, {.held = whole_tile, .bytes = finished.data(), .dtype = stored});
  const Storage place = operands_.rest(k);
  const View view(arena(worker), place, ir::bits(stored));
  std::vector<std::byte> piece(bytes_of(mine.elements(), stored));
  for (const SharedRun& run : runs) {
    copy_elements(finished.data(), piece.data(),
                  {.from = run.from, .to = run.to, .count = run.count, .bits = ir::bits(stored)});
  }
  view.write(0, mine.elements(), piece.data());
}

}  // namespace

void execute(const Operands& operands) { Execution(operands).run(); }

}  // namespace elk::emulate
