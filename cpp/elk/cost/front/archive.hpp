#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace elk::cost {

/// What a plan is judged by. Less is better in each.
struct Merits {
  std::int64_t space;
  std::int64_t exchange;
  std::int64_t hbm;
  double time;

  friend bool operator==(const Merits&, const Merits&) = default;
};

/// Points none of which another covers (is at least as good in everything).
class Archive {
 public:
  /// No point that is asked for has less than `least_hbm` HBM bytes.
  explicit Archive(std::int64_t least_hbm);

  /// Whether a member is at least as good as `corner` and faster. Then no plan that needs at least
  /// what `corner` does can become a member, equal one, or be as fast as the fastest.
  [[nodiscard]] bool excludes(const Merits& corner);

  enum class Dominance : std::uint8_t { Covered, Equal, New };
  /// Where a point stands; a new one becomes a member and puts out those that it covers. `id` is
  /// that of the equal member, or the one that the new member gets.
  Dominance add(const Merits& point, std::size_t& id);

  /// The ids of the members, by space.
  [[nodiscard]] const std::vector<std::size_t>& members() const { return ids_; }

 private:
  /// Least times by steps of space and exchange, which rise along both.
  class PrefixMinima {
   public:
    PrefixMinima();
    /// A time that holds from a step of space and one of exchange on.
    void add(std::size_t space, std::size_t exchange, double time);
    [[nodiscard]] double time(const Merits& corner) const;

   private:
    std::vector<double> times_;
  };

  std::int64_t least_hbm_;
  std::vector<Merits> points_;  // by space
  std::vector<std::size_t> ids_;
  std::size_t next_ = 0;
  std::size_t last_ = 0;  // the member that excluded the last corner
  PrefixMinima sure_;  // of members that are better than all points of a step, in `least_hbm` bytes
  PrefixMinima possible_;  // of members that are better than some point of a step
};

}  // namespace elk::cost
