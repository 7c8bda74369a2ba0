#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/emulate/machine/job.hpp"
#include "elk/emulate/machine/tape.hpp"
#include "elk/emulate/memory/book.hpp"
#include "elk/emulate/memory/memory.hpp"
#include "elk/program/code/spaces.hpp"
#include "elk/program/program.hpp"

namespace elk::emulate {

/// The bytes of whole tensors by position in Graph::tensors: as they lie in HBM or at the host.
using Images = std::map<TensorId, std::vector<std::byte>>;
/// The bytes of whole tensors where a caller has them, by position in Graph::tensors.
using Views = std::map<TensorId, std::span<const std::byte>>;

/// Runs the program: every preload, distribution, shift and reduction is a copy of bytes between
/// the memories of cores, at the addresses of its buffers. `given` has the inputs, weights and
/// states. The answer has the tensors in `wanted`.
///
/// Throws InvalidInput for a program without buffers, an op without a kernel or an image of another
/// size; InternalError, with op, core and step, for what a sound program never does: reading bytes
/// that nobody wrote ("emulate_poison"), an address in no buffer ("emulate_address"), buffers that
/// overlap while both live ("emulate_overlap"), an exchange whose ends disagree
/// ("emulate_exchange").
[[nodiscard]] Images emulate(const EmulationJob& job, const Views& given,
                             std::span<const TensorId> wanted);

/// What one chip did.
struct EmulationResult {
  Images images;  // the tensors in `wanted`
  Tape tape;
};
/// Runs one program on several chips, each on its part of a model: instruction after instruction on
/// all of them, collectives between them. `slices` are the ops by which a chip takes
/// its part of a tensor that it holds whole. `given` and the answer are by chip.
[[nodiscard]] std::vector<EmulationResult> emulate_pod(const EmulationJob& job,
                                                       std::span<const OpId> slices,
                                                       const std::vector<Views>& given,
                                                       std::span<const TensorId> wanted);

/// The state of a chip between instructions.
struct ChipState {
  const EmulationJob& job;
  BufferBook book;
  program::Spaces spaces;
  Table<TensorId, OpId> spread_by;  // as `program::spread_by`
  Table<CoreId, Arena> arenas;      // of every core of the machine
  const Views& given;
  Images stored;  // by the program: they take the place of what was given
  Tape tape;

  ChipState(const EmulationJob& on, const Views& of);

  /// Where a tensor lies evenly over all cores; null if it has no bytes.
  [[nodiscard]] const program::Buffer* spread_buffer(TensorId tensor) const;
  /// All of a tensor that rests on chip, put together from the cores that hold it.
  [[nodiscard]] std::vector<std::byte> collect(TensorId tensor);
  /// Writes a tensor that rests on chip to HBM: to where it is part of another, if it is.
  void store(TensorId tensor);
  /// All of a tensor from wherever it is: its image, or else what is collected into `room`.
  [[nodiscard]] std::span<const std::byte> image(TensorId tensor, std::vector<std::byte>& room);
};

}  // namespace elk::emulate
