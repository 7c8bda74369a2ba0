#pragma once

#include <sstream>
#include <string>

namespace elk {

/// The parts, written one after another: `text("got ", 3, " bytes")`.
template <class... Parts>
[[nodiscard]] std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace elk
