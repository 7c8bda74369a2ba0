#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "elk/emulate/boxes.hpp"
#include "elk/emulate/machine.hpp"
#include "elk/emulate/places.hpp"
#include "elk/emulate/site.hpp"

namespace elk::emulate {

/// Dense pieces of the distinct layouts in which a tensor lies, with the cores that hold them.
struct Holding {
  Held held;
  std::vector<std::int32_t> cores;
};
[[nodiscard]] std::vector<Holding> holdings(const partition::Layout& layout);

/// The operands of one op in the memories of its cores.
class Operands {
 public:
  Operands(Machine& machine, std::int32_t op);

  [[nodiscard]] Machine& machine() const { return machine_; }
  [[nodiscard]] std::int32_t id() const { return id_; }
  [[nodiscard]] const Site& site() const { return site_; }

  /// Whether operand `k` comes from HBM, and on a chip that has one.
  [[nodiscard]] bool is_preloaded(std::size_t k) const { return places_.is_preloaded(k); }
  /// Whether it is gathered: an activation that does not lie where it is needed.
  [[nodiscard]] bool is_gathered(std::size_t k) const { return places_.is_gathered(k); }

  [[nodiscard]] Held held(std::size_t k, std::size_t worker, std::int64_t turns) const;
  /// Where a worker keeps its piece of a read operand; of a result, its partial tile and the room
  /// to receive others'.
  [[nodiscard]] Storage storage(std::size_t k, std::size_t worker) const;
  /// Where the final piece of a result rests.
  [[nodiscard]] Storage rest(std::size_t k) const { return {places_.rest(k)}; }

  /// The slices of a preloaded piece: bytes [begin, end) of it for each of the peers.
  struct Slices {
    std::vector<Segment> parts;
    std::size_t own;
  };
  [[nodiscard]] Slices slices(std::size_t k, std::size_t worker) const;
  /// The worker that received slice `slice` of the same piece at preload.
  [[nodiscard]] std::size_t peer(std::size_t k, std::size_t worker, std::size_t slice) const;

  /// A piece in ascending order of its indices, and back: rotating ones lie in a circle.
  [[nodiscard]] std::vector<std::byte> load(std::size_t k, std::size_t worker,
                                            std::int64_t turns) const;
  [[nodiscard]] std::vector<std::byte> in_place_order(std::size_t k, std::size_t worker,
                                                      std::vector<std::byte> piece) const;
  /// From the ascending order of a piece to where its elements lie.
  [[nodiscard]] std::vector<SharedRun> circle_runs(std::size_t k, std::size_t worker,
                                                   std::int64_t turns) const;

  /// Notes what a worker received. `moved.op` is filled in.
  void note(std::size_t worker, Moved moved) const;

  /// Calls `body(worker)` for all workers in parallel, with op, core and step in what it throws.
  void for_each_worker(std::int64_t step, const std::function<void(std::size_t)>& body) const;

 private:
  void find_picks(std::size_t k);

  Machine& machine_;
  std::int32_t id_;
  program::PlacedOp placed_;
  Site site_;
  Places places_;
  std::vector<std::vector<partition::Indices>> picks_;  // of indirect operands, by worker
};

}  // namespace elk::emulate
