#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <tuple>

#include "elk/base/errors.hpp"
#include "elk/program/check/rules.hpp"

namespace elk::program {
namespace {

const char* name(Role role) {
  switch (role) {
    case Role::Preload:
      return "preload";
    case Role::Execute:
      return "execute";
    case Role::Activation:
      return "activation";
    case Role::Store:
      return "store";
    case Role::Resident:
      return "resident";
  }
  throw InternalError("a role without a name");
}

std::string described(const CheckContext& context, std::size_t buffer) {
  const Buffer& b = context.program.buffers[buffer];
  return text(name(b.role), " buffer of ", named(context.graph, b.op), ", ",
              named_tensor(context.graph, b.tensor), ", ", b.bytes.value, " bytes at ",
              b.offset.value);
}

enum class EventEdge : std::uint8_t { End, Begin };

/// A buffer begins or ends to live. Ends come first: [from, to] and [to + 1, ...] may share bytes.
struct BufferEvent {
  std::int32_t time;
  EventEdge edge;
  std::size_t buffer;

  friend auto operator<=>(const BufferEvent&, const BufferEvent&) = default;
};

std::vector<BufferEvent> events(const std::vector<Buffer>& buffers) {
  std::vector<BufferEvent> out;
  out.reserve(2 * buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].bytes > Bytes{0}) {
      out.push_back({.time = buffers[i].from, .edge = EventEdge::Begin, .buffer = i});
      out.push_back({.time = buffers[i].to + 1, .edge = EventEdge::End, .buffer = i});
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// The buffers of one moment by offset, no two of them overlapping.
class LiveBuffers {
 public:
  explicit LiveBuffers(CheckContext& context) : context_(context) {}

  void apply(const BufferEvent& event) {
    const Buffer& buffer = context_.program.buffers[event.buffer];
    if (event.edge == EventEdge::End) {
      const auto found = live_.find(buffer.offset);
      if (found != live_.end() && found->second == event.buffer) {
        live_.erase(found);
      }
      return;
    }
    const auto above = live_.lower_bound(buffer.offset);
    bool free = true;
    if (above != live_.end() && above->first < buffer.offset + buffer.bytes) {
      free = collide(event, above->second);
    }
    if (above != live_.begin() && end(std::prev(above)->second) > buffer.offset) {
      free = collide(event, std::prev(above)->second);
    }
    if (free) {
      live_.emplace(buffer.offset, event.buffer);
    }
  }

 private:
  [[nodiscard]] Bytes end(std::size_t buffer) const {
    const Buffer& b = context_.program.buffers[buffer];
    return b.offset + b.bytes;
  }

  bool collide(const BufferEvent& event, std::size_t other) {
    context_.broken.push_back(text("at instruction ", event.time, " the ",
                                   described(context_, event.buffer), " overlaps the ",
                                   described(context_, other)));
    return false;
  }

  CheckContext& context_;
  std::map<Bytes, std::size_t> live_;
};

/// Whether sums of offsets and sizes may be trusted.
bool check_ranges(CheckContext& context) {
  const std::size_t before = context.broken.size();
  const Bytes room = chip::room(context.chip);
  for (std::size_t i = 0; i < context.program.buffers.size(); ++i) {
    const Buffer& buffer = context.program.buffers[i];
    if (buffer.bytes < Bytes{0} || buffer.offset < Bytes{0} || buffer.offset > room ||
        buffer.bytes > room - buffer.offset) {
      context.broken.push_back(
          text("the ", described(context, i), " leaves the ", room.value, " bytes of a core"));
    }
    if (buffer.offset.value % 8 != 0) {
      context.broken.push_back(text("the ", described(context, i), " does not begin on 8 bytes"));
    }
  }
  return context.broken.size() == before;
}

}  // namespace

void check_addresses(CheckContext& context) {
  if (!check_ranges(context)) {
    return;
  }
  LiveBuffers occupied(context);
  Bytes used{0};
  std::tuple<Bytes, std::int32_t> worst{{0}, 0};
  for (const BufferEvent& event : events(context.program.buffers)) {
    const Bytes bytes = context.program.buffers[event.buffer].bytes;
    used = event.edge == EventEdge::Begin ? used + bytes : used - bytes;
    if (used > std::get<0>(worst)) {
      worst = {used, event.time};
    }
    occupied.apply(event);
  }
  const Bytes room = chip::room(context.chip);
  if (std::get<0>(worst) > room) {
    context.broken.push_back(text("instruction ", std::get<1>(worst), ": buffers take ",
                                  std::get<0>(worst).value, " of ", room.value,
                                  " bytes of a core"));
  }
}

}  // namespace elk::program
