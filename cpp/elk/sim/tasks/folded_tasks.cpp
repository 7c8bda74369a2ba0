#include "elk/sim/tasks/folded_tasks.hpp"

#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "elk/sim/flows/fold.hpp"

namespace elk::sim {
namespace {

/// Sends and computations of all bodies, one after another, and the body of each.
struct ItemList {
  Crossings crossings;
  std::vector<std::int32_t> body;
  std::vector<std::int32_t> place;  // among the sends of the body; of a computation, -1 - place
};

class ItemLister {
 public:
  ItemList list(const TaskGraph& graph) {
    out_.crossings.begin.push_back(0);
    for (std::size_t b = 0; b < graph.bodies(); ++b) {
      const auto number = static_cast<std::int32_t>(b);
      const Body& body = graph.body({number});
      for (std::size_t s = 0; s < body.sends().size(); ++s) {
        const BodySend& send = body.sends()[s];
        const bool loads = send.bytes > Bytes{0};
        add(number, static_cast<std::int32_t>(s), {number, 0, send.bytes.value, send.tail.value},
            loads ? body.uses_of(send) : std::span<const ResourceUse>{});
      }
      for (std::size_t c = 0; c < body.computations().size(); ++c) {
        const BodyCalls& calls = body.computations()[c];
        const ResourceUse use{calls.port, 1};
        add(number, -1 - static_cast<std::int32_t>(c), {number, 1, calls.alone.value, 0},
            {&use, 1});
      }
    }
    return std::move(out_);
  }

 private:
  using ItemKind = std::tuple<std::int32_t, int, std::int64_t, std::int64_t>;

  void add(std::int32_t body, std::int32_t place, ItemKind kind,
           std::span<const ResourceUse> uses) {
    const auto next = static_cast<std::int64_t>(kinds_.size());
    out_.crossings.kind.push_back(kinds_.try_emplace(kind, next).first->second);
    out_.crossings.uses.insert(out_.crossings.uses.end(), uses.begin(), uses.end());
    out_.crossings.begin.push_back(static_cast<std::int32_t>(out_.crossings.uses.size()));
    out_.body.push_back(body);
    out_.place.push_back(place);
  }

  ItemList out_;
  std::map<ItemKind, std::int64_t> kinds_;
};

}  // namespace

TasksRun FoldedTasks::unfold(TasksRun folded) const {
  TasksRun whole{.tasks = std::move(folded.tasks),
                 .carried = {},
                 .busy = {},
                 .alone = std::move(folded.alone)};
  for (const std::int32_t number : resource_class) {
    whole.carried.push_back(folded.carried[subscript(number)]);
    whole.busy.push_back(folded.busy[subscript(number)]);
  }
  return whole;
}

FoldedTasks fold_tasks(const Machine& machine, const TaskGraph& graph) {
  const ItemList listed = ItemLister().list(graph);
  FoldedMachine folded = fold(machine, listed.crossings);
  std::vector<Body> bodies(graph.bodies());
  for (std::size_t item = 0; item < folded.item_first.size(); ++item) {
    const std::size_t first = subscript(folded.item_first[item]);
    const std::span<const ResourceUse> uses = folded.uses_of(static_cast<std::int32_t>(item));
    const Body& whole = graph.body({listed.body[first]});
    Body& body = bodies[subscript(listed.body[first])];
    if (const std::int32_t place = listed.place[first]; place >= 0) {
      const BodySend& send = whole.sends()[subscript(place)];
      body.send(send.bytes, send.tail, uses);
    } else {
      body.compute(uses.front().resource, whole.computations()[subscript(-1 - place)].alone);
    }
  }
  FoldedTasks out{.machine = std::move(folded.machine),
                  .graph = {},
                  .resource_class = std::move(folded.resource_class)};
  for (std::size_t s = 0; s < graph.streams(); ++s) {
    out.graph.add_stream();
  }
  for (Body& body : bodies) {
    out.graph.add(std::move(body));
  }
  for (const Task& task : graph.tasks()) {
    out.graph.add(task);
  }
  return out;
}

}  // namespace elk::sim
