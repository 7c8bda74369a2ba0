#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/sim/agenda.hpp"
#include "elk/sim/fair.hpp"
#include "elk/sim/share.hpp"

namespace elk::sim {

/// What an item means to whoever started it. Equal items may share a tag.
using Tag = std::int64_t;

/// In the order in which they come at one time: what was in the way is gone before the next begins.
enum class EventKind : std::uint8_t { FlowEnd, ComputeEnd, Timer };

/// Something that ended. Events of one time are sorted by what they are, never by when they were
/// started.
struct Event {
  Picoseconds time;
  EventKind kind;
  Tag tag;

  friend auto operator<=>(const Event&, const Event&) = default;
};

/// A port, a link, a memory module: something that flows share.
struct Resource {
  Rate capacity;
  Rate sustained;  // of a memory whose rows are all in use, see `Refresh`; 0: `capacity`
  bool refreshes;  // stands still at each refresh of the machine

  friend bool operator==(const Resource&, const Resource&) = default;
};

/// When memories refresh: they stand still for `stall` from each multiple of `interval` but the
/// first. For `fresh` after that, and from the start, rows are open or closed and a memory reaches
/// its capacity; then rows have to be closed first, and it sustains what its queues allow. An
/// interval of 0: no refresh.
struct Refresh {
  Picoseconds interval;
  Picoseconds stall;
  Picoseconds fresh;

  friend bool operator==(const Refresh&, const Refresh&) = default;
};

/// A port or a link: nothing but its capacity.
[[nodiscard]] constexpr Resource steady(Rate capacity) {
  return {.capacity = capacity, .sustained = {0}, .refreshes = false};
}

struct Machine {
  std::vector<Resource> resources;
  Refresh refresh;
};

/// Bytes that move through all of `uses` at the same time, at one speed.
struct Flow {
  Tag tag;
  Bytes bytes;                // up to kMostFlowBytes
  Rate cap;                   // of its own; 0: none
  Picoseconds latency;        // from the last byte sent to the last byte there
  std::span<const Use> uses;  // copied; each resource once
};

/// Work of a core whose SRAM port serves flows first: it takes `alone` with the port idle, and runs
/// at `1 - load / capacity` of that speed.
struct Compute {
  Tag tag;
  Picoseconds alone;
  ResourceId port;
};

/// Plays flows, computations and timers on a machine. Time is in whole picoseconds. At any time the
/// flows under way have the max-min fair shares of `fair_shares`, found anew, where something
/// changed, whenever a flow starts or ends or a refresh changes a capacity. Ends are rounded up.
///
///     Engine engine({.resources = {steady({1'000'000'000})}, .refresh = {}});
///     engine.start({.tag = 7, .bytes = {1000}, .cap = {0}, .latency = {0}, .uses = uses}, {0});
///     engine.next();  // one event: tag 7 at 1,000,000 ps
class Engine {
 public:
  explicit Engine(const Machine& machine);

  /// `at` must not lie before `now()`. Throws InvalidInput for what no machine could play.
  void start(const Flow& flow, Picoseconds at);
  void start(const Compute& compute, Picoseconds at);
  void start_timer(Tag tag, Picoseconds at);

  /// Moves on to the next time at which something ends, and returns all that ends then; empty if
  /// nothing is under way. The span holds until the next call. What is started at that time joins
  /// before anything moves on.
  std::span<const Event> next();

  [[nodiscard]] Picoseconds now() const { return now_; }

  /// Bytes, times weights, of the flows through `resource` that have ended.
  [[nodiscard]] Bytes carried(ResourceId resource) const;

 private:
  enum class State : std::uint8_t { Free, Waiting, Streaming, Arriving, Computing, Timing };

  struct Item {
    Wide left;  // grains; of a computation, what its port could move in the time left
    Wide cap;
    Share share;
    Picoseconds since;  // `left` was true then
    Picoseconds latency;
    Tag tag;
    Bytes bytes;
    std::int32_t first_use;
    std::int32_t use_count;
    std::int64_t stamp;  // of the last search that met it
    EventKind kind;
    State state;
  };

  struct Held {
    Use use;
    std::int32_t place;  // in the list of its resource
  };

  struct Crossing {
    std::int32_t item;
    std::int32_t held;
  };

  struct Node {
    Wide capacity;
    Wide sustained;
    Bytes carried;
    std::vector<Crossing> flows;
    std::vector<std::int32_t> computes;
    std::int64_t stamp;
    std::int32_t local;  // its number in the part that is searched
    bool refreshes;
    bool dirty;  // a flow came or went
    bool stale;  // a computation came
  };

  void begin(std::int32_t id, Picoseconds at);
  std::int32_t new_item(EventKind kind, Tag tag);
  void free_item(std::int32_t id);
  std::int32_t hold(std::span<const Use> uses);
  void enter(std::int32_t id);
  void leave(std::int32_t id);
  void touch(ResourceId resource);
  void due(std::int32_t id);
  void emit(std::int32_t id);
  void set_share(std::int32_t id, Share share);

  void refresh();
  void refresh_flows();
  bool refresh_lone(ResourceId resource);
  void gather(ResourceId resource);
  void apply_part();
  void pace_computes(Node& node);
  [[nodiscard]] Wide capacity(const Node& node) const;
  void set_refresh_timer();
  void touch_memories();

  /// What capacities are now, and when that changes next; never: 0.
  struct Phase {
    bool stands;
    bool fresh;
    Picoseconds ends;
  };
  [[nodiscard]] Phase phase() const;

  [[nodiscard]] Item& item(std::int32_t id) { return items_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] Node& node(ResourceId id) { return nodes_[id.index()]; }

  std::vector<Node> nodes_;
  std::vector<Item> items_;
  std::vector<std::int32_t> free_items_;
  std::vector<Held> held_;
  std::vector<std::vector<std::int32_t>> free_held_;  // by size: blocks of `held_`
  std::vector<ResourceId> dirty_;
  std::vector<ResourceId> stale_;
  std::vector<ResourceId> memories_;  // that refresh
  Agenda agenda_;
  std::vector<Event> events_;
  Refresh refresh_;
  Picoseconds now_{0};
  std::int64_t memory_flows_ = 0;  // crossings of resources that refresh
  std::int64_t stamp_ = 0;

  Sharing part_;  // the part of the machine that is searched
  std::vector<ResourceId> part_nodes_;
  std::vector<std::int32_t> part_flows_;
  std::vector<Share> part_shares_;
  FairScratch scratch_;
};

}  // namespace elk::sim
