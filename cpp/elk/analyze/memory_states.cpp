#include "elk/analyze/memory_states.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <utility>

#include "elk/analyze/free_ranges.hpp"
#include "elk/base/errors.hpp"
#include "elk/base/text.hpp"
#include "elk/base/watch.hpp"

namespace elk::analyze {
namespace {

using Column = Table<InstructionId, std::int64_t>;

/// Adds `bytes` to the instructions [from, until) of a column that is still to be summed up.
void raise(Column& steps, InstructionId from, InstructionId until, std::int64_t bytes) {
  steps[from] += bytes;
  steps[until] -= bytes;
}

/// The largest free range at each instruction.
Column largest_free(const HeldValues& held) {
  // Values that leave their cells free, chained by the instruction from which on they do.
  Table<InstructionId, ValueId> first(held.end.index(), ValueId::none);
  Table<ValueId, ValueId> next;
  next.reserve(held.values.size());
  for (const HeldValue& value : held.values) {
    const ValueId v = next.end_id();
    next.push_back(value.end < value.over ? std::exchange(first[value.end], v) : ValueId::none);
  }
  FreeRanges free(held.edges);
  Column largest(first.size());
  auto over = held.values.begin();
  for (const InstructionId i : first.ids()) {
    Watch::check();
    for (ValueId v = first[i]; v != ValueId::none; v = next[v]) {
      free.give(held.values[v].cells);
    }
    for (; over != held.values.end() && over->over == i; ++over) {
      if (over->end < over->over) {
        free.take(over->cells);
      }
    }
    largest[i] = free.largest();
  }
  return largest;
}

std::vector<UnreadTransfer> transfers(const HeldValues& held) {
  Table<InstructionId, UnreadTransfer> brought(held.end.index());
  for (const HeldValue& value : held.values) {
    if (value.begin < value.arrives) {
      const std::int64_t bytes = held.bytes(value).length();
      brought[value.writer].issue = value.writer;
      brought[value.writer].bytes += bytes;
      brought[value.writer].unread += value.read ? 0 : bytes;
    }
  }
  std::erase_if(brought, [](const UnreadTransfer& transfer) { return transfer.bytes == 0; });
  return brought;
}

void check_blocks(const HeldValues& held, std::int32_t count, std::span<const InstructionId> at) {
  if (count < 1) {
    throw InvalidInput(text("blocks must be positive, got ", count));
  }
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] < (i > 0 ? at[i - 1] : InstructionId{0}) || at[i] >= held.end) {
      throw InvalidInput(text("at[", i, "] must be one of ", held.end,
                              " instructions, in ascending order, got ", at[i]));
    }
  }
}

}  // namespace

MemoryStates memory_states(const HeldValues& held) {
  const std::size_t count = held.end.index();
  MemoryStates states{.used = Column(count + 1),
                      .arriving = Column(count + 1),
                      .idle = Column(count + 1),
                      .free = Column(count, held.size()),
                      .hole = largest_free(held),
                      .unread = transfers(held)};
  for (const HeldValue& value : held.values) {
    const std::int64_t bytes = held.bytes(value).length();
    raise(states.arriving, value.begin, value.arrives, bytes);
    raise(value.read ? states.used : states.idle, value.arrives, value.end, bytes);
  }
  for (Column* column : {&states.used, &states.arriving, &states.idle}) {
    std::partial_sum(column->begin(), column->end(), column->begin());
    column->pop_back();
    for (const InstructionId i : column->ids()) {
      states.free[i] -= (*column)[i];
    }
  }
  return states;
}

std::vector<std::int64_t> blocks(const HeldValues& held, std::int32_t count,
                                 std::span<const InstructionId> at) {
  check_blocks(held, count, at);
  const std::int64_t block_size = std::max<std::int64_t>(1, (held.size() + count - 1) / count);
  const auto column_of = [&](InstructionId instruction) {
    return std::ranges::lower_bound(at, instruction) - at.begin();
  };
  const std::int64_t columns = std::ssize(at);
  std::vector<std::int64_t> found(subscript(count) * at.size());
  for (const HeldValue& value : held.values) {
    const Interval<std::int64_t> bytes = held.bytes(value);
    const std::int64_t from = column_of(value.begin);
    const std::int64_t until = column_of(value.read ? value.end : value.arrives);
    for (std::int64_t begin = bytes.begin; from < until && begin < bytes.end;) {
      const std::int64_t block = begin / block_size;
      const std::int64_t end = std::min(bytes.end, (block + 1) * block_size);
      const auto row = found.begin() + block * columns;
      row[from] += end - begin;
      if (until < columns) {
        row[until] -= end - begin;
      }
      begin = end;
    }
  }
  for (auto row = found.begin(); row != found.end(); row += columns) {
    std::partial_sum(row, row + columns, row);
  }
  return found;
}

}  // namespace elk::analyze
