#pragma once

#include "elk/analyze/cell_set.hpp"

namespace elk::analyze {

/// A value for every cell of a memory, kept for runs of cells.
///
/// Every call cuts at most two runs in two, and `assign` makes one of all that it covers: calls of
/// it pass over no more runs than were cut.
template <class Value>
class CellMap {
 public:
  /// `value` for all cells before `end`.
  CellMap(CellId end, const Value& value) : begins_(end), runs_(end.index() + 1) {
    begins_.insert(CellId{0});
    runs_.front() = {end, value};
  }

  void assign(const CellRange& cells, const Value& value) {
    cut(cells.begin);
    cut(cells.end);
    join(cells);
    runs_[cells.begin].value = value;
  }

  /// Lets `change` alter the value of every run of `cells`, and joins those that it makes equal.
  template <class Change>
  void update(const CellRange& cells, const Change& change) {
    cut(cells.begin);
    cut(cells.end);
    CellRange equal{cells.begin, cells.begin};
    each(cells, [&](const CellRange& run, Value value) {
      change(value);
      runs_[run.begin].value = value;
      if (value != runs_[equal.begin].value) {
        join(equal);
        equal.begin = run.begin;
      }
      equal.end = run.end;
    });
    join(equal);
  }

  /// Calls `visit(run, value)` for every run of `cells`, in order.
  template <class Visit>
  void each(const CellRange& cells, const Visit& visit) const {
    for (CellId begin = begins_.last(cells.begin); begin < cells.end;) {
      const CellRun run = runs_[begin];
      visit(intersection(cells, CellRange{begin, run.end}), run.value);
      begin = run.end;
    }
  }

 private:
  struct CellRun {
    CellId end;
    Value value;
  };

  /// Sees to it that a run begins at `cell`.
  void cut(CellId cell) {
    const CellId begin = begins_.last(cell);
    CellRun& run = runs_[begin];
    if (begin < cell && cell < run.end) {
      runs_[cell] = run;
      run.end = cell;
      begins_.insert(cell);
    }
  }

  /// Makes one run, with the value of the first, of those that `cells` are.
  void join(const CellRange& cells) {
    CellRun& first = runs_[cells.begin];
    for (; first.end < cells.end; first.end = runs_[first.end].end) {
      begins_.erase(first.end);
    }
  }

  CellSet begins_;
  Table<CellId, CellRun> runs_;  // by their first cell
};

}  // namespace elk::analyze
