#include "elk/sim/play/issued.hpp"

#include <algorithm>

#include "elk/base/errors.hpp"
#include "elk/base/text.hpp"

namespace elk::sim {

std::int32_t issued_preload(const program::Expander& expander, OpId op) {
  const std::int32_t id = expander.preload_of(op);
  if (id < 0) {
    throw InvalidInput(text("the program preloads op ", op, ", which has nothing in HBM"));
  }
  return id;
}

std::optional<std::size_t> issued_store(const ir::Graph& graph, const chip::Chip& chip,
                                        TensorId tensor) {
  const auto found = std::find_if(graph.stores.begin(), graph.stores.end(),
                                  [&](const ir::Store& store) { return store.tensor == tensor; });
  if (!chip.hbm || found == graph.stores.end()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - graph.stores.begin());
}

void check_preloaded(const program::Expander& expander, OpId op, bool issued) {
  if (expander.preload_of(op) >= 0 && !issued) {
    throw InvalidInput(text("the program executes op ", op, " without its preload"));
  }
}

}  // namespace elk::sim
