#include "elk/emulate/machine/listing.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

#include "elk/base/ids.hpp"
#include "elk/base/rounding.hpp"
#include "elk/emulate/machine/operand_addresses.hpp"
#include "elk/partition/layout/layout.hpp"

namespace elk::emulate {
namespace {

using program::Exchange;
using Lists = std::vector<std::vector<CoreInstruction>>;

CoreInstruction told(Action action, std::int32_t op) {
  CoreInstruction one;
  one.action = action;
  one.op = op;
  return one;
}

/// What one core receives and sends of one operand.
struct OperandParcels {
  std::vector<Parcel> from;
  std::vector<Parcel> to;
};

/// The asked cores, found by their ids.
class Asked {
 public:
  Asked(std::span<const std::int32_t> cores, std::int64_t all)
      : cores_(cores), place_(subscript(all), -1) {
    for (std::size_t i = 0; i < cores.size(); ++i) {
      place_.at(subscript(cores[i])) = static_cast<std::int32_t>(i);
    }
  }

  [[nodiscard]] std::size_t size() const { return cores_.size(); }
  [[nodiscard]] std::int32_t core(std::size_t place) const { return cores_[place]; }
  /// Where a core stands in the list; -1: nowhere.
  [[nodiscard]] std::int32_t place(std::int32_t core) const { return place_[subscript(core)]; }

 private:
  std::span<const std::int32_t> cores_;
  std::vector<std::int32_t> place_;
};

/// By operand, what every asked core receives and sends in an exchange.
using Parcels = std::map<std::int32_t, std::vector<OperandParcels>>;

Parcels parcels(const Exchange& exchange, const chip::Chip& chip, const Asked& asked) {
  Parcels found;
  const auto ends = [&](std::int32_t operand) -> std::vector<OperandParcels>& {
    std::vector<OperandParcels>& all = found[operand];
    all.resize(asked.size());
    return all;
  };
  program::for_each_send(exchange, chip, [&](const program::Send& send) {
    if (send.bytes == 0) {
      return;  // Fragments of bytes that other transfers bring.
    }
    const std::vector<std::int32_t> sender =
        send.core < 0 ? std::vector<std::int32_t>{} : std::vector{send.core};
    for (const std::int32_t core : send.receivers) {
      if (asked.place(core) >= 0) {
        ends(send.operand)[subscript(asked.place(core))].from.push_back(
            {.cores = sender, .bytes = send.bytes, .runs = send.runs});
      }
    }
    if (send.core >= 0 && asked.place(send.core) >= 0) {
      ends(send.operand)[subscript(asked.place(send.core))].to.push_back(
          {.cores = {send.receivers.begin(), send.receivers.end()},
           .bytes = send.bytes,
           .runs = send.runs});
    }
  });
  if (exchange.even_bytes > 0) {
    const auto spread =
        std::find_if(exchange.transfers.begin(), exchange.transfers.end(),
                     [](const auto& one) { return one.pattern == program::Pattern::Spread; });
    const std::int64_t share = ceil_div(exchange.even_bytes, chip::total_cores(chip));
    for (OperandParcels& one : ends(spread->operand)) {
      one.to.push_back({.cores = {}, .bytes = share, .runs = 1});
    }
  }
  return found;
}

/// Writes the lists of one execute.
class ExecuteCoder {
 public:
  ExecuteCoder(const EmulationJob& job, const OperandAddresses& places, std::int32_t op,
               const Asked& asked)
      : job_(job),
        places_(places),
        op_(op),
        asked_(asked),
        placed_{job.graph, job.graph.ops[subscript(op)], job.program.ops[subscript(op)], job.chip},
        site_(placed_),
        worker_(asked.size(), kNone) {
    for (std::size_t w = 0; w < site_.workers().size(); ++w) {
      const std::int32_t place = asked.place(site_.workers()[w].core);
      if (place >= 0) {
        worker_[subscript(place)] = w;
      }
    }
  }

  void add(const program::Execution& execution, Lists& out) {
    add_exchange(Action::Distribute, execution.distribute, out);
    add_exchange(Action::Gather, execution.gather, out);
    const std::vector<char> works = working(execution);
    if (execution.collective) {
      add_collective(*execution.collective, works, out);
      return;
    }
    add_steps(execution, works, out);
    for (std::size_t i = 0; i < execution.reduce.size(); ++i) {
      add_round(execution.reduce[i], static_cast<std::int64_t>(i), works, out);
    }
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  [[nodiscard]] std::vector<char> working(const program::Execution& execution) const {
    std::vector<char> works(asked_.size(), 0);
    for (const program::Tiles& tiles : execution.tiles) {
      for (const std::int32_t core : tiles.cores) {
        if (asked_.place(core) >= 0) {
          works[subscript(asked_.place(core))] = 1;
        }
      }
    }
    return works;
  }

  [[nodiscard]] Area area(std::size_t k, std::size_t place, const Shifts& shifts) const {
    Area out{.tensor = placed_.op.operands[k].tensor, .box = {}, .places = places_.segments(k)};
    if (worker_[place] != kNone) {
      out.box = site_.held(k, worker_[place], shifts).sets;
    }
    return out;
  }

  [[nodiscard]] CoreInstruction instruction(Action action, std::int64_t number) const {
    CoreInstruction one = told(action, op_);
    one.number = number;
    return one;
  }

  void add_exchange(Action action, const Exchange& exchange, Lists& out) const {
    for (auto& [operand, ends] : parcels(exchange, job_.chip, asked_)) {
      for (std::size_t place = 0; place < ends.size(); ++place) {
        if (ends[place].from.empty() && ends[place].to.empty()) {
          continue;
        }
        CoreInstruction one = instruction(action, 0);
        one.areas.push_back(area(subscript(operand), place, site_.shifts(subscript(operand), 0)));
        one.from = std::move(ends[place].from);
        one.to = std::move(ends[place].to);
        out[place].push_back(std::move(one));
      }
    }
  }

  void add_compute(std::int64_t step, std::size_t place, Lists& out) const {
    const std::size_t worker = worker_[place];
    CoreInstruction one = instruction(Action::Compute, step);
    one.sub_tasks = site_.sub_task(worker, step);
    if (one.sub_tasks.empty()) {
      return;  // The core's tile is shorter than others'.
    }
    for (std::size_t k = 0; k < placed_.op.operands.size(); ++k) {
      const std::size_t source = partition::first_like(placed_.op, k);
      one.areas.push_back(area(source, place, site_.shifts(source, step)));
    }
    out[place].push_back(std::move(one));
  }

  void add_steps(const program::Execution& execution, const std::vector<char>& works,
                 Lists& out) const {
    std::vector<Parcels> moved;
    moved.reserve(execution.rotations.size());
    for (const program::RotationExchange& rotation : execution.rotations) {
      moved.push_back(parcels(rotation.exchange, job_.chip, asked_));
    }
    for (std::int64_t step = 0; step < execution.steps; ++step) {
      for (std::size_t place = 0; place < works.size(); ++place) {
        if (works[place] != 0) {
          add_compute(step, place, out);
        }
      }
      for (std::size_t i = 0; i < moved.size() && step + 1 < execution.steps; ++i) {
        if ((step + 1) % execution.rotations[i].every == 0) {
          add_shift(execution.rotations[i], moved[i], step, out);
        }
      }
    }
  }

  void add_shift(const program::RotationExchange& rotation, const Parcels& moved, std::int64_t step,
                 Lists& out) const {
    const auto k = subscript(rotation.operand);
    Shifts shifts = site_.shifts(k, step);  // Along dimensions in turn, this one the last of them.
    for (std::size_t i = 0; i < shifts.size(); ++i) {
      const RotationDim& spin = site_.spins(k)[i];
      shifts[i] = site_.turns(spin.axis, spin.dim <= subscript(rotation.dim) ? step + 1 : step);
    }
    for (const auto& [operand, ends] : moved) {
      for (std::size_t place = 0; place < ends.size(); ++place) {
        if (ends[place].from.empty() && ends[place].to.empty()) {
          continue;
        }
        CoreInstruction one = instruction(Action::Shift, step);
        one.areas.push_back(area(k, place, shifts));
        one.from = ends[place].from;
        one.to = ends[place].to;
        one.loads = rotation.chunks;
        out[place].push_back(std::move(one));
      }
    }
  }

  void add_round(const program::ReductionRound& round, std::int64_t number,
                 const std::vector<char>& works, Lists& out) const {
    const Parcels moved = parcels(round.exchange, job_.chip, asked_);
    const std::size_t k =
        works_on_rows(placed_.op) || moved.empty() ? 0 : subscript(moved.begin()->first);
    for (std::size_t place = 0; place < asked_.size(); ++place) {
      CoreInstruction one = instruction(Action::Reduce, number);
      for (const auto& [operand, ends] : moved) {
        one.from.insert(one.from.end(), ends[place].from.begin(), ends[place].from.end());
        one.to.insert(one.to.end(), ends[place].to.begin(), ends[place].to.end());
      }
      if (works[place] == 0 && one.from.empty() && one.to.empty()) {
        continue;
      }
      one.areas.push_back(area(k, place, site_.shifts(k, 0)));
      one.parts = round.parts;
      one.elements = round.elements;
      out[place].push_back(std::move(one));
    }
  }

  /// What ports exchange with other chips, the adds, and what ports hand on.
  void add_collective(const program::CollectiveMoves& moves, const std::vector<char>& works,
                      Lists& out) const {
    std::int64_t number = 0;
    for (const program::CollectiveSteps& crossing : moves.crossings) {
      const Parcel abroad{.cores = {}, .bytes = crossing.port, .runs = 1};
      for (std::int64_t step = 0; step < crossing.steps; ++step, ++number) {
        for (const std::int32_t core : moves.ports) {
          if (asked_.place(core) >= 0) {
            CoreInstruction one = instruction(Action::Shift, number);
            one.from = {abroad};
            one.to = {abroad};
            one.loads = 1;
            out[subscript(asked_.place(core))].push_back(std::move(one));
          }
        }
      }
    }
    for (std::size_t place = 0; place < works.size() && moves.addends > 0; ++place) {
      if (works[place] != 0) {
        CoreInstruction one = instruction(Action::Shift, number);
        one.parts = moves.addends + 1;
        one.elements = moves.elements;
        out[place].push_back(std::move(one));
      }
    }
    add_exchange(Action::Reduce, moves.deliver, out);
  }

  const EmulationJob& job_;
  const OperandAddresses& places_;
  std::int32_t op_;
  const Asked& asked_;
  program::PlacedOp placed_;
  Site site_;
  std::vector<std::size_t> worker_;  // of every asked core; kNone: it is idle
};

/// Every buffer that begins with an instruction, on all cores.
void add_allocations(const BufferBook& book, std::int32_t position, Lists& out) {
  for (const program::Buffer* buffer : book.born(position)) {
    CoreInstruction one = told(Action::Allocate, buffer->op);
    one.until = buffer->to;
    one.role = buffer->role;
    one.areas = {{.tensor = buffer->tensor, .box = {}, .places = {book.segment(*buffer)}}};
    one.bytes = buffer->bytes.value;
    for (std::vector<CoreInstruction>& list : out) {
      list.push_back(one);
    }
  }
}

void add_loading(const program::Loading& loading, const CoreInstruction& like,
                 const std::function<Area(std::int32_t operand)>& area, const Asked& asked,
                 Lists& out) {
  for (const program::LoadingPiece& piece : loading.pieces) {
    for (const std::int32_t core : piece.cores) {
      if (asked.place(core) >= 0) {
        CoreInstruction one = like;
        one.areas = {area(piece.operand)};
        one.bytes = piece.bytes;
        out[subscript(asked.place(core))].push_back(std::move(one));
      }
    }
  }
}

}  // namespace

Coder::Coder(const EmulationJob& job)
    : job_(job),
      book_(job.chip, job.program),
      spaces_(job.graph, job.chip, job.program.ops),
      expander_(job.graph, job.chip, job.program.ops) {}

const program::Execution& Coder::execution(std::int32_t op) {
  const std::int32_t number = expander_.execution_of(op);
  const auto known = known_.find(number);
  return known != known_.end() ? known->second
                               : known_.emplace(number, expander_.execution(op)).first->second;
}

Lists Coder::at(std::int32_t position, std::span<const std::int32_t> cores) {
  const program::Instruction& instruction = job_.program.code.at(subscript(position));
  const Asked asked(cores, chip::total_cores(job_.chip));
  Lists out(cores.size());
  add_allocations(book_, position, out);
  if (instruction.opcode == program::Opcode::Store) {
    const auto store =
        std::find_if(job_.graph.stores.begin(), job_.graph.stores.end(),
                     [&](const ir::Store& one) { return one.tensor == instruction.subject; });
    const program::Buffer* rest = book_.rest(store->tensor);
    const auto area = [&](std::int32_t) {
      return Area{.tensor = store->tensor, .box = {}, .places = {book_.segment(*rest)}};
    };
    add_loading(expander_.store(*store), told(Action::Store, store->op), area, asked, out);
    return out;
  }
  const std::int32_t op = instruction.subject;
  const OperandAddresses places(job_, book_, spaces_, op);
  if (instruction.opcode == program::Opcode::Preload) {
    const auto area = [&](std::int32_t operand) {
      return Area{.tensor = job_.graph.ops[subscript(op)].operands[subscript(operand)].tensor,
                  .box = {},
                  .places = places.preloaded(subscript(operand))};
    };
    add_loading(expander_.preload(op), told(Action::Preload, op), area, asked, out);
    return out;
  }
  ExecuteCoder(job_, places, op, asked).add(execution(op), out);
  return out;
}

}  // namespace elk::emulate
