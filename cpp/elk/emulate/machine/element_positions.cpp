#include "elk/emulate/machine/element_positions.hpp"

namespace elk::emulate {

bool in_order(const ElementPositions& rows) {
  return rows.indices == rows.places && rows.runs.size() == 1 &&
         rows.runs.front().count == rows.places;
}

ElementPositions around(const ElementPositions& along, const ElementPositions& inner) {
  ElementPositions out{
      .runs = {}, .indices = along.indices * inner.indices, .places = along.places * inner.places};
  const bool whole = in_order(inner);
  for (const OverlapRange& run : along.runs) {
    if (whole) {
      out.runs.push_back({.from = run.from * inner.indices,
                          .to = run.to * inner.places,
                          .count = run.count * inner.places});
      continue;
    }
    for (std::int64_t i = 0; i < run.count; ++i) {
      for (const OverlapRange& part : inner.runs) {
        out.runs.push_back({.from = ((run.from + i) * inner.indices) + part.from,
                            .to = ((run.to + i) * inner.places) + part.to,
                            .count = part.count});
      }
    }
  }
  return out;
}

}  // namespace elk::emulate
