#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elk/base/units.hpp"
#include "elk/sim/flows/agenda.hpp"
#include "elk/sim/flows/fair.hpp"
#include "elk/sim/flows/share.hpp"

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
  Bytes bytes;                        // up to kMostFlowBytes
  Rate cap;                           // of its own; 0: none
  Picoseconds latency;                // from the last byte sent to the last byte there
  std::span<const ResourceUse> uses;  // copied; each resource once
};

/// Work of a core whose SRAM port serves flows first: it takes `alone` with the port idle, and runs
/// at `1 - load / capacity` of that speed.
struct Computation {
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

  /// `when` must not lie before `now()`. Throws InvalidInput for what no machine could play.
  void start(const Flow& flow, Picoseconds when);
  void start(const Computation& compute, Picoseconds when);
  void start_timer(Tag tag, Picoseconds when);

  /// Moves on to the next time at which something ends, and returns all that ends then; empty if
  /// nothing is under way. The span holds until the next call. What is started at that time joins
  /// before anything moves on.
  std::span<const Event> next();

  [[nodiscard]] Picoseconds now() const { return now_; }

  /// Bytes, times weights, of the flows through `resource` that have ended.
  [[nodiscard]] Bytes carried(ResourceId resource) const;

 private:
  enum class ItemState : std::uint8_t { Free, Waiting, Streaming, Arriving, Computing, Timing };

  /// In two cache lines: timers need the first alone.
  struct alignas(64) Item {
    Wide left;          // grains; of a computation, what its port could move in the time left
    Picoseconds since;  // `left` was true then
    Picoseconds latency;
    Tag tag;
    std::int32_t first_use;
    std::int32_t use_count;
    std::int32_t use_room;  // of its block, kept when the item is free
    std::int32_t place;     // of a computation in the list of its port, of a flow in `opened_`
    EventKind kind;
    ItemState state;
    FairShare share;
    Rate cap;
    Bytes bytes;
    std::int64_t number;  // of the flow under way, all being counted; none: 0
    std::int64_t stamp;   // of the last repair that gave it a share anew
  };

  /// The fact that a flow is on a resource, until it has left: then its item has another number.
  struct FlowCrossing {
    std::int64_t number;
    std::int32_t item;
    std::int32_t weight;
  };

  struct alignas(64) Node {
    FairShare level;            // of its flows where nothing else holds them back
    std::int64_t level_weight;  // `level` was found for; 0: never
    std::int64_t weight;        // of its flows
    std::int64_t bound;         // weight of flows that have its level, unless it is repaired
    Wide used;                  // what its flows take, each in whole grains
    FairShare top;              // once it is repaired: the largest share of its flows
    Bytes carried;
    std::vector<FlowCrossing> crossings;  // of listed flows, those that have left among them
    std::int64_t stamp;
    std::int32_t flows;  // on it now
    std::int32_t fresh;  // flows that came since shares were found
    std::int32_t local;  // number in the part that is repaired
    bool refreshes;
    bool even;      // `level` is exact
    bool dirty;     // a flow came or went
    bool stale;     // a computation came
    bool repaired;  // flows got their shares from a repair: `top` and `full` hold, not `bound`
    bool full;      // flows with the largest share could have more but for this resource
  };

  /// What is rarely asked of a resource.
  struct ResourceDetail {
    Wide capacity;
    Wide sustained;
    std::vector<std::int32_t> computes;
  };

  /// What the opened flows make of a resource: the largest share on it, and whether it is full.
  struct ResourceShare {
    FairShare top;
    bool full;
  };

  void begin(std::int32_t id, Picoseconds when);
  std::int32_t new_item(EventKind kind, Tag tag);
  void free_item(std::int32_t id);
  void hold(Item& made, std::span<const ResourceUse> uses);
  void enlarge(Item& made);
  void enter(std::int32_t id);
  void enter_compute(std::int32_t id);
  void leave(std::int32_t id);
  void leave_compute(const Item& leaving);
  void touch(ResourceId resource);
  void due(std::int32_t id);
  void emit(std::int32_t id);
  void set_share(std::int32_t id, FairShare share);

  void refresh();
  void refresh_flows();
  void pace_computes(ResourceId port);
  [[nodiscard]] Wide capacity(ResourceId resource) const;
  void set_refresh_timer();
  void touch_memories();

  [[nodiscard]] bool refresh_lone(ResourceId resource);
  void find_affected();
  void affect(std::int32_t id);
  void set_level(ResourceId resource);
  void find_levels();
  void rebind(const Item& flow, const FairShare& share);
  [[nodiscard]] bool bound(const Item& flow, const FairShare& share) const;
  void apply_affected();

  void open_dirty();
  void open(std::int32_t id);
  void open_connected();
  void repair();
  void meet(ResourceId resource);
  void fill_opened();
  [[nodiscard]] ResourceShare weigh(ResourceId resource);
  [[nodiscard]] FairShare share_now(std::int32_t id) const;
  [[nodiscard]] bool held(std::int32_t id) const;
  [[nodiscard]] bool open_unheld();
  void open_unheld_on(ResourceId resource);
  void open_above(std::int32_t id);
  void apply_opened();
  void list_flows();
  void drop_left(Node& crossed) const;
  [[nodiscard]] const std::vector<FlowCrossing>& listed(Node& crossed);

  /// What capacities are now, and when that changes next; never: 0.
  struct RefreshPhase {
    bool stands;
    bool fresh;
    Picoseconds ends;
  };
  [[nodiscard]] RefreshPhase phase() const;

  [[nodiscard]] Item& item(std::int32_t id) { return items_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] Node& node(ResourceId id) { return nodes_[id.index()]; }
  [[nodiscard]] std::span<const ResourceUse> uses_of(const Item& flow) const {
    return {held_.data() + flow.first_use, static_cast<std::size_t>(flow.use_count)};
  }

  std::vector<Node> nodes_;
  std::vector<ResourceDetail> sides_;  // of each node
  std::vector<Item> items_;
  std::vector<std::int32_t> free_items_;
  std::vector<ResourceUse> held_;
  std::vector<std::vector<std::int32_t>> free_held_;  // by size: blocks of `held_`
  std::vector<std::int32_t> entered_;                 // flows, since shares were found
  std::vector<FlowCrossing> unlisted_;                // flows that no resource lists; no weights
  std::vector<ResourceId> dirty_;
  std::vector<ResourceId> stale_;
  std::vector<ResourceId> memories_;  // resources that refresh
  Agenda agenda_;
  std::vector<std::int32_t> due_;
  std::vector<Event> events_;
  Refresh refresh_;
  Picoseconds now_{0};
  std::int64_t memory_flows_ = 0;  // crossings of resources that refresh
  std::int64_t streaming_ = 0;     // flows under way
  std::int64_t computations_ = 0;  // under way
  std::int64_t stamp_ = 0;
  std::int64_t number_ = 0;

  std::vector<std::int32_t> affected_;  // flows that cross a dirty resource,
  std::vector<FairShare> levels_;       // the least level of each,
  bool doubtful_ = false;               // whether those may not be the shares

  Wide timed_left_ = 0;  // what `time_to_move` was last asked, and what it said
  FairShare timed_share_{0, 1};
  Picoseconds timed_{0};

  FlowSet part_;                      // what a repair gives shares anew
  std::vector<std::int32_t> opened_;  // flows of that part
  std::vector<ResourceId> part_nodes_;
  std::vector<FairShare> part_shares_;
  std::vector<ResourceShare> weighed_;
  std::vector<Wide> slack_;
  FairScratch scratch_;
};

}  // namespace elk::sim
