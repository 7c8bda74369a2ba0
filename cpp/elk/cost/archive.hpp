#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace elk::cost {

/// What a plan is judged by. Less is better in each.
struct Point {
  std::int64_t space;
  std::int64_t exchange;
  std::int64_t hbm;
  double time;

  friend bool operator==(const Point&, const Point&) = default;
};

[[nodiscard]] inline bool covers(const Point& a, const Point& b) {
  return a.space <= b.space && a.exchange <= b.exchange && a.hbm <= b.hbm && a.time <= b.time;
}

/// Plans none of which another covers.
template <class Plan>
class Archive {
 public:
  struct Member {
    Point point;
    Plan plan;
  };

  /// Whether a member is at least as good as `corner` and faster. Then no plan that needs at least
  /// what `corner` does can become a member, equal one, or be as fast as the fastest.
  [[nodiscard]] bool excludes(const Point& corner) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const Point& point = members_[i].point;
      if (point.space <= corner.space && point.time < corner.time &&
          point.exchange <= corner.exchange && point.hbm <= corner.hbm) {
        if (i > 0) {  // What excluded one corner is likely to exclude the next.
          std::swap(members_[i], members_[i / 2]);
        }
        return true;
      }
    }
    return false;
  }

  /// Adds a plan unless a member covers it; of equal points the lesser plan stays.
  template <class MakePlan>
  void add(const Point& point, const MakePlan& make) {
    for (Member& member : members_) {
      if (member.point == point) {
        member.plan = std::min(member.plan, make());
        return;
      }
      if (covers(member.point, point)) {
        return;
      }
    }
    std::erase_if(members_, [&](const Member& member) { return covers(point, member.point); });
    members_.push_back({.point = point, .plan = make()});
  }

  [[nodiscard]] const std::vector<Member>& members() const { return members_; }

 private:
  std::vector<Member> members_;
};

}  // namespace elk::cost
