#pragma once

#include <vector>

#include "elk/base/ids.hpp"
#include "elk/base/table.hpp"
#include "elk/base/units.hpp"
#include "elk/schedule/problem/problem.hpp"
#include "elk/schedule/problem/schedule.hpp"

namespace elk::schedule {

/// Choices in which one cut is carried along the model: from an op whose result is cut in its
/// outermost dimensions alone, readers hold what they read as it lies, and makers leave what they
/// write as it is read, for as long as their axes allow it; other ops keep the choices of `base`.
///
/// Ops by themselves want all cores, by cuts that fit no neighbour's where sizes have few common
/// factors; a model cut alike over fewer cores may gather nothing. Choices whose executes alone
/// take `most` are left out.
[[nodiscard]] std::vector<Table<OpId, Choice>> carried(Problem& problem,
                                                       const Table<OpId, Choice>& base,
                                                       Seconds most);

}  // namespace elk::schedule
