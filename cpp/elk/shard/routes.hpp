#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "elk/shard/forms.hpp"
#include "elk/shard/sharding_costs.hpp"

namespace elk::shard {

/// How tensors get from the forms at hand to others, each time asked of `ways` once.
class Routes {
 public:
  /// `silent`: chips exchange nothing.
  Routes(const ShardingCosts& ways, bool silent)
      : ways_(ways), silent_(silent), times_(ways.graph().tensors.size()) {}

  struct Route {
    Form from;
    std::int64_t time;  // picoseconds
  };

  /// The cheapest way to a form from those at hand; empty if chips would have to exchange and must
  /// not.
  [[nodiscard]] std::optional<Route> find(std::int32_t tensor, const Forms& forms, Form to);

 private:
  /// How long a tensor takes from form to form; -1: not known yet.
  struct ConversionTimes {
    std::size_t places = 0;
    std::vector<std::int64_t> between;
  };

  [[nodiscard]] std::int64_t moving_time(std::int32_t tensor, Form from, Form to);

  const ShardingCosts& ways_;
  bool silent_;
  std::vector<ConversionTimes> times_;  // of each tensor
};

}  // namespace elk::shard
