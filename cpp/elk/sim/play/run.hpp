#pragma once

#include <cstdint>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/intervals.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/program/code/code.hpp"
#include "elk/sim/play/demand.hpp"

namespace elk::sim {

/// How the time of a run divides (design 8). The parts add up to the whole, to the picosecond.
struct RunBreakdown {
  Picoseconds preload{0};       // a preload or store alone
  Picoseconds execute{0};       // an execute alone
  Picoseconds overlapped{0};    // both, as fast as each would be alone
  Picoseconds interconnect{0};  // both, the share by which the slower one is held up; and idle time

  friend bool operator==(const RunBreakdown&, const RunBreakdown&) = default;
};

/// A kind of execute: those that do the same.
using ExecutionId = Id<struct ExecutionKind>;

/// What an execute does with its time. Compute is every tile call, those that add up or copy what
/// an exchange brought included; a shift that is hidden behind one counts where it outlasts it.
enum class PhaseKind : std::uint8_t { Distribute, Gather, Compute, Shift, Reduce };
inline constexpr std::size_t kPhaseKinds = 5;

/// A stretch of an execute: all its steps of one kind that follow each other without another.
struct Phase {
  OpId op;
  PhaseKind kind;
  Interval<Picoseconds> time;
  Bytes received;     // by all cores, from other cores and chips
  Seconds core_time;  // of calls of the op's kernel, over all cores, as if nothing drew them out
};

/// What a run, or one execute of it, moved and did in all, for utilisation and energy.
struct Totals {
  Bytes hbm{0};         // read and written
  Bytes received{0};    // by all cores
  Bytes hops{0};        // bytes times links passed
  Bytes between{0};     // chips
  Bytes loaded{0};      // received from the HBM by all cores
  Bytes operands{0};    // of all tile calls: operands and results
  double flops = 0.0;   // of all tile calls, padding included
  double matrix_s = 0;  // core seconds of products and convolutions
  double vector_s = 0;  // core seconds of everything else

  friend bool operator==(const Totals&, const Totals&) = default;
};

/// One op of a run.
struct OpRun {
  Interval<Picoseconds> preload;  // empty at 0 without one
  Interval<Picoseconds> execute;
  Picoseconds waited{0};           // before the execute, for its preload
  std::vector<Picoseconds> parts;  // of the execute, by PhaseKind, syncs inside
  Picoseconds synced{0};           // synchronisations alone
  Picoseconds link_contention{0};  // by which preloads and stores drew exchanges out
  Picoseconds sram_contention{0};  // of computations
  std::int32_t queued = 0;         // preloads and stores not over when the execute began
  Bytes received{0};               // of the busiest core: gather, shifts, reductions
  Bytes exchange{0};               // of the busiest core, received or sent
  Bytes distribute{0};             // of the busiest core
  Bytes hbm{0};                    // read over all chips
  Bytes link{0};                   // received from the HBM by the busiest core
  Bytes loaded{0};                 // received from the HBM by all cores
  Bytes load_hops{0};              // bytes of the preload times links passed
  Totals work;                     // of the execute; `vector_s` are all of its core seconds
  ExecutionId execution{0};        // the kind of its execute

  friend bool operator==(const OpRun&, const OpRun&) = default;
};

struct StoreRun {
  TensorId tensor;
  Interval<Picoseconds> store;
  Bytes hbm{0};    // written over all chips
  Bytes moved{0};  // by all cores
  Bytes hops{0};   // bytes times links passed

  friend bool operator==(const StoreRun&, const StoreRun&) = default;
};

/// A preload or store from its issue to its end. Until `begin` it stands in the queue; then until
/// `first` it waits for its first byte; from then on it moves, but while the HBM refreshes.
struct TransferRun {
  program::Instruction instruction;
  Picoseconds issued;
  Picoseconds begin;
  Picoseconds first;
  Picoseconds end;
  Picoseconds refreshed;
  Picoseconds alone;    // from its first byte on, with nothing else about
  Picoseconds reached;  // the program waits for it from then on; -1: it never does
  Bytes hbm;            // read or written over all chips
  Bytes moved;          // by all cores
  bool over;            // rather than under way where the trace breaks off

  friend bool operator==(const TransferRun&, const TransferRun&) = default;
};

/// What a link is: between neighbours of a grid; a port of a core on all-to-all, or of a node that
/// has fewer of them than links; between a memory module and its node; the way out of a chip or in.
enum class LinkKind : std::uint8_t {
  Link,
  Send,
  Receive,
  PortIn,
  PortOut,
  FromHbm,
  ToHbm,
  ChipOut,
  ChipIn
};

/// One link, and what it did in a run.
struct LinkRow {
  LinkKind kind;
  std::int32_t from;  // a core, or of the ways of chips a chip; -1: none
  std::int32_t to;
  Rate rate;
  Bytes carried;
  Picoseconds busy;  // with anything on it

  friend bool operator==(const LinkRow&, const LinkRow&) = default;
};

/// A program as it ran.
struct Run {
  Fidelity fidelity;
  Picoseconds total{0};
  RunBreakdown split;
  Table<OpId, OpRun> ops;
  std::vector<StoreRun> stores;
  std::vector<TransferRun> transfers;  // preloads and stores, by issue
  std::vector<Phase> phases;
  Table<ExecutionId, std::vector<CoreId>> cores;  // which run tile calls, by kind of execute
  Totals totals;
  // Of `Fidelity::Flows`. GCC wants the initializer.
  std::vector<LinkRow> links = {};  // NOLINT(readability-redundant-member-init)
};

}  // namespace elk::sim
