#include "elk/schedule/problem/schedule.hpp"

namespace elk::schedule {

const char* name(Policy policy) {
  switch (policy) {
    case Policy::Basic:
      return "basic";
    case Policy::Static:
      return "static";
    case Policy::ElkDyn:
      return "elk-dyn";
    case Policy::ElkFull:
      return "elk-full";
    case Policy::Ideal:
      return "ideal";
    case Policy::StaticPaper:
      return "static-paper";
  }
  return "";
}

}  // namespace elk::schedule
