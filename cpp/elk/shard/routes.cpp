#include "elk/shard/routes.hpp"

#include "elk/base/ids.hpp"

namespace elk::shard {

std::optional<Routes::Route> Routes::find(std::int32_t tensor, const Forms& forms, Form to) {
  std::optional<Route> best;
  for (Forms left = forms; !left.empty(); left.drop_first()) {
    const Form from = left.first();
    if (silent_ && exchange(from, to) != Conversion::None) {
      continue;
    }
    const std::int64_t time = moving_time(tensor, from, to);
    if (!best || time < best->time) {
      best = Route{.from = from, .time = time};
    }
  }
  return best;
}

std::int64_t Routes::moving_time(std::int32_t tensor, Form from, Form to) {
  ConversionTimes& known = times_[subscript(tensor)];
  if (known.between.empty()) {
    const std::size_t dims = ways_.graph().tensors[subscript(tensor)].shape.size();
    known.places = subscript(Forms::place(cut(static_cast<std::int32_t>(dims))));
    known.between.assign(known.places * known.places, -1);
  }
  const std::size_t first = subscript(Forms::place(from)) * known.places;
  std::int64_t& time = known.between[first + subscript(Forms::place(to))];
  if (time < 0) {
    time = ways_.time(tensor, from, to).value;
  }
  return time;
}

}  // namespace elk::shard
